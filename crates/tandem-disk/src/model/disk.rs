//! A hard disk: the controller that has the mechanics, the memory and the bus work together.
//!
//! A request is served as DiskSim's disk module has it (reference manual 4.0, §3.4.5): a command
//! overhead that depends on what it is and on what came before, the medium from the end of that
//! overhead on, the bus beside the medium as sectors arrive. Between requests the drive reads
//! ahead, or writes what it has reported; both go on lazily, up to the next request's arrival.

mod background;
mod overheads;
mod read;
mod write;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ModelError;
use super::cache::{CacheParameters, Segments, WriteReporting};
use super::geometry::{Geometry, Layout, Place};
use super::mechanics::{Mechanics, MechanicsParameters, Rotation};
use crate::request::{Nanos, Operation, Request, Service};
use overheads::{Costs, costs};
pub use overheads::{ExtraDisconnect, Overhead, Overheads};

/// All of a hard disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskParameters {
    /// Where sectors lie.
    pub layout: Layout,
    /// The arm and the platters.
    pub mechanics: MechanicsParameters,
    /// The memory.
    #[serde(default)]
    pub cache: CacheParameters,
    /// The controller.
    #[serde(default)]
    pub overheads: Overheads,
    /// Time that a sector takes on the bus, in milliseconds.
    #[serde(default)]
    pub bus_sector_ms: f64,
    /// The same for sectors written; 0 when it is no other.
    #[serde(default)]
    pub bus_write_sector_ms: f64,
}

/// Parts of the model that can be left out, to see what each is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// The seek curve; else every seek takes the mean.
    pub seek_curve: bool,
    /// Where the sectors are on their tracks; else every access waits half a turn.
    pub rotation: bool,
    /// Command overheads and the bus.
    pub controller: bool,
    /// Read hits and reading ahead.
    pub read_cache: bool,
    /// Writes reported before they are on the medium.
    pub write_reporting: bool,
}

impl Parts {
    /// All of them.
    pub const ALL: Parts = Parts {
        seek_curve: true,
        rotation: true,
        controller: true,
        read_cache: true,
        write_reporting: true,
    };
}

/// Reading ahead, under way or to be taken up again.
#[derive(Debug, Clone, Copy)]
struct Ahead {
    segment: usize,
    next: u64,
    limit: u64,
    /// Not stopped before this is read.
    least: u64,
    /// Sectors in memory already, which the head does not read again.
    passed: (u64, u64),
}

/// Written data that the medium does not have yet, by its first sector.
#[derive(Debug, Clone, Copy)]
struct Dirty {
    end: u64,
    /// When the arm may begin to move for it.
    begin: Nanos,
    /// When enough of it is in memory.
    ready: Nanos,
}

/// A hard disk.
#[derive(Debug, Clone)]
pub struct HardDisk {
    geometry: Geometry,
    mechanics: Mechanics,
    cache: CacheParameters,
    segments: Segments,
    costs: Costs,
    ahead: Option<Ahead>,
    dirty: BTreeMap<u64, Dirty>,
    dirty_sectors: u64,
    /// Where the writing of dirty data has come to.
    sweep: u64,
    /// Segment of the data written last, and where they end.
    stream: Option<(usize, u64)>,
    /// Up to when the head's work is accounted for.
    head_time: Nanos,
    after_write: bool,
}

impl HardDisk {
    /// A drive at rest: the arm on cylinder 0, its memory empty.
    ///
    /// # Errors
    /// Parameters that no drive can have.
    pub fn new(from: &DiskParameters) -> Result<HardDisk, ModelError> {
        HardDisk::with_parts(from, Parts::ALL)
    }

    /// The same without some of its parts.
    ///
    /// # Errors
    /// Parameters that no drive can have.
    pub fn with_parts(from: &DiskParameters, parts: Parts) -> Result<HardDisk, ModelError> {
        let geometry = Geometry::new(&from.layout)?;
        let cylinders = geometry.cylinders();
        let mut mechanics = Mechanics::new(&from.mechanics, cylinders)?;
        let mut cache = from.cache.clone();
        if !(0.0..=1.0).contains(&cache.read_watermark) {
            return Err(ModelError::new("read watermark", "not from 0 to 1"));
        }
        if !parts.seek_curve {
            mechanics.set_average_seek(cylinders)?;
        }
        if !parts.rotation {
            mechanics.set_rotation(Rotation::Half);
        }
        if !parts.read_cache {
            cache.segments = 0;
        }
        if !parts.write_reporting {
            cache.writes = WriteReporting::Medium;
        }
        let costs = if parts.controller { costs(from)? } else { Costs::default() };
        Ok(HardDisk {
            segments: Segments::new(cache.segments, cache.segment_sectors),
            geometry,
            mechanics,
            cache,
            costs,
            ahead: None,
            dirty: BTreeMap::new(),
            dirty_sectors: 0,
            sweep: 0,
            stream: None,
            head_time: 0,
            after_write: false,
        })
    }

    /// Where sectors lie.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Serves a request that reaches the idle controller at `at`, not before the one served last
    /// was reported.
    pub fn serve(&mut self, at: Nanos, request: &Request) -> Service {
        let at = at + self.costs.request;
        self.advance(at);
        let service = match request.operation {
            Operation::Read => self.read(at, request),
            Operation::Write => self.write(at, request),
            Operation::Flush => self.flush(at),
            Operation::Discard => self.discard(at, request),
        };
        match request.operation {
            Operation::Read => self.after_write = false,
            Operation::Write => self.after_write = true,
            Operation::Flush | Operation::Discard => {}
        }
        service
    }

    /// Time until the head could be at a place, where a request begins: what
    /// shortest-access-time-first goes by.
    pub fn positioning(&self, at: Nanos, place: &Place, write: bool) -> Nanos {
        let command = if write { self.costs.write_hit } else { self.costs.read_miss };
        // The arm moves when the command has been taken in: what passes by until then is missed.
        let begin = at + self.costs.request + command[usize::from(self.after_write)];
        let begin = begin.max(self.head_time);
        let landed = begin + self.mechanics.reposition(place, write);
        landed + self.mechanics.latency(landed, place) - at
    }

    /// Cylinders from the arm to a place.
    pub fn distance(&self, place: &Place) -> u32 {
        self.mechanics.cylinder().abs_diff(place.cylinder)
    }
}

#[cfg(test)]
mod tests;
