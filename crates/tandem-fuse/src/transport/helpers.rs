//! Helper threads for requests that may wait for a device: an fsync must not hold up a queue.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

type Job = Box<dyn FnOnce() + Send>;

/// How many requests may wait for devices at a time; the rest queue up.
const MOST: usize = 16;
/// How long a helper waits for work before it ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// A pool that grows with need and shrinks with idleness.
#[derive(Clone)]
pub(crate) struct Helpers {
    shared: Arc<Shared>,
}

impl Default for Helpers {
    fn default() -> Helpers {
        let cpus = sched_getaffinity(None).ok();
        Helpers {
            shared: Arc::new(Shared {
                cpus,
                state: Mutex::default(),
                work: Condvar::new(),
                rest: Condvar::new(),
            }),
        }
    }
}

struct Shared {
    /// The CPUs that helpers may use, whatever the thread that starts them may.
    cpus: Option<CpuSet>,
    state: Mutex<State>,
    work: Condvar,
    rest: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

impl Helpers {
    /// Runs `job` on a helper; on the calling thread when there can be none.
    pub(crate) fn run(&self, job: Job) {
        let mut state = self.shared.state.lock();
        state.jobs.push_back(job);
        if state.idle >= state.jobs.len() {
            self.shared.work.notify_one();
            return;
        }
        if state.threads >= MOST {
            return;
        }
        state.threads += 1;
        drop(state);
        let shared = Arc::clone(&self.shared);
        let spawned =
            std::thread::Builder::new().name("tandem-helper".into()).spawn(move || shared.help());
        if spawned.is_err() {
            let mut state = self.shared.state.lock();
            state.threads -= 1;
            if state.threads == 0 {
                let jobs = std::mem::take(&mut state.jobs);
                drop(state);
                jobs.into_iter().for_each(|job| job());
            }
        }
    }

    /// Waits until every job is done.
    pub(crate) fn settle(&self) {
        let mut state = self.shared.state.lock();
        while !state.jobs.is_empty() || state.idle < state.threads {
            self.shared.rest.wait(&mut state);
        }
    }
}

impl Shared {
    fn help(&self) {
        if let Some(cpus) = &self.cpus {
            // Where it stays otherwise is no worse than slow.
            let _ = sched_setaffinity(None, cpus);
        }
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                job();
                state = self.state.lock();
                continue;
            }
            state.idle += 1;
            if state.idle == state.threads {
                self.rest.notify_all();
            }
            let timed_out = self.work.wait_for(&mut state, PATIENCE).timed_out();
            state.idle -= 1;
            if timed_out && state.jobs.is_empty() {
                state.threads -= 1;
                self.rest.notify_all();
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn jobs_run_side_by_side_and_settle_waits_for_them() {
        let helpers = Helpers::default();
        let done = Arc::new(AtomicUsize::new(0));
        let start = std::time::Instant::now();
        for _ in 0..MOST + 4 {
            let done = Arc::clone(&done);
            helpers.run(Box::new(move || {
                std::thread::sleep(Duration::from_millis(20));
                done.fetch_add(1, Ordering::SeqCst);
            }));
        }
        helpers.settle();
        assert_eq!(done.load(Ordering::SeqCst), MOST + 4);
        assert!(start.elapsed() < Duration::from_millis(20 * MOST as u64 / 2));
    }
}
