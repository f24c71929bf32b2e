//! How long operations take, so that those that wait for a slow device do not hold up a queue.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::abi::Opcode;

/// Handing a request to another thread costs some 50 µs; above ten times that it costs little.
const SLOW: Duration = Duration::from_micros(500);
/// Weight of the past in the running mean: 7 of 8.
const PAST: u32 = 8;

/// Running means by operation, in nanoseconds.
#[derive(Debug)]
pub(super) struct Pace {
    means: [AtomicU32; Opcode::SLOTS],
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { means: [const { AtomicU32::new(0) }; Opcode::SLOTS] }
    }
}

impl Pace {
    pub(super) fn start(&self) -> Instant {
        Instant::now()
    }

    pub(super) fn stop(&self, opcode: Opcode, since: Instant) {
        self.note(opcode, since.elapsed());
    }

    /// Whether operations of this kind have been slow of late.
    pub(super) fn is_slow(&self, opcode: Opcode) -> bool {
        self.means[opcode.slot()].load(Ordering::Relaxed) > SLOW.as_nanos() as u32
    }

    fn note(&self, opcode: Opcode, took: Duration) {
        // A second is enough to be slow for the next forty.
        let took = took.as_nanos().min(1_000_000_000) as u32;
        let mean = &self.means[opcode.slot()];
        let old = mean.load(Ordering::Relaxed);
        // Two threads at once may lose a sample, which does not matter.
        mean.store(old - old / PAST + took / PAST, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_after_a_wait_and_fast_again_after_some_fast_ones() {
        let pace = Pace::default();
        for _ in 0..100 {
            pace.note(Opcode::Read, Duration::from_micros(20));
        }
        assert!(!pace.is_slow(Opcode::Read));
        pace.note(Opcode::Read, Duration::from_millis(10));
        assert!(pace.is_slow(Opcode::Read));
        assert!(!pace.is_slow(Opcode::Lookup));
        for _ in 0..10 {
            pace.note(Opcode::Read, Duration::from_micros(20));
        }
        assert!(!pace.is_slow(Opcode::Read));
        for _ in 0..1000 {
            pace.note(Opcode::Read, Duration::MAX);
        }
        assert!(pace.is_slow(Opcode::Read));
    }
}
