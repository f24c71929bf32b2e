//! Everything that operations look at and change, behind one lock that is held for microseconds
//! and never while a device works.

mod holds;
mod nodes;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;
use tandem_format::{Geometry, GroupEntry, Superblock, Time, Words};

pub(crate) use holds::Holds;
pub(crate) use nodes::{Node, Nodes};

use crate::cache::BlockCache;
use crate::error::{Fault, Res};
use crate::ifile::{ImapChange, Root};
use crate::log::{Item, Prefetch, Relocate, Segments};
use crate::planted::{Planted, planted};
use crate::space::{Run, Space};
use crate::types::Ino;

/// Numbers of blocks: given out, and to be given out again.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    pub next: u64,
    pub free: Vec<u64>,
    /// Blocks with an address.
    pub mapped: u64,
}

/// Numbers of i-nodes.
#[derive(Debug, Default)]
pub(crate) struct Inos {
    pub next: Ino,
    pub free: Vec<Ino>,
    /// I-nodes in use.
    pub used: u64,
}

/// One change of the free space of D since the last commit.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SpaceChange {
    Alloc(Run),
    Free(Run),
}

/// What the next commit logs besides blocks: the IFile's changes, as a delta.
#[derive(Debug, Default)]
pub(crate) struct Running {
    pub imap: Vec<ImapChange>,
    pub space: Vec<SpaceChange>,
    pub freed_ids: Vec<u64>,
    pub freed_inos: Vec<Ino>,
    /// Directories and i-nodes by group: changes of the descriptors' counts.
    pub groups: FxHashMap<u32, (i64, i64)>,
    /// Upper bound of the metadata that operations have added, in bytes.
    pub growth: u64,
    /// Writes into files with a tree of extents: each may change a block of it.
    pub extents: u64,
}

impl Running {
    /// Data blocks freed since the last commit.
    pub fn freed(&self) -> u64 {
        self.frees().map(|run| run.len).sum()
    }

    /// The runs of blocks freed since the last commit, in order.
    pub fn frees(&self) -> impl Iterator<Item = Run> + '_ {
        self.space.iter().filter_map(|change| match change {
            SpaceChange::Free(run) => Some(*run),
            SpaceChange::Alloc(_) => None,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.imap.is_empty()
            && self.space.is_empty()
            && self.freed_ids.is_empty()
            && self.groups.is_empty()
    }
}

/// The volume in memory.
pub(crate) struct State {
    pub sb: Superblock,
    pub geo: Geometry,
    pub cache: BlockCache,
    pub roots: [Root; 5],
    pub nodes: Nodes,
    pub holds: Holds,
    pub space: Space,
    pub segs: Segments,
    /// What is read around a block that must be.
    pub prefetch: Prefetch,
    /// What was read in a poor order.
    pub relocate: Relocate,
    /// Group descriptors as they are on M.
    pub group_entries: Vec<GroupEntry>,
    pub ids: Ids,
    /// Given up, but in the block map until the commit is durable: nobody may log them again.
    pub going: rustc_hash::FxHashSet<u64>,
    pub inos: Inos,
    pub running: Running,
    /// What the commit under way has added to M at most, in bytes.
    pub committing_growth: u64,
    /// Dirty bytes the commit under way is writing.
    pub committing_bytes: u64,
    /// Data blocks that are free once the commit under way is durable.
    pub committing_freed: u64,
    /// Bytes that the cleaner is about to move; promised to it until the commit that writes them.
    pub moving: u64,
    /// Blocks that it moves as they are on M; one that is changed before that commit goes as it is
    /// then.
    pub rescued: Vec<Item>,
    /// Number of the last commit begun.
    pub commit: u64,
    /// Files with dirty contents, in the order in which they became so.
    pub dirty_files: Vec<Ino>,
    /// Files with extents that the metadata does not know yet.
    pub staged_files: Vec<Ino>,
    /// Bytes of dirty file contents in memory.
    pub dirty_bytes: u64,
    /// Data blocks promised to dirty contents.
    pub reserved: u64,
    /// Allocated on D, but in no metadata yet: start and length.
    pub unapplied: std::collections::BTreeMap<u64, u64>,
    /// More dirty contents or metadata than this, in bytes, makes their writers wait.
    pub dirty_limit: u64,
    /// Allocated, then dropped before any metadata knew: free after the flush under way.
    pub dropped: Vec<Run>,
    /// Unlinked i-nodes in memory.
    pub orphans: rustc_hash::FxHashSet<Ino>,
    /// Unlinked, free of holds, too large to free at once.
    pub reclaim: Vec<Ino>,
    /// Files renamed over others since the last commit: their contents go with it.
    pub must_flush: Vec<Ino>,
    /// Where new i-node records that do not fit their entries go.
    pub open_inode_block: u64,
    /// Set once the volume cannot write any more.
    pub failed: Option<String>,
    pub read_only: bool,
    pub affinity: u32,
    pub atime: crate::options::Atime,
    /// The clock as of the running operation.
    pub now: Time,
}

/// Bytes that one more entry with its record can add to M, beside its name: record, header and
/// slot, its share of the i-node map and of a new leaf.
pub(crate) const ENTRY_COST: u64 = 320;

/// What one takes up on the mean, as far as nothing is known of a volume: packed, with names of about
/// twenty characters.
pub(crate) const ENTRY_MEAN: u64 = 96;

/// I-nodes from which on a volume's own mean counts.
const MANY: u64 = 4096;

/// The part of the free blocks that may wait for a commit while contents are placed, as a divisor.
const WAITING: u64 = 8;

/// Bytes that a changed record can add: it and what is stored relative to it are spelled out in
/// columns that were empty.
pub(crate) const RECORD_COST: u64 = 256;

impl State {
    /// Reserves room on M for an operation that adds at most `bytes` of metadata
    /// (invariant 4). Operations that free space are essential: they may use the last reserve.
    pub fn claim(&mut self, bytes: u64, essential: bool) -> Res<()> {
        self.claim_rewrite(bytes, 0, essential)
    }

