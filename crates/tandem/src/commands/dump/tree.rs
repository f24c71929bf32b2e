//! Finding i-nodes and directory entries.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use anyhow::{Context, Result, anyhow, bail};
use tandem_format::{
    Body, Content, DirRoot, Entry, ExtentNode, Kind, Leaf, Record, Table, name_key, record_ino,
};

use super::reader::Reader;
use super::show;
use crate::output::Listing;

const ROOT_INO: u64 = 1;
/// In an i-node map entry's second word: the record lies in an i-node block, whose id is the first
/// word. Without it, it lies in the directory that is the first word, in an entry whose reversed
/// hash begins with the second.
const IN_BLOCK: u64 = 1 << 63;
/// In a directory's root and in tables: the id is that of a table.
const TABLE: u64 = 1 << 63;
/// More directories within each other than any path can name are a cycle.
const MAX_DEPTH: usize = 100_000;
const REV_BITS: u8 = 48;
/// Bits of a reversed hash that the i-node map has.
const TOP_BITS: u8 = 24;

impl Reader<'_> {
    /// An i-node's record and a word on where it lies.
    pub fn inode(&self, ino: u64) -> Result<(Record, String)> {
        // From the i-node up to a directory whose record lies in an i-node block, and down again.
        let mut way = Vec::new();
        let mut at = ino;
        let (mut record, mut home) = loop {
            let [w0, w1] = self.home(at)?;
            if w0 == 0 {
                bail!("i-node {at} does not exist");
            }
            if w1 & IN_BLOCK != 0 {
                let leaf = self.leaf(w0, Kind::Inode)?;
                let body = leaf.find_key(at).map(|slot| leaf.entry(slot).body);
                let Some(Body::Embedded(bytes)) = body else {
                    bail!("i-node {at} is not in its i-node block {w0}");
                };
                break (decode(at, bytes)?, format!("i-node block {w0}"));
            }
            way.push((at, w1, w0));
            if way.len() > MAX_DEPTH {
                bail!("the directories of i-node {ino} lie within each other");
            }
            at = w0;
        };
        while let Some((ino, top, dir)) = way.pop() {
            let root = directory(&record)?;
            let (key, bytes) = self
                .find(&root, top, ino)?
                .ok_or_else(|| anyhow!("i-node {ino} is not in its directory {dir}"))?;
            record = decode(ino, &bytes)?;
            home = format!("entry {key:#017x} of directory {dir}");
        }
        Ok((record, home))
    }

    fn leaf(&self, id: u64, kind: Kind) -> Result<Leaf> {
        let block = self.block(id, kind)?;
        Leaf::decode(&block.payload, &block.meta, &self.superblock.implied())
            .with_context(|| format!("block {id}"))
    }

    fn dir_table(&self, id: u64) -> Result<Table> {
        let block = self.block(id, Kind::Table)?;
        Table::decode(&block.payload).with_context(|| format!("block {id}"))
    }

    /// The first leaf that a reversed hash leads to, or 0.
    fn first_leaf(&self, root: u64, rev: u64) -> Result<u64> {
        let (mut at, mut consumed) = (root, 0);
        while at & TABLE != 0 {
            let table = self.dir_table(at & !TABLE)?;
            consumed += table.depth;
            if consumed > REV_BITS || table.depth == 0 {
                bail!("table {} is deeper than the hash has bits", at & !TABLE);
            }
            let slot = (rev >> (REV_BITS - consumed)) & ((1 << table.depth) - 1);
            at = table.entries.get(slot as usize).copied().unwrap_or(0);
        }
        Ok(at)
    }

    /// Calls `f` on the leaves of a chain until it has an answer.
    fn chain<T>(&self, first: u64, mut f: impl FnMut(&Leaf) -> Option<T>) -> Result<Option<T>> {
        let (mut id, mut seen) = (first, HashSet::new());
        while id != 0 {
            if !seen.insert(id) {
                bail!("the chain of leaf {first} leads back to leaf {id}");
            }
            let leaf = self.leaf(id, Kind::Leaf)?;
            if let Some(found) = f(&leaf) {
                return Ok(Some(found));
            }
            id = leaf.next();
        }
        Ok(None)
    }

    /// Key and record of an i-node in a directory, in an entry whose hash has this top.
    fn find(&self, dir: &DirRoot, top: u64, ino: u64) -> Result<Option<(u64, Vec<u8>)>> {
        let end = (top.min(1 << TOP_BITS) + 1) << (REV_BITS - TOP_BITS);
        let mut from = top << (REV_BITS - TOP_BITS);
        while from < end.min(1 << REV_BITS) {
            let mut next = None;
            let first = self.first_leaf(dir.root, from)?;
            let found = self.chain(first, |leaf| {
                next.get_or_insert(leaf.prefix() + (1 << (REV_BITS - leaf.depth())));
                let slots = leaf.lower_bound(from << 15)..leaf.count() as usize;
                slots.map(|slot| leaf.entry(slot)).find_map(|entry| match entry.body {
                    Body::Embedded(bytes) if record_ino(bytes) == Some(ino) => {
                        Some((entry.key, bytes.to_vec()))
                    }
                    _ => None,
                })
            })?;
            if found.is_some() {
                return Ok(found);
            }
            from = next.unwrap_or(end).max(from + 1);
        }
        Ok(None)
    }

    /// The i-node number that a name in a directory leads to.
    fn lookup(&self, dir: &DirRoot, name: &[u8]) -> Result<Option<u64>> {
        let superblock = &self.superblock;
        let rev = name_key(superblock.hash_key, superblock.hash_bits, name);
        let first = self.first_leaf(dir.root, rev)?;
        self.chain(first, |leaf| entry_ino(&leaf.entry(leaf.search(rev, name)?)))
    }

    /// Shows the entries of the directory at `path`, in the order of readdir.
    pub fn show_dir(&self, path: &Path, out: &mut Listing) -> Result<()> {
        let (mut ino, mut record) = (ROOT_INO, self.inode(ROOT_INO)?.0);
        for part in path.components() {
            let Component::Normal(name) = part else { continue };
            let found = self.lookup(&directory(&record)?, name.as_bytes())?;
            ino = found.ok_or_else(|| {
                anyhow!(
                    "{}: there is no {} in the volume",
                    path.display(),
                    Path::new(name).display()
                )
            })?;
            record = self.inode(ino)?.0;
        }
        let root = directory(&record)?;
        out.heading(format!("directory {ino}, {} entries", root.entries));
        self.walk(root.root, 0, &mut |leaf_id, leaf| {
            show::leaf(leaf_id, leaf, out);
            true
        })
    }

    fn walk(&self, at: u64, consumed: u8, f: &mut dyn FnMut(u64, &Leaf) -> bool) -> Result<()> {
        if at & TABLE == 0 {
            let mut id = at;
            self.chain(at, |leaf| {
                let go_on = f(id, leaf);
                id = leaf.next();
                (!go_on).then_some(())
            })?;
            return Ok(());
        }
        let table = self.dir_table(at & !TABLE)?;
        let consumed = consumed + table.depth;
        if consumed > REV_BITS || table.depth == 0 {
            bail!("table {} is deeper than the hash has bits", at & !TABLE);
        }
        // A leaf that has been split less often than the table fills several slots in a row.
        let mut last = 0;
        for &child in table.entries.iter().filter(|&&child| child != 0) {
            if child != last {
                self.walk(child, consumed, f)?;
            }
            last = child;
        }
        Ok(())
    }

    /// Shows the extents of a file whose record has no room for them.
    pub fn show_extents(&self, record: &Record, out: &mut Listing) -> Result<()> {
        let Content::Tree { root, height, .. } = record.content else { return Ok(()) };
        out.heading("extents");
        self.extent_nodes(root, height, out)
    }

    fn extent_nodes(&self, id: u64, height: u8, out: &mut Listing) -> Result<()> {
        let block = self.block(id, Kind::Extent)?;
        let node = ExtentNode::decode(&block.payload, block.meta.level)
            .with_context(|| format!("block {id}"))?;
        for extent in &node.extents {
            show::extent(extent, out);
        }
        for &(_, child) in &node.children {
            let below = height.checked_sub(1);
            let below = below.ok_or_else(|| anyhow!("block {id} is lower than the tree"))?;
            self.extent_nodes(child, below, out)?;
        }
        Ok(())
    }
}

fn decode(ino: u64, bytes: &[u8]) -> Result<Record> {
    let record = Record::decode(bytes).with_context(|| format!("i-node {ino}"))?;
    if record.ino != ino {
        bail!("i-node {} is where i-node {ino} should be", record.ino);
    }
    Ok(record)
}

fn directory(record: &Record) -> Result<DirRoot> {
    match &record.content {
        Content::Dir(root) => Ok(*root),
        _ => bail!("i-node {} is not a directory", record.ino),
    }
}

/// The i-node number that an entry leads to.
pub fn entry_ino(entry: &Entry<'_>) -> Option<u64> {
    match entry.body {
        Body::Link(ino) => Some(ino),
        Body::Embedded(bytes) => record_ino(bytes),
    }
}
