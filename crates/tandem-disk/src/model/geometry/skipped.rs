//! Slots that are passed over, looked up without searching through all of them.

use std::ops::Range;

/// Where to look for a key among rising ones: how many lie before each multiple of a power of two.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    shift: u32,
    cells: Vec<u32>,
}

impl Index {
    /// Of rising keys below `end`, about one to a cell.
    pub(super) fn new(keys: &[u64], end: u64) -> Index {
        let gap = end / (keys.len() as u64).max(1);
        let shift = gap.max(1).ilog2();
        let cells = if keys.is_empty() { 0 } else { (end >> shift) + 2 };
        let before = |cell: u64| keys.partition_point(|&key| key < cell << shift) as u32;
        Index { shift, cells: (0..cells).map(before).collect() }
    }

    /// Between which two numbers that of the keys before `key`, or up to it, lies.
    pub(super) fn around(&self, key: u64) -> Range<usize> {
        let last = self.cells.last().map_or(0, |&all| all as usize);
        let of = |cell: u64| usize::try_from(cell).ok().and_then(|cell| self.cells.get(cell));
        let cell = key >> self.shift;
        let low = of(cell).map_or(last, |&n| n as usize);
        low..of(cell + 1).map_or(last, |&n| n as usize)
    }
}

/// A run of slots passed over.
#[derive(Debug, Clone, Copy)]
struct Run {
    start: u64,
    len: u64,
    /// Slots passed over before it.
    before: u64,
}

/// The slots of a zone that have no address.
#[derive(Debug, Clone)]
pub(super) struct Skipped {
    runs: Vec<Run>,
    by_slot: Index,
    by_number: Index,
}

impl Skipped {
    /// Runs (first slot and length) in order, none reaching into the next, below `end`.
    pub(super) fn new(runs: &[(u64, u64)], end: u64) -> Skipped {
        let mut before = 0;
        let mut all = Vec::with_capacity(runs.len());
        for &(start, len) in runs {
            all.push(Run { start, len, before });
            before += len;
        }
        let starts: Vec<u64> = all.iter().map(|run| run.start).collect();
        let numbers: Vec<u64> = all.iter().map(|run| run.start - run.before).collect();
        let (by_slot, by_number) = (Index::new(&starts, end), Index::new(&numbers, end));
        Skipped { runs: all, by_slot, by_number }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// How many slots before `slot` are passed over.
    pub(super) fn before(&self, slot: u64) -> u64 {
        let at = self.first(slot);
        at.checked_sub(1).map_or(0, |at| {
            let Run { start, len, before } = self.runs[at];
            before + len.min(slot - start)
        })
    }

    /// The slot of this number among those that are not passed over, from 0.
    pub(super) fn slot(&self, number: u64) -> u64 {
        let near = self.by_number.around(number);
        let within = self.runs[near.clone()].partition_point(|r| r.start - r.before <= number);
        let at = (near.start + within).checked_sub(1);
        number + at.map_or(0, |at| self.runs[at].len + self.runs[at].before)
    }

    /// The first slot passed over that is `slot` or behind it.
    pub(super) fn next(&self, slot: u64) -> u64 {
        self.runs.get(self.first(slot)).map_or(u64::MAX, |run| run.start)
    }

    /// The first run that begins at `slot` or behind it.
    fn first(&self, slot: u64) -> usize {
        let near = self.by_slot.around(slot);
        near.start + self.runs[near].partition_point(|run| run.start < slot)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn slots_are_numbered_in_order(lens in proptest::collection::vec((0u64..30, 1u64..5), 0..60)) {
            let (mut runs, mut end) = (Vec::new(), 0);
            for (gap, len) in lens {
                runs.push((end + gap, len));
                end += gap + len;
            }
            let end = end + 7;
            let skipped = Skipped::new(&runs, end);
            let is_skipped = |slot: &u64| runs.iter().any(|&(s, len)| s <= *slot && *slot < s + len);
            let numbered: Vec<u64> = (0..end).filter(|slot| !is_skipped(slot)).collect();
            for (number, &slot) in numbered.iter().enumerate() {
                prop_assert_eq!(skipped.slot(number as u64), slot);
            }
            for slot in 0..=end {
                let before = (0..slot).filter(is_skipped).count() as u64;
                prop_assert_eq!(skipped.before(slot), before);
                let next = runs.iter().map(|run| run.0).find(|&start| start >= slot);
                prop_assert_eq!(skipped.next(slot), next.unwrap_or(u64::MAX));
            }
        }
    }
}
