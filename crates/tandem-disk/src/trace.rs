//! Block traces: one record type, and the formats that people keep them in.
//!
//! Every format is a stream both ways: memory is bounded whatever the length. Compressed files are
//! recognized by their first bytes and written by their names (`.zst`, `.gz`).

pub mod blkparse;
pub mod blktrace;
pub mod disksim;
pub mod fio;
pub mod lines;
pub mod msr;
pub mod own;
mod pairing;
mod stream;

use serde::{Deserialize, Serialize};

use crate::request::{Nanos, Operation, Request, SECTOR};

pub use stream::{Options, create, open};

/// A request in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// When it reached the device, from the trace's beginning.
    pub time: Nanos,
    /// What it asked for.
    pub operation: Operation,
    /// Where, in bytes.
    pub offset: u64,
    /// How much, in bytes.
    pub length: u64,
    /// How long the device took.
    pub service: Option<Nanos>,
    /// Whether the drive's cache served it.
    pub hit: Option<bool>,
    /// The device: as Linux numbers it (major << 20 | minor), or a disk's number.
    pub device: u32,
}

impl Record {
    /// What it asks of a drive, in whole sectors.
    pub fn request(&self) -> Request {
        let first = self.offset / SECTOR;
        let end = self.offset.saturating_add(self.length).div_ceil(SECTOR);
        Request { operation: self.operation, sector: first, sectors: end - first }
    }

    /// When it was done, if that is known.
    pub fn finish(&self) -> Option<Nanos> {
        self.service.map(|service| self.time.saturating_add(service))
    }
}

/// A format of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Tandem's own (`docs/disk.md`).
    Tandem,
    /// DiskSim's validation traces: `R|W Hit|Miss LBN blocks service_us gap_us`.
    Disksim,
    /// The text that blkparse prints by default.
    Blkparse,
    /// The kernel's binary records.
    Blktrace,
    /// fio's iolog, version 2.
    Fio2,
    /// fio's iolog, version 3.
    Fio3,
    /// The CSV of the MSR Cambridge traces.
    Msr,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 7] = [
        Format::Tandem,
        Format::Disksim,
        Format::Blkparse,
        Format::Blktrace,
        Format::Fio2,
        Format::Fio3,
        Format::Msr,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Tandem => "tandem",
            Format::Disksim => "disksim",
            Format::Blkparse => "blkparse",
            Format::Blktrace => "blktrace",
            Format::Fio2 => "fio2",
            Format::Fio3 => "fio3",
            Format::Msr => "msr",
        }
    }

    /// The format of a name.
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Whether traces in it can have such requests: those of DiskSim and of MSR have reads and writes
    /// only.
    pub fn holds(self, operation: Operation) -> bool {
        match self {
            Format::Disksim | Format::Msr => {
                matches!(operation, Operation::Read | Operation::Write)
            }
            _ => true,
        }
    }

    /// What a file's name says, a compressor's ending aside.
    pub fn of_name(name: &str) -> Option<Format> {
        let name = name.strip_suffix(".zst").or(name.strip_suffix(".gz")).unwrap_or(name);
        let ending = name.rsplit('.').next().unwrap_or("");
        match ending {
            "tdt" => Some(Format::Tandem),
            "trace" => Some(Format::Disksim),
            "blkparse" | "txt" => Some(Format::Blkparse),
            "blktrace" | "bin" => Some(Format::Blktrace),
            "iolog" | "fio" => Some(Format::Fio3),
            "csv" => Some(Format::Msr),
            _ if name.contains(".blktrace.") => Some(Format::Blktrace),
            _ => None,
        }
    }
}

/// Where in a trace something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// A line, from 1.
    Line(u64),
    /// A byte of the decompressed contents, from 0.
    Byte(u64),
    /// A record, from 1.
    Record(u64),
    /// The file as a whole.
    File,
}

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            At::Line(line) => write!(f, ", line {line}"),
            At::Byte(byte) => write!(f, ", byte {byte}"),
            At::Record(record) => write!(f, ", record {record}"),
            At::File => Ok(()),
        }
    }
}

/// What is wrong with a trace, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{at}: {why}")]
pub struct TraceError {
    /// The file.
    pub file: String,
    /// Where in it.
    pub at: At,
    /// What is wrong.
    pub why: String,
}

/// Records, one after the other.
pub type Records = Box<dyn Iterator<Item = Result<Record, TraceError>>>;

/// What traces are written to.
pub trait Sink: Send {
    /// Writes the next record; times must not fall.
    ///
    /// # Errors
    /// What the format cannot hold, and failures to write.
    fn write(&mut self, record: &Record) -> Result<(), TraceError>;

    /// Writes what is left and closes the file.
    ///
    /// # Errors
    /// Failures to write.
    fn finish(self: Box<Self>) -> Result<(), TraceError>;
}

/// The name of a file, for errors, and errors about it.
#[derive(Debug, Clone)]
pub struct Origin(String);

impl Origin {
    /// Of a file.
    pub fn new(name: impl Into<String>) -> Origin {
        Origin(name.into())
    }

    pub(crate) fn error(&self, at: At, why: impl Into<String>) -> TraceError {
        TraceError { file: self.0.clone(), at, why: why.into() }
    }

    pub(crate) fn io(&self, at: At, error: std::io::Error) -> TraceError {
        self.error(at, error.to_string())
    }
}

/// Bytes as sectors, for formats that count in those.
pub(crate) fn sectors(origin: &Origin, at: u64, what: u64) -> Result<u64, TraceError> {
    if !what.is_multiple_of(SECTOR) {
        let why = format!("{what} bytes are not whole sectors, in which this format counts");
        return Err(origin.error(At::Record(at), why));
    }
    Ok(what / SECTOR)
}

#[cfg(test)]
mod tests;
