//! A drive: a queue in front of a model.
//!
//! Requests are *submitted* at a time, which never falls; the drive says when the next one will be
//! done. An emulator sleeps until then, a replay goes there at once. What is submitted later may
//! be served earlier, so nothing is decided before its time has come.

mod queue;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::model::ModelError;
use crate::model::disk::{DiskParameters, HardDisk};
use crate::model::ssd::{Ram, RamParameters, Ssd, SsdParameters, Wear};
use crate::request::{Nanos, Request, SECTOR, Service};

use queue::Waiting;
pub use queue::{Policy, Queue};

/// The model of a drive's inside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Medium {
    /// A hard disk.
    Disk(Box<DiskParameters>),
    /// An SSD.
    Ssd(SsdParameters),
    /// Memory.
    Ram(RamParameters),
}

#[derive(Debug, Clone)]
enum Unit {
    Disk(Box<HardDisk>),
    Ssd(Box<Ssd>),
    Ram(Ram),
}

/// A request that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// What it was submitted under.
    pub tag: u64,
    /// What it was.
    pub request: Request,
    /// When it was submitted.
    pub submitted: Nanos,
    /// When the drive took it: at its submission, or later if all places of the queue were taken.
    pub accepted: Nanos,
    /// When the drive began with it.
    pub started: Nanos,
    /// What it cost.
    pub service: Service,
}

impl Completion {
    /// Its part of the disk I/O time (seed 000, sections 3.4 and 4): finish minus start, as a driver
    /// sees them that gives a drive no more requests than it takes.
    pub fn io_time(&self) -> Nanos {
        self.service.finish.saturating_sub(self.accepted)
    }
}

/// A request being served; they are in order of when they will be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Active {
    completion: Completion,
    serial: u64,
}

impl Active {
    fn order(&self) -> (Nanos, u64) {
        (self.completion.service.finish, self.serial)
    }
}

impl Ord for Active {
    fn cmp(&self, other: &Active) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for Active {
    fn partial_cmp(&self, other: &Active) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A drive.
#[derive(Debug, Clone)]
pub struct Drive {
    unit: Unit,
    queue: Queue,
    sectors: u64,
    waiting: VecDeque<Waiting>,
    active: BinaryHeap<Reverse<Active>>,
    serial: u64,
    /// When the unit can begin with another request, for units that serve one at a time.
    free: Nanos,
    sweep: u64,
}

impl Drive {
    /// A drive at rest.
    ///
    /// # Errors
    /// Parameters that no drive can have.
    pub fn new(medium: &Medium, queue: Queue) -> Result<Drive, ModelError> {
        if queue.depth == 0 {
            return Err(ModelError::new("queue depth", "is 0"));
        }
        let (unit, sectors) = match medium {
            Medium::Disk(from) => {
                let disk = HardDisk::new(from)?;
                let sectors = disk.geometry().sectors();
                (Unit::Disk(Box::new(disk)), sectors)
            }
            Medium::Ssd(from) => (Unit::Ssd(Box::new(Ssd::new(from)?)), from.capacity / SECTOR),
            Medium::Ram(from) => (Unit::Ram(Ram::new(from)?), from.capacity / SECTOR),
        };
        Ok(Drive {
            unit,
            queue,
            sectors,
            waiting: VecDeque::new(),
            active: BinaryHeap::new(),
            serial: 0,
            free: 0,
            sweep: 0,
        })
    }

    /// Sectors that have an address.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// What has been programmed, if it is an SSD.
    pub fn wear(&self) -> Option<Wear> {
        match &self.unit {
            Unit::Ssd(ssd) => Some(ssd.wear()),
            Unit::Disk(_) | Unit::Ram(_) => None,
        }
    }

    /// Requests submitted and not yet given back.
    pub fn outstanding(&self) -> usize {
        self.waiting.len() + self.active.len()
    }

    /// Submits a request at `at`, not before the last one. It must end on the drive.
    pub fn submit(&mut self, at: Nanos, tag: u64, request: Request) {
        self.dispatch(at, false);
        let accepted = (self.outstanding() < self.queue.depth as usize).then_some(at);
        self.waiting.push_back(Waiting { tag, request, submitted: at, accepted, place: None });
    }

    /// When the next request will be done, if nothing else is submitted before; `None` when none
    /// is under way.
    pub fn next_completion(&mut self) -> Option<Nanos> {
        if self.active.is_empty() {
            self.dispatch_one();
        }
        // More can begin beside it, and be done before.
        while let Some(Reverse(first)) = self.active.peek() {
            let finish = first.completion.service.finish;
            let before = self.active.len();
            self.dispatch(finish, true);
            if self.active.len() == before {
                return Some(finish);
            }
        }
        None
    }

    /// The next request that is done by `until`.
    pub fn complete(&mut self, until: Nanos) -> Option<Completion> {
        let finish = self.next_completion()?;
        if finish > until {
            return None;
        }
        if self.active.len() == self.slots() {
            // Who waits for a place gets it now.
            self.free = self.free.max(finish);
        }
        let done = self.active.pop().map(|Reverse(active)| active.completion);
        if let Some(next) = self.waiting.iter_mut().find(|waiting| waiting.accepted.is_none()) {
            next.accepted = Some(next.submitted.max(finish));
        }
        done
    }

    fn slots(&self) -> usize {
        match self.unit {
            Unit::Disk(_) => 1,
            Unit::Ssd(_) | Unit::Ram(_) => self.queue.depth as usize,
        }
    }

    /// Begins with what can begin before `until`, or by then.
    fn dispatch(&mut self, until: Nanos, inclusive: bool) {
        while let Some(begin) = self.next_begin() {
            if begin > until || (begin == until && !inclusive) {
                return;
            }
            self.dispatch_one();
        }
    }

    /// When the next waiting request can begin, as far as that is known.
    fn next_begin(&self) -> Option<Nanos> {
        let first = self.waiting.front()?.submitted;
        if self.active.len() < self.slots() {
            return Some(first.max(self.free));
        }
        // The places are taken until their requests have been given back.
        None
    }

    fn dispatch_one(&mut self) {
        let Some(begin) = self.next_begin() else { return };
        let at = self.queue.choose(&mut self.waiting, &self.unit, begin, self.sweep);
        let Some(waiting) = self.waiting.remove(at) else { return };
        let Waiting { tag, request, submitted, accepted, .. } = waiting;
        let started = begin.max(submitted);
        let service = match &mut self.unit {
            Unit::Disk(disk) => disk.serve(started, &request),
            Unit::Ssd(ssd) => ssd.serve(started, &request),
            Unit::Ram(ram) => ram.serve(started, &request),
        };
        if matches!(self.unit, Unit::Disk(_)) {
            self.free = service.finish;
        }
        self.sweep = request.end();
        self.serial += 1;
        let accepted = accepted.unwrap_or(started);
        let completion = Completion { tag, request, submitted, accepted, started, service };
        self.active.push(Reverse(Active { completion, serial: self.serial }));
    }
}
