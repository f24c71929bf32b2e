//! I-nodes: finding a record, bringing a changed one back to its place, freeing one.
//! A record lies in its directory's entry while it has one link and at most two extents and is
//! small (SpadFS §III.A); else in an i-node block, shared by many.

mod content;
mod free;

pub(crate) use content::Mapping;

use tandem_format::{Body as EntryBody, Content, Kind, Leaf, Record};

use crate::cache::{Block, Body, Key};
use crate::error::{Res, corrupt, fail};
use crate::ifile::{Home, top_of};
use crate::state::{Node, State};
use crate::types::{FileKind, Ino, LIMBO};

/// A record longer than this many bytes does not stay in an entry.
const EMBED_MAX: usize = 1100;

/// An entry's record has at most this many extents.
const EMBED_EXTENTS: usize = 2;

/// Whether a record lies in its entry.
fn embeds(rec: &Record, len: usize) -> bool {
    let extents = match &rec.content {
        Content::Extents(list) => list.len() <= EMBED_EXTENTS,
        Content::Tree { .. } => false,
        _ => true,
    };
    let links = rec.nlink <= 1 || matches!(rec.content, Content::Dir(_));
    extents && links && len <= EMBED_MAX
}

/// The name of an i-node in the hidden directory.
pub(crate) fn limbo_name(ino: Ino) -> [u8; 16] {
    let mut name = [0; 16];
    for (i, c) in name.iter_mut().enumerate() {
        *c = b"0123456789abcdef"[(ino >> (60 - 4 * i) & 15) as usize];
    }
    name
}

impl State {
    /// The i-node's record as its users see it.
    pub fn record(&mut self, ino: Ino) -> Res<Record> {
        if let Some(node) = self.nodes.get_mut(ino) {
            return Ok(node.rec.clone());
        }
        match self.imap_get(ino)? {
            None => fail(libc::ESTALE),
            Some(home) => {
                if let Home::Entry { dir, .. } = home {
                    self.node(dir)?;
                }
                self.record_at(ino, home)
            }
        }
    }

    /// Reads a record from its home; a directory that it lies in must be a node already.
    fn record_at(&mut self, ino: Ino, home: Home) -> Res<Record> {
        let (id, slot) = match home {
            Home::Entry { dir, top } => match self.dir_find_home(dir, top, ino)? {
                Some(found) => (found.leaf, found.slot),
                None => {
                    return Err(corrupt(format!("i-node {ino}"), "its directory entry is missing"));
                }
            },
            Home::Block(id) => match self.leaf(id)?.find_key(ino) {
                Some(slot) => (id, slot),
                None => return Err(corrupt(format!("i-node {ino}"), "not in its i-node block")),
            },
        };
        let EntryBody::Embedded(bytes) = self.leaf(id)?.entry(slot).body else {
            return Err(corrupt(format!("i-node {ino}"), "its entry holds no record"));
        };
        match Record::decode(bytes) {
            Ok(rec) if rec.ino == ino => Ok(rec),
            Ok(rec) => {
                Err(corrupt(format!("i-node {ino}"), format!("its record is that of {}", rec.ino)))
            }
            Err(e) => Err(corrupt(format!("i-node {ino}"), e.to_string())),
        }
    }

    /// The i-node in memory, brought there together with the directories above it.
    pub fn node(&mut self, ino: Ino) -> Res<&mut Node> {
        if self.nodes.get(ino).is_some_and(|node| node.hearsay) {
            self.confirm(ino)?;
        }
        self.seen(ino)
    }

    /// The i-node in memory, to be looked at alone: what an entry has said of it is enough.
    pub fn seen(&mut self, ino: Ino) -> Res<&mut Node> {
        if self.nodes.get(ino).is_none() {
            self.load_node(ino)?;
        }
        match self.nodes.get_mut(ino) {
            Some(node) => Ok(node),
            None => fail(libc::ESTALE),
        }
    }

    /// Asks the i-node map whether a node is what an entry said; one that is not is forgotten.
    fn confirm(&mut self, ino: Ino) -> Res<()> {
        let home = self.imap_get(ino)?;
        let Some(node) = self.nodes.get_mut(ino) else { return Ok(()) };
        match home {
            Some(Home::Entry { dir, .. }) if dir == node.parent => node.hearsay = false,
            _ => drop(self.nodes.remove(ino)),
        }
        Ok(())
    }

