//! The one seam through which time and randomness come in, so that a simulation can replay a run.

use tandem_format::Time;

/// Time and randomness.
pub trait Env: Send + Sync {
    /// The wall clock.
    fn now(&self) -> Time;
    /// 64 random bits, good enough for keys and identities.
    fn random(&self) -> u64;
    /// A clock in nanoseconds that never goes back, for intervals.
    fn monotonic(&self) -> u64;
}

/// The running system's clock and random numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEnv;

/// The wall clock counts whole milliseconds, in nanoseconds: no coarser than the ticks that the
/// kernel's file systems take their times from, and a third of the bytes of an empty file's record.
const TICK: u32 = 1_000_000;

impl Env for SystemEnv {
    fn now(&self) -> Time {
        let t = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let nanos = u32::try_from(t.tv_nsec).unwrap_or(0);
        Time { secs: t.tv_sec, nanos: nanos - nanos % TICK }
    }

    fn random(&self) -> u64 {
        uuid::Uuid::new_v4().as_u64_pair().1 ^ uuid::Uuid::new_v4().as_u64_pair().0.rotate_left(17)
    }

    fn monotonic(&self) -> u64 {
        let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        (t.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(t.tv_nsec as u64)
    }
}
