//! Which group a new directory belongs to (DualFS §2.2, "directory affinity"), and the counts that
//! the groups' descriptors keep of directories and i-nodes.

use super::Space;
use super::groups::emptiness;

impl Space {
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
