//! Drives without moving parts: dies that read and program pages side by side behind one
//! interface, with a translation layer that reclaims blocks, and memory that has no dies at all.

mod ftl;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::ModelError;
use crate::request::{Cached, Nanos, Operation, Request, SECTOR, Service};
use ftl::Ftl;

/// What an SSD is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SsdParameters {
    /// Bytes that have an address.
    pub capacity: u64,
    /// Bytes that a die reads or programs at once.
    pub page: u64,
    /// Dies, counting each plane that works by itself.
    pub dies: u32,
    /// Reading a page, in microseconds.
    pub read_us: f64,
    /// Programming a page, in microseconds.
    pub program_us: f64,
    /// What a read waits for a die that programs, in microseconds.
    #[serde(default)]
    pub suspend_us: f64,
    /// The interface, in megabytes (10⁶) a second.
    pub interface_mb_s: f64,
    /// Controller and driver, per request, in microseconds.
    pub overhead_us: f64,
    /// The same for a flush of what is in the write cache.
    #[serde(default)]
    pub flush_us: f64,
    /// Bytes that the write cache holds.
    #[serde(default)]
    pub write_cache: u64,
    /// Whether written data are safe in the write cache, so that a flush need not wait for them.
    #[serde(default)]
    pub protected: bool,
    /// Flash beyond what has an address, as a share of that: over-provisioning.
    pub spare: f64,
    /// Bytes that are mapped as one.
    #[serde(default = "unit")]
    pub unit: u64,
    /// Whether it has been written over at random, again and again, before the first request
    /// (steady state); else nothing is stored in it.
    #[serde(default)]
    pub full: bool,
}

fn unit() -> u64 {
    4096
}

/// What a RAM disk is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RamParameters {
    /// Bytes that have an address.
    pub capacity: u64,
    /// Copying, in megabytes (10⁶) a second.
    pub mb_s: f64,
    /// What every request takes besides, in microseconds.
    pub overhead_us: f64,
}

/// An SSD.
#[derive(Debug, Clone)]
pub struct Ssd {
    from: SsdParameters,
    read: Nanos,
    program: Nanos,
    suspend: Nanos,
    overhead: Nanos,
    flush: Nanos,
    /// When each die has read what it was asked for, and programmed it.
    reads: Vec<Nanos>,
    programs: Vec<Nanos>,
    interface: Nanos,
    /// When pages leave the write cache.
    leaving: VecDeque<Nanos>,
    next_die: usize,
    /// Bytes written, and moved, that do not fill a page yet.
    loose_bytes: u64,
    loose_moved: u64,
    ftl: Ftl,
    wear: Wear,
}

/// What has been written to the flash, apart from what has not filled a page yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Wear {
    /// Bytes that were asked to be written.
    pub written: u64,
    /// Bytes that were moved, to reclaim blocks.
    pub moved: u64,
}

impl Wear {
    /// Bytes programmed for each byte written, at least 1.
    pub fn amplification(&self) -> f64 {
        1.0 + self.moved as f64 / self.written.max(1) as f64
    }
}

impl Ssd {
    /// A drive at rest.
    ///
    /// # Errors
    /// Parameters that no drive can have.
    pub fn new(from: &SsdParameters) -> Result<Ssd, ModelError> {
        if from.dies == 0 || from.dies > 65_536 {
            return Err(ModelError::new("dies", format!("{} is not 1 to 65,536", from.dies)));
        }
        if from.page < SECTOR || from.page > 1 << 24 {
            return Err(ModelError::new("page", format!("{} is not 512 to 16 Mi", from.page)));
        }
        if !(0.01..=10.0).contains(&from.spare) {
            return Err(ModelError::new("spare", format!("{} is not 0.01 to 10", from.spare)));
        }
        if from.unit < SECTOR || from.unit > 1 << 24 {
            return Err(ModelError::new("unit", format!("{} is not 512 to 16 Mi", from.unit)));
        }
        rate(from.interface_mb_s)?;
        let dies = from.dies as usize;
        Ok(Ssd {
            read: micros("read_us", from.read_us)?,
            program: micros("program_us", from.program_us)?,
            suspend: micros("suspend_us", from.suspend_us)?,
            overhead: micros("overhead_us", from.overhead_us)?,
            flush: micros("flush_us", from.flush_us)?,
            reads: vec![0; dies],
            programs: vec![0; dies],
            interface: 0,
            leaving: VecDeque::new(),
            next_die: 0,
            loose_bytes: 0,
            loose_moved: 0,
            ftl: Ftl::new(from.capacity.div_ceil(from.unit), from.spare, from.full),
            wear: Wear::default(),
            from: from.clone(),
        })
    }

    /// Serves a request that reaches the controller at `at`, beside others.
    pub fn serve(&mut self, at: Nanos, request: &Request) -> Service {
        let begin = at + self.overhead;
        match request.operation {
            Operation::Read => self.read(begin, request),
            Operation::Write => self.write(begin, request),
            Operation::Flush => {
                let emptied = self.leaving.back().copied().unwrap_or(0);
                let wait = if self.from.protected { begin } else { begin.max(emptied) };
                Service { finish: wait + self.flush, ..Service::default() }
            }
            Operation::Discard => {
                // Units that are discarded in part stay.
                let (at, end) = (request.sector * SECTOR, request.end() * SECTOR);
                let (from, to) = (at.div_ceil(self.from.unit), end / self.from.unit);
                if from < to {
                    self.ftl.trim(from, to);
                }
                Service { finish: begin, cached: Cached::Hit, ..Service::default() }
            }
        }
    }

