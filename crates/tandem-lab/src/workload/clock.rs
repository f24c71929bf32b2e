//! Time inside a phase, where a workload has figures of its own.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The time since it was started: elapsed, of the processor, and in whole seconds of the wall clock.
pub(super) struct Clock {
    start: Instant,
    cpu: f64,
    wall: u64,
}

/// What a [`Clock`] shows.
pub(super) struct Elapsed {
    /// Seconds.
    pub seconds: f64,
    /// Seconds of the processor, of this process, in user mode and in the kernel.
    pub cpu: f64,
    /// Whole seconds between two readings of a clock that shows whole seconds, as bash's `$SECONDS`.
    pub whole: u64,
}

impl Clock {
    pub fn start() -> Clock {
        Clock { start: Instant::now(), cpu: cpu(), wall: wall() }
    }

    pub fn elapsed(&self) -> Elapsed {
        Elapsed {
            // A rate is divided by it.
            seconds: self.start.elapsed().as_secs_f64().max(1e-9),
            cpu: cpu() - self.cpu,
            whole: wall().saturating_sub(self.wall),
        }
    }
}

fn cpu() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn wall() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
