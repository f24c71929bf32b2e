//! The IFile (DualFS §2.1, after BSD-LFS): block map, i-node map, segment usage, group
//! descriptors and free space. Its table blocks hang off radix trees whose roots the checkpoint
//! holds; they are written at checkpoints only.

use tandem_format::{FANOUT, IMAP_PER_BLOCK, ImapBlock, Kind, Loc, Words};

use crate::cache::{Block, Body, Key};
use crate::dir::{REV_BITS, rev_of};
use crate::error::{Res, corrupt};
use crate::state::State;
use crate::types::Ino;

/// In an entry's second word: the record lies in a block.
const IN_BLOCK: u64 = 1 << 63;

/// Bits of the reversed hash that the i-node map has: enough that in a directory of millions few
/// entries share them.
const TOP_BITS: u8 = 24;

/// What a home has of a key: the top of its reversed hash.
pub(crate) fn top_of(key: u64) -> u32 {
    (rev_of(key) >> (REV_BITS - TOP_BITS)) as u32
}

/// The reversed hashes with this top: the first one, and the first one behind them.
pub(crate) fn revs_of(top: u32) -> (u64, u64) {
    let from = u64::from(top) << (REV_BITS - TOP_BITS);
    (from, from + (1 << (REV_BITS - TOP_BITS)))
}

/// Where a radix tree starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Root {
    pub loc: Loc,
    pub height: u8,
}

/// Where an i-node's record lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// In directory `dir`, in an entry whose reversed hash has this top.
    Entry { dir: Ino, top: u32 },
    /// In an i-node block.
    Block(u64),
}

impl Home {
    /// As the i-node map has it.
    pub fn words(self) -> [u64; 2] {
        match self {
            Home::Entry { dir, top } => [dir, top.into()],
            Home::Block(id) => [id, IN_BLOCK],
        }
    }

    /// From both words; a top of too many bits is none that an entry has.
    pub fn of(words: [u64; 2]) -> Option<Home> {
        match words {
            [0, _] => None,
            [id, form] if form & IN_BLOCK != 0 => Some(Home::Block(id)),
            [dir, top] => Some(Home::Entry { dir, top: u32::try_from(top).unwrap_or(u32::MAX) }),
        }
    }
}

/// One change of the i-node map since the last commit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ImapChange {
    pub ino: Ino,
    pub was: [u64; 2],
    pub is: [u64; 2],
}

/// Which radix root belongs to a table.
pub(crate) fn root_of(kind: Kind) -> usize {
    (kind as u8 & 7) as usize
}

impl State {
    /// Where an IFile block lies on M as of the last checkpoint; `NONE` when it never was written.
    pub fn locate_table(&mut self, kind: Kind, level: u8, index: u64) -> Res<Loc> {
        let root = self.roots[root_of(kind)];
        if level > root.height || (level == root.height && index != 0) {
            return Ok(Loc::NONE);
        }
        if level == root.height {
            return Ok(root.loc);
        }
        let parent = Key::table(kind, level + 1, index / FANOUT as u64);
        if !self.cache.contains(parent)
            && self.locate_table(kind, level + 1, index / FANOUT as u64)?.is_none()
        {
            return Ok(Loc::NONE);
        }
        Ok(Loc::from_raw(words(&self.cache.get(parent)?.body)?.0[(index % FANOUT as u64) as usize]))
    }

    /// Where a block lies on M; `NONE` when it never was written.
    pub fn locate(&mut self, key: Key) -> Res<Loc> {
        match key.ifile() {
            Some((kind, level, index)) => self.locate_table(kind, level, index),
            None => self.map_get(key.id().unwrap_or(0)),
        }
    }

    /// Makes an IFile table block present; one that does not exist yet is empty.
    fn table_present(&mut self, kind: Kind, index: u64, empty: fn() -> Body) -> Res<Key> {
        let key = Key::table(kind, 0, index);
        if !self.cache.contains(key) {
            if !self.locate_table(kind, 0, index)?.is_none() {
                self.cache.get(key)?;
            }
            self.cache.insert_clean(key, Block { kind, owner: 0, index, level: 0, body: empty() });
        }
        Ok(key)
    }

    /// The block map's entry for a block id.
    pub fn map_get(&mut self, id: u64) -> Res<Loc> {
        let key = self.map_present(id)?;
        let block = self.cache.get(key)?;
        Ok(Loc::from_raw(words(&block.body)?.0[(id % FANOUT as u64) as usize]))
    }

    /// Brings the block map's block for an id into memory.
    pub fn map_present(&mut self, id: u64) -> Res<Key> {
        self.table_present(Kind::Map, id / FANOUT as u64, || Body::Words(Words::new()))
    }

