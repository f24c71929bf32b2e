//! Directories: Fagin's extendible hashing with the least significant bit first, a tree of tables
//! past one table, chained leaves on collisions (SpadFS §III.A); the hash is keyed. In the order of
//! bit-reversed hashes a leaf covers one continuous range, whatever splits before or after: so an
//! entry's key is a cookie that stays good while the directory changes.

mod grow;
mod list;

use smallvec::SmallVec;
use tandem_format::{Body as EntryBody, Content, DirRoot, Kind, Leaf, Table, name_key};

use crate::cache::{Body, Key};
use crate::error::{Res, corrupt, fail};
use crate::ifile::revs_of;
use crate::state::State;
use crate::types::{FileKind, Ino};

/// In a directory's root and in tables: the id is that of a table.
pub(crate) const TABLE_FLAG: u64 = 1 << 63;

/// Bits of a reversed hash.
pub(crate) const REV_BITS: u8 = 48;

/// Hash bits that one table can resolve.
pub(crate) const TABLE_BITS: u8 = 8;

/// A chain has one leaf for each of its sequence numbers at most; a longer one runs in a circle.
pub(crate) const CHAIN_MAX: usize = 1 << 15;

/// Fails when a chain of leaves has turned out to be longer than any can be.
pub(crate) fn bounded(steps: &mut usize, id: u64) -> Res<()> {
    *steps += 1;
    if *steps > CHAIN_MAX {
        return Err(corrupt(format!("directory leaf {id}"), "its chain has no end"));
    }
    Ok(())
}

/// An entry that was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub leaf: u64,
    pub slot: usize,
    pub key: u64,
    pub ino: Ino,
    pub kind: FileKind,
    /// The i-node's record lies in the entry.
    pub embedded: bool,
}

/// The way from a directory's root to the leaf of a hash.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    /// Tables from the root down, with the slot taken in each.
    pub tables: SmallVec<[(u64, usize); 6]>,
    /// Leaf, or 0 when the directory has none.
    pub leaf: u64,
    /// Hash bits above the lowest table.
    pub consumed: u8,
    /// Hash bits of all tables.
    pub bits: u8,
}

impl Path {
    /// The first reversed hash behind the bucket of `rev`, whose first leaf, at the path's end, is `leaf`. A leaf
    /// of a smaller or of another bucket is damage: whoever went on behind it would meet it again for each of
    /// up to 2^48 hashes.
    fn bucket_end(&self, leaf: &Leaf, rev: u64) -> Res<u64> {
        let first = leaf.prefix();
        if leaf.depth() <= self.bits {
            let end = first.saturating_add(1 << (REV_BITS - leaf.depth()));
            if (first..end).contains(&rev) {
                return Ok(end);
            }
        }
        Err(corrupt(
            format!("directory leaf {}", self.leaf),
            format!(
                "is that of hashes from {first:x} on with {} bits, but {rev:x} leads to it",
                leaf.depth()
            ),
        ))
    }
}

/// The reversed hash of an entry's key.
pub(crate) fn rev_of(key: u64) -> u64 {
    key >> 15
}

/// Slot of a reversed hash in a table of `depth` bits below `consumed` bits.
pub(crate) fn table_slot(rev: u64, consumed: u8, depth: u8) -> usize {
    (rev >> (REV_BITS - consumed - depth) & ((1 << depth) - 1)) as usize
}

impl State {
    /// The reversed hash of a name on this volume.
    pub fn hash(&self, name: &[u8]) -> u64 {
        name_key(self.sb.hash_key, self.sb.hash_bits, name)
    }

    /// A directory's root, as its users see it.
    pub fn dir_root(&mut self, dir: Ino) -> Res<DirRoot> {
        match &self.seen(dir)?.rec.content {
            Content::Dir(root) => Ok(*root),
            _ => fail(libc::ENOTDIR),
        }
    }

    /// A leaf or i-node block.
    pub fn leaf(&mut self, id: u64) -> Res<&Leaf> {
        match &self.cache.get(Key::block(id))?.body {
            Body::Leaf(leaf) => Ok(leaf),
            _ => Err(corrupt(format!("block {id}"), "not a directory leaf")),
        }
    }

    /// A leaf or i-node block, to be changed.
    pub fn leaf_mut(&mut self, id: u64) -> Res<&mut Leaf> {
        match &mut self.cache.get_mut(Key::block(id))?.body {
            Body::Leaf(leaf) => Ok(leaf),
            _ => Err(corrupt(format!("block {id}"), "not a directory leaf")),
        }
    }

    pub(crate) fn table(&mut self, id: u64) -> Res<&Table> {
        match &self.cache.get(Key::block(id))?.body {
            Body::Table(table) => Ok(table),
            _ => Err(corrupt(format!("block {id}"), "not a directory table")),
        }
    }

