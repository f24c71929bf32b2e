//! Distances between requests.

use std::collections::HashMap;

/// Distances up to this, forwards and backwards, are counted one by one.
const EXACT: u64 = 65_536;

/// Signed distances, in whatever unit they are given.
#[derive(Debug, Clone, Default)]
pub struct Distances {
    /// No distance, and then 1, 2 to 3, 4 to 7, … forwards.
    forwards: Vec<u64>,
    /// The same backwards, from 1.
    backwards: Vec<u64>,
    exact: HashMap<i64, u64>,
    last: Option<u64>,
    count: u64,
    sum: u128,
}

impl Distances {
    pub(super) fn add(&mut self, distance: i64) {
        let far = distance.unsigned_abs();
        let (side, bucket) = match distance {
            0.. => (&mut self.forwards, (u64::BITS - far.leading_zeros()) as usize),
            _ => (&mut self.backwards, far.ilog2() as usize),
        };
        if side.len() <= bucket {
            side.resize(bucket + 1, 0);
        }
        side[bucket] += 1;
        if far <= EXACT {
            *self.exact.entry(distance).or_default() += 1;
        }
        self.count += 1;
        self.sum += u128::from(far);
    }

    /// Counts the distance from the place that was named last.
    pub(super) fn step_to(&mut self, place: u64) {
        if let Some(last) = self.last.replace(place) {
            self.add(difference(place, last));
        }
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean of those that are not 0, directions aside.
    pub fn mean(&self) -> f64 {
        let others = self.count - self.none();
        if others == 0 { 0.0 } else { self.sum as f64 / others as f64 }
    }

    /// How many are 0.
    pub fn none(&self) -> u64 {
        self.forwards.first().copied().unwrap_or(0)
    }

    /// How often the distance was from the first number to the second, in order; powers of two.
    pub fn buckets(&self) -> Vec<(i64, i64, u64)> {
        let range = |bucket: usize| {
            let low = 1i64.checked_shl(bucket as u32).filter(|low| *low > 0).unwrap_or(i64::MAX);
            (low, low.saturating_mul(2).saturating_sub(1))
        };
        let back = self.backwards.iter().enumerate().rev().map(|(bucket, &count)| {
            let (low, high) = range(bucket);
            (-high, -low, count)
        });
        let forth = self.forwards.iter().enumerate().map(|(at, &count)| match at.checked_sub(1) {
            None => (0, 0, count),
            Some(bucket) => {
                let (low, high) = range(bucket);
                (low, high, count)
            }
        });
        back.chain(forth).collect()
    }

    /// The most frequent ones among those up to 65,536 either way, and how often each was.
    pub fn frequent(&self, most: usize) -> Vec<(i64, u64)> {
        let mut all: Vec<(i64, u64)> = self.exact.iter().map(|(&d, &n)| (d, n)).collect();
        all.sort_unstable_by_key(|&(distance, count)| {
            (std::cmp::Reverse(count), distance.unsigned_abs(), distance)
        });
        all.truncate(most);
        all
    }
}

/// `to` minus `from`, as far as that can be said.
pub(super) fn difference(to: u64, from: u64) -> i64 {
    let far = i64::try_from(to.abs_diff(from)).unwrap_or(i64::MAX);
    if to >= from { far } else { -far }
}
