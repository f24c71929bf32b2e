//! Entering and removing entries: splits, doublings, chains, and their undoing.

use tandem_format::{Body as EntryBody, Content, Kind, Leaf, Table};

use super::{
    Found, Path, REV_BITS, TABLE_BITS, TABLE_FLAG, bounded, leaf_block, rev_of, table_slot,
};
use crate::cache::{Block, Body, Key};
use crate::error::{Res, corrupt, fail};
use crate::state::State;
use crate::types::{FileKind, Ino};

/// Keys keep three cookies free above the last one, for `.`, `..` and the end.
const SEQ_MAX: u64 = (1 << 15) - 4;

impl State {
    /// Enters a name that is not there; returns its key. Everything that [`State::dir_find`] for
    /// the name has looked at must still be in memory: then this cannot miss.
    pub fn dir_insert(
        &mut self,
        dir: Ino,
        name: &[u8],
        kind: FileKind,
        body: EntryBody<'_>,
    ) -> Res<u64> {
        let rev = self.hash(name);
        let body_len = match body {
            EntryBody::Embedded(bytes) => bytes.len(),
            EntryBody::Link(_) => 6,
        };
        loop {
            let root = self.dir_root(dir)?.root;
            if root == 0 {
                let id = self.new_id();
                self.cache.insert_new(Key::block(id), leaf_block(dir, Leaf::new(0, 0)));
                self.set_dir_root(dir, id)?;
                continue;
            }
            let path = self.dir_path(root, rev)?;
            let (mut seq, mut room, mut id) = (0, None, path.leaf);
            if self.is_foreign_chain(path.leaf, rev)? {
                self.dir_split(dir, path)?;
                continue;
            }
            let mut steps = 0;
            while id != 0 {
                bounded(&mut steps, id)?;
                let leaf = self.leaf(id)?;
                seq = seq.max(u64::from(leaf.free_seq(rev)));
                if room.is_none() && leaf.fits(name.len(), body_len) {
                    room = Some(id);
                }
                id = leaf.next();
            }
            if seq > SEQ_MAX {
                return fail(libc::ENOSPC);
            }
            let key = rev << 15 | seq;
            let id = match room {
                Some(id) => id,
                None if self.splits(path.leaf, rev)? => {
                    self.dir_split(dir, path)?;
                    continue;
                }
                None => self.dir_chain(dir, path.leaf)?,
            };
            return match self.leaf_mut(id)?.insert(key, kind as u8, name, body) {
                Ok(_) => Ok(key),
                Err(_) => Err(corrupt(format!("directory {dir}"), "an entry larger than a leaf")),
            };
        }
    }

    /// All entries of a chained bucket have one hash; whether it is another one than `rev`.
    fn is_foreign_chain(&mut self, head: u64, rev: u64) -> Res<bool> {
        let leaf = self.leaf(head)?;
        Ok(leaf.next() != 0 && leaf.count() > 0 && rev_of(leaf.entry(0).key) != rev)
    }

    /// Whether splitting a full bucket separates anything: not when all its hashes and the new
    /// one are equal.
    fn splits(&mut self, head: u64, rev: u64) -> Res<bool> {
        let bits = self.sb.hash_bits;
        let leaf = self.leaf(head)?;
        let count = leaf.count() as usize;
        let equal = count > 0
            && rev_of(leaf.entry(0).key) == rev
            && rev_of(leaf.entry(count - 1).key) == rev;
        Ok(leaf.depth() < bits && !equal)
    }

    /// Makes room in the bucket of an existing key for a longer record, by splitting while that
    /// can help. The path must be in memory.
    pub fn dir_grow_for(&mut self, dir: Ino, key: u64, bytes: &[u8]) -> Res<()> {
        let rev = rev_of(key);
        loop {
            let root = self.dir_root(dir)?.root;
            let path = self.dir_path(root, rev)?;
            let leaf = self.leaf(path.leaf)?;
            let bits = leaf.depth();
            let one = leaf.count() <= 1;
            if one
                || leaf.fits(0, bytes.len())
                || bits >= self.sb.hash_bits
                || !self.splits_apart(path.leaf)?
            {
                return Ok(());
            }
            self.dir_split(dir, path)?;
        }
    }

    /// Whether a bucket holds different hashes.
    fn splits_apart(&mut self, head: u64) -> Res<bool> {
        let leaf = self.leaf(head)?;
        let count = leaf.count() as usize;
        Ok(count > 1 && rev_of(leaf.entry(0).key) != rev_of(leaf.entry(count - 1).key))
    }