    pub(crate) fn table_mut(&mut self, id: u64) -> Res<&mut Table> {
        match &mut self.cache.get_mut(Key::block(id))?.body {
            Body::Table(table) => Ok(table),
            _ => Err(corrupt(format!("block {id}"), "not a directory table")),
        }
    }

    /// Walks from the root to the leaf of a reversed hash.
    pub fn dir_path(&mut self, root: u64, rev: u64) -> Res<Path> {
        let mut path = Path { tables: SmallVec::new(), leaf: 0, consumed: 0, bits: 0 };
        let mut at = root;
        while at & TABLE_FLAG != 0 {
            let id = at & !TABLE_FLAG;
            let consumed = match path.tables.last() {
                Some(&(upper, _)) => path.consumed + self.table(upper)?.depth,
                None => 0,
            };
            let table = self.table(id)?;
            if consumed + table.depth > REV_BITS {
                return Err(corrupt(
                    format!("directory table {id}"),
                    "deeper than the hash has bits",
                ));
            }
            let slot = table_slot(rev, consumed, table.depth);
            at = match table.entries.get(slot) {
                Some(&0) | None => {
                    return Err(corrupt(format!("directory table {id}"), "empty slot"));
                }
                Some(&next) => next,
            };
            path.bits = consumed + table.depth;
            path.tables.push((id, slot));
            path.consumed = consumed;
        }
        path.leaf = at;
        Ok(path)
    }

    /// Looks a name up.
    pub fn dir_find(&mut self, dir: Ino, name: &[u8]) -> Res<Option<Found>> {
        let root = self.dir_root(dir)?.root;
        if root == 0 {
            return Ok(None);
        }
        let rev = self.hash(name);
        let mut id = if root & TABLE_FLAG == 0 { root } else { self.dir_path(root, rev)?.leaf };
        let mut steps = 0;
        while id != 0 {
            bounded(&mut steps, id)?;
            let leaf = self.leaf(id)?;
            if let Some(slot) = leaf.search(rev, name) {
                return Ok(Some(found(leaf, id, slot)?));
            }
            id = leaf.next();
        }
        Ok(None)
    }

    /// Finds the entry with a key.
    pub fn dir_find_key(&mut self, dir: Ino, key: u64) -> Res<Option<Found>> {
        let root = self.dir_root(dir)?.root;
        let mut id = if root == 0 { 0 } else { self.dir_path(root, rev_of(key))?.leaf };
        let mut steps = 0;
        while id != 0 {
            bounded(&mut steps, id)?;
            let leaf = self.leaf(id)?;
            if let Some(slot) = leaf.find_key(key) {
                return Ok(Some(found(leaf, id, slot)?));
            }
            id = leaf.next();
        }
        Ok(None)
    }

    /// Finds the entry that holds an i-node's record, among those whose reversed hashes have a top
    /// in common.
    pub fn dir_find_home(&mut self, dir: Ino, top: u32, ino: Ino) -> Res<Option<Found>> {
        let root = self.dir_root(dir)?.root;
        let (mut from, end) = revs_of(top);
        if root == 0 || end > 1 << REV_BITS {
            return Ok(None);
        }
        while from < end {
            let path = self.dir_path(root, from)?;
            let mut id = path.leaf;
            let mut steps = 0;
            let mut next = end;
            while id != 0 {
                bounded(&mut steps, id)?;
                let leaf = self.leaf(id)?;
                if steps == 1 {
                    next = path.bucket_end(leaf, from)?;
                }
                for slot in leaf.lower_bound(from << 15)..leaf.count() as usize {
                    let found = found(leaf, id, slot)?;
                    if rev_of(found.key) >= end {
                        break;
                    }
                    if found.ino == ino && found.embedded {
                        return Ok(Some(found));
                    }
                }
                id = leaf.next();
            }
            from = next;
        }
        Ok(None)
    }
}

/// What an entry of a leaf says.
pub(crate) fn found(leaf: &Leaf, id: u64, slot: usize) -> Res<Found> {
    let entry = leaf.entry(slot);
    let (ino, embedded) = match entry.body {
        EntryBody::Link(ino) => (ino, false),
        EntryBody::Embedded(bytes) => match tandem_format::record_ino(bytes) {
            Some(ino) => (ino, true),
            None => {
                return Err(corrupt(
                    format!("directory leaf {id}"),
                    "entry without an i-node number",
                ));
            }
        },
    };
    Ok(Found { leaf: id, slot, key: entry.key, ino, kind: FileKind::of_tag(entry.kind), embedded })
}

/// A new, empty leaf as a block of its directory.
pub(crate) fn leaf_block(dir: Ino, leaf: Leaf) -> crate::cache::Block {
    let (index, level) = (leaf.prefix(), 0);
    crate::cache::Block { kind: Kind::Leaf, owner: dir, index, level, body: Body::Leaf(leaf) }
}
