//! Throughput and latency over time.

use super::grid::Axis;
use crate::request::{Nanos, Operation};
use crate::trace::Record;

/// Reads, or writes, that arrived within a piece of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bin {
    /// Their bytes.
    pub bytes: u64,
    /// How many tell how long they took.
    pub timed: u64,
    /// How long those took together.
    pub service: u128,
    /// The longest.
    pub longest: Nanos,
}

/// Pieces of time, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rates {
    /// The time.
    pub time: Axis,
    /// Of reads.
    pub reads: Vec<Bin>,
    /// Of writes.
    pub writes: Vec<Bin>,
}

impl Rates {
    pub(super) fn new(time: Axis) -> Rates {
        let bins = vec![Bin::default(); time.cells];
        Rates { time, reads: bins.clone(), writes: bins }
    }

    pub(super) fn add(&mut self, record: &Record) {
        let bins = match record.operation {
            Operation::Read => &mut self.reads,
            _ => &mut self.writes,
        };
        let bin = &mut bins[self.time.cell(record.time)];
        bin.bytes = bin.bytes.saturating_add(record.length);
        if let Some(service) = record.service {
            bin.timed += 1;
            bin.service += u128::from(service);
            bin.longest = bin.longest.max(service);
        }
    }

    /// Seconds of a piece.
    pub fn seconds(&self) -> f64 {
        (self.time.to - self.time.from) as f64 / 1e9 / self.time.cells as f64
    }
}