    /// Adds an empty leaf behind the head of a bucket.
    fn dir_chain(&mut self, dir: Ino, head: u64) -> Res<u64> {
        let id = self.new_id();
        let leaf = self.leaf_mut(head)?;
        let mut chained = Leaf::new(leaf.prefix(), leaf.depth());
        chained.set_next(leaf.next());
        leaf.set_next(id);
        self.cache.insert_new(Key::block(id), leaf_block(dir, chained));
        Ok(id)
    }

    pub(crate) fn set_dir_root(&mut self, dir: Ino, root: u64) -> Res<()> {
        match self.nodes.change(dir).map(|n| &mut n.rec.content) {
            Some(Content::Dir(d)) => {
                d.root = root;
                Ok(())
            }
            _ => Err(corrupt(format!("directory {dir}"), "its i-node is not in memory")),
        }
    }

    fn new_table(&mut self, dir: Ino, prefix: u64, consumed: u8, entry: u64) -> u64 {
        let id = self.new_id();
        let body = Body::Table(Table { depth: 1, entries: vec![entry, entry] });
        let block = Block { kind: Kind::Table, owner: dir, index: prefix, level: consumed, body };
        self.cache.insert_new(Key::block(id), block);
        id
    }

    /// Splits the bucket at the end of a path, by one bit.
    fn dir_split(&mut self, dir: Ino, path: Path) -> Res<()> {
        let head = path.leaf;
        let (depth, prefix) = {
            let leaf = self.leaf(head)?;
            (leaf.depth(), leaf.prefix())
        };
        let (table, consumed) = match path.tables.last() {
            None => {
                let id = self.new_table(dir, 0, 0, head);
                self.set_dir_root(dir, id | TABLE_FLAG)?;
                (id, 0)
            }
            Some(&(id, slot)) => {
                let bits = self.table(id)?.depth;
                if depth < path.consumed + bits {
                    (id, path.consumed)
                } else if bits < TABLE_BITS {
                    let table = self.table_mut(id)?;
                    table.entries = table.entries.iter().flat_map(|&e| [e, e]).collect();
                    table.depth += 1;
                    (id, path.consumed)
                } else {
                    let consumed = path.consumed + bits;
                    let sub = self.new_table(dir, prefix, consumed, head);
                    self.table_mut(id)?.entries[slot] = sub | TABLE_FLAG;
                    (sub, consumed)
                }
            }
        };
        let upper_id = self.new_id();
        let leaf = self.leaf_mut(head)?;
        let next = leaf.next();
        let mut upper = leaf.split();
        if next != 0 && leaf.count() == 0 {
            leaf.set_next(0);
            upper.set_next(next);
        }
        let from = upper.prefix();
        self.cache.insert_new(Key::block(upper_id), leaf_block(dir, upper));
        let table = self.table_mut(table)?;
        let first = table_slot(from, consumed, table.depth);
        let span = 1usize << (consumed + table.depth - depth - 1);
        match table.entries.get_mut(first..first + span) {
            Some(slots) => slots.fill(upper_id),
            None => {
                return Err(corrupt(format!("directory {dir}"), "a leaf deeper than its table"));
            }
        }
        Ok(())
    }

    /// Brings in the whole bucket of a name, so that removing and entering it cannot miss.
    pub fn dir_bucket_touch(&mut self, dir: Ino, name: &[u8]) -> Res<()> {
        let root = self.dir_root(dir)?.root;
        let rev = self.hash(name);
        let mut id = if root == 0 { 0 } else { self.dir_path(root, rev)?.leaf };
        let mut steps = 0;
        while id != 0 {
            bounded(&mut steps, id)?;
            id = self.leaf(id)?.next();
        }
        Ok(())
    }

    /// Brings in what removing this entry may need beyond what finding it did.
    pub fn dir_remove_touch(&mut self, found: &Found) -> Res<()> {
        let leaf = self.leaf(found.leaf)?;
        let (last, next) = (leaf.count() == 1, leaf.next());
        if last && next != 0 {
            self.leaf(next)?;
        }
        Ok(())
    }

    /// Removes an entry that [`State::dir_find`] has found, after [`State::dir_remove_touch`].
    pub fn dir_remove(&mut self, dir: Ino, found: &Found) -> Res<()> {
        let leaf = self.leaf_mut(found.leaf)?;
        leaf.remove(found.slot);
        if leaf.count() > 0 {
            return Ok(());
        }
        let (next, depth, prefix) = (leaf.next(), leaf.depth(), leaf.prefix());
        let root = self.dir_root(dir)?.root;
        let path = self.dir_path(root, rev_of(found.key))?;
        if found.leaf != path.leaf {
            return self.unchain(path.leaf, found.leaf, next);
        }
        if next != 0 {
            let follower = self.leaf(next)?.clone();
            *self.leaf_mut(found.leaf)? = rebuilt(&follower, prefix, depth, follower.next())?;
            self.free_id(next);
            return Ok(());
        }
        if path.tables.is_empty() {
            self.free_id(found.leaf);
            return self.set_dir_root(dir, 0);
        }
        self.merge_empty(dir, path, depth)
    }

