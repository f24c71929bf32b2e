//! The freeze onto M: blocks in the order in which they will be read, the delta, the barrier,
//! the block map; and the checkpoint after it, when one is due.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use tandem_format::{CLEAR_MAX, DeltaRecord, Kind, Loc, SummaryFlags};

use super::{Committer, Frozen, Tables};
use crate::cache::Key;
use crate::error::{Error, Fault, Res, Result};
use crate::ifile::ImapChange;
use crate::log::{Batch, Item, Payload};
use crate::planted::{Planted, planted};
use crate::space::{EncodedGroup, Run};
use crate::state::{Running, SpaceChange, State};
use crate::volume::Core;

/// A delta block holds at most about this many bytes.
const DELTA_BYTES: usize = 6 << 10;

/// Blocks that get their addresses under one hold of the lock.
pub(super) const FEW: usize = 256;

impl Core {
    /// Writes a frozen picture to the log. Returns the data blocks that it has freed.
    pub(super) fn write_commit(&self, c: &mut Committer, mut frozen: Frozen) -> Result<Vec<Run>> {
        let freed: Vec<Run> = frozen.running.frees().collect();
        if planted(Planted::EarlyDiscard) {
            for run in &freed {
                let len = run.len * u64::from(self.geo.block_size);
                let _ = self.data.discard(self.geo.block_offset(run.start), len);
            }
        }
        let gone = self.known_ids(std::mem::take(&mut frozen.running.freed_ids))?;
        let tables = frozen.tables.take();
        let blocks = frozen.blocks.len() + frozen.rescued.len();
        if blocks > 0 || !frozen.running.is_empty() || !gone.is_empty() {
            self.log_commit(c, frozen, &gone, tables.is_some())?;
            c.logged = true;
            self.counters.commits.fetch_add(1, Ordering::Relaxed);
        } else {
            let mut st = self.state.lock();
            (st.committing_growth, st.committing_bytes) = (0, 0);
        }
        // One that would say nothing new would only take up room.
        let new = c.logged || c.closing || c.log.crash != c.checkpoint.crash || {
            let st = self.state.lock();
            st.cache.dirty_tables() > 0 || st.segs.is_touched()
        };
        if let Some(tables) = tables.filter(|t| new || !t.is_empty()) {
            self.write_checkpoint(c, tables)?;
        }
        Ok(freed)
    }

    fn log_commit(
        &self,
        c: &mut Committer,
        frozen: Frozen,
        gone: &[u64],
        last: bool,
    ) -> Result<()> {
        let commit = frozen.commit;
        let freed_inos = frozen.running.freed_inos.clone();
        let deltas = delta_items(&frozen, gone);
        let ranks = frozen.ranks;
        let blocks = frozen.blocks.into_iter().map(|(key, block)| Item::of_block(key, block));
        let mut items: Vec<Item> = blocks.chain(frozen.rescued).collect();
        self.by_warmth(&mut items, &ranks)?;
        // The delta goes with what is fresh.
        let fresh = items.iter().position(|item| item.stamp.is_some()).unwrap_or(items.len());
        items.splice(fresh..fresh, deltas);
        let (now, before) = (self.env.now(), c.log.bytes);
        let flags =
            if c.repairing && !last { SummaryFlags::CONTINUES } else { SummaryFlags::empty() };
        let batch = Batch { meta: &*self.meta, state: &self.state, commit, now, flags };
        let placed = c.log.append(&batch, items.into_iter())?;
        if !planted(Planted::NoCommitFlush) {
            self.flush_meta()?;
        }
        self.settle_blocks(&placed)?;
        for few in gone.chunks(FEW) {
            self.run(|st| {
                for &id in few {
                    st.map_set(id, Loc::NONE)?;
                }
                Ok(())
            })?;
        }
        let mut st = self.state.lock();
        st.relocate.logged((c.log.bytes - before).saturating_sub(ranks.bytes));
        st.ids.free.extend_from_slice(gone);
        for id in gone {
            st.going.remove(id);
        }
        st.inos.free.extend(freed_inos);
        (st.committing_growth, st.committing_bytes) = (0, 0);
        self.eased.notify_all();
        Ok(())
    }