    fn load_node(&mut self, ino: Ino) -> Res<()> {
        let mut chain: Vec<(Ino, Home)> = Vec::new();
        let mut at = ino;
        loop {
            let Some(home) = self.imap_get(at)? else { return fail(libc::ESTALE) };
            chain.push((at, home));
            match home {
                Home::Entry { dir, .. } if self.nodes.get(dir).is_none() => at = dir,
                _ => break,
            }
            if chain.len() as u64 > self.inos.used + 16 {
                return Err(corrupt(format!("i-node {ino}"), "its directories lead in a circle"));
            }
        }
        while let Some((ino, home)) = chain.pop() {
            let rec = self.record_at(ino, home)?;
            let parent = match home {
                Home::Entry { dir, .. } => dir,
                Home::Block(_) => 0,
            };
            self.nodes.insert(ino, Node::new(rec, parent));
        }
        Ok(())
    }

    /// The node, to be changed; it must be in memory.
    pub fn change(&mut self, ino: Ino) -> Res<&mut Node> {
        match self.nodes.change(ino) {
            Some(node) => Ok(node),
            None => Err(corrupt(format!("i-node {ino}"), "changed without being in memory")),
        }
    }

    /// Enters a new name for a record: into the entry, or beside it into an i-node block.
    /// The name must have been looked for, and the i-node map's block be present.
    pub fn enter(&mut self, dir: Ino, name: &[u8], rec: &Record) -> Res<()> {
        let kind = FileKind::of_mode(rec.mode);
        let mut bytes = Vec::with_capacity(96);
        rec.encode(&mut bytes);
        if embeds(rec, bytes.len()) {
            let key = self.dir_insert(dir, name, kind, EntryBody::Embedded(&bytes))?;
            return self.imap_set(rec.ino, Some(Home::Entry { dir, top: top_of(key) }));
        }
        let id = self.inode_block(bytes.len())?;
        self.dir_insert(dir, name, kind, EntryBody::Link(rec.ino))?;
        self.put_in_block(id, rec.ino, kind, &bytes)
    }

    /// Enters a record that has no name, as those of the root and of unnamed temporary files.
    pub fn enter_unnamed(&mut self, rec: &Record) -> Res<()> {
        let mut bytes = Vec::with_capacity(96);
        rec.encode(&mut bytes);
        let id = self.inode_block(bytes.len())?;
        self.put_in_block(id, rec.ino, FileKind::of_mode(rec.mode), &bytes)
    }

    /// An i-node block with room for a record.
    fn inode_block(&mut self, len: usize) -> Res<u64> {
        let open = self.open_inode_block;
        if open != 0 && self.leaf(open)?.fits(0, len) {
            return Ok(open);
        }
        let id = self.new_id();
        let body = Body::Leaf(Leaf::new(0, 0));
        self.cache.insert_new(
            Key::block(id),
            Block { kind: Kind::Inode, owner: 0, index: 0, level: 0, body },
        );
        self.open_inode_block = id;
        Ok(id)
    }

    fn put_in_block(&mut self, id: u64, ino: Ino, kind: FileKind, bytes: &[u8]) -> Res<()> {
        let leaf = self.leaf_mut(id)?;
        if leaf.find_key(ino).is_some() {
            return Err(corrupt(format!("i-node {ino}"), "a record of it is in a block already"));
        }
        if leaf.insert(ino, kind as u8, b"", EntryBody::Embedded(bytes)).is_err() {
            return Err(corrupt(format!("i-node {ino}"), "a record larger than a block"));
        }
        self.imap_set(ino, Some(Home::Block(id)))
    }

    /// Moves an embedded record out of its entry, into an i-node block: for the first hard link.
    /// The entry's leaf and the i-node map's block must be in memory.
    pub fn move_out(&mut self, ino: Ino) -> Res<()> {
        let Some(Home::Entry { dir, top }) = self.imap_get(ino)? else { return Ok(()) };
        let Some(found) = self.dir_find_home(dir, top, ino)? else {
            return Err(corrupt(format!("i-node {ino}"), "its directory entry is missing"));
        };
        let bytes = match self.leaf(found.leaf)?.entry(found.slot).body {
            EntryBody::Embedded(bytes) => bytes.to_vec(),
            EntryBody::Link(_) => {
                return Err(corrupt(format!("i-node {ino}"), "its entry holds no record"));
            }
        };
        let id = self.inode_block(bytes.len())?;
        self.put_in_block(id, ino, found.kind, &bytes)?;
        match self.leaf_mut(found.leaf)?.replace(found.slot, EntryBody::Link(ino)) {
            Ok(()) => Ok(()),
            Err(_) => Err(corrupt(format!("i-node {ino}"), "a link larger than a record")),
        }
    }

