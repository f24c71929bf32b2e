//! Free space of the data device and placement on it.
//!
//! The data blocks lie in groups. A directory belongs to a group (`affinity`) and the contents of
//! its files lie there, in the nearest groups when it is full (`search`; `alloc` takes and gives
//! back). `groups` keeps the descriptors, and the free space of the groups that are in memory;
//! `stored` is their form on M. `free` is the free space of one group, a sorted list of runs that
//! turns into a bitmap and back; `index` finds groups without looking at all of them. Nothing here
//! touches a device: a group that has to be read first is a [`SpaceError::Load`], returned before
//! anything has changed.

mod affinity;
mod alloc;
mod free;
mod groups;
mod index;
mod search;
mod stored;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

pub use affinity::AffinityStats;
pub use alloc::Goal;
pub use free::FreeError;
pub use stored::EncodedGroup;

use groups::Group;
use index::MaxTree;

/// Consecutive data blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Run {
    /// First block, counted from the start of the data area.
    pub start: u64,
    /// Number of blocks.
    pub len: u64,
}

impl Run {
    /// The block after the last one.
    pub fn end(self) -> u64 {
        self.start.saturating_add(self.len)
    }
}

/// Why a call changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SpaceError {
    /// The free space of this group must be loaded first; then the call is made again.
    #[error("the free space of group {0} is not in memory")]
    Load(u32),
    /// Fewer blocks are available than asked for.
    #[error("no space left on the data device")]
    Full,
    /// Blocks to be released, some of which are free already.
    #[error("data blocks {}+{}: free already", .0.start, .0.len)]
    DoubleFree(Run),
    /// Blocks to be reserved, some of which are in use.
    #[error("data blocks {}+{}: in use", .0.start, .0.len)]
    InUse(Run),
    /// Blocks beyond the end of the data area.
    #[error("data blocks {}+{}: beyond the end of the data area", .0.start, .0.len)]
    OutOfRange(Run),
    /// A group's descriptor or free space as read from M is not what it must be.
    #[error("free space of group {group}: {reason}")]
    Corrupt {
        /// The group.
        group: u32,
        /// What is wrong.
        reason: FreeError,
    },
}

/// The free space of the data device.
#[derive(Debug)]
pub struct Space {
    blocks: u64,
    group_blocks: u32,
    groups: Vec<Group>,
    /// Blocks available now.
    free: u64,
    /// By group: available blocks, then few directories.
    emptiest: MaxTree<u64>,
    /// By group: the longest run, as far as it is known; 0 for a group never loaded.
    longest: MaxTree<u32>,
    /// Groups whose free space differs from its form on M.
    dirty: BTreeSet<u32>,
    /// Groups whose descriptor differs from the one on M.
    dirty_entries: BTreeSet<u32>,
    /// Bytes held by loaded groups.
    memory: usize,
    clock: u64,
    affinity: AffinityStats,
}
