//! Which group a new directory belongs to (DualFS §2.2, "directory affinity"), when a large file has
//! to leave it, and the counts that the groups' descriptors keep of directories and i-nodes.

use super::Space;
use super::groups::emptiness;

/// The part of its directory's group that one file may fill, as a divisor: a quarter, as BSD's
/// `maxbpg` has it.
const SHARE: u64 = 4;

/// How well directories and their contents have stayed together since the mount.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct AffinityStats {
    /// New directories that stayed in their parent's group.
    pub kept: u64,
    /// New directories that went to another group.
    pub left: u64,
    /// Placements of contents that lie wholly in the group they were meant for.
    pub placed_home: u64,
    /// Placements that had to go, or to go on, elsewhere.
    pub placed_away: u64,
}

impl Space {
    /// How well directories and their contents have stayed together since the mount.
    pub fn affinity(&self) -> AffinityStats {
        self.affinity
    }

    /// Counts a directory whose group [`Space::choose_directory_group`] has chosen.
    pub fn directory_placed(&mut self, parent: u32, group: u32) {
        if group == parent {
            self.affinity.kept += 1;
        } else {
            self.affinity.left += 1;
        }
    }

    /// Blocks of one file that may lie in its directory's group.
    pub fn large(&self) -> u64 {
        u64::from(self.group_blocks) / SHARE
    }

    /// The group where a file of a directory in group `home` goes on that has `had` blocks and
    /// wants `more`: the emptiest one when both together are more than a quarter of a group, so
    /// that large files do not push a directory's small ones out. `None` to stay.
    pub fn group_for_large(&self, home: u32, had: u64, more: u64) -> Option<u32> {
        let (best, _) = self.emptiest.max();
        let large = had.saturating_add(more) > self.large();
        (large && best != home && self.free_in(best) > 0).then_some(best)
    }

    /// The group for a new directory: its parent's, unless the emptiest group has at least
    /// `affinity` per cent more free blocks. 0 is always the emptiest. Of equally empty groups the
    /// one with the fewest directories counts, so that directories spread over an empty volume.
    pub fn choose_directory_group(&self, parent: u32, affinity: u32) -> u32 {
        let (best, _) = self.emptiest.max();
        let (here, there) = (u64::from(self.free_in(parent)), u64::from(self.free_in(best)));
        let better = there * 100 >= here * (100 + u64::from(affinity));
        let exists = parent < self.groups();
        if exists && (!better || (affinity > 0 && there == here)) { parent } else { best }
    }

    /// Has a group's descriptor written again.
    pub fn mark_entry_dirty(&mut self, g: u32) {
        self.dirty_entries.insert(g);
    }

    /// Counts directories and i-nodes into a group's descriptor, or out of it.
    pub fn count(&mut self, g: u32, dirs: i64, inodes: i64) {
        let Some(group) = self.groups.get_mut(g as usize) else { return };
        let add =
            |n: u32, by: i64| i64::from(n).saturating_add(by).clamp(0, u32::MAX.into()) as u32;
        group.dirs = add(group.dirs, dirs);
        group.inodes = add(group.inodes, inodes);
        self.emptiest.set(g, emptiness(group.free, group.dirs));
        self.dirty_entries.insert(g);
    }
}
