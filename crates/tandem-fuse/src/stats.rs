//! Counters of the door.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rustix::thread::Pid;

use crate::abi::Opcode;

/// What a mount's door has done, and with what.
#[derive(Debug, Clone, serde::Serialize)]
pub struct DoorStats {
    /// `classic` or `uring`.
    pub transport: &'static str,
    /// The protocol's minor version, as agreed on.
    pub protocol: u32,
    /// The threads, and where they are.
    pub threads: Vec<ThreadPlace>,
    /// Requests by operation; those that never came are left out.
    pub requests: BTreeMap<&'static str, u64>,
    /// Requests handed to a helper thread because they may wait long.
    pub handed_over: u64,
    /// Requests that were answered with EIO or EUCLEAN: the log has the reasons.
    pub faults: u64,
}

/// One serving thread.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ThreadPlace {
    /// Its name.
    pub name: String,
    /// The CPU that it is bound to; `None` when the scheduler chooses.
    pub cpu: Option<u32>,
    /// The CPUs whose requests it takes; empty when it takes anybody's.
    pub queues: Vec<u32>,
}

/// Counters of one thread, on cache lines of their own.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Counters {
    requests: [AtomicU64; Opcode::SLOTS],
    handed_over: AtomicU64,
    faults: AtomicU64,
    bytes: AtomicU64,
}

impl Counters {
    fn new() -> Counters {
        Counters {
            requests: [const { AtomicU64::new(0) }; Opcode::SLOTS],
            handed_over: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    pub(crate) fn request(&self, opcode: Opcode) {
        self.requests[opcode.slot()].fetch_add(1, Ordering::Relaxed);
    }

    /// The length of a request and its answer, in bytes.
    pub(crate) fn carried(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn handed_over(&self) {
        self.handed_over.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn answered(&self, errno: i32) {
        if errno == libc::EIO || errno == libc::EUCLEAN {
            self.faults.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// All threads' counters of one mount.
#[derive(Debug, Default)]
pub(crate) struct Board {
    threads: Mutex<Vec<(ThreadPlace, Arc<Counters>)>>,
    /// The threads that are bound to a CPU, and which.
    bound: Mutex<Vec<(Pid, u32)>>,
}

impl Board {
    /// Counters for a new thread, which is the caller.
    pub(crate) fn enlist(&self, place: ThreadPlace) -> Arc<Counters> {
        if let Some(cpu) = place.cpu {
            self.bound.lock().push((rustix::thread::gettid(), cpu));
        }
        let counters = Arc::new(Counters::new());
        self.threads.lock().push((place, Arc::clone(&counters)));
        counters
    }

    /// The threads that are bound to a CPU, and which.
    pub(crate) fn bound(&self) -> Vec<(Pid, u32)> {
        self.bound.lock().clone()
    }

    /// Requests answered by all threads together.
    pub(crate) fn requests(&self) -> u64 {
        let threads = self.threads.lock();
        threads.iter().flat_map(|t| &t.1.requests).map(|n| n.load(Ordering::Relaxed)).sum()
    }

    /// The lengths of all requests and answers together, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.threads.lock().iter().map(|t| t.1.bytes.load(Ordering::Relaxed)).sum()
    }

    pub(crate) fn read(&self, transport: &'static str, protocol: u32) -> DoorStats {
        let threads = self.threads.lock();
        let mut requests = BTreeMap::new();
        for &op in Opcode::ALL {
            let n = threads.iter().map(|t| t.1.requests[op.slot()].load(Ordering::Relaxed)).sum();
            if n != 0u64 {
                requests.insert(op.name(), n);
            }
        }
        let sum = |f: fn(&Counters) -> &AtomicU64| {
            threads.iter().map(|t| f(&t.1).load(Ordering::Relaxed)).sum()
        };
        DoorStats {
            transport,
            protocol,
            threads: threads.iter().map(|t| t.0.clone()).collect(),
            requests,
            handed_over: sum(|c| &c.handed_over),
            faults: sum(|c| &c.faults),
        }
    }
}
