//! Random calls against a plain bitmap.

use proptest::prelude::*;
use tandem_format::GroupEntry;

use super::super::*;

/// A volume whose groups' bytes lie in a vector as they would on M.
struct Rig {
    space: Space,
    stored: Vec<EncodedGroup>,
    /// The model: one flag per block, set when it is free.
    free: Vec<bool>,
}

impl Rig {
    fn new(blocks: u64, group_blocks: u32) -> Rig {
        let mut space = Space::format(blocks, group_blocks).unwrap();
        let stored =
            space.dirty().into_iter().map(|g| space.encode_group(g, &[]).unwrap()).collect();
        Rig { space, stored, free: vec![true; blocks as usize] }
    }

    /// Makes the call, loading what it asks for, and checks that a call that fails changes nothing.
    fn call<T>(
        &mut self,
        mut f: impl FnMut(&mut Space) -> Result<T, SpaceError>,
    ) -> Result<T, SpaceError> {
        let mut loads = Vec::new();
        loop {
            let dirty = self.space.dirty();
            match f(&mut self.space) {
                Err(SpaceError::Load(g)) => {
                    assert!(!loads.contains(&g), "group {g} asked for twice");
                    assert!(!self.space.is_loaded(g) && !dirty.contains(&g));
                    self.check_counts(&dirty);
                    let EncodedGroup { entry, bytes } = &self.stored[g as usize];
                    self.space.load(g, bytes, entry.bitmap).unwrap();
                    loads.push(g);
                }
                Err(e) => {
                    self.check_counts(&dirty);
                    return Err(e);
                }
                ok => return ok,
            }
        }
    }

    fn count(&self, run: Run) -> u64 {
        self.free[run.start as usize..run.end() as usize].iter().filter(|&&f| f).count() as u64
    }

    fn set(&mut self, run: Run, free: bool) {
        self.free[run.start as usize..run.end() as usize].fill(free);
    }

    fn check_counts(&self, dirty: &[u32]) {
        assert_eq!(self.space.dirty(), dirty);
        for g in 0..self.space.groups() {
            let free = self.count(self.space.group_run(g));
            assert_eq!(u64::from(self.space.free_in(g)), free, "group {g}");
        }
        assert_eq!(self.space.free_blocks(), self.free.iter().filter(|&&f| f).count() as u64);
    }

    /// Every loaded group's runs, its longest run and the indexes against the model.
    fn check(&mut self) {
        self.check_counts(&self.space.dirty());
        let mut memory = 0;
        for g in 0..self.space.groups() {
            let inside = self.space.group_run(g);
            let group = &self.space.groups[g as usize];
            let flags = &self.free[inside.start as usize..inside.end() as usize];
            let mut runs: Vec<(u32, u32)> = Vec::new();
            for (i, _) in flags.iter().enumerate().filter(|f| *f.1) {
                match runs.last_mut() {
                    Some(last) if last.0 + last.1 == i as u32 => last.1 += 1,
                    _ => runs.push((i as u32, 1)),
                }
            }
            let longest = runs.iter().map(|r| r.1).max().unwrap_or(0);
            if group.known {
                assert_eq!(self.space.longest.get(g), longest, "group {g}");
            }
            let Some(space) = &group.space else {
                assert!(!self.space.dirty.contains(&g));
                continue;
            };
            assert_eq!(space.runs(), runs, "group {g}");
            assert_eq!(space.longest(), longest);
            assert!(space.bitmap_count().is_none_or(|count| count == runs.len()));
            memory += space.memory();
        }
        assert_eq!(self.space.memory(), memory);
    }

    /// A checkpoint, with some of the used blocks still free as far as M is concerned.
    fn checkpoint(&mut self, also_free: &[Run]) {
        for g in self.space.dirty() {
            let encoded = self.space.encode_group(g, also_free).unwrap();
            let inside = self.space.group_run(g);
            let mut flags = self.free.clone();
            for run in also_free {
                flags[run.start as usize..run.end() as usize].fill(true);
            }
            let flags = &flags[inside.start as usize..inside.end() as usize];
            assert_eq!(encoded.entry.free as usize, flags.iter().filter(|&&f| f).count());
            assert!(encoded.bytes.len() <= (self.space.group_blocks as usize).div_ceil(8).max(4));
            let runs = free::decode(
                &encoded.bytes,
                encoded.entry.bitmap,
                inside.len as u32,
                self.space.group_blocks,
                encoded.entry.free,
            );
            let mut decoded = vec![false; inside.len as usize];
            for (start, len) in runs.unwrap() {
                decoded[start as usize..(start + len) as usize].fill(true);
            }
            assert_eq!(decoded, flags);
            self.stored[g as usize] = encoded;
        }
        for g in self.space.dirty_entries() {
            let entry = self.space.encode_entry(g);
            assert_eq!(entry.free, self.stored[g as usize].entry.free);
            self.stored[g as usize].entry = entry;
        }
    }

