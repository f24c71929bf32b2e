//! An emulated disk: a device whose requests take as long as a drive's would, and are written down.
//!
//! The bytes are another device's (an image file, memory, either behind [`crate::fault`]). The
//! drive's clock is the real one: a request reaches the drive when it is made, and returns when the
//! drive says that it is done. What the bytes' own device takes is hidden behind that, unless it
//! takes longer.

mod journal;
mod timing;

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tandem_device::{Counters, Device, DeviceStats};

use crate::drive::Drive;
use crate::request::{Nanos, Operation, Request, SECTOR};
use crate::trace::{Record, Sink, TraceError};
use journal::Journal;
use timing::{Ticket, Timing};

pub use timing::TimingStats;

/// A disk in front of a device.
pub struct Emulated {
    name: String,
    bytes: Arc<dyn Device>,
    since: Instant,
    timing: Option<Timing>,
    journal: Option<Mutex<Journal>>,
    counters: Counters,
}

/// What an emulated disk can be told.
pub struct Options {
    /// The drive; without one a request takes what its bytes take.
    pub drive: Option<Drive>,
    /// Where requests are written down.
    pub trace: Option<Box<dyn Sink>>,
}

/// A request that has reached the disk. It must be carried out ([`Emulated::carry_out`]): those
/// behind it in the trace wait for its end.
#[derive(Debug)]
#[must_use]
pub struct Arrival {
    ticket: Option<Ticket>,
    entry: Option<u64>,
    at: Nanos,
}

impl Emulated {
    /// A disk of the size of `bytes`, which must not be larger than the drive.
    ///
    /// # Errors
    /// When there is no thread to keep the drive's time.
    pub fn new(
        name: impl Into<String>,
        bytes: Arc<dyn Device>,
        options: Options,
    ) -> io::Result<Emulated> {
        let Options { drive, trace } = options;
        let since = Instant::now();
        let timing = drive.map(|drive| Timing::start(drive, since)).transpose()?;
        let journal = trace.map(|sink| Mutex::new(Journal::new(sink)));
        let counters = Counters::default();
        Ok(Emulated { name: name.into(), bytes, since, timing, journal, counters })
    }

    /// What the drive has done; `None` without a drive.
    pub fn timing(&self) -> Option<TimingStats> {
        self.timing.as_ref().map(Timing::stats)
    }

    /// How long a request is under way to the disk and back, which those who make it see on top of
    /// what the disk takes: from now on each is answered earlier by so much.
    pub fn set_lead(&self, lead: Duration) {
        if let Some(timing) = &self.timing {
            timing.set_lead(lead);
        }
    }

    /// Writes what is left of the trace. What is asked later is not written down.
    ///
    /// # Errors
    /// Failures to write the trace, the first of which ended it.
    pub fn finish(&self) -> Result<(), TraceError> {
        match &self.journal {
            Some(journal) => journal.lock().finish(),
            None => Ok(()),
        }
    }

    /// The time that a request would have that came now: those in the trace that came before have no
    /// later one, those to come no earlier one.
    pub fn mark(&self) -> Nanos {
        let _order = self.journal.as_ref().map(Mutex::lock);
        self.now()
    }

    /// A request reaches the disk now, and is carried out later: a queue has arrivals before the
    /// first end.
    pub fn arrive(&self, operation: Operation, off: u64, len: u64) -> Arrival {
        match operation {
            Operation::Read => self.counters.read(len),
            Operation::Write => self.counters.write(len),
            Operation::Flush => self.counters.flush(),
            Operation::Discard => self.counters.discard(len),
        }
        let first = off / SECTOR;
        let sectors = off.saturating_add(len).div_ceil(SECTOR) - first;
        let request = Request { operation, sector: first, sectors };
        let submit = |at| self.timing.as_ref().map(|timing| timing.submit(at, request));
        // In the trace requests are in the order of their times, so both are taken together.
        let Some(journal) = &self.journal else {
            let at = self.now();
            return Arrival { ticket: submit(at), entry: None, at };
        };
        let mut journal = journal.lock();
        let at = self.now();
        let (offset, length) = (first * SECTOR, sectors * SECTOR);
        let record =
            Record { time: at, operation, offset, length, service: None, hit: None, device: 0 };
        Arrival { ticket: submit(at), entry: Some(journal.begin(record)), at }
    }

    /// Waits until the drive has done its part.
    fn end(&self, arrival: Arrival) {
        let done = match (arrival.ticket, &self.timing) {
            (Some(ticket), Some(timing)) => Some(timing.wait(ticket)),
            _ => None,
        };
        if let (Some(entry), Some(journal)) = (arrival.entry, &self.journal) {
            let finish = done.map_or_else(|| self.now(), |done| done.finish);
            let hit = done.and_then(|done| done.hit);
            journal.lock().end(entry, finish.saturating_sub(arrival.at), hit);
        }
    }

    fn now(&self) -> Nanos {
        self.since.elapsed().as_nanos() as Nanos
    }

    /// Does what was asked, on the bytes, and waits until the drive would have done it.
    ///
    /// # Errors
    /// What `act` fails with.
    pub fn carry_out(
        &self,
        arrival: Arrival,
        act: impl FnOnce(&dyn Device) -> io::Result<()>,
    ) -> io::Result<()> {
        let done = act(&*self.bytes);
        self.end(arrival);
        done
    }
}

impl Device for Emulated {
    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self) -> u64 {
        self.bytes.size()
    }

    fn read_at(&self, buf: &mut [u8], off: u64) -> io::Result<()> {
        let arrival = self.arrive(Operation::Read, off, buf.len() as u64);
        self.carry_out(arrival, |bytes| bytes.read_at(buf, off))
    }

    fn write_at(&self, buf: &[u8], off: u64) -> io::Result<()> {
        let arrival = self.arrive(Operation::Write, off, buf.len() as u64);
        self.carry_out(arrival, |bytes| bytes.write_at(buf, off))
    }

    fn write_vectored_at(&self, bufs: &[IoSlice<'_>], off: u64) -> io::Result<()> {
        let len = bufs.iter().map(|buf| buf.len() as u64).sum();
        let arrival = self.arrive(Operation::Write, off, len);
        self.carry_out(arrival, |bytes| bytes.write_vectored_at(bufs, off))
    }

    fn flush(&self) -> io::Result<()> {
        self.carry_out(self.arrive(Operation::Flush, 0, 0), |bytes| bytes.flush())
    }

    fn discard(&self, off: u64, len: u64) -> io::Result<()> {
        let arrival = self.arrive(Operation::Discard, off, len);
        self.carry_out(arrival, |bytes| bytes.discard(off, len))
    }

    fn read_only(&self) -> bool {
        self.bytes.read_only()
    }

    fn stats(&self) -> DeviceStats {
        self.counters.snapshot()
    }
}

#[cfg(test)]
mod tests;
