//! Which blocks a request gets.
//!
//! In this order:
//! 1. At `near`, when the blocks there are free: a file grows in place. A part of the request is
//!    taken there when it is at least half of it and the caller can do with several runs.
//! 2. One run in the goal group. At the group's cursor, where the last placement ended, so that
//!    what is written together lies together; when the run there is too short, the smallest of the
//!    first [`WINDOW`] runs after it that are long enough. Pure best fit would scatter a directory
//!    over the group to save holes; pure next fit would break the longest runs first; the window
//!    costs a bounded time and keeps most of both.
//! 3. One run in the nearest group that has one.
//! 4. Several runs, long ones first, going on where the last one ended when possible: a request
//!    larger than a group becomes one run over several groups.
//!
//! A group that was never in memory is known by its number of free blocks only, which says little
//! when it is fragmented. So that one request does not read all groups of a full volume, only the
//! [`NEARBY`] ([`FAR`] for a contiguous request) nearest candidates are read; beyond them, groups
//! whose longest run is known count.

use super::alloc::{Goal, Part, Parts};
use super::{Run, Space, SpaceError};

/// Runs that a placement chooses between.
const WINDOW: usize = 16;
/// Groups without a run that fits, after which a search goes by known runs only.
const NEARBY: usize = 8;
/// The same for a request that shall be contiguous.
const FAR: usize = 64;

impl Space {
    /// Takes blocks for a request, part by part. On an error those taken so far stay in `parts`.
    pub(super) fn place(
        &mut self,
        goal: Goal,
        want: u64,
        contiguous: bool,
        parts: &mut Parts,
    ) -> Result<(), SpaceError> {
        let mut left = want;
        let mut group = goal.group;
        let mut there = None;
        if let Some(near) = goal.near {
            let len = self.free_run(near, left)?;
            let enough = if contiguous { left } else { left.div_ceil(2) };
            let run = Run { start: near, len };
            if len >= enough {
                left -= self.take_run(run, parts);
                group = self.group_of(run.end());
            } else {
                there = Some(run).filter(|run| run.len > 0);
            }
        }
        if left == 0 {
            return Ok(());
        }
        if let Some((g, start)) = self.one_run(group, left, contiguous)? {
            self.take_part(Part { group: g, start, len: left as u32 }, parts);
            return Ok(());
        }
        if let Some(run) = there {
            left -= self.take_run(run, parts);
        }
        let mut end = None;
        while left > 0 {
            let run = self.long_run(group, end, left)?;
            left -= self.take_run(run, parts);
            group = self.group_of(run.end());
            end = Some(run.end());
        }
        Ok(())
    }

    /// Whether [`Space::allocate`] would find one run for a contiguous request without a `near`.
    ///
    /// # Errors
    /// [`SpaceError::Load`].
    pub fn has_run(&mut self, goal: Goal, want: u64) -> Result<bool, SpaceError> {
        let group = goal.group.min(self.groups() - 1);
        Ok(self.one_run(group, want, true)?.is_some())
    }

    /// A place for one run of `want` blocks in or near a group.
    fn one_run(
        &mut self,
        from: u32,
        want: u64,
        contiguous: bool,
    ) -> Result<Option<(u32, u32)>, SpaceError> {
        let Ok(want) = u32::try_from(want) else { return Ok(None) };
        let most = if contiguous { FAR } else { NEARBY };
        let found = self.candidates(from, want, most, |longest| longest >= want)?;
        let found = found.or_else(|| self.longest.outward(from, want).next());
        let Some(group) = found else { return Ok(None) };
        self.need(group)?;
        Ok(Some((group, self.fit(group, want))))
    }

    /// The nearest of the first `most` groups with at least `least` free blocks whose longest run
    /// suits.
    fn candidates(
        &self,
        from: u32,
        least: u32,
        most: usize,
        mut suits: impl FnMut(u32) -> bool,
    ) -> Result<Option<u32>, SpaceError> {
        for g in self.emptiest.outward(from, u64::from(least) << 32).take(most) {
            if !self.groups[g as usize].known {
                return Err(SpaceError::Load(g));
            }
            if suits(self.longest.get(g)) {
                return Ok(Some(g));
            }
        }
        Ok(None)
    }