    /// Ends and opens the volume again.
    fn reopen(&mut self) {
        self.checkpoint(&[]);
        assert!(self.space.dirty().is_empty() && self.space.dirty_entries().is_empty());
        let entries: Vec<GroupEntry> = self.stored.iter().map(|s| s.entry).collect();
        self.space = Space::new(self.space.blocks, self.space.group_blocks, entries).unwrap();
        assert!((0..self.space.groups()).all(|g| self.space.groups[g as usize].space.is_none()));
    }
}

#[derive(Debug, Clone)]
enum Op {
    Allocate { group: u32, near: Option<u64>, want: u64, contiguous: bool },
    Release { at: u64, len: u64 },
    Reserve { at: u64, len: u64 },
    Scatter { at: u64, step: u64, count: u64 },
    Checkpoint { also: Vec<(u64, u64)> },
    Unload,
    Reopen,
}

fn op(blocks: u64) -> impl Strategy<Value = Op> {
    let len = prop_oneof![4 => 1..8u64, 2 => 1..200u64, 1 => 1..blocks];
    prop_oneof![
        6 => (0..9u32, prop::option::of(0..blocks + 5), len.clone(), any::<bool>())
            .prop_map(|(group, near, want, contiguous)| Op::Allocate { group, near, want, contiguous }),
        4 => (0..blocks, len.clone()).prop_map(|(at, len)| Op::Release { at, len }),
        2 => (0..blocks, len).prop_map(|(at, len)| Op::Reserve { at, len }),
        1 => (0..blocks, 2..5u64, 1..400u64).prop_map(|(at, step, count)| Op::Scatter { at, step, count }),
        1 => prop::collection::vec((0..blocks, 1..50u64), 0..4).prop_map(|also| Op::Checkpoint { also }),
        1 => Just(Op::Unload),
        1 => Just(Op::Reopen),
    ]
}

fn run(blocks: u64, group_blocks: u32, ops: Vec<Op>) {
    let mut rig = Rig::new(blocks, group_blocks);
    for op in ops {
        match op {
            Op::Allocate { group, near, want, contiguous } => {
                allocate(&mut rig, group, near, want, contiguous)
            }
            Op::Release { at, len } => {
                let run = Run { start: at, len: len.min(blocks - at) };
                let clash = rig.count(run) > 0;
                match rig.call(|space| space.release(run)) {
                    Ok(()) => {
                        assert!(!clash);
                        rig.set(run, true);
                    }
                    Err(e) => assert!(clash && e == SpaceError::DoubleFree(run), "{e:?}"),
                }
            }
            Op::Reserve { at, len } => {
                let run = Run { start: at, len: len.min(blocks - at) };
                let all_free = rig.count(run) == run.len;
                assert_eq!(rig.call(|space| space.is_free(run)).unwrap(), all_free);
                match rig.call(|space| space.reserve_exact(run)) {
                    Ok(()) => {
                        assert!(all_free);
                        rig.set(run, false);
                    }
                    Err(e) => assert!(!all_free && e == SpaceError::InUse(run), "{e:?}"),
                }
            }
            Op::Scatter { at, step, count } => {
                for i in 0..count {
                    let run = Run { start: at + i * step, len: 1 };
                    if run.end() > blocks {
                        break;
                    }
                    let free = rig.free[run.start as usize];
                    let done =
                        rig.call(
                            |space| {
                                if free { space.reserve_exact(run) } else { space.release(run) }
                            },
                        );
                    done.unwrap();
                    rig.set(run, !free);
                }
            }
            Op::Checkpoint { also } => {
                let runs: Vec<Run> = also
                    .iter()
                    .map(|&(start, len)| Run { start, len: len.min(blocks - start) })
                    .collect();
                rig.checkpoint(&runs);
            }
            Op::Unload => {
                rig.space.unload_clean(0);
                let loaded = |g: &u32| rig.space.groups[*g as usize].space.is_some();
                assert!(
                    (0..rig.space.groups()).filter(loaded).all(|g| rig.space.dirty.contains(&g))
                );
            }
            Op::Reopen => rig.reopen(),
        }
        rig.check();
    }
    rig.reopen();
    rig.call(|space| space.is_free(Run { start: 0, len: blocks })).unwrap();
    rig.check();
}

