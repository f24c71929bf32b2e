//! How long callers had to wait for room, for memory, or for a commit.

use crate::sync::atomic::{AtomicU64, Ordering};

/// What a caller waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// Room in the log, or on D.
    Room,
    /// Less that is dirty in memory.
    Pressure,
    /// Its turn to commit.
    Commit,
}

/// Waits of callers since the mount.
#[derive(Debug, Default)]
pub(crate) struct Stalls {
    count: [AtomicU64; 3],
    longest: [AtomicU64; 3],
    histogram: [AtomicU64; BUCKETS],
}

/// Waits from 1 µs on, by powers of two; the last has everything from 4 s on.
const BUCKETS: usize = 23;

/// Waits of callers.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct StallStats {
    /// Waits in all.
    pub count: u64,
    /// Those for room in the log or on D.
    pub room: u64,
    /// Those because too much was dirty in memory.
    pub pressure: u64,
    /// Those of fsync for the commit before its own.
    pub commit: u64,
    /// The longest wait for room or memory, in microseconds.
    pub longest_us: u64,
    /// The longest wait for a commit, in microseconds.
    pub longest_commit_us: u64,
    /// How many waits for room or memory took less than so many microseconds: the bound, a power
    /// of two, and the number; from the first to the last that there were.
    pub histogram: Vec<(u64, u64)>,
}

impl Stalls {
    /// Counts a wait of `ns` nanoseconds.
    pub fn add(&self, why: Why, ns: u64) {
        self.count[why as usize].fetch_add(1, Ordering::Relaxed);
        self.longest[why as usize].fetch_max(ns, Ordering::Relaxed);
        if why != Why::Commit {
            let us = ns / 1000;
            let bucket = (u64::BITS - us.leading_zeros()) as usize;
            self.histogram[bucket.min(BUCKETS - 1)].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What there was so far.
    pub fn stats(&self) -> StallStats {
        let count = |why: Why| self.count[why as usize].load(Ordering::Relaxed);
        let longest = |why: Why| self.longest[why as usize].load(Ordering::Relaxed) / 1000;
        let all = self.histogram.iter().enumerate();
        let mut histogram: Vec<(u64, u64)> =
            all.map(|(i, n)| (1 << i, n.load(Ordering::Relaxed))).collect();
        while histogram.last().is_some_and(|bucket| bucket.1 == 0) {
            histogram.pop();
        }
        let empty = histogram.iter().take_while(|bucket| bucket.1 == 0).count();
        histogram.drain(..empty);
        StallStats {
            count: count(Why::Room) + count(Why::Pressure) + count(Why::Commit),
            room: count(Why::Room),
            pressure: count(Why::Pressure),
            commit: count(Why::Commit),
            longest_us: longest(Why::Room).max(longest(Why::Pressure)),
            longest_commit_us: longest(Why::Commit),
            histogram,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_counted_by_powers_of_two() {
        let stalls = Stalls::default();
        assert_eq!(stalls.stats().histogram, []);
        stalls.add(Why::Room, 3_000);
        stalls.add(Why::Pressure, 4_000);
        stalls.add(Why::Pressure, 9_000_000_000);
        stalls.add(Why::Commit, 50_000);
        let stats = stalls.stats();
        assert_eq!((stats.count, stats.room, stats.pressure, stats.commit), (4, 1, 2, 1));
        assert_eq!((stats.longest_us, stats.longest_commit_us), (9_000_000, 50));
        assert_eq!(stats.histogram.first(), Some(&(4, 1)));
        assert_eq!(stats.histogram[1], (8, 1));
        assert_eq!(stats.histogram.last(), Some(&(1 << 22, 1)));
    }
}
