//! What a volume tells of itself.

use crate::sync::atomic::{AtomicU64, Ordering};

use tandem_device::DeviceStats;

use super::{Core, DeviceErrors, ErrorCounters, StallStats, Volume};
use crate::cache::CrossFileStats;
use crate::commit::ContinuityStats;
use crate::commit::space_fault;
use crate::error::Result;
use crate::log::{LoggedBytes, PrefetchStats, RelocationStats};
use crate::space::AffinityStats;

/// Requests and bytes of one device.
#[derive(Debug, Clone, serde::Serialize)]
pub struct DeviceCounts {
    /// The device's name.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// What it was asked to do since it was opened.
    #[serde(flatten)]
    pub counts: DeviceStats,
    /// What it has failed to do.
    pub errors: DeviceErrors,
}

/// How the log stands.
#[derive(Debug, Clone, serde::Serialize)]
pub struct LogInfo {
    /// Segments in all.
    pub segments: u64,
    /// Segments that can be written.
    pub clean_segments: u64,
    /// Bytes of a segment.
    pub segment_size: u64,
    /// Bytes of it that blocks can count on.
    pub usable_bytes: u64,
    /// Bytes of live metadata.
    pub live_bytes: u64,
    /// Bytes that live metadata may take up.
    pub room_bytes: u64,
    /// Partial segments written since the mount.
    pub partial_segments: u64,
    /// Bytes of them.
    pub bytes_logged: u64,
    /// Bytes of them that the cleaner moved, their share of summaries and padding included.
    pub bytes_moved: u64,
    /// All of them by what they are.
    pub logged: LoggedBytes,
    /// With fewer clean segments than this, the cleaner works.
    pub low_segments: u64,
    /// Clean segments that only deletion, the cleaner and checkpoints use.
    pub reserved_segments: u64,
}

/// What the cleaner has done since the mount.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct CleanerStats {
    /// Rounds: a few victims each.
    pub rounds: u64,
    /// Rounds in idle time among them.
    pub idle_rounds: u64,
    /// Rounds that gave no more than they took.
    pub fruitless_rounds: u64,
    /// Segments emptied.
    pub segments_cleaned: u64,
    /// Live blocks found in them.
    pub blocks_moved: u64,
    /// Bytes of these blocks.
    pub bytes_moved: u64,
    /// Bytes logged to move them; blocks that had changed as well count as changed.
    pub bytes_logged: u64,
    /// All bytes logged by those that were not the cleaner's; at least 1.
    pub write_amplification: f64,
}

/// Counters of a mounted volume.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Stats {
    /// The metadata device M.
    pub metadata: DeviceCounts,
    /// The data device D.
    pub data: DeviceCounts,
    /// The log.
    pub log: LogInfo,
    /// Commits and checkpoints since the mount.
    pub commits: u64,
    /// Checkpoints among them.
    pub checkpoints: u64,
    /// Commits that recovery rolled forward at the mount.
    pub recovered_commits: u64,
    /// What the cleaner has done.
    pub cleaner: CleanerStats,
    /// What callers had to wait for.
    pub stalls: StallStats,
    /// Metadata blocks read because they were not in memory.
    pub block_reads: u64,
    /// Look-ups of metadata blocks that found them in memory.
    pub cache_hits: u64,
    /// Look-ups that did not.
    pub cache_misses: u64,
    /// Bytes of metadata in memory.
    pub cache_bytes: u64,
    /// Bytes of it that no commit has written yet.
    pub dirty_metadata_bytes: u64,
    /// Bytes of file contents not yet on D.
    pub dirty_data_bytes: u64,
    /// I-nodes in memory.
    pub nodes: u64,
    /// Unlinked i-nodes that are still in use.
    pub orphans: u64,
    /// The longest time that a commit held operations up, in nanoseconds.
    pub longest_freeze_ns: u64,
    /// How well directories and their contents have stayed together.
    pub affinity: AffinityStats,
    /// Contents read before they were asked for.
    pub cross_file: CrossFileStats,
    /// How continuously contents were placed.
    pub continuity: ContinuityStats,
    /// Metadata read ahead of being asked for.
    pub prefetch: PrefetchStats,
    /// Metadata logged again in the order in which it is read.
    pub relocation: RelocationStats,
    /// "read-write", "read-only" as mounted, or "failed": read-only since an error.
    pub state: &'static str,
    /// Why the volume has turned read-only, if it has.
    pub failed: Option<String>,
}

/// What a volume is and how full it is.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Info {
    /// Identity.
    pub uuid: uuid::Uuid,
    /// Label.
    pub label: String,
    /// Version of the format.
    pub version: u32,
    /// Bytes of the metadata area.
    pub metadata_size: u64,
    /// Bytes of the data area.
    pub data_size: u64,
    /// Whether both areas are on one device.
    pub one_device: bool,
    /// Data block size in bytes.
    pub block_size: u32,
    /// Data blocks.
    pub blocks: u64,
    /// Free data blocks.
    pub free_blocks: u64,
    /// Free runs, which end at the borders of groups; `None` when M could not be read.
    pub free_runs: Option<u64>,
    /// Blocks of the longest free run.
    pub longest_free_run: Option<u64>,
    /// Groups.
    pub groups: u32,
    /// I-nodes in use, the root and the hidden directory included.
    pub inodes: u64,
    /// About how many more there is room for.
    pub inodes_free: u64,
    /// Crash count: the writer's epoch.
    pub crash_count: u64,
    /// Number of the last commit.
    pub commit: u64,
    /// Whether the last unmount was clean.
    pub clean: bool,
    /// The log.
    pub log: LogInfo,
}

