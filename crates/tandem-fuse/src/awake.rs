//! Where the door's threads run while it is busy. A request is a wait of one thread for another,
//! and where the scheduler spreads the two over idle CPUs, leaving the idle state is most of a
//! request's time: tens of microseconds in virtual machines. What helps depends on the requests:
//!
//! - Many small ones: threads bound to a CPU give way (SCHED_IDLE). The scheduler then counts
//!   their CPU as idle, and who was answered goes on where it asked. Not while something else
//!   computes there: such a thread would starve.
//! - Long reads and writes: the threads roam, so that copying into the page cache and out of it
//!   go on side by side.
//! - Otherwise the CPUs are kept out of deep idle states (`/dev/cpu_dma_latency`).

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::thread::Pid;

use crate::stats::Board;
use crate::transport::cpu;

/// How often a quiet door and a busy one look how busy they are.
const QUIET: Duration = Duration::from_millis(100);
const BUSY: Duration = Duration::from_millis(25);
/// Requests a second that make it busy.
const BUSY_RATE: u64 = 1000;
/// How long it must be quiet to count as quiet.
const PATIENCE: Duration = Duration::from_millis(500);
/// Bytes a second, and a request, that make it a stream.
const STREAM_RATE: u64 = 64 << 20;
const STREAM_SIZE: u64 = 64 << 10;
/// A longer mean wait for the CPU, in nanoseconds, means that something else computes there.
const STARVED: u64 = 200_000;
/// For how long the threads then do not give way.
const RESPITE: Duration = Duration::from_secs(2);

/// Keeps waits short, always or while there is much to do, until it is dropped.
pub(crate) enum Awake {
    /// The CPUs are awake for as long as the file is open.
    Always { _file: File },
    /// As a thread of its own decides.
    WhileBusy { stop: Arc<AtomicBool> },
    /// Not at all.
    Never,
}

impl Awake {
    /// As `lowlatency` has it: on, off, or (`None`) while busy, where this process may.
    pub fn new(lowlatency: Option<bool>, board: &Arc<Board>) -> Awake {
        match lowlatency {
            Some(false) => Awake::Never,
            Some(true) => match cpu::hold_awake() {
                Ok(file) => Awake::Always { _file: file },
                Err(e) => {
                    tracing::warn!("lowlatency: /dev/cpu_dma_latency: {e}");
                    Awake::Never
                }
            },
            None => {
                let stop = Arc::new(AtomicBool::new(false));
                let (stopped, board) = (Arc::clone(&stop), Arc::clone(board));
                let watch = move || Watch::new(&board).run(&stopped);
                // Without the thread requests are slower, not wrong.
                match std::thread::Builder::new().name("tandem-awake".into()).spawn(watch) {
                    Ok(_) => Awake::WhileBusy { stop },
                    Err(_) => Awake::Never,
                }
            }
        }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        if let Awake::WhileBusy { stop } = self {
            stop.store(true, Ordering::Relaxed);
        }
    }
}

/// What is done about waits.
enum Remedy {
    Nothing,
    GiveWay,
    Roam,
    Hold { _file: File },
}

/// What the door does at the moment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Little,
    Requests,
    Stream,
}

struct Watch<'a> {
    board: &'a Board,
    /// The threads that may give way or roam, and their CPUs; empty where they could not come
    /// back from it.
    threads: Vec<(Pid, u32)>,
    allowed: Vec<u32>,
    remedy: Remedy,
    /// Time for which the threads have waited for a CPU, and how often they have run.
    waits: (u64, u64),
    /// No giving way before.
    respite: Option<Instant>,
}

