//! A drive that keeps real time.
//!
//! A thread of its own asks the drive what is done next and sleeps until then: in the kernel until
//! shortly before, the rest awake, since a sleep ends some ten microseconds late at best.

use std::collections::HashMap;
use std::hint::spin_loop;
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use serde::Serialize;

use crate::drive::{Completion, Drive};
use crate::request::{Cached, Nanos, Operation, Request};

/// The last part of a wait, spent awake.
const AWAKE: Duration = Duration::from_micros(60);

/// How often a thread that waits awake looks aside, about every microsecond.
const SPIN: u32 = 32;

/// What [`TimingStats::late`] counts, in nanoseconds.
const LATE: Nanos = 50_000;

/// What a drive has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct TimingStats {
    /// Requests that it has ended.
    pub requests: u64,
    /// Reads, and writes, that its cache took in.
    pub hits: u64,
    /// Sum over all requests of the time from submission to the end, in nanoseconds.
    pub response_ns: u64,
    /// Sum over all requests of the time from when the drive took it, of which it has at most its queue
    /// full, to the end, in nanoseconds: the disk I/O time.
    pub io_ns: u64,
    /// Sum over all requests of the time from when the drive began with it to its end, in
    /// nanoseconds.
    pub service_ns: u64,
    /// Time in which the arm moved or settled, in nanoseconds.
    pub seek_ns: u64,
    /// Cylinders that it moved over.
    pub seek_cylinders: u64,
    /// Time spent waiting for sectors to come round, in nanoseconds.
    pub rotation_ns: u64,
    /// Time in which the medium was read or written, in nanoseconds.
    pub transfer_ns: u64,
    /// Requests that ended later than they should have, by more than 50 µs.
    pub late: u64,
    /// The sum of what they and all others were late, in nanoseconds.
    pub lateness_ns: u64,
}

/// A request that somebody waits for.
#[derive(Debug)]
pub(super) struct Ticket(Arc<Wait>);

#[derive(Debug, Default)]
struct Wait {
    done: Mutex<Option<Done>>,
    bell: Condvar,
}

/// How a request ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done {
    pub(super) finish: Nanos,
    pub(super) hit: Option<bool>,
}

struct State {
    drive: Drive,
    waits: HashMap<u64, Arc<Wait>>,
    tag: u64,
    last: Nanos,
    stop: bool,
    stats: TimingStats,
}

struct Shared {
    state: Mutex<State>,
    news: Condvar,
    since: Instant,
    lead: AtomicU64,
}

/// A drive and the thread that keeps its time.
pub(super) struct Timing {
    shared: Arc<Shared>,
    keeper: Option<JoinHandle<()>>,
}

impl Timing {
    pub(super) fn start(drive: Drive, since: Instant) -> io::Result<Timing> {
        let state = State {
            drive,
            waits: HashMap::new(),
            tag: 0,
            last: 0,
            stop: false,
            stats: TimingStats::default(),
        };
        let (lead, state, news) = (AtomicU64::new(0), Mutex::new(state), Condvar::new());
        let shared = Arc::new(Shared { state, news, since, lead });
        let own = shared.clone();
        let keeper = std::thread::Builder::new().name("tandem-drive".into());
        let keeper = Some(keeper.spawn(move || own.keep())?);
        Ok(Timing { shared, keeper })
    }

    /// Hands a request to the drive. Times may come in any order, as threads do.
    pub(super) fn submit(&self, at: Nanos, request: Request) -> Ticket {
        let wait = Arc::new(Wait::default());
        let mut state = self.shared.state.lock();
        let at = at.max(state.last);
        state.last = at;
        state.tag += 1;
        let tag = state.tag;
        state.waits.insert(tag, wait.clone());
        state.drive.submit(at, tag, request);
        drop(state);
        self.shared.news.notify_one();
        Ticket(wait)
    }

    /// Waits for the end of a request.
    pub(super) fn wait(&self, Ticket(wait): Ticket) -> Done {
        let mut done = wait.done.lock();
        loop {
            match *done {
                Some(done) => return done,
                None => wait.bell.wait(&mut done),
            }
        }
    }

    pub(super) fn set_lead(&self, lead: Duration) {
        self.shared.lead.store(lead.as_nanos() as Nanos, Ordering::Relaxed);
    }

    pub(super) fn stats(&self) -> TimingStats {
        self.shared.state.lock().stats
    }
}

impl Drop for Timing {
    fn drop(&mut self) {
        self.shared.state.lock().stop = true;
        self.shared.news.notify_all();
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

impl Shared {
    fn now(&self) -> Nanos {
        self.since.elapsed().as_nanos() as Nanos
    }

    /// The keeper's whole life.
    fn keep(&self) {
        // Without it the kernel ends sleeps up to 50 µs late, to save wake-ups.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut state = self.state.lock();
        while !state.stop {
            let lead = self.lead.load(Ordering::Relaxed);
            let due = self.now() + lead;
            if let Some(completion) = state.drive.complete(due) {
                state.deliver(&completion, due);
                continue;
            }
            match state.drive.next_completion() {
                None => self.news.wait(&mut state),
                Some(at) => {
                    let left = Duration::from_nanos(at.saturating_sub(self.now() + lead));
                    match left.checked_sub(AWAKE) {
                        Some(asleep) if !asleep.is_zero() => {
                            self.news.wait_for(&mut state, asleep);
                        }
                        // Others may submit meanwhile.
                        _ => {
                            MutexGuard::unlocked(&mut state, || (0..SPIN).for_each(|_| spin_loop()))
                        }
                    }
                }
            }
        }
    }
}

impl State {
    fn deliver(&mut self, completion: &Completion, now: Nanos) {
        let Completion { tag, request, submitted, started, service, .. } = *completion;
        let stats = &mut self.stats;
        let late = now.saturating_sub(service.finish);
        stats.requests += 1;
        stats.hits += u64::from(service.cached == Cached::Hit);
        stats.response_ns += service.finish.saturating_sub(submitted);
        stats.io_ns += completion.io_time();
        stats.service_ns += service.finish.saturating_sub(started);
        stats.seek_ns += service.seek;
        stats.seek_cylinders += service.seek_distance;
        stats.rotation_ns += service.rotation;
        stats.transfer_ns += service.transfer;
        stats.lateness_ns += late;
        stats.late += u64::from(late > LATE);
        let moves = matches!(request.operation, Operation::Read | Operation::Write);
        let hit = moves.then_some(service.cached == Cached::Hit);
        if let Some(wait) = self.waits.remove(&tag) {
            *wait.done.lock() = Some(Done { finish: service.finish, hit });
            wait.bell.notify_one();
        }
    }
}
