//! The groups: the descriptors of all, and the free space of those in memory.

use tandem_format::GroupEntry;

use super::free::{self, FreeError, GroupFree, Piece};
use super::{MaxTree, Run, Space, SpaceError};

/// One group.
#[derive(Debug)]
pub(super) struct Group {
    /// Blocks available now.
    pub free: u32,
    pub dirs: u32,
    pub inodes: u32,
    /// Where the last placement in this group ended.
    pub cursor: u32,
    /// The form on M: a bitmap or a list, and its table blocks.
    pub bitmap: bool,
    pub chunks: u16,
    /// The length of its longest run is known: it is or was in memory.
    pub known: bool,
    /// When it was last needed, by the space's clock.
    pub used: u64,
    pub space: Option<Box<GroupFree>>,
}

/// What the `emptiest` index orders by: free blocks, then few directories.
pub(super) fn emptiness(free: u32, dirs: u32) -> u64 {
    u64::from(free) << 32 | u64::from(u32::MAX - dirs)
}

impl Space {
    /// The space of `blocks` data blocks in groups of `group_blocks`, from the descriptors as read
    /// from M. No group's free space is in memory yet.
    ///
    /// # Errors
    /// [`SpaceError::Corrupt`] when there are not as many descriptors as groups, or one has more
    /// free blocks than its group.
    pub fn new(
        blocks: u64,
        group_blocks: u32,
        entries: Vec<GroupEntry>,
    ) -> Result<Space, SpaceError> {
        let found = entries.len() as u64;
        let sound = (1..=free::MAX_GROUP).contains(&group_blocks)
            && found == blocks.div_ceil(group_blocks.into())
            && (1..u64::from(u32::MAX)).contains(&found);
        if !sound {
            let reason = FreeError::Geometry { found, group_blocks, blocks };
            return Err(SpaceError::Corrupt { group: 0, reason });
        }
        let mut space = Space {
            blocks,
            group_blocks,
            groups: Vec::with_capacity(entries.len()),
            free: 0,
            emptiest: MaxTree::new(entries.iter().map(|e| emptiness(e.free, e.dirs))),
            longest: MaxTree::new(entries.iter().map(|_| 0)),
            dirty: Default::default(),
            dirty_entries: Default::default(),
            memory: 0,
            clock: 0,
            affinity: Default::default(),
        };
        for (g, e) in (0..).zip(&entries) {
            let size = space.group_size(g);
            if e.free > size {
                let reason = FreeError::Descriptor { free: e.free, size };
                return Err(SpaceError::Corrupt { group: g, reason });
            }
            let known = e.free == 0 || e.free == size;
            if known {
                space.longest.set(g, e.free);
            }
            space.free += u64::from(e.free);
            space.groups.push(Group {
                free: e.free,
                dirs: e.dirs,
                inodes: e.inodes,
                cursor: 0,
                bitmap: e.bitmap,
                chunks: e.chunks,
                known,
                used: 0,
                space: None,
            });
        }
        Ok(space)
    }

    /// The space of a new volume: all free, every group to be written.
    ///
    /// # Errors
    /// As [`Space::new`], for impossible sizes.
    pub fn format(blocks: u64, group_blocks: u32) -> Result<Space, SpaceError> {
        let per_group = u64::from(group_blocks.max(1));
        let groups = blocks.div_ceil(per_group);
        let free = |g: u64| GroupEntry {
            free: (blocks - g * per_group).min(per_group) as u32,
            ..Default::default()
        };
        let mut space = Space::new(blocks, group_blocks, (0..groups).map(free).collect())?;
        space.dirty = (0..groups as u32).collect();
        Ok(space)
    }

    /// Number of groups.
    pub fn groups(&self) -> u32 {
        self.groups.len() as u32
    }

    /// Blocks available now on the whole device.
    pub fn free_blocks(&self) -> u64 {
        self.free
    }

    /// Blocks available now in a group; none in a group that does not exist.
    pub fn free_in(&self, g: u32) -> u32 {
        self.groups.get(g as usize).map_or(0, |group| group.free)
    }

    /// How many free runs a group has, and the blocks of the longest.
    pub fn free_runs(&mut self, g: u32) -> Result<(u64, u32), SpaceError> {
        let free = self.free_in(g);
        if free == 0 || free == self.group_size(g) {
            return Ok((u64::from(free > 0), free));
        }
        self.need(g)?;
        let runs = self.groups[g as usize].space.as_ref().map(|space| space.runs());
        let runs = runs.unwrap_or_default();
        Ok((runs.len() as u64, runs.iter().map(|run| run.1).max().unwrap_or(0)))
    }

    /// The group of a block.
    pub fn group_of(&self, block: u64) -> u32 {
        (block / u64::from(self.group_blocks)).min(self.groups.len() as u64 - 1) as u32
    }

    /// The blocks of a group.
    pub fn group_run(&self, g: u32) -> Run {
        let start = u64::from(g) * u64::from(self.group_blocks);
        Run { start, len: u64::from(self.group_size(g)) }
    }

    /// Bytes of memory held by the free space of loaded groups.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Whether a group's free space is in memory, or needs no reading.
    pub fn is_loaded(&self, g: u32) -> bool {
        self.groups.get(g as usize).is_some_and(|group| {
            group.space.is_some() || group.free == 0 || group.free == self.group_size(g)
        })
    }

    /// Blocks of a group; the last one may be smaller.
    pub(super) fn group_size(&self, g: u32) -> u32 {
        let start = u64::from(g) * u64::from(self.group_blocks);
        self.blocks.saturating_sub(start).min(self.group_blocks.into()) as u32
    }

    /// Fails unless a group's free space is in memory. One that is all free or all in use is made
    /// on the spot.
    pub(super) fn need(&mut self, g: u32) -> Result<(), SpaceError> {
        let size = self.group_size(g);
        self.clock += 1;
        let clock = self.clock;
        let group = &mut self.groups[g as usize];
        group.used = clock;
        match (&group.space, group.free) {
            (Some(_), _) => {}
            (None, 0) => self.install(g, Vec::new()),
            (None, free) if free == size => self.install(g, vec![(0, size)]),
            _ => return Err(SpaceError::Load(g)),
        }
        Ok(())
    }

    /// Marks free blocks of a loaded group as used.
    pub(super) fn take(&mut self, g: u32, start: u32, len: u32) {
        self.change(g, |space| space.take(start, len), |free| free - len);
        self.free -= u64::from(len);
    }

    /// Marks used blocks of a loaded group as free.
    pub(super) fn put(&mut self, g: u32, start: u32, len: u32) {
        self.change(g, |space| space.put(start, len), |free| free + len);
        self.free += u64::from(len);
    }

    fn change(&mut self, g: u32, f: impl FnOnce(&mut GroupFree), count: impl FnOnce(u32) -> u32) {
        let group = &mut self.groups[g as usize];
        let Some(space) = &mut group.space else {
            debug_assert!(false, "group {g} changed without being loaded");
            return;
        };
        self.memory -= space.memory();
        f(space);
        self.memory += space.memory();
        group.free = count(group.free);
        self.longest.set(g, space.longest());
        self.emptiest.set(g, emptiness(group.free, group.dirs));
    }

    /// Puts a group's free space into memory.
    pub(super) fn install(&mut self, g: u32, runs: Vec<Piece>) {
        let space = Box::new(GroupFree::new(self.group_size(g), runs));
        self.clock += 1;
        self.memory += space.memory();
        self.longest.set(g, space.longest());
        let group = &mut self.groups[g as usize];
        group.known = true;
        group.used = self.clock;
        group.space = Some(space);
    }
}
