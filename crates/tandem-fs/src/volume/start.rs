//! From the checkpoint to the state in which operations begin; and the orphans at either end.

use tandem_format::{FormatError, GROUP_PER_BLOCK, GroupEntry, Kind, SEG_PER_BLOCK, SegEntry};

use super::{Core, volume_error};
use crate::error::{Error, Result};
use crate::inode::limbo_name;
use crate::log::{BEHIND, Segments, goes_on, recover};
use crate::planted::{Planted, planted};
use crate::space::Space;
use crate::types::{Ino, LIMBO};
use tandem_format::Checkpoint;

impl Core {
    /// Reads the segment usage table and the group descriptors.
    pub(super) fn read_tables(&self) -> Result<()> {
        let n = self.geo.segments.div_ceil(SEG_PER_BLOCK as u64);
        let mut entries: Vec<SegEntry> = Vec::with_capacity(self.geo.segments as usize);
        for index in 0..n {
            let bytes = self.read_table(Kind::Seg, index)?.unwrap_or_default();
            let bad = |e: FormatError| {
                Error::format(self.meta.name(), format!("segment usage block {index}"), 0, &e)
            };
            let part = SegEntry::decode_all(&bytes).map_err(bad)?;
            entries.extend(part.into_iter().take(SEG_PER_BLOCK));
            entries.resize(((index + 1) * SEG_PER_BLOCK as u64) as usize, SegEntry::default());
        }
        entries.truncate(self.geo.segments as usize);
        let mut segs = Segments::new(&self.geo, entries);
        let mut width = n;
        for level in 0..16 {
            for index in 0..width {
                let loc = self.run(|st| st.locate_table(Kind::Seg, level, index))?;
                segs.moved_own(tandem_format::Loc::NONE, loc);
            }
            if width == 1
                && level >= self.state.lock().roots[crate::ifile::root_of(Kind::Seg)].height
            {
                break;
            }
            width = width.div_ceil(tandem_format::FANOUT as u64);
        }
        let groups = self.geo.groups as usize;
        let mut descriptors: Vec<GroupEntry> = Vec::with_capacity(groups);
        for index in 0..groups.div_ceil(GROUP_PER_BLOCK) {
            let bytes = self.read_table(Kind::Group, index as u64)?.unwrap_or_default();
            let bad = |e: FormatError| {
                Error::format(self.meta.name(), format!("group descriptor block {index}"), 0, &e)
            };
            descriptors.extend(GroupEntry::decode_all(&bytes).map_err(bad)?);
        }
        if descriptors.len() != groups {
            return Err(volume_error(
                &*self.meta,
                format!("has {} group descriptors, not {groups}", descriptors.len()),
            ));
        }
        let space = Space::new(self.geo.blocks, self.geo.group_blocks, descriptors.clone())
            .map_err(|e| Error::Corrupt {
                device: self.meta.name().into(),
                what: "group descriptors".into(),
                offset: 0,
                detail: e.to_string(),
            })?;
        let mut st = self.state.lock();
        let (active, next, filled) = {
            let c = self.commit.lock();
            (c.log.segment, c.checkpoint.next_segment, u64::from(c.log.offset))
        };
        let _ = segs.take_dirty();
        segs.active = active;
        segs.next = next;
        segs.filled = filled;
        // Dead as of a checkpoint that is durable; roll-forward marks those used that the log went
        // on in.
        segs.release_dead();
        segs.mark_used(active, st.commit);
        st.segs = segs;
        st.space = space;
        st.group_entries = descriptors;
        Ok(())
    }

    /// Rolls forward, and makes the recovered state the volume's.
    pub(super) fn start(&self, cp: &Checkpoint) -> Result<()> {
        let recovered = recover(self, cp)?;
        if goes_on(self, cp, &recovered)? {
            if !self.opts.read_only {
                let detail = format!(
                    "{BEHIND}, and nothing was written: run tandem check --repair, or mount with -o ro to see the older state"
                );
                return Err(volume_error(&*self.meta, detail));
            }
            tracing::warn!("{}: {BEHIND}; what is seen is older", self.meta.name());
        }
        self.counters
            .recovered_commits
            .store(recovered.commits, std::sync::atomic::Ordering::Relaxed);
        if recovered.commits > 0 {
            tracing::info!("{}: rolled {} commits forward", self.meta.name(), recovered.commits);
        }
        {
            let mut st = self.state.lock();
            st.segs.active = recovered.segment;
            st.segs.next = recovered.next_segment;
            st.segs.filled = u64::from(recovered.offset);
            let commit = st.commit;
            st.segs.mark_used(recovered.segment, commit);
            let mut c = self.commit.lock();
            c.log.segment = recovered.segment;
            c.log.offset = recovered.offset;
            c.log.serial = recovered.serial;
        }
        self.find_orphans()?;
        if self.opts.read_only {
            self.state.lock().read_only = true;
            return Ok(());
        }
        let mut c = self.commit.lock();
        // Should this mount die before its checkpoint is durable, the next one writes under the same
        // crash count: the gap keeps their serials apart.
        if !planted(Planted::SameCrashCount) {
            c.log.crash += 1;
            c.log.serial += 1 + (self.env.random() & 0xffff_ffff);
        }
        self.commit_locked(&mut c, crate::commit::Contents::All, true)
    }

    /// What was unlinked but in use at the crash is to be freed.
    fn find_orphans(&self) -> Result<()> {
        if planted(Planted::OrphansKept) {
            return Ok(());
        }
        let mut from = 0;
        loop {
            let mut found: Vec<Ino> = Vec::new();
            let mut next = from;
            // A listing that ends early goes on behind its last entry: only then it asks for the
            // block that was missing.
            let done = self.run(|st| {
                found.clear();
                st.dir_list(LIMBO, from, &mut |_, entry, _| {
                    found.push(entry.ino);
                    next = entry.key + 1;
                    Ok(true)
                })
            })?;
            from = next;
            for &ino in &found {
                self.run(|st| {
                    let node = st.node(ino)?;
                    node.in_limbo = true;
                    node.rec.nlink = 0;
                    st.orphaned(ino);
                    let name = limbo_name(ino);
                    if st.dir_find(LIMBO, &name)?.is_none() {
                        return Err(crate::error::corrupt(
                            "hidden directory",
                            "an entry under a wrong name",
                        ));
                    }
                    Ok(())
                })?;
            }
            let mut st = self.state.lock();
            st.reclaim.extend(found);
            st.reclaim.sort_unstable();
            st.reclaim.dedup();
            if done {
                return Ok(());
            }
        }
    }

    /// At the end nobody can hold anything any more.
    pub(super) fn let_go_of_orphans(&self) -> Result<()> {
        {
            let mut st = self.state.lock();
            st.holds = Default::default();
            let orphans: Vec<Ino> = st.orphans.iter().copied().collect();
            st.reclaim.extend(orphans);
        }
        self.reclaim_all()
    }
}