    /// Sets the block map's entry and keeps the segments' live bytes; returns the old address.
    pub fn map_set(&mut self, id: u64, loc: Loc) -> Res<Loc> {
        let key = self.map_present(id)?;
        let slot = (id % FANOUT as u64) as usize;
        let Body::Words(words) = &mut self.cache.get_mut(key)?.body else {
            return Err(corrupt(format!("{key:?}"), "not a table of addresses"));
        };
        let old = Loc::from_raw(std::mem::replace(&mut words.0[slot], loc.raw()));
        self.segs.moved(old, loc);
        if old.is_none() != loc.is_none() {
            self.ids.mapped =
                if old.is_none() { self.ids.mapped + 1 } else { self.ids.mapped.saturating_sub(1) };
        }
        Ok(old)
    }

    /// Brings the i-node map's block for an i-node into memory, so that [`State::imap_set`] cannot
    /// miss.
    pub fn imap_present(&mut self, ino: Ino) -> Res<Key> {
        let n = IMAP_PER_BLOCK as u64;
        self.table_present(Kind::Imap, ino / n, || Body::Imap(ImapBlock::new()))
    }

    /// Where an i-node's record lies.
    pub fn imap_get(&mut self, ino: Ino) -> Res<Option<Home>> {
        let key = self.imap_present(ino)?;
        match &self.cache.get(key)?.body {
            Body::Imap(block) => {
                Ok(Home::of(block.entries[(ino % IMAP_PER_BLOCK as u64) as usize]))
            }
            _ => Err(corrupt(format!("{key:?}"), "not an i-node map")),
        }
    }

    /// Sets or clears where an i-node's record lies, for this commit's delta.
    pub fn imap_set(&mut self, ino: Ino, home: Option<Home>) -> Res<()> {
        let is = home.map_or([0, 0], Home::words);
        let was = self.imap_put(ino, is)?;
        if was != is {
            self.running.imap.push(ImapChange { ino, was, is });
        }
        Ok(())
    }

    /// Changes the i-node map itself; returns what was there.
    pub fn imap_put(&mut self, ino: Ino, is: [u64; 2]) -> Res<[u64; 2]> {
        let key = self.imap_present(ino)?;
        match &mut self.cache.get_mut(key)?.body {
            Body::Imap(block) => {
                let slot = &mut block.entries[(ino % IMAP_PER_BLOCK as u64) as usize];
                Ok(std::mem::replace(slot, is))
            }
            _ => Err(corrupt(format!("{key:?}"), "not an i-node map")),
        }
    }

    /// A table block has been written at `loc`: tells its parent, growing the tree when it has
    /// outgrown its root. Looks before it changes: a miss leaves everything as it was.
    pub fn table_written(&mut self, kind: Kind, level: u8, index: u64, loc: Loc) -> Res<()> {
        let root = root_of(kind);
        while level > self.roots[root].height || (level == self.roots[root].height && index > 0) {
            let old = self.roots[root];
            let mut top = Words::new();
            top.0[0] = old.loc.raw();
            let height = old.height + 1;
            let block = Block { kind, owner: 0, index: 0, level: height, body: Body::Words(top) };
            self.cache.insert_new(Key::table(kind, height, 0), block);
            self.roots[root] = Root { loc: Loc::NONE, height };
        }
        if level == self.roots[root].height {
            let old = std::mem::replace(&mut self.roots[root].loc, loc);
            self.table_moved(kind, old, loc);
            return Ok(());
        }
        let up = index / FANOUT as u64;
        let parent = Key::table(kind, level + 1, up);
        if !self.cache.contains(parent) {
            if !self.locate_table(kind, level + 1, up)?.is_none() {
                self.cache.get(parent)?;
            }
            let body = Body::Words(Words::new());
            self.cache
                .insert_new(parent, Block { kind, owner: 0, index: up, level: level + 1, body });
        }
        let Body::Words(words) = &mut self.cache.get_mut(parent)?.body else {
            return Err(corrupt(format!("{parent:?}"), "not a radix node"));
        };
        let slot = (index % FANOUT as u64) as usize;
        let old = Loc::from_raw(std::mem::replace(&mut words.0[slot], loc.raw()));
        self.table_moved(kind, old, loc);
        Ok(())
    }

    fn table_moved(&mut self, kind: Kind, old: Loc, new: Loc) {
        match kind {
            Kind::Seg => self.segs.moved_own(old, new),
            _ => self.segs.moved(old, new),
        }
    }
}

fn words(body: &Body) -> Res<&Words> {
    match body {
        Body::Words(words) => Ok(words),
        _ => Err(corrupt("IFile block", "not a table of addresses")),
    }
}
