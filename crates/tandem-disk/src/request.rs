//! What is asked of a drive, and what came of it.

use serde::{Deserialize, Serialize};

/// Virtual time, or a span of it, in nanoseconds.
pub type Nanos = u64;

/// Bytes of a sector, the unit in which drives are addressed.
pub const SECTOR: u64 = 512;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Read sectors.
    Read,
    /// Write sectors.
    Write,
    /// Everything reported as written is on the medium when it completes.
    Flush,
    /// The sectors' contents are not needed any more.
    Discard,
}

/// A request to a drive, in sectors of 512 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// What it asks for.
    pub operation: Operation,
    /// Its first sector.
    pub sector: u64,
    /// How many sectors; 0 for a flush.
    pub sectors: u64,
}

impl Request {
    /// The first sector behind it.
    pub fn end(&self) -> u64 {
        self.sector.saturating_add(self.sectors)
    }
}

/// How the drive's cache took part in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cached {
    /// Not at all: the medium did it.
    #[default]
    Miss,
    /// The beginning of a read was in the cache.
    Partial,
    /// All of it: read from the cache, or reported before it was on the medium.
    Hit,
}

/// What a request cost a drive, apart from waiting in its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Service {
    /// When the drive reports completion.
    pub finish: Nanos,
    /// The cache's part.
    pub cached: Cached,
    /// Cylinders that the arm moved for it; for one that the cache took in, 0.
    pub seek_distance: u64,
    /// Time in which the arm moved, heads were switched or settled.
    pub seek: Nanos,
    /// Time waiting for the first sector of each track to come round.
    pub rotation: Nanos,
    /// Time in which the medium was read or written.
    pub transfer: Nanos,
}
