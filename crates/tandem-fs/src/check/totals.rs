//! What the volume counts of itself, against what there is.

use std::sync::atomic::Ordering;

use tandem_format::{Geometry, Kind, Loc};

use super::map::Window;
use super::open::Opened;
use super::pass::Counts;
use super::report::{CheckReport, Findings, ProblemKind};
use crate::types::{LIMBO, ROOT};

/// Blocks in use on M.
pub(super) struct Usage {
    /// Bytes by segment.
    pub live: Vec<u64>,
    /// Bytes in all segments.
    bytes: u64,
    /// Blocks with an id.
    pub mapped: u64,
    /// Blocks of the IFile.
    tables: u64,
    /// The highest block id.
    highest: u64,
    /// Bytes where the log will be written next.
    ahead: u64,
}

impl Usage {
    /// The IFile's blocks.
    pub fn of_tables(opened: &Opened) -> Usage {
        let live = vec![0; opened.core.geo.segments as usize];
        let mut usage = Usage { live, bytes: 0, mapped: 0, tables: 0, highest: 0, ahead: 0 };
        for block in &opened.tables.blocks {
            usage.tables += 1;
            usage.add(opened, block.loc);
        }
        usage
    }

    /// Adds the blocks of a window of the block map.
    pub fn count(&mut self, opened: &Opened, window: &Window) {
        for (id, loc, _) in window.iter() {
            self.mapped += 1;
            self.highest = self.highest.max(id);
            self.add(opened, loc);
        }
    }

    fn add(&mut self, opened: &Opened, loc: Loc) {
        let geo = &opened.core.geo;
        let Some(n) = segment_of(geo, loc) else { return };
        let Some(live) = self.live.get_mut(n as usize) else { return };
        *live += loc.bytes();
        self.bytes += loc.bytes();
        let (active, offset, next) = opened.end;
        let free_from = geo.segment_offset(active) + u64::from(offset);
        if n == next && n != active || n == active && loc.offset() + loc.bytes() > free_from {
            self.ahead += loc.bytes();
        }
    }

    /// Compares what has been found with what the tables and the checkpoint count.
    pub fn compare(&self, opened: &Opened, findings: &Findings, counts: &Counts) {
        self.compare_segments(opened, findings);
        let device = opened.core.meta.name();
        if self.ahead > 0 {
            let (segment, offset, next) = opened.end;
            let what = format!("{device}: end of the log, byte {offset} of segment {segment}");
            let detail = format!(
                "{} bytes in use there or in segment {next}, which will be written next",
                self.ahead
            );
            findings.conclude(ProblemKind::Log, what, detail);
        }
        let wrong = |name: &str, said: u64, found: u64| {
            let what = format!("{device}: checkpoint with the commits after it");
            findings.conclude(
                ProblemKind::Checkpoint,
                what,
                format!("{name}: counts {said}, there are {found}"),
            );
        };
        for (ino, name) in [(ROOT, "root"), (LIMBO, "hidden")] {
            if counts.roots.load(Ordering::Relaxed) >> ino & 1 == 0 {
                let what = format!("{device}: i-node {ino}");
                let detail = format!("the {name} directory is missing");
                findings.conclude(ProblemKind::InodeMap, what, detail);
            }
        }
        let st = opened.core.state.lock();
        let load = |n: &std::sync::atomic::AtomicU64| n.load(Ordering::Relaxed);
        let lost = |kind| opened.tables.has_lost(kind);
        if !lost(Kind::Map) && st.ids.mapped != self.mapped {
            wrong("block ids in use", st.ids.mapped, self.mapped);
        }
        if st.ids.next <= self.highest {
            wrong("lowest block id never used", st.ids.next, self.highest + 1);
        }
        if st.inos.used != load(&counts.inodes) {
            wrong("i-nodes", st.inos.used, load(&counts.inodes));
        }
        if st.inos.next <= load(&counts.highest_ino) {
            wrong("lowest i-node number never used", st.inos.next, load(&counts.highest_ino) + 1);
        }
        if opened.cp.clean && !lost(Kind::Map) && opened.cp.live_bytes != self.bytes {
            wrong("bytes in use", opened.cp.live_bytes, self.bytes);
        }
    }

    fn compare_segments(&self, opened: &Opened, findings: &Findings) {
        for (n, &live) in (0..).zip(&self.live) {
            let said = opened.core.state.lock().segs.entry(n);
            let same = u64::from(said.live) == live && (said.used || live == 0);
            if same || opened.tables.is_lost(Kind::Seg, n) {
                continue;
            }
            let what = format!("{}: segment {n}", opened.core.meta.name());
            let state = if said.used { "used" } else { "clean" };
            let detail = format!(
                "{state} with {} bytes in use by the usage table, there are {live}",
                said.live
            );
            findings.conclude(ProblemKind::SegmentUsage, what, detail);
        }
    }

    /// What there is.
    pub fn report(&self, opened: &Opened, counts: &Counts) -> CheckReport {
        let load = |n: &std::sync::atomic::AtomicU64| n.load(Ordering::Relaxed);
        CheckReport {
            clean: opened.cp.clean,
            recovered_commits: opened.recovered_commits,
            inodes: load(&counts.inodes),
            directories: load(&counts.directories),
            files: load(&counts.files),
            links: load(&counts.links),
            extents: load(&counts.extents),
            blocks_used: load(&counts.blocks_used),
            metadata_blocks: self.mapped + self.tables,
            bytes_live: self.bytes,
            orphans: load(&counts.orphans),
            ..CheckReport::default()
        }
    }
}

/// The segment of an address.
pub(super) fn segment_of(geo: &Geometry, loc: Loc) -> Option<u64> {
    let n = loc.offset().checked_sub(geo.segment_offset(0))? / u64::from(geo.segment_size);
    (n < geo.segments).then_some(n)
}
