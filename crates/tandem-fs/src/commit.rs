//! What a flush does, in order: contents to D (`data`), a barrier there, the extents into the
//! metadata, a freeze of everything dirty under the lock, the log (`write`), a barrier on M, and
//! then what was freed is free. Operations go on all the while: what they change after the freeze
//! belongs to the next commit.

mod continuity;
mod data;
mod order;
mod room;
mod write;

pub(crate) use continuity::Continuity;
pub use continuity::ContinuityStats;

pub(crate) use room::Full;
#[cfg(test)]
pub(crate) use room::Quiet;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tandem_format::Checkpoint;

use crate::cache::{Block, FileData, Key};
use crate::error::{Error, Fault, Res, Result};
use crate::log::{Item, LogWriter, Ranks};
use crate::planted::{Planted, planted};
use crate::space::Run;
use crate::state::{Running, State};
use crate::types::Ino;
use crate::volume::{Core, Why};

/// Bytes of contents that go to D between two chances for an fsync to be served.
const BATCH: u64 = 16 << 20;

/// Bytes of log after which a checkpoint does not wait for its time: what a mount after a crash has
/// to read and apply must take well under a second.
const ROLL_FORWARD: u64 = 128 << 20;

/// Who commits; behind a lock that operations never take.
pub(crate) struct Committer {
    pub log: LogWriter,
    /// Requests up to this number have been served.
    pub served: u64,
    /// The newest checkpoint on M.
    pub checkpoint: Checkpoint,
    /// Which of the two areas it is in.
    pub area: usize,
    /// When it was written, on the monotonic clock.
    pub checkpoint_at: u64,
    /// Bytes that this mount had logged by then.
    pub checkpoint_bytes: u64,
    /// Metadata was logged since.
    pub logged: bool,
    /// The next checkpoint is the last one: the volume is clean after it.
    pub closing: bool,
    /// A repair: nothing that is logged counts before its one checkpoint, whatever checkpoints
    /// there are.
    pub repairing: bool,
}

/// What a commit brings to D first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    /// What fsync has asked for.
    Wanted,
    /// Everything.
    All,
}

/// A consistent picture of everything dirty.
pub(crate) struct Frozen {
    pub commit: u64,
    pub blocks: Vec<(Key, Arc<Block>)>,
    /// Blocks that the cleaner moves.
    pub rescued: Vec<Item>,
    pub running: Running,
    /// Blocks to be logged in the order in which they were read.
    pub ranks: Ranks,
    pub next_id: u64,
    pub next_ino: Ino,
    pub inodes: u64,
    /// For a checkpoint: i-node map blocks, and group descriptors with free space.
    pub tables: Option<Tables>,
}

/// The IFile's part of a checkpoint that must be as of the freeze.
pub(crate) struct Tables {
    pub imap: Vec<(Key, Arc<Block>)>,
    pub groups: Vec<(u32, crate::space::EncodedGroup)>,
    pub entries: Vec<(u32, tandem_format::GroupEntry)>,
    pub free_blocks: u64,
    pub next_id: u64,
    pub next_ino: Ino,
    pub inodes: u64,
}

impl Tables {
    fn is_empty(&self) -> bool {
        self.imap.is_empty() && self.groups.is_empty() && self.entries.is_empty()
    }
}

impl Core {
    /// Makes a file durable: contents, attributes and name (invariant 5). Callers that wait
    /// together are served together.
    pub fn commit_file(&self, ino: Option<Ino>) -> Result<()> {
        let seq = {
            let mut wants = self.wants.lock();
            wants.seq += 1;
            wants.files.extend(ino);
            wants.seq
        };
        let begun = self.env.monotonic();
        let mut committer = self.commit.lock();
        let waited = self.env.monotonic().saturating_sub(begun);
        self.counters.stalls.add(Why::Commit, waited);
        if committer.served >= seq {
            return self.sound();
        }
        self.commit_locked(&mut committer, Contents::Wanted, false)
    }

    /// Commits everything. Large amounts of contents go out in batches, between which others'
    /// fsyncs are served.
    pub fn commit_all(&self, checkpoint: bool) -> Result<()> {
        loop {
            let mut committer = self.commit.lock();
            self.release_first(&mut committer)?;
            let small = self.state.lock().dirty_bytes <= BATCH;
            let batch = if small { Vec::new() } else { self.next_batch() };
            if batch.is_empty() {
                return self.commit_locked(&mut committer, Contents::All, checkpoint);
            }
            let done = self.flush_files(batch).map_err(|e| self.poisoned(e));
            crate::sync::MutexGuard::unlock_fair(committer);
            done?;
        }
    }