    /// The same for an operation that also writes `again` bytes anew which are on M already.
    pub fn claim_rewrite(&mut self, bytes: u64, again: u64, essential: bool) -> Res<()> {
        self.writable()?;
        if self.is_pressed() {
            return Err(Fault::Pressure);
        }
        self.segs.map_bytes = self.map_bytes();
        let pending = self.running.growth + self.committing_growth + bytes;
        if !essential && self.segs.live_bytes() + pending > self.segs.room_for_live() {
            return Err(Fault::LogFull);
        }
        let dirty = self.cache.dirty_bytes() as u64 + self.committing_bytes;
        let to_write = dirty + pending + again + self.moving + self.commit_adds();
        if to_write > self.segs.room_for_writes(essential) {
            return Err(Fault::LogFull);
        }
        self.running.growth += bytes;
        Ok(())
    }

    /// What a commit with a checkpoint would write to M besides what is dirty now, at most: a block
    /// for every changed i-node and extent, and blocks of the IFile.
    pub fn commit_adds(&self) -> u64 {
        const BLOCK: u64 = 4096;
        let changed = self.nodes.dirty_len() as u64 + self.running.extents;
        let homes = (changed * BLOCK).min(self.segs.live_bytes());
        let blocks = self.cache.dirty_len() as u64 + changed;
        let map = blocks.min(self.map_blocks()) * self.map_block();
        let tables = self.space.dirty_len() * 2
            + (self.segs.count() / tandem_format::SEG_PER_BLOCK as u64 + 1).min(blocks);
        // Radix nodes, and what does not fill its last page.
        homes + map + (tables + 12) * BLOCK
    }

    /// Too much metadata is dirty.
    pub fn is_pressed(&self) -> bool {
        self.cache.dirty_bytes() as u64 + self.committing_bytes > self.dirty_limit
    }

    /// The same when any block may be moved: then each block of the map changes.
    pub fn commit_needs(&self) -> u64 {
        let dirty = self.cache.dirty_bytes() as u64 + self.committing_bytes;
        let counted = (self.cache.dirty_len() as u64).min(self.map_blocks()) * self.map_block();
        let map = self.map_bytes() - counted;
        dirty + self.moving + self.commit_adds() + map
    }

    /// Bytes of the block map, at most.
    pub fn map_bytes(&self) -> u64 {
        self.map_blocks() * self.map_block()
    }