impl Watch<'_> {
    fn new(board: &Board) -> Watch<'_> {
        let mut threads = board.bound();
        // Coming back takes a right that an ordinary user does not have.
        let me = rustix::thread::gettid();
        if cpu::waited(me).is_none()
            || cpu::give_way(me, true).and_then(|()| cpu::give_way(me, false)).is_err()
        {
            threads.clear();
        }
        let allowed = cpu::allowed();
        Watch { board, threads, allowed, remedy: Remedy::Nothing, waits: (0, 0), respite: None }
    }

    fn run(&mut self, stop: &AtomicBool) {
        if self.threads.is_empty() && cpu::hold_awake().is_err() {
            return;
        }
        let mut before = (self.board.requests(), self.board.bytes());
        let mut last_busy: Option<Instant> = None;
        while !stop.load(Ordering::Relaxed) {
            let interval = if last_busy.is_some() { BUSY } else { QUIET };
            std::thread::sleep(interval);
            let now = (self.board.requests(), self.board.bytes());
            let work = work(now.0 - before.0, now.1 - before.1, interval);
            before = now;
            match work {
                Work::Requests => self.requests(),
                Work::Stream if self.threads.is_empty() => self.hold(),
                Work::Stream => self.take(Remedy::Roam),
                Work::Little => {
                    if last_busy.is_some_and(|at| at.elapsed() > PATIENCE) {
                        last_busy = None;
                        self.take(Remedy::Nothing);
                    }
                    continue;
                }
            }
            last_busy = Some(Instant::now());
        }
        self.take(Remedy::Nothing);
    }

    fn requests(&mut self) {
        let now = Instant::now();
        if matches!(self.remedy, Remedy::GiveWay) {
            if self.starved() {
                self.respite = Some(now + RESPITE);
                self.hold();
            }
        } else if !self.threads.is_empty() && self.respite.is_none_or(|until| now > until) {
            self.waits = self.waited();
            self.take(Remedy::GiveWay);
        } else {
            self.hold();
        }
    }

    fn hold(&mut self) {
        if !matches!(self.remedy, Remedy::Hold { .. }) {
            let held = cpu::hold_awake();
            self.take(held.map_or(Remedy::Nothing, |file| Remedy::Hold { _file: file }));
        }
    }

    fn take(&mut self, remedy: Remedy) {
        let old = std::mem::replace(&mut self.remedy, remedy);
        let is =
            |remedy: &Remedy| (matches!(remedy, Remedy::GiveWay), matches!(remedy, Remedy::Roam));
        let ((gave, roamed), (gives, roams)) = (is(&old), is(&self.remedy));
        for &(thread, cpu) in &self.threads {
            // A thread that has ended does neither.
            if gives != gave {
                let _ = cpu::give_way(thread, gives);
            }
            if roams != roamed {
                cpu::keep(
                    Some(thread),
                    if roams { &self.allowed } else { std::slice::from_ref(&cpu) },
                );
            }
        }
    }

    fn waited(&self) -> (u64, u64) {
        let waits = self.threads.iter().filter_map(|&(thread, _)| cpu::waited(thread));
        waits.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Whether the threads have waited long, on the mean, since the last look.
    fn starved(&mut self) -> bool {
        let now = self.waited();
        let (time, runs) = (now.0.saturating_sub(self.waits.0), now.1.saturating_sub(self.waits.1));
        self.waits = now;
        time / runs.max(1) > STARVED
    }
}

/// What `requests` with `bytes` in `interval` are.
fn work(requests: u64, bytes: u64, interval: Duration) -> Work {
    let in_interval = |rate: u64| rate * interval.as_millis() as u64 / 1000;
    if requests > 0 && bytes / requests >= STREAM_SIZE && bytes >= in_interval(STREAM_RATE) {
        Work::Stream
    } else if requests >= in_interval(BUSY_RATE) {
        Work::Requests
    } else {
        Work::Little
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gives_way_and_comes_back() {
        let me = rustix::thread::gettid();
        let home = cpu::allowed();
        let board = Board::default();
        board.enlist(crate::stats::ThreadPlace {
            name: "me".into(),
            cpu: home.first().copied(),
            queues: vec![],
        });
        let mut watch = Watch::new(&board);
        if watch.threads.is_empty() {
            return;
        }
        assert!(cpu::waited(me).is_some_and(|(_, runs)| runs > 0));
        watch.take(Remedy::GiveWay);
        watch.take(Remedy::Roam);
        assert_eq!(cpu::allowed(), home);
        watch.take(Remedy::Nothing);
        assert_eq!(cpu::allowed(), home[..1]);
        assert!(cpu::keep(None, &home));
    }

    #[test]
    fn kinds_of_work() {
        let second = Duration::from_secs(1);
        assert!(work(0, 0, second) == Work::Little);
        assert!(work(10, 10 << 20, second) == Work::Little);
        assert!(work(5000, 5000 * 300, second) == Work::Requests);
        assert!(work(500, 500 << 20, second) == Work::Stream);
    }
}