    /// Commits before contents are placed when much of what could be free waits for a commit:
    /// otherwise they would be pressed into the holes of a volume that is fuller than it needs to be.
    fn release_first(&self, c: &mut Committer) -> Result<()> {
        if !self.state.lock().frees_press() {
            return Ok(());
        }
        self.commit_locked(c, Contents::Wanted, false)
    }

    /// Turns the volume read-only when what was to be written cannot be: the cause is told here,
    /// and to whoever waits for it, only that.
    pub(crate) fn poisoned(&self, e: Error) -> Error {
        match e {
            Error::Posix(_) | Error::Lost(_) => e,
            e => {
                self.fail(&e);
                Error::Lost(e.to_string())
            }
        }
    }

    /// Files for the next batch of contents, in the order in which they became dirty.
    fn next_batch(&self) -> Vec<Ino> {
        let mut st = self.state.lock();
        let mut bytes = 0;
        let mut take = 0;
        while take < st.dirty_files.len() && bytes < BATCH {
            let ino = st.dirty_files[take];
            let data = st.nodes.get(ino).and_then(|n| n.data.clone());
            bytes += data.map_or(0, |d| d.layers.lock().dirty.bytes());
            take += 1;
        }
        st.dirty_files.drain(..take).collect()
    }

    /// One commit, by whoever holds the lock.
    pub(crate) fn commit_locked(
        &self,
        c: &mut Committer,
        what: Contents,
        checkpoint: bool,
    ) -> Result<()> {
        self.sound()?;
        if self.state.lock().read_only {
            return Ok(());
        }
        self.try_commit(c, what, checkpoint).map_err(|e| self.poisoned(e))
    }

    fn try_commit(&self, c: &mut Committer, what: Contents, checkpoint: bool) -> Result<()> {
        let (seq, mut files) = {
            let mut wants = self.wants.lock();
            (wants.seq, std::mem::take(&mut wants.files))
        };
        if what == Contents::All {
            files = std::mem::take(&mut self.state.lock().dirty_files);
        }
        if planted(Planted::EarlyReuse) {
            let freed: Vec<Run> = self.state.lock().running.frees().collect();
            freed.into_iter().try_for_each(|run| self.run(|st| st.release_run(run)))?;
        }
        let checkpoint = checkpoint
            || c.closing
            || !c.repairing && (self.log_is_long(c) || self.tables_are_many());
        self.state.lock().settle_relocation(self.env.monotonic(), c.closing);
        let frozen = loop {
            files.append(&mut self.state.lock().must_flush);
            self.flush_files(std::mem::take(&mut files))?;
            self.barrier()?;
            self.apply_staged()?;
            self.flush_nodes()?;
            if let Some(frozen) = self.run(|st| self.freeze(st, checkpoint))? {
                break frozen;
            }
        };
        let frozen_at = frozen.commit;
        let freed = self.write_commit(c, frozen)?;
        self.release(freed)?;
        c.served = seq;
        tracing::trace!(commit = frozen_at, checkpoint, "committed");
        Ok(())
    }

    /// What has been logged since the last checkpoint is old, or would take long to recover.
    fn log_is_long(&self, c: &Committer) -> bool {
        let due = self.opts.checkpoint.as_nanos() as u64;
        let old = self.env.monotonic().saturating_sub(c.checkpoint_at) > due;
        c.logged && old || c.log.bytes - c.checkpoint_bytes > ROLL_FORWARD
    }

    /// The IFile's dirty blocks, which only a checkpoint lets go, take up much of the memory.
    fn tables_are_many(&self) -> bool {
        self.state.lock().cache.dirty_tables() as u64 * 4096 > self.opts.cache / 16
    }

