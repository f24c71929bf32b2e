//! Free space on M: loading, evicting, and the form in which a checkpoint writes it.

use tandem_format::{GROUP_PER_BLOCK, GroupEntry, PAYLOAD};

use super::free::{self, Piece};
use super::{Run, Space, SpaceError};

/// A group as a checkpoint writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedGroup {
    /// The descriptor.
    pub entry: GroupEntry,
    /// The free space, in the form that the descriptor names.
    pub bytes: Vec<u8>,
}

impl Space {
    /// Takes a group's free space as read from M, a bitmap or else a list, into memory. Nothing
    /// happens when it is there.
    ///
    /// # Errors
    /// [`SpaceError::Corrupt`] when the bytes are not a set of blocks of the group, as many as the
    /// descriptor says.
    pub fn load(&mut self, g: u32, bytes: &[u8], bitmap: bool) -> Result<(), SpaceError> {
        if self.is_loaded(g) {
            return Ok(());
        }
        let size = self.group_size(g);
        let group = self.groups.get(g as usize);
        let expected = group.ok_or(SpaceError::OutOfRange(self.group_run(g)))?.free;
        let runs = free::decode(bytes, bitmap, size, self.group_blocks, expected)
            .map_err(|reason| SpaceError::Corrupt { group: g, reason })?;
        self.install(g, runs);
        Ok(())
    }

    /// Forgets the least recently used groups that are not dirty until at most `limit` bytes of
    /// memory are held. Not to be called between a [`SpaceError::Load`] and the call repeated
    /// after it, which may need several groups at once.
    pub fn unload_clean(&mut self, limit: usize) {
        if self.memory <= limit {
            return;
        }
        let clean = |g: &u32| self.groups[*g as usize].space.is_some() && !self.dirty.contains(g);
        let mut victims: Vec<u32> = (0..self.groups()).filter(clean).collect();
        victims.sort_unstable_by_key(|&g| self.groups[g as usize].used);
        // Somewhat below the limit, so that the next call has nothing to do.
        let goal = limit - limit / 8;
        for g in victims {
            if self.memory <= goal {
                break;
            }
            if let Some(space) = self.groups[g as usize].space.take() {
                self.memory -= space.memory();
            }
        }
    }

    /// How many groups have to be written, and blocks of descriptors at most.
    pub fn dirty_len(&self) -> u64 {
        let entries = self.dirty_entries.len().min(self.groups.len() / GROUP_PER_BLOCK + 1);
        (self.dirty.len() + entries) as u64
    }

    /// Groups whose free space has to be written, in order. They stay so until
    /// [`Space::encode_group`] has given their bytes.
    pub fn dirty(&self) -> Vec<u32> {
        self.dirty.iter().copied().collect()
    }

    /// Groups of which only the descriptor has to be written, in order. They stay so until
    /// [`Space::encode_entry`] has given it.
    pub fn dirty_entries(&self) -> Vec<u32> {
        self.dirty_entries.difference(&self.dirty).copied().collect()
    }

    /// Has a group written again, as when a checkpoint that had taken it has failed.
    pub fn mark_dirty(&mut self, g: u32) {
        if (g as usize) < self.groups.len() {
            self.dirty.insert(g);
        }
    }

    /// The persistent form of a group: what is available now and `also_free`, the parts of whose
    /// runs outside the group do not count. The group is clean then, unless `also_free` makes its
    /// persistent form differ from the one in memory: then it stays dirty, and so in memory.
    ///
    /// # Errors
    /// [`SpaceError::Load`] for a group that is not in memory, as no dirty group is.
    pub fn encode_group(&mut self, g: u32, also_free: &[Run]) -> Result<EncodedGroup, SpaceError> {
        self.need(g)?;
        let inside = self.group_run(g);
        let mut runs = self.groups[g as usize].space.as_ref().map_or_else(Vec::new, |s| s.runs());
        let available = runs.len();
        runs.extend(also_free.iter().filter_map(|run| {
            let (from, to) = (run.start.max(inside.start), run.end().min(inside.end()));
            (from < to).then(|| ((from - inside.start) as u32, (to - from) as u32))
        }));
        let differs = runs.len() > available;
        if differs {
            runs = union(runs);
        }
        let (bitmap, bytes) = free::encode(&runs, self.group_blocks);
        let group = &mut self.groups[g as usize];
        group.bitmap = bitmap;
        group.chunks = bytes.len().div_ceil(PAYLOAD) as u16;
        let mut entry = self.encode_entry(g);
        entry.free = runs.iter().map(|run| run.1).sum();
        if differs {
            self.dirty.insert(g);
        } else {
            self.dirty.remove(&g);
        }
        Ok(EncodedGroup { entry, bytes })
    }

    /// The descriptor of a group whose free space is not dirty, to be written.
    pub fn encode_entry(&mut self, g: u32) -> GroupEntry {
        self.dirty_entries.remove(&g);
        self.entry(g)
    }

    /// The descriptor of a group: counts as of now, the form as on M.
    pub fn entry(&self, g: u32) -> GroupEntry {
        self.groups.get(g as usize).map_or_else(GroupEntry::default, |group| GroupEntry {
            free: group.free,
            dirs: group.dirs,
            inodes: group.inodes,
            bitmap: group.bitmap,
            chunks: group.chunks,
        })
    }
}

/// Sorted runs that neither overlap nor touch, from any.
fn union(mut runs: Vec<Piece>) -> Vec<Piece> {
    runs.sort_unstable();
    runs.dedup_by(|next, last| {
        let joins = next.0 <= last.0 + last.1;
        if joins {
            last.1 = last.1.max(next.0 + next.1 - last.0);
        }
        joins
    });
    runs
}