impl Core {
    fn log_info(&self) -> LogInfo {
        let (partials, bytes, moved, logged) = {
            let c = self.commit.lock();
            (c.log.partials, c.log.bytes, c.log.moved, c.log.logged)
        };
        let st = self.state.lock();
        LogInfo {
            segments: st.segs.count(),
            clean_segments: st.segs.clean(),
            segment_size: st.segs.size(),
            usable_bytes: st.segs.usable(),
            live_bytes: st.segs.live_bytes(),
            room_bytes: st.segs.room_for_live(),
            partial_segments: partials,
            bytes_logged: bytes,
            bytes_moved: moved,
            logged,
            low_segments: st.segs.low(),
            reserved_segments: st.segs.reserve(),
        }
    }

    fn cleaner_stats(&self, log: &LogInfo) -> CleanerStats {
        let counters = &self.counters.cleaner;
        let count = |c: &AtomicU64| c.load(Ordering::Relaxed);
        let fresh = log.bytes_logged.saturating_sub(log.bytes_moved);
        let ratio = if fresh == 0 { 1.0 } else { log.bytes_logged as f64 / fresh as f64 };
        CleanerStats {
            rounds: count(&counters.rounds),
            idle_rounds: count(&counters.idle),
            fruitless_rounds: count(&counters.fruitless),
            segments_cleaned: count(&counters.segments),
            blocks_moved: count(&counters.blocks),
            bytes_moved: count(&counters.bytes),
            bytes_logged: log.bytes_moved,
            write_amplification: (ratio * 1000.0).round() / 1000.0,
        }
    }
}

impl Core {
    /// How many free runs there are, and the blocks of the longest.
    fn free_runs(&self) -> Result<(u64, u64)> {
        let groups = self.state.lock().space.groups();
        let mut sum = (0, 0);
        for group in 0..groups {
            let (count, longest) = self.run(|st| st.space.free_runs(group).map_err(space_fault))?;
            sum = (sum.0 + count, sum.1.max(u64::from(longest)));
        }
        Ok(sum)
    }
}

impl Volume {
    /// Counters since the mount.
    pub fn stats(&self) -> Stats {
        let core = &self.core;
        let log = core.log_info();
        let cleaner = core.cleaner_stats(&log);
        let count = |c: &AtomicU64| c.load(Ordering::Relaxed);
        let st = core.state.lock();
        let device = |d: &dyn tandem_device::Device, errors: &ErrorCounters| DeviceCounts {
            name: d.name().into(),
            size: d.size(),
            counts: d.stats(),
            errors: errors.snapshot(),
        };
        Stats {
            metadata: device(&*core.meta, &core.meta_errors),
            data: device(&*core.data, &core.data_errors),
            log,
            commits: count(&core.counters.commits),
            checkpoints: count(&core.counters.checkpoints),
            recovered_commits: count(&core.counters.recovered_commits),
            cleaner,
            stalls: core.counters.stalls.stats(),
            block_reads: count(&core.counters.block_reads),
            cache_hits: st.cache.hits,
            cache_misses: st.cache.misses,
            cache_bytes: st.cache.bytes() as u64,
            dirty_metadata_bytes: st.cache.dirty_bytes() as u64,
            dirty_data_bytes: st.dirty_bytes,
            nodes: st.nodes.len() as u64,
            orphans: st.orphans.len() as u64,
            longest_freeze_ns: count(&core.counters.longest_freeze),
            affinity: st.space.affinity(),
            cross_file: core.cross_file.stats(),
            continuity: core.continuity.stats(),
            prefetch: st.prefetch.stats(st.cache.ahead.used, st.cache.ahead.wasted),
            relocation: st.relocate.stats(),
            state: match (&st.failed, core.opts.read_only) {
                (Some(_), _) => "failed",
                (None, true) => "read-only",
                (None, false) => "read-write",
            },
            failed: st.failed.clone(),
        }
    }

    /// What the volume is and how full it is.
    pub fn info(&self) -> Info {
        let log = self.core.log_info();
        let (crash_count, clean) = {
            let c = self.core.commit.lock();
            (c.log.crash, c.checkpoint.clean)
        };
        let statfs = self.statfs();
        let runs = self.core.free_runs().ok();
        let st = self.core.state.lock();
        Info {
            uuid: uuid::Uuid::from_bytes(st.sb.uuid),
            label: st.sb.label.clone(),
            version: st.sb.version,
            metadata_size: st.sb.meta_size,
            data_size: st.sb.data_size,
            one_device: st.sb.data_offset != 0,
            block_size: st.sb.block_size,
            blocks: st.sb.blocks,
            free_blocks: st.space.free_blocks(),
            free_runs: runs.map(|(count, _)| count),
            longest_free_run: runs.map(|(_, longest)| longest),
            groups: st.sb.groups,
            inodes: st.inos.used,
            inodes_free: statfs.files_free,
            crash_count,
            commit: st.commit,
            clean,
            log,
        }
    }
}