    /// Makes the contents written so far durable, and their extents ready for the metadata
    /// (invariant 1).
    fn barrier(&self) -> Result<()> {
        let dropped = {
            let mut st = self.state.lock();
            for i in 0..st.staged_files.len() {
                let ino = st.staged_files[i];
                if let Some(data) = st.nodes.get(ino).and_then(|n| n.data.clone()) {
                    let layers = &mut *data.layers.lock();
                    layers.ready.append(&mut layers.fresh);
                }
            }
            std::mem::take(&mut st.dropped)
        };
        if self.data_written.swap(false, Ordering::SeqCst) && !planted(Planted::NoDataFlush) {
            self.data.flush().map_err(|source| Error::Io {
                device: self.data.name().into(),
                op: "flush",
                offset: 0,
                len: 0,
                source,
            })?;
        }
        if !dropped.is_empty() {
            self.epochs.wait();
        }
        for run in dropped {
            self.forget_read(run);
            self.run(|st| {
                st.release_run(run)?;
                st.forget_unapplied(run);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Brings extents whose data is durable into the metadata, a file at a time.
    fn apply_staged(&self) -> Result<()> {
        let staged = std::mem::take(&mut self.state.lock().staged_files);
        for ino in staged {
            self.run(|st| st.apply_file(ino))?;
        }
        Ok(())
    }

    /// Brings changed records home, a few at a time, so that the freeze has little left to do.
    fn flush_nodes(&self) -> Result<()> {
        const FEW: usize = 64;
        loop {
            let more = self.run(|st| {
                for _ in 0..FEW {
                    let Some(ino) = st.nodes.next_dirty() else { break };
                    st.flush_node(ino)?;
                }
                Ok(st.nodes.dirty_len() > FEW)
            })?;
            if !more {
                return Ok(());
            }
        }
    }

    /// Takes a picture of everything dirty. None when a rename over a file came in between whose
    /// contents have to go first.
    fn freeze(&self, st: &mut State, checkpoint: bool) -> Res<Option<Frozen>> {
        let begun = self.env.monotonic();
        // Also when it is only its size that waits.
        let behind = |st: &State, ino: &Ino| {
            let node = st.nodes.get(*ino).filter(|node| node.data.is_some());
            node.is_some_and(|node| {
                let dirty = |d: &Arc<FileData>| !d.layers.lock().dirty.is_empty();
                node.disk_size != node.rec.size || node.data.as_ref().is_some_and(dirty)
            })
        };
        if st.must_flush.iter().any(|ino| behind(st, ino)) {
            return Ok(None);
        }
        st.must_flush.clear();
        if !planted(Planted::OrphansUnsheltered) {
            st.shelter_orphans()?;
        }
        while let Some(ino) = st.nodes.next_dirty() {
            st.flush_node(ino)?;
        }
        let tables = if checkpoint { Some(self.freeze_tables(st)?) } else { None };
        st.commit += 1;
        let running = std::mem::take(&mut st.running);
        let rescued = st.take_rescued();
        let bytes = st.cache.dirty_bytes() as u64;
        let blocks = st.cache.freeze(|key| key.id().is_some());
        st.committing_growth = running.growth;
        st.committing_freed = running.freed();
        st.committing_bytes =
            bytes - st.cache.dirty_bytes() as u64 + std::mem::take(&mut st.moving);
        let took = self.env.monotonic().saturating_sub(begun);
        self.counters.longest_freeze.fetch_max(took, Ordering::Relaxed);
        Ok(Some(Frozen {
            commit: st.commit,
            blocks,
            rescued,
            running,
            ranks: st.relocate.freeze(),
            next_id: st.ids.next,
            next_ino: st.inos.next,
            inodes: st.inos.used,
            tables,
        }))
    }

    /// Gives what a durable commit has freed back to the free space, and to the device.
    fn release(&self, mut freed: Vec<Run>) -> Result<()> {
        if freed.is_empty() {
            return Ok(());
        }
        self.epochs.wait();
        freed.sort_unstable_by_key(|r| r.start);
        let mut merged: Vec<Run> = Vec::with_capacity(freed.len());
        for run in freed {
            match merged.last_mut() {
                Some(last) if last.start + last.len == run.start => last.len += run.len,
                _ => merged.push(run),
            }
        }
        for run in merged {
            self.forget_read(run);
            if self.opts.discard {
                let (off, len) =
                    (self.geo.block_offset(run.start), run.len * u64::from(self.geo.block_size));
                // A device that cannot discard loses nothing but the hint.
                if let Err(e) = self.data.discard(off, len) {
                    tracing::debug!("{}: discard: {e}", self.data.name());
                }
            }
            self.run(|st| {
                if !planted(Planted::EarlyReuse) {
                    st.release_run(run)?;
                }
                st.committing_freed = st.committing_freed.saturating_sub(run.len);
                Ok(())
            })?;
        }
        Ok(())
    }
}

impl Core {
    /// What was read ahead of blocks that belong to nobody any more is of no use.
    fn forget_read(&self, run: Run) {
        let end = run.start + run.len;
        self.cross_file.forget(self.geo.block_offset(run.start), self.geo.block_offset(end));
    }
}

impl State {
    /// Joins blocks to the free space.
    pub(crate) fn release_run(&mut self, run: Run) -> Res<()> {
        match self.space.release(run) {
            Ok(()) => Ok(()),
            Err(e) => Err(space_fault(e)),
        }
    }
}

/// What an answer of the free space means to an operation.
pub(crate) fn space_fault(e: crate::space::SpaceError) -> Fault {
    use crate::space::SpaceError;
    match e {
        SpaceError::Load(group) => Fault::Load(group),
        SpaceError::Full => Fault::DataFull,
        other => crate::error::corrupt("free space", other.to_string()),
    }
}