    fn read(&mut self, begin: Nanos, request: &Request) -> Service {
        let (mut at, end) = (request.sector * SECTOR, request.end() * SECTOR);
        let mut finish = begin;
        let mut medium = 0;
        while at < end {
            let page = at / self.from.page;
            let bytes = ((page + 1) * self.from.page).min(end) - at;
            let die = (scatter(page) % self.reads.len() as u64) as usize;
            let mut start = begin.max(self.reads[die]);
            if self.programs[die] > start {
                start += self.suspend.min(self.programs[die] - start);
            }
            self.reads[die] = start + self.read;
            medium = medium.max(self.reads[die]);
            self.interface = self.interface.max(self.reads[die]) + self.moving(bytes);
            finish = finish.max(self.interface);
            at += bytes;
        }
        let transfer = medium.saturating_sub(begin);
        Service { finish, transfer, ..Service::default() }
    }

    fn write(&mut self, begin: Nanos, request: &Request) -> Service {
        let bytes = request.sectors * SECTOR;
        self.interface = self.interface.max(begin) + self.moving(bytes);
        let mut data = self.interface;
        self.loose_bytes += bytes;
        let cache = (self.from.write_cache / self.from.page) as usize;
        self.reclaim(request, data);
        while self.loose_bytes >= self.from.page {
            self.loose_bytes -= self.from.page;
            while self.leaving.front().is_some_and(|&left| left <= data) {
                self.leaving.pop_front();
            }
            let programmed =
                self.program(data, self.program).max(self.leaving.back().copied().unwrap_or(0));
            self.leaving.push_back(programmed);
            if self.leaving.len() > cache {
                data = self.leaving.pop_front().map_or(data, |left| data.max(left));
            }
        }
        let cached = if cache > 0 { Cached::Hit } else { Cached::Miss };
        Service { finish: data, cached, ..Service::default() }
    }

    /// Moves what has to be moved for a request's data: read and programmed, page by page.
    fn reclaim(&mut self, request: &Request, at: Nanos) {
        let bytes = request.sectors * SECTOR;
        self.wear.written += bytes;
        if bytes == 0 {
            return;
        }
        let (first, end) = (request.sector * SECTOR, request.end() * SECTOR);
        let units = self.ftl.write(first / self.from.unit, end.div_ceil(self.from.unit));
        self.wear.moved += units * self.from.unit;
        self.loose_moved += units * self.from.unit;
        while self.loose_moved >= self.from.page {
            self.loose_moved -= self.from.page;
            self.program(at, self.read + self.program);
        }
    }

    /// Has the next die busy for so long from `at` on; gives when it is done.
    fn program(&mut self, at: Nanos, time: Nanos) -> Nanos {
        let die = self.next_die;
        self.next_die = (die + 1) % self.programs.len();
        self.programs[die] = self.programs[die].max(at) + time;
        self.programs[die]
    }

    /// What has been programmed.
    pub fn wear(&self) -> Wear {
        self.wear
    }

    fn moving(&self, bytes: u64) -> Nanos {
        (bytes as f64 * 1e3 / self.from.interface_mb_s) as Nanos
    }
}

/// A RAM disk.
#[derive(Debug, Clone)]
pub struct Ram {
    overhead: Nanos,
    mb_s: f64,
    free: Nanos,
}

impl Ram {
    /// A RAM disk at rest.
    ///
    /// # Errors
    /// Parameters that none can have.
    pub fn new(from: &RamParameters) -> Result<Ram, ModelError> {
        rate(from.mb_s)?;
        Ok(Ram { overhead: micros("overhead_us", from.overhead_us)?, mb_s: from.mb_s, free: 0 })
    }

    /// Serves a request that comes at `at`.
    pub fn serve(&mut self, at: Nanos, request: &Request) -> Service {
        let copied = matches!(request.operation, Operation::Read | Operation::Write);
        let bytes = if copied { request.sectors * SECTOR } else { 0 };
        let transfer = (bytes as f64 * 1e3 / self.mb_s) as Nanos;
        let finish = self.free.max(at + self.overhead) + transfer;
        self.free = finish;
        Service { finish, transfer, ..Service::default() }
    }
}

fn rate(mb_s: f64) -> Result<(), ModelError> {
    if (0.001..=1e7).contains(&mb_s) {
        return Ok(());
    }
    Err(ModelError::new("rate", format!("{mb_s} MB/s is none")))
}

fn micros(what: &str, us: f64) -> Result<Nanos, ModelError> {
    super::seek::time(what, us / 1000.0)
}

/// Which die a page lies on: as good as random, as after long use.
fn scatter(page: u64) -> u64 {
    // SplitMix64 (Steele, Lea, Flood 2014).
    let mut z = page.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