    /// Of the ids that were given up, those that M knows; the others can be used at once.
    fn known_ids(&self, mut ids: Vec<u64>) -> Result<Vec<u64>> {
        ids.sort_unstable();
        ids.dedup();
        let mut known = Vec::with_capacity(ids.len());
        for few in ids.chunks(FEW) {
            let found = self.run(|st| {
                let mut found = Vec::new();
                for &id in few {
                    found.push(!st.map_get(id)?.is_none());
                }
                Ok(found)
            })?;
            let mut st = self.state.lock();
            for (&id, known_to_m) in few.iter().zip(found) {
                if known_to_m {
                    known.push(id);
                } else {
                    st.ids.free.push(id);
                    st.going.remove(&id);
                }
            }
        }
        Ok(known)
    }

    pub(crate) fn flush_meta(&self) -> Result<()> {
        self.meta.flush().map_err(|source| Error::Io {
            device: self.meta.name().into(),
            op: "flush",
            offset: 0,
            len: 0,
            source,
        })
    }

    /// Enters the addresses of written blocks into the block map or the IFile's radix trees.
    pub(crate) fn settle_blocks(&self, placed: &[(Key, Loc)]) -> Result<()> {
        for few in placed.chunks(FEW) {
            let mut done = 0;
            self.run(|st| {
                while let Some(&(key, loc)) = few.get(done) {
                    st.settle_block(key, loc)?;
                    done += 1;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// What a checkpoint needs as of the freeze: the free space of every changed group with what
    /// this commit frees, and without what no metadata refers to yet.
    pub(super) fn freeze_tables(&self, st: &mut State) -> Res<Tables> {
        for i in 0..st.running.space.len() {
            if let SpaceChange::Free(run) = st.running.space[i] {
                for g in st.space.group_of(run.start)..=st.space.group_of(run.end() - 1) {
                    if !st.space.is_loaded(g) {
                        return Err(Fault::Load(g));
                    }
                    st.space.mark_dirty(g);
                }
            }
        }
        let groups = encoded_groups(st)?;
        let changed = st.space.dirty_entries();
        let entries = changed.into_iter().map(|g| (g, st.space.encode_entry(g))).collect();
        // As the groups' descriptors count on M.
        let free_blocks = st.space.free_blocks() + not_available(st);
        let imap = st.cache.freeze(|key| matches!(key.ifile(), Some((Kind::Imap, 0, _))));
        let (next_id, next_ino, inodes) = (st.ids.next, st.inos.next, st.inos.used);
        Ok(Tables { imap, groups, entries, free_blocks, next_id, next_ino, inodes })
    }
}

impl State {
    fn settle_block(&mut self, key: Key, loc: Loc) -> Res<()> {
        match key.ifile() {
            Some((kind, level, index)) => self.table_written(kind, level, index, loc)?,
            None => {
                self.map_set(key.id().unwrap_or(0), loc)?;
            }
        }
        self.cache.written(key);
        Ok(())
    }
}

/// Data blocks that are free in the state's picture of the next commit but not available yet.
fn not_available(st: &State) -> u64 {
    st.running.freed() + st.unapplied.values().sum::<u64>()
}

/// The persistent form of all changed groups, as of the state's picture of the next commit.
fn encoded_groups(st: &mut State) -> Res<Vec<(u32, EncodedGroup)>> {
    let dirty = st.space.dirty();
    if let Some(&g) = dirty.iter().find(|&&g| !st.space.is_loaded(g)) {
        return Err(Fault::Load(g));
    }
    let mut also: BTreeMap<u32, Vec<Run>> = BTreeMap::new();
    let mut add = |st: &State, run: Run| {
        let mut at = run.start;
        while at < run.end() {
            let group = st.space.group_of(at);
            let end = st.space.group_run(group).end().min(run.end());
            also.entry(group).or_default().push(Run { start: at, len: end - at });
            at = end;
        }
    };
    for change in &st.running.space {
        if let SpaceChange::Free(run) = change {
            add(st, *run);
        }
    }
    for (&start, &len) in &st.unapplied {
        add(st, Run { start, len });
    }
    let mut out = Vec::with_capacity(dirty.len());
    for g in dirty {
        let free = also.remove(&g).unwrap_or_default();
        out.push((g, st.space.encode_group(g, &free).map_err(super::space_fault)?));
    }
    Ok(out)
}

/// The commit's delta as blocks.
fn delta_items(frozen: &Frozen, gone: &[u64]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut bytes = Vec::new();
    let mut put = |record: DeltaRecord| {
        record.encode(&mut bytes);
        if bytes.len() > DELTA_BYTES {
            items.push(delta_item(std::mem::take(&mut bytes)));
        }
    };
    put(DeltaRecord::Counters {
        next_ino: frozen.next_ino,
        next_id: frozen.next_id,
        inodes: frozen.inodes,
    });
    imap_records(&frozen.running, &mut put);
    for &id in gone {
        put(DeltaRecord::IdFree { id });
    }
    space_records(&frozen.running.space, &mut put);
    let mut groups: Vec<_> = frozen.running.groups.iter().collect();
    groups.sort_unstable();
    for (&group, &(dirs, inodes)) in groups {
        if dirs != 0 || inodes != 0 {
            put(DeltaRecord::GroupCounts { group, dirs, inodes });
        }
    }
    if !bytes.is_empty() {
        items.push(delta_item(bytes));
    }
    items
}

fn delta_item(payload: Vec<u8>) -> Item {
    Item {
        key: None,
        id: 0,
        owner: 0,
        index: 0,
        kind: Kind::Delta,
        level: 0,
        count: 0,
        payload: Payload::Bytes(payload),
        stamp: None,
        moved: false,
    }
}

/// The last change of each i-node; what was made and removed in between is not worth a word.
fn imap_records(running: &Running, put: &mut impl FnMut(DeltaRecord)) {
    let mut changes: Vec<ImapChange> = running.imap.clone();
    changes.sort_by_key(|c| c.ino);
    let mut cleared: Option<(u64, u64)> = None;
    for same in changes.chunk_by(|a, b| a.ino == b.ino) {
        let (first, last) = (same[0], same[same.len() - 1]);
        match (first.was, last.is) {
            (was, is) if was == is => {}
            (_, [0, _]) => match &mut cleared {
                Some((ino, n)) if *ino + *n == last.ino && *n < CLEAR_MAX => *n += 1,
                _ => {
                    if let Some((ino, n)) = cleared.replace((last.ino, 1)) {
                        put(DeltaRecord::ImapClear { ino, n });
                    }
                }
            },
            (_, [w0, w1]) => put(DeltaRecord::ImapSet { ino: last.ino, w0, w1 }),
        }
    }
    if let Some((ino, n)) = cleared {
        put(DeltaRecord::ImapClear { ino, n });
    }
}

/// Allocations and frees in their order, neighbours merged.
fn space_records(changes: &[SpaceChange], put: &mut impl FnMut(DeltaRecord)) {
    let record = |free: bool, start: u64, len: u64| match free {
        true => DeltaRecord::Free { start, len },
        false => DeltaRecord::Alloc { start, len },
    };
    let mut last: Option<(bool, u64, u64)> = None;
    for change in changes {
        let (free, run) = match change {
            SpaceChange::Free(run) => (true, run),
            SpaceChange::Alloc(run) => (false, run),
        };
        match &mut last {
            Some((f, start, len)) if *f == free && *start + *len == run.start => *len += run.len,
            _ => {
                if let Some((f, start, len)) = last.replace((free, run.start, run.len)) {
                    put(record(f, start, len));
                }
            }
        }
    }
    if let Some((f, start, len)) = last {
        put(record(f, start, len));
    }
}
