//! Requests and sectors as the kernel counts them, the same way for every file system.

#![allow(dead_code, reason = "every program that includes this uses a part of it")]

use super::fs::Res;
use std::ops::{Add, Sub};

/// What one device was asked to do. Discards and flushes are not among it.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Io {
    /// Read requests, after merging.
    pub reads: u64,
    /// Sectors of 512 bytes read.
    pub read_sectors: u64,
    /// Write requests, after merging.
    pub writes: u64,
    /// Sectors written.
    pub write_sectors: u64,
}

impl Io {
    /// Read and write requests.
    pub fn requests(self) -> u64 {
        self.reads + self.writes
    }

    /// Sectors read and written.
    pub fn sectors(self) -> u64 {
        self.read_sectors + self.write_sectors
    }
}

/// What a file system's devices were asked to do.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Traffic {
    /// Tandem's M; nothing on file systems with one device.
    pub m: Io,
    /// Tandem's D, or the only device.
    pub d: Io,
}

impl Traffic {
    /// Both devices together.
    pub fn sum(self) -> Io {
        self.m + self.d
    }
}

impl Add for Io {
    type Output = Io;

    fn add(self, other: Io) -> Io {
        Io {
            reads: self.reads + other.reads,
            read_sectors: self.read_sectors + other.read_sectors,
            writes: self.writes + other.writes,
            write_sectors: self.write_sectors + other.write_sectors,
        }
    }
}

impl Sub for Io {
    type Output = Io;

    fn sub(self, other: Io) -> Io {
        Io {
            reads: self.reads - other.reads,
            read_sectors: self.read_sectors - other.read_sectors,
            writes: self.writes - other.writes,
            write_sectors: self.write_sectors - other.write_sectors,
        }
    }
}

impl Sub for Traffic {
    type Output = Traffic;

    fn sub(self, other: Traffic) -> Traffic {
        Traffic { m: self.m - other.m, d: self.d - other.d }
    }
}

/// The counters of a block device, from sysfs.
pub fn of_device(device: &str) -> Res<Io> {
    let name = device.rsplit('/').next().unwrap_or_default();
    let stat = std::fs::read_to_string(format!("/sys/block/{name}/stat"))?;
    let fields: Vec<u64> = stat.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let field = |n: usize| fields.get(n).copied().ok_or("block statistics");
    Ok(Io {
        reads: field(0)?,
        read_sectors: field(2)?,
        writes: field(4)?,
        write_sectors: field(6)?,
    })
}
