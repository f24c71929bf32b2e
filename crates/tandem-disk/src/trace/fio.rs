//! fio's iologs (HOWTO, "Trace file format v2" and "v3"): version 2 says `file action offset
//! length` with waits in between, version 3 has microseconds from the beginning in front.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;

use super::lines::{Input, Lines, Output, number};
use super::{At, Operation, Origin, Record, Sink, TraceError};
use crate::request::Nanos;

const MICRO: Nanos = 1000;
/// Files in one log.
const MAX_FILES: usize = 65_536;

/// Reads either version, as the first line says.
pub fn read(input: Input, origin: Origin) -> impl Iterator<Item = Result<Record, TraceError>> {
    let mut reader = Reader {
        lines: Lines::new(input, origin),
        version: 0,
        time: 0,
        last_wait: 0,
        files: HashMap::new(),
    };
    std::iter::from_fn(move || reader.next().transpose())
}

struct Reader {
    lines: Lines,
    version: u32,
    time: Nanos,
    last_wait: Nanos,
    files: HashMap<String, u32>,
}

impl Reader {
    fn next(&mut self) -> Result<Option<Record>, TraceError> {
        while let Some(line) = self.lines.next_line()? {
            let line = line.trim().to_string();
            if line.is_empty() {
                continue;
            }
            if self.version == 0 {
                self.version = match line.as_str() {
                    "fio version 2 iolog" => 2,
                    "fio version 3 iolog" => 3,
                    _ => return Err(self.lines.error("`fio version 2 iolog` or 3 expected")),
                };
                continue;
            }
            if let Some(record) = self.line(&line)? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn line(&mut self, line: &str) -> Result<Option<Record>, TraceError> {
        let mut fields = line.split_whitespace();
        if self.version == 3 {
            let micros = number(&self.lines, &mut fields, "timestamp")?;
            self.time = self.nanos(micros)?;
        }
        let (Some(file), Some(action)) = (fields.next(), fields.next()) else {
            return Err(self.lines.error("a file and an action expected"));
        };
        let operation = match action {
            "add" | "open" | "close" => {
                self.file(file)?;
                return Ok(None);
            }
            "wait" => {
                let micros = number(&self.lines, &mut fields, "wait")?;
                let later = self.last_wait.checked_add(self.nanos(micros)?);
                self.time =
                    later.ok_or_else(|| self.lines.error("waits of more than 584 years"))?;
                self.last_wait = self.time;
                return Ok(None);
            }
            "read" => Operation::Read,
            "write" => Operation::Write,
            "trim" => Operation::Discard,
            "sync" | "datasync" | "sync_file_range" => Operation::Flush,
            other => return Err(self.lines.error(format!("`{other}` is not an action"))),
        };
        let device = self.file(file)?;
        let (offset, length) = match operation {
            Operation::Flush => (0, 0),
            _ => (
                number(&self.lines, &mut fields, "offset")?,
                number(&self.lines, &mut fields, "length")?,
            ),
        };
        let time = self.time;
        Ok(Some(Record { time, operation, offset, length, service: None, hit: None, device }))
    }

    fn file(&mut self, name: &str) -> Result<u32, TraceError> {
        if let Some(device) = self.files.get(name) {
            return Ok(*device);
        }
        if self.files.len() >= MAX_FILES {
            return Err(self.lines.error("more than 65,536 files"));
        }
        let device = number_of(name).unwrap_or(self.files.len() as u32);
        self.files.insert(name.to_string(), device);
        Ok(device)
    }

    fn nanos(&self, micros: u64) -> Result<Nanos, TraceError> {
        micros.checked_mul(MICRO).ok_or_else(|| self.lines.error(format!("{micros} µs is no time")))
    }
}

/// The device of a file that [`Writer`] has named.
fn number_of(name: &str) -> Option<u32> {
    name.strip_prefix("device-")?.parse().ok()
}

/// Writes a version; the file is named `device-N`.
pub struct Writer {
    output: Output,
    origin: Origin,
    version: u32,
    devices: BTreeSet<u32>,
    waited: Nanos,
    count: u64,
}

impl Writer {
    /// To an output; `version` is 2 or 3.
    pub fn new(output: Output, origin: Origin, version: u32) -> Writer {
        Writer { output, origin, version, devices: BTreeSet::new(), waited: 0, count: 0 }
    }

    fn put(&mut self, record: &Record) -> std::io::Result<()> {
        let out = &mut self.output;
        let micros = record.time / MICRO;
        if self.count == 1 {
            writeln!(out, "fio version {} iolog", self.version)?;
        }
        let stamp = if self.version == 3 { format!("{micros} ") } else { String::new() };
        let device = record.device;
        if self.devices.insert(device) {
            if self.devices.len() > MAX_FILES {
                return Err(std::io::Error::other("an iolog has at most 65,536 files"));
            }
            writeln!(out, "{stamp}device-{device} add\n{stamp}device-{device} open")?;
        }
        if self.version == 2 && micros > self.waited {
            writeln!(out, "device-{device} wait {} 0", micros - self.waited)?;
            self.waited = micros;
        }
        let action = match record.operation {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Discard => "trim",
            Operation::Flush => "sync",
        };
        writeln!(out, "{stamp}device-{device} {action} {} {}", record.offset, record.length)
    }

    fn close(&mut self) -> std::io::Result<()> {
        if self.count == 0 {
            writeln!(self.output, "fio version {} iolog", self.version)?;
        }
        let stamp = if self.version == 3 { format!("{} ", self.waited) } else { String::new() };
        for device in &self.devices {
            writeln!(self.output, "{stamp}device-{device} close")?;
        }
        self.output.flush()
    }
}

impl Sink for Writer {
    fn write(&mut self, record: &Record) -> Result<(), TraceError> {
        self.count += 1;
        self.put(record).map_err(|e| self.origin.io(At::Record(self.count), e))?;
        if self.version == 3 {
            self.waited = record.time / MICRO;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), TraceError> {
        self.close().map_err(|e| self.origin.io(At::File, e))
    }
}