    /// Brings a dirty node's record back to its home, moving it where it fits. May split leaves
    /// and so make directories' nodes dirty.
    pub fn flush_node(&mut self, ino: Ino) -> Res<()> {
        let home = self.imap_get(ino)?;
        let Some(node) = self.nodes.get_mut(ino) else { return Ok(()) };
        if node.is_orphan() && !node.in_limbo {
            // The freeze gives it a home, if it lives that long.
            self.nodes.cleaned(ino);
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(128);
        let size = std::mem::replace(&mut node.rec.size, node.disk_size);
        node.rec.encode(&mut bytes);
        node.rec.size = size;
        let kind = FileKind::of_mode(node.rec.mode);
        let embed = embeds(&node.rec, bytes.len());
        let Some(home) = home else {
            return Err(corrupt(format!("i-node {ino}"), "changed, but not in the i-node map"));
        };
        match home {
            Home::Entry { dir, top } => {
                self.node(dir)?;
                let Some(found) = self.dir_find_home(dir, top, ino)? else {
                    return Err(corrupt(format!("i-node {ino}"), "its directory entry is missing"));
                };
                if embed {
                    let body = EntryBody::Embedded(&bytes);
                    if self.leaf_mut(found.leaf)?.replace(found.slot, body).is_err() {
                        return self.reenter(dir, ino, found.key, kind, &bytes);
                    }
                } else {
                    let id = self.inode_block(bytes.len())?;
                    self.put_in_block(id, ino, kind, &bytes)?;
                    if self.leaf_mut(found.leaf)?.replace(found.slot, EntryBody::Link(ino)).is_err()
                    {
                        return Err(corrupt(
                            format!("i-node {ino}"),
                            "no room for a link in its leaf",
                        ));
                    }
                }
            }
            Home::Block(id) => {
                let Some(slot) = self.leaf(id)?.find_key(ino) else {
                    return Err(corrupt(format!("i-node {ino}"), "not in its i-node block"));
                };
                if self.leaf_mut(id)?.replace(slot, EntryBody::Embedded(&bytes)).is_err() {
                    let other = self.inode_block(bytes.len())?;
                    self.remove_from_block(id, slot)?;
                    self.put_in_block(other, ino, kind, &bytes)?;
                }
            }
        }
        self.nodes.cleaned(ino);
        Ok(())
    }

    /// A record has outgrown its leaf: enters it anew under its old key, so that cookies hold.
    fn reenter(&mut self, dir: Ino, ino: Ino, key: u64, kind: FileKind, bytes: &[u8]) -> Res<()> {
        self.dir_grow_for(dir, key, bytes)?;
        let Some(found) = self.dir_find_key(dir, key)? else {
            return Err(corrupt(format!("i-node {ino}"), "lost while its leaf was split"));
        };
        if self.leaf_mut(found.leaf)?.replace(found.slot, EntryBody::Embedded(bytes)).is_err() {
            let id = self.inode_block(bytes.len())?;
            self.put_in_block(id, ino, kind, bytes)?;
            if self.leaf_mut(found.leaf)?.replace(found.slot, EntryBody::Link(ino)).is_err() {
                return Err(corrupt(format!("i-node {ino}"), "no room for a link in its leaf"));
            }
        }
        self.nodes.cleaned(ino);
        Ok(())
    }

    /// Removes a record from an i-node block, and the block when it was the last.
    pub(crate) fn remove_from_block(&mut self, id: u64, slot: usize) -> Res<()> {
        let leaf = self.leaf_mut(id)?;
        leaf.remove(slot);
        if leaf.count() == 0 {
            self.free_id(id);
        }
        Ok(())
    }

    /// Puts the unlinked i-nodes that are still in use into the hidden directory, so that a crash
    /// cannot lose them.
    pub fn shelter_orphans(&mut self) -> Res<()> {
        let orphans: Vec<Ino> = self.orphans.iter().copied().collect();
        for ino in orphans {
            let Some(node) = self.nodes.get(ino) else { continue };
            if node.in_limbo {
                continue;
            }
            self.node(LIMBO)?;
            let name = limbo_name(ino);
            self.dir_find(LIMBO, &name)?;
            match self.imap_get(ino)? {
                Some(Home::Block(_)) => {
                    let kind = self
                        .nodes
                        .get(ino)
                        .map_or(FileKind::Regular, |n| FileKind::of_mode(n.rec.mode));
                    self.dir_insert(LIMBO, &name, kind, EntryBody::Link(ino))?;
                }
                _ => {
                    let Some(node) = self.nodes.get(ino) else { continue };
                    let mut rec = node.rec.clone();
                    rec.size = node.disk_size;
                    self.enter(LIMBO, &name, &rec)?;
                }
            }
            self.change(ino)?.in_limbo = true;
            self.add_entries(LIMBO, 1)?;
        }
        Ok(())
    }

    /// Changes a directory's number of entries, and its group's; the node must be in memory.
    pub fn add_entries(&mut self, dir: Ino, n: i64) -> Res<()> {
        let group = match &mut self.change(dir)?.rec.content {
            Content::Dir(root) => {
                root.entries = root.entries.saturating_add_signed(n);
                root.group
            }
            _ => return fail(libc::ENOTDIR),
        };
        self.count_group(group, 0, n);
        Ok(())
    }
}