fn allocate(rig: &mut Rig, group: u32, near: Option<u64>, want: u64, contiguous: bool) {
    let available = rig.space.free_blocks();
    let at_near = near.filter(|&n| n < rig.free.len() as u64).map_or(0, |n| {
        rig.free[n as usize..].iter().take(want as usize).take_while(|&&f| f).count() as u64
    });
    let runs = match rig.call(|space| space.allocate(Goal { group, near }, want, contiguous)) {
        Ok(runs) => runs,
        Err(e) => {
            assert!(e == SpaceError::Full && want > available, "{e:?}");
            return;
        }
    };
    assert_eq!(runs.iter().map(|r| r.len).sum::<u64>(), want);
    for run in &runs {
        assert_eq!(rig.count(*run), run.len, "blocks given out twice: {run:?}");
        rig.set(*run, false);
    }
    assert!(runs.windows(2).all(|w| w[0].end() != w[1].start));
    if at_near == want {
        assert_eq!(runs.as_slice(), &[Run { start: near.unwrap(), len: want }]);
    }
    if at_near * 2 >= want && !contiguous {
        assert_eq!(runs[0].start, near.unwrap());
        assert!(runs[0].len >= at_near);
    }
}

proptest! {
        #[test]
    fn small_groups_against_model(ops in prop::collection::vec(op(1000), 1..60)) {
        run(1000, 128, ops);
    }

    #[test]
    fn bitmaps_against_model(ops in prop::collection::vec(op(5000), 1..60)) {
        run(5000, 2048, ops);
    }

    #[test]
    fn odd_sizes_against_model(ops in prop::collection::vec(op(77), 1..40)) {
        run(77, 10, ops);
    }

    /// Searches in a bitmap with runs from one block to many leaves of its tree.
    #[test]
    fn searches_against_scan(
        spans in prop::collection::vec((1..5u32, prop_oneof![40 => 1..4u32, 1 => 1..9000u32]), 1030..1100),
        searches in prop::collection::vec((0..50_000u32, 1..9000u32), 20),
    ) {
        let mut end = 0;
        let mut runs = Vec::new();
        for (gap, len) in spans {
            runs.push((end + gap, len));
            end += gap + len;
        }
        let space = free::GroupFree::new(end.max(60_000) + 7, runs.clone());
        prop_assert_eq!(space.bitmap_count(), Some(runs.len()));
        let longest = runs.iter().map(|r| r.1).max();
        prop_assert_eq!(space.longest_run(), runs.iter().find(|r| Some(r.1) == longest).copied());
        for (from, want) in searches {
            let parts = runs.iter().filter(|r| r.0 + r.1 > from);
            let mut parts = parts.map(|r| (r.0.max(from), r.0 + r.1 - r.0.max(from)));
            let here = parts.clone().next().filter(|r| r.0 == from).map_or(0, |r| r.1);
            prop_assert_eq!(space.free_from(from), here);
            prop_assert_eq!(space.any_free(from, want), parts.clone().next().is_some_and(|r| r.0 < from + want));
            prop_assert_eq!(space.next_run(from, want), parts.find(|r| r.1 >= want));
        }
    }

    #[test]
    fn index_against_scan(
        values in prop::collection::vec(0..6u32, 1..40),
        sets in prop::collection::vec((0..40usize, 0..6u32), 0..20),
        from in 0..40usize,
        least in 1..6u32,
    ) {
        let mut values = values;
        let mut tree = MaxTree::new(values.iter().copied());
        for (i, value) in sets {
            let i = i % values.len();
            values[i] = value;
            tree.set(i as u32, value);
        }
        let from = from % values.len();
        let max = *values.iter().max().unwrap();
        prop_assert_eq!(tree.max(), (values.iter().position(|&v| v == max).unwrap() as u32, max));
        let mut expected: Vec<usize> = (0..values.len()).filter(|&i| values[i] >= least).collect();
        expected.sort_by_key(|&i| (i.abs_diff(from), i < from));
        let found: Vec<usize> = tree.outward(from as u32, least).map(|i| i as usize).collect();
        prop_assert_eq!(found, expected);
    }
}
