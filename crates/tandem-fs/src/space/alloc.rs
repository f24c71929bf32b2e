//! Taking blocks and giving them back. Which blocks a request gets is `search`'s affair.

use smallvec::SmallVec;

use super::{Run, Space, SpaceError};

/// Where blocks are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goal {
    /// The directory's group; one that does not exist counts as the last.
    pub group: u32,
    /// The block after the file's last one, or any that would suit better than the group's cursor.
    pub near: Option<u64>,
}

impl Goal {
    /// The group that a placement should be in; `None` when it follows what is there already.
    fn meant_for(self) -> Option<u32> {
        self.near.is_none().then_some(self.group)
    }
}

/// The result of a request.
pub type Runs = SmallVec<[Run; 4]>;

/// Blocks taken in one group by a request that is not complete yet.
pub(super) struct Part {
    pub group: u32,
    pub start: u32,
    pub len: u32,
}

pub(super) type Parts = SmallVec<[Part; 4]>;

impl Space {
    /// Takes exactly `want` blocks, in as few runs as the search finds. The runs are in ascending
    /// order from `near`, or from the start of the goal group when there is no `near`, and around
    /// from the end of the device to its beginning. With `contiguous` one run is worth more than
    /// a place at `near`.
    ///
    /// A request that needs many groups has all of them in memory at once: ask for a few groups'
    /// worth at a time.
    ///
    /// # Errors
    /// [`SpaceError::Load`] and [`SpaceError::Full`], with nothing changed.
    pub fn allocate(
        &mut self,
        goal: Goal,
        want: u64,
        contiguous: bool,
    ) -> Result<Runs, SpaceError> {
        if want > self.free {
            return Err(SpaceError::Full);
        }
        let goal = Goal {
            group: goal.group.min(self.groups() - 1),
            near: goal.near.filter(|&near| near < self.blocks),
        };
        let mut parts = Parts::new();
        if let Err(e) = self.place(goal, want, contiguous, &mut parts) {
            for part in parts.iter().rev() {
                self.put(part.group, part.start, part.len);
            }
            return Err(e);
        }
        Ok(self.settle(goal, &parts))
    }

    /// What is placed next in the group of block `end - 1` leaves up to `room` blocks behind `end`
    /// free, if it would have begun there: for who grows from there on. A hint, held in memory only:
    /// the blocks stay free for whoever finds no others.
    pub fn leave_room(&mut self, end: u64, room: u32) {
        let Some(last) = end.checked_sub(1).filter(|&last| last < self.blocks) else { return };
        let g = self.group_of(last);
        let at = (end - self.group_run(g).start) as u32;
        if self.groups[g as usize].cursor == at {
            self.groups[g as usize].cursor = at + self.free_at(g, at).min(room);
        }
    }

    /// Gives blocks back.
    ///
    /// # Errors
    /// With nothing changed: [`SpaceError::Load`]; [`SpaceError::DoubleFree`] when any of the
    /// blocks is free; [`SpaceError::OutOfRange`].
    pub fn release(&mut self, run: Run) -> Result<(), SpaceError> {
        let parts = self.parts(run)?;
        let free = |p: &Part| {
            self.groups[p.group as usize].space.as_ref().is_some_and(|s| s.any_free(p.start, p.len))
        };
        if parts.iter().any(free) {
            return Err(SpaceError::DoubleFree(run));
        }
        for p in parts {
            self.put(p.group, p.start, p.len);
            self.dirty.insert(p.group);
        }
        Ok(())
    }

    /// Takes these very blocks, as roll-forward does.
    ///
    /// # Errors
    /// With nothing changed: [`SpaceError::Load`]; [`SpaceError::InUse`] when any of the blocks is
    /// not free; [`SpaceError::OutOfRange`].
    pub fn reserve_exact(&mut self, run: Run) -> Result<(), SpaceError> {
        let parts = self.parts(run)?;
        if !parts.iter().all(|p| self.free_at(p.group, p.start) >= p.len) {
            return Err(SpaceError::InUse(run));
        }
        for p in parts {
            self.take(p.group, p.start, p.len);
            self.dirty.insert(p.group);
        }
        Ok(())
    }

    /// Whether all of these blocks are free.
    ///
    /// # Errors
    /// [`SpaceError::Load`]; [`SpaceError::OutOfRange`].
    #[cfg(test)]
    pub fn is_free(&mut self, run: Run) -> Result<bool, SpaceError> {
        let parts = self.parts(run)?;
        Ok(parts.iter().all(|p| self.free_at(p.group, p.start) >= p.len))
    }

    /// A run by groups, all of them in memory.
    fn parts(&mut self, run: Run) -> Result<Parts, SpaceError> {
        if run.start.checked_add(run.len).is_none_or(|end| end > self.blocks) {
            return Err(SpaceError::OutOfRange(run));
        }
        let mut parts = Parts::new();
        let mut at = run.start;
        while at < run.end() {
            let group = self.group_of(at);
            let inside = self.group_run(group);
            let end = inside.end().min(run.end());
            self.need(group)?;
            parts.push(Part { group, start: (at - inside.start) as u32, len: (end - at) as u32 });
            at = end;
        }
        Ok(parts)
    }

    /// Makes a complete request final: cursors, dirty groups, the runs in order.
    fn settle(&mut self, goal: Goal, parts: &Parts) -> Runs {
        match goal.meant_for() {
            Some(group) if parts.iter().all(|p| p.group == group) => self.affinity.placed_home += 1,
            Some(_) => self.affinity.placed_away += 1,
            None => {}
        }
        let base = goal.near.unwrap_or_else(|| self.group_run(goal.group).start);
        let mut runs = Runs::new();
        for part in parts {
            self.dirty.insert(part.group);
            let start = self.group_run(part.group).start + u64::from(part.start);
            let group = &mut self.groups[part.group as usize];
            // A file that grows in place far from the cursor does not drag the others after it.
            if goal.near != Some(start) || group.cursor == part.start {
                group.cursor = part.start + part.len;
            }
            runs.push(Run { start, len: part.len.into() });
        }
        runs.sort_unstable_by_key(|run| run.start.wrapping_sub(base));
        runs.dedup_by(|next, last| {
            let joins = last.end() == next.start;
            if joins {
                last.len += next.len;
            }
            joins
        });
        runs
    }
}
