//! Time and randomness of a test: both come from a seed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tandem_fs::{Env, Time};

/// SplitMix64: small, and good enough to choose operations with.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub fn u32(&mut self) -> u32 {
        self.next() as u32
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// 64 bits that look random, from 64 bits.
pub fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// A clock that stands still until it is set, for every thread by itself, and numbers from a seed.
pub struct TestEnv {
    now: Mutex<HashMap<Caller, usize>>,
    ticks: AtomicU64,
    random: AtomicU64,
}

#[cfg(not(feature = "shuttle"))]
type Caller = std::thread::ThreadId;
#[cfg(feature = "shuttle")]
type Caller = shuttle::current::TaskId;

fn caller() -> Caller {
    #[cfg(not(feature = "shuttle"))]
    return std::thread::current().id();
    #[cfg(feature = "shuttle")]
    return shuttle::current::me();
}

impl TestEnv {
    pub fn new(seed: u64) -> TestEnv {
        TestEnv { now: Mutex::default(), ticks: AtomicU64::new(0), random: AtomicU64::new(seed) }
    }

    /// Sets the calling thread's clock to that of its operation number `op`, which it has no other
    /// of. The clock for intervals is that of the thread that is ahead.
    pub fn set(&self, op: usize) {
        self.now.lock().insert(caller(), op);
        self.ticks.fetch_max(op as u64 * 250_000_000, Ordering::SeqCst);
    }
}

/// The time of operation number `op`.
pub fn time_of(op: usize) -> Time {
    Time {
        secs: 1_600_000_000 + op as i64 * 7,
        nanos: (op as u32).wrapping_mul(7_654_321) % 1_000_000_000,
    }
}

impl Env for TestEnv {
    fn now(&self) -> Time {
        time_of(self.now.lock().get(&caller()).copied().unwrap_or(0))
    }

    fn random(&self) -> u64 {
        mix(self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::SeqCst))
    }

    fn monotonic(&self) -> u64 {
        self.ticks.load(Ordering::SeqCst)
    }
}