    /// Bytes that a block of it takes up at most.
    fn map_block(&self) -> u64 {
        Words::most_bytes(self.geo.segment_offset(self.geo.segments))
    }

    fn map_blocks(&self) -> u64 {
        self.ids.next / tandem_format::FANOUT as u64 + 1
    }

    /// Whether what waits to be logged takes up much of the room that is left.
    pub fn log_presses(&self) -> bool {
        const LITTLE: u64 = 256 << 10;
        let waiting = self.cache.dirty_bytes() as u64 + self.nodes.dirty_len() as u64 * 4096;
        waiting > LITTLE && waiting > self.segs.room_for_writes(false) / 2
    }

    /// Bytes of M that one more file takes up, about: as much as those that there are.
    pub fn entry_mean(&self) -> u64 {
        match self.inos.used {
            ..MANY => ENTRY_MEAN,
            used => (self.segs.live_bytes() / used).clamp(16, ENTRY_COST),
        }
    }

    /// Fails when nothing may be changed.
    pub fn writable(&self) -> Res<()> {
        if let Some(cause) = &self.failed {
            return Err(Fault::Fail(crate::Error::Failed(cause.clone())));
        }
        if self.read_only {
            return crate::error::fail(libc::EROFS);
        }
        Ok(())
    }

    /// Promises `blocks` data blocks to dirty contents.
    pub fn reserve(&mut self, blocks: u64) -> Res<()> {
        if planted(Planted::NoReservation) {
            return Ok(());
        }
        if self.reserved + blocks > self.space.free_blocks() {
            return Err(Fault::DataFull);
        }
        self.reserved += blocks;
        Ok(())
    }

    /// Gives a promise back.
    pub fn unreserve(&mut self, blocks: u64) {
        self.reserved = self.reserved.saturating_sub(blocks);
    }

    /// A new block id.
    pub fn new_id(&mut self) -> u64 {
        self.ids.free.pop().unwrap_or_else(|| {
            self.ids.next += 1;
            self.ids.next - 1
        })
    }

    /// Gives a block id up; it is used again only after the commit that no longer refers to it.
    pub fn free_id(&mut self, id: u64) {
        self.cache.remove(crate::cache::Key::block(id));
        self.running.freed_ids.push(id);
        self.going.insert(id);
        if self.open_inode_block == id {
            self.open_inode_block = 0;
        }
    }

    /// Frees data blocks that the metadata referred to; used again only after the commit.
    pub fn free_run(&mut self, run: Run) {
        if run.len > 0 {
            self.running.space.push(SpaceChange::Free(run));
        }
    }

    /// Extents enter the metadata: they are allocated by this commit's delta.
    pub fn apply_run(&mut self, run: Run) {
        self.forget_unapplied(run);
        self.running.space.push(SpaceChange::Alloc(run));
    }

    /// Data blocks freed by operations that are free once a commit is durable.
    pub fn soon_free(&self) -> u64 {
        self.running.freed() + self.committing_freed
    }

    /// Whether what waits for a commit would add much to the blocks that are free.
    pub fn frees_press(&self) -> bool {
        self.soon_free() > self.space.free_blocks() / WAITING
    }

    /// Drops allocated blocks that no metadata refers to.
    pub fn drop_run(&mut self, run: Run) {
        if run.len > 0 {
            self.dropped.push(run);
        }
    }

    /// Takes blocks out of the list of those allocated but in no metadata.
    pub fn forget_unapplied(&mut self, run: Run) {
        let end = run.start + run.len;
        while let Some((&start, &len)) = self.unapplied.range(..end).next_back() {
            let stop = start + len;
            if stop <= run.start {
                break;
            }
            self.unapplied.remove(&start);
            if start < run.start {
                self.unapplied.insert(start, run.start - start);
            }
            if stop > end {
                self.unapplied.insert(end, stop - end);
            }
        }
    }

    /// Counts a directory or i-node in or out of a group's descriptor.
    pub fn count_group(&mut self, group: u32, dirs: i64, inodes: i64) {
        self.space.count(group, dirs, inodes);
        let entry = self.running.groups.entry(group).or_default();
        entry.0 += dirs;
        entry.1 += inodes;
    }
}