    fn unchain(&mut self, head: u64, gone: u64, next: u64) -> Res<()> {
        let mut at = head;
        let mut steps = 0;
        while at != 0 {
            bounded(&mut steps, at)?;
            let follower = self.leaf(at)?.next();
            if follower == gone {
                self.leaf_mut(at)?.set_next(next);
                self.free_id(gone);
                return Ok(());
            }
            at = follower;
        }
        Err(corrupt(format!("directory leaf {gone}"), "not in its chain"))
    }

    /// Gives an empty leaf's range to its buddy, when that is in memory and as deep; collapses
    /// tables that resolve nothing any more.
    fn merge_empty(&mut self, dir: Ino, mut path: Path, depth: u8) -> Res<()> {
        let empty = path.leaf;
        let Some((table_id, slot)) = path.tables.pop() else { return Ok(()) };
        let table = self.table(table_id)?;
        let bits = table.depth;
        if depth <= path.consumed || depth > path.consumed + bits {
            return Ok(());
        }
        let span = 1usize << (path.consumed + bits - depth);
        let first = slot & !(span - 1);
        let Some(&buddy) = table.entries.get(first ^ span) else { return Ok(()) };
        if buddy & TABLE_FLAG != 0 || buddy == empty || !self.cache.contains(Key::block(buddy)) {
            return Ok(());
        }
        let leaf = self.leaf(buddy)?;
        if leaf.depth() != depth || leaf.next() != 0 {
            return Ok(());
        }
        let prefix = leaf.prefix() & !(1 << (REV_BITS - depth));
        let wider = rebuilt(leaf, prefix, depth - 1, 0)?;
        self.cache.get_mut(Key::block(buddy))?.index = prefix;
        *self.leaf_mut(buddy)? = wider;
        let table = self.table_mut(table_id)?;
        table.entries[first..first + span].fill(buddy);
        let resolved = table.entries.iter().any(|&e| e != buddy);
        self.free_id(empty);
        if resolved {
            return Ok(());
        }
        self.free_id(table_id);
        match path.tables.last() {
            Some(&(parent, slot)) => self.table_mut(parent)?.entries[slot] = buddy,
            None if self.leaf(buddy)?.count() == 0 => {
                self.free_id(buddy);
                self.set_dir_root(dir, 0)?;
            }
            None => self.set_dir_root(dir, buddy)?,
        }
        Ok(())
    }

    /// Frees every block of a directory without entries. Touches all tables first.
    pub fn dir_clear(&mut self, root: u64) -> Res<()> {
        let mut tables = Vec::new();
        let mut leaves = Vec::new();
        self.dir_blocks(root, 0, &mut tables, &mut leaves)?;
        for id in tables.into_iter().chain(leaves) {
            self.free_id(id);
        }
        Ok(())
    }

    fn dir_blocks(
        &mut self,
        at: u64,
        depth: u8,
        tables: &mut Vec<u64>,
        leaves: &mut Vec<u64>,
    ) -> Res<()> {
        if at == 0 {
            return Ok(());
        }
        if at & TABLE_FLAG == 0 {
            if leaves.last() != Some(&at) {
                leaves.push(at);
            }
            return Ok(());
        }
        let id = at & !TABLE_FLAG;
        if depth >= REV_BITS {
            return Err(corrupt(format!("directory table {id}"), "tables nest without end"));
        }
        let table = self.table(id)?;
        let (bits, entries) = (table.depth, table.entries.clone());
        tables.push(id);
        for entry in entries {
            self.dir_blocks(entry, depth + bits.max(1), tables, leaves)?;
        }
        Ok(())
    }
}

/// The entries of a leaf under another prefix and depth.
fn rebuilt(leaf: &Leaf, prefix: u64, depth: u8, next: u64) -> Res<Leaf> {
    let mut copy = Leaf::new(prefix, depth);
    copy.set_next(next);
    for slot in 0..leaf.count() as usize {
        let entry = leaf.entry(slot);
        if copy.insert(entry.key, entry.kind, entry.name, entry.body).is_err() {
            return Err(corrupt("directory leaf", "its entries do not fit a leaf"));
        }
    }
    Ok(copy)
}