    /// Where in a loaded group that has one to put a run of `want` blocks.
    fn fit(&self, g: u32, want: u32) -> u32 {
        let group = &self.groups[g as usize];
        let (Some(space), cursor) = (&group.space, group.cursor) else { return 0 };
        if space.free_from(cursor) >= want {
            return cursor;
        }
        let (mut best, mut from, mut wrapped) = ((0, u32::MAX), cursor, false);
        for _ in 0..WINDOW {
            let run = match space.next_run(from, want) {
                Some(run) if !wrapped || run.0 < cursor => run,
                _ if wrapped => break,
                _ => {
                    wrapped = true;
                    match space.next_run(0, want) {
                        Some(run) => run,
                        None => break,
                    }
                }
            };
            if run.1 < best.1 {
                best = run;
            }
            if run.1 == want {
                break;
            }
            from = run.0 + run.1;
        }
        best.0
    }

    /// A long run of at most `left` blocks: what follows `end` if that is long, else the longest
    /// of a group not far from `from`.
    fn long_run(&mut self, from: u32, end: Option<u64>, left: u64) -> Result<Run, SpaceError> {
        let at_most = |n: u32| left.min(u64::from(n).max(1)) as u32;
        let long = at_most((self.emptiest.max().1 >> 32) as u32 / 2);
        if let Some(start) = end.filter(|&end| end < self.blocks) {
            let g = self.group_of(start);
            if self.free_in(g) >= long {
                let len = self.free_run(start, left)?;
                if len >= u64::from(long) {
                    return Ok(Run { start, len });
                }
            }
        }
        let mut longest_seen = 0;
        let found = self.candidates(from, long, NEARBY, |longest| {
            longest_seen = longest_seen.max(longest);
            longest >= long
        })?;
        let group = match found {
            Some(g) => g,
            None => {
                let known = at_most(self.longest.max().1 / 2).max(longest_seen);
                self.longest.outward(from, known).next().ok_or(SpaceError::Full)?
            }
        };
        self.need(group)?;
        let inside = self.group_run(group);
        let longest = self.longest.get(group);
        let (start, len) = match u32::try_from(left) {
            Ok(want) if longest >= want => (self.fit(group, want), want),
            _ => {
                let space = self.groups[group as usize].space.as_ref();
                space.and_then(|s| s.longest_run()).ok_or(SpaceError::Full)?
            }
        };
        Ok(Run { start: inside.start + u64::from(start), len: u64::from(len) })
    }

    /// How many of `want` blocks are free from `start` on without a gap, over groups.
    fn free_run(&mut self, start: u64, want: u64) -> Result<u64, SpaceError> {
        let mut at = start;
        while at < self.blocks && at - start < want {
            let g = self.group_of(at);
            if self.free_in(g) == 0 {
                break;
            }
            self.need(g)?;
            let inside = self.group_run(g);
            at += u64::from(self.free_at(g, (at - inside.start) as u32));
            if at < inside.end() {
                break;
            }
        }
        Ok((at - start).min(want))
    }

    /// How many blocks of a loaded group are free from `block` on without a gap.
    pub(super) fn free_at(&self, g: u32, block: u32) -> u32 {
        self.groups[g as usize].space.as_ref().map_or(0, |space| space.free_from(block))
    }

    /// Takes a free run over loaded groups; returns its length.
    fn take_run(&mut self, run: Run, parts: &mut Parts) -> u64 {
        let mut at = run.start;
        while at < run.end() {
            let group = self.group_of(at);
            let inside = self.group_run(group);
            let end = inside.end().min(run.end());
            let part = Part { group, start: (at - inside.start) as u32, len: (end - at) as u32 };
            self.take_part(part, parts);
            at = end;
        }
        run.len
    }

    fn take_part(&mut self, part: Part, parts: &mut Parts) {
        self.take(part.group, part.start, part.len);
        parts.push(part);
    }
}
