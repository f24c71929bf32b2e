//! Reading a directory in the order of its keys.

use tandem_format::{Body as EntryBody, Content, Extent, Leaf, Record};

use super::{REV_BITS, found, rev_of};
use crate::dir::Found;
use crate::error::{Fault, Res, corrupt};
use crate::ifile::{Home, revs_of};
use crate::state::State;
use crate::types::{FileKind, Ino};

/// Where a directory's files lie.
#[derive(Debug, Default)]
pub(crate) struct DirectoryExtents {
    pub dir: Ino,
    pub large: bool,
    pub found: Vec<(u64, u64)>,
}

impl State {
    /// Gives the entries with keys of at least `from` to `f`, in order, until it returns false or
    /// there are no more (then true). A block that is missing ends the listing early when
    /// something has been given already.
    pub fn dir_list(
        &mut self,
        dir: Ino,
        from: u64,
        f: &mut dyn FnMut(&mut State, Found, &Leaf) -> Res<bool>,
    ) -> Res<bool> {
        let root = self.dir_root(dir)?.root;
        let mut given = false;
        let mut from = from;
        if root == 0 {
            return Ok(true);
        }
        loop {
            let end = match self.list_bucket(root, from, &mut given, f) {
                Ok(Some(end)) => end,
                Ok(None) => return Ok(false),
                Err(Fault::Miss(_)) if given => return Ok(false),
                Err(fault) => return Err(fault),
            };
            if end >= 1 << REV_BITS {
                return Ok(true);
            }
            from = end << 15;
        }
    }

    /// The directory that an i-node was found in; whether it has more than `most` entries; and first
    /// block and end on D of every extent of its files, from the i-node's own entry on when it has
    /// more. Only records that lie in their entries and are in memory count.
    pub fn directory_extents(&mut self, ino: Ino, most: usize) -> Res<DirectoryExtents> {
        let (dir, top) = match self.imap_get(ino)? {
            Some(Home::Entry { dir, top }) => (dir, top),
            Some(Home::Block(_)) => (self.nodes.get(ino).map_or(0, |node| node.parent), 0),
            None => (0, 0),
        };
        if dir == 0 {
            return Ok(DirectoryExtents::default());
        }
        let large = self.dir_root(dir)?.entries > most as u64;
        let from = if large { revs_of(top).0 << 15 } else { 0 };
        let (mut found, mut seen) = (Vec::new(), 0);
        self.dir_list(dir, from, &mut |_, entry, leaf| {
            if let EntryBody::Embedded(bytes) = leaf.entry(entry.slot).body
                && entry.kind == FileKind::Regular
                && let Ok(Record { content: Content::Extents(extents), .. }) = Record::decode(bytes)
            {
                let run = |e: &Extent| (e.start, e.start.saturating_add(e.len.into()));
                found.extend(extents.iter().map(run));
            }
            seen += 1;
            Ok(seen < most)
        })?;
        Ok(DirectoryExtents { dir, large, found })
    }

    /// Lists one bucket; returns the first reversed hash behind it, or None when `f` has had enough.
    fn list_bucket(
        &mut self,
        root: u64,
        from: u64,
        given: &mut bool,
        f: &mut dyn FnMut(&mut State, Found, &Leaf) -> Res<bool>,
    ) -> Res<Option<u64>> {
        let path = self.dir_path(root, rev_of(from))?;
        let head = self.shared_leaf(path.leaf)?;
        let leaf = leaf_of(&head)?;
        let end = path.bucket_end(leaf, rev_of(from))?;
        if leaf.next() == 0 {
            for slot in leaf.lower_bound(from)..leaf.count() as usize {
                let found = found(leaf, path.leaf, slot)?;
                in_order(found.key, from, end)?;
                if !f(self, found, leaf)? {
                    return Ok(None);
                }
                *given = true;
            }
            return Ok(Some(end));
        }
        let mut chain = vec![(path.leaf, head)];
        let mut order = Vec::new();
        let mut next = leaf_of(&chain[0].1)?.next();
        let mut steps = 0;
        while next != 0 {
            super::bounded(&mut steps, next)?;
            let block = self.shared_leaf(next)?;
            let after = leaf_of(&block)?.next();
            chain.push((next, block));
            next = after;
        }
        for (n, (_, block)) in chain.iter().enumerate() {
            let leaf = leaf_of(block)?;
            order.extend(
                (leaf.lower_bound(from)..leaf.count() as usize).map(|s| (leaf.entry(s).key, n, s)),
            );
        }
        order.sort_unstable();
        let mut least = from;
        for (key, n, slot) in order {
            let leaf = leaf_of(&chain[n].1)?;
            in_order(key, least, end)?;
            least = key + 1;
            if !f(self, found(leaf, chain[n].0, slot)?, leaf)? {
                return Ok(None);
            }
            *given = true;
        }
        Ok(Some(end))
    }

    fn shared_leaf(&mut self, id: u64) -> Res<std::sync::Arc<crate::cache::Block>> {
        self.cache.get(crate::cache::Key::block(id)).cloned()
    }
}

/// An entry's key must not be below `least`, nor belong behind the leaf's range: a listing would go
/// backwards.
fn in_order(key: u64, least: u64, end: u64) -> Res<()> {
    if key < least || rev_of(key) >= end {
        return Err(corrupt("directory leaf", format!("key {key:x} out of order")));
    }
    Ok(())
}

fn leaf_of(block: &crate::cache::Block) -> Res<&Leaf> {
    match &block.body {
        crate::cache::Body::Leaf(leaf) => Ok(leaf),
        _ => Err(corrupt("directory block", "not a leaf")),
    }
}
