//! DiskSim's validation traces: `R|W Hit|Miss LBN blocks service_us gap_us`, where the gap is from
//! this request's completion to the next one's arrival. Some have `Doub` or `Trip` in place of
//! `Miss`, for writes in which the drive gave the bus back twice or three times.

use std::io::Write;

use super::lines::{Input, Lines, Output, fixed, number};
use super::{At, Operation, Origin, Record, Sink, TraceError, sectors};
use crate::request::{Nanos, SECTOR};

/// Reads records.
pub fn read(input: Input, origin: Origin) -> impl Iterator<Item = Result<Record, TraceError>> {
    let mut lines = Lines::new(input, origin);
    let mut time: Nanos = 0;
    std::iter::from_fn(move || next(&mut lines, &mut time).transpose())
}

fn next(lines: &mut Lines, time: &mut Nanos) -> Result<Option<Record>, TraceError> {
    let line = loop {
        match lines.next_line()? {
            None => return Ok(None),
            Some("") => {}
            Some(line) => break line.to_string(),
        }
    };
    let mut fields = line.split_whitespace();
    let operation = match fields.next() {
        Some("R") => Operation::Read,
        Some("W") => Operation::Write,
        other => return Err(lines.error(format!("`{}` is neither R nor W", other.unwrap_or("")))),
    };
    let hit = match fields.next() {
        Some("Hit") => true,
        Some("Miss" | "Doub" | "Trip") => false,
        other => {
            let why = format!("`{}` is none of Hit, Miss, Doub and Trip", other.unwrap_or(""));
            return Err(lines.error(why));
        }
    };
    let sector = number(lines, &mut fields, "LBN")?;
    let blocks = number(lines, &mut fields, "number of blocks")?;
    let mut micros = |what: &str| {
        let field = fields.next().ok_or_else(|| lines.error(format!("{what} is missing")))?;
        fixed(field, 3).ok_or_else(|| lines.error(format!("{what} `{field}` is not a time")))
    };
    let (service, gap) = (micros("service time")?, micros("gap")?);
    let bytes = |n: u64| n.checked_mul(SECTOR).ok_or_else(|| lines.error("beyond any drive"));
    let (offset, length) = (bytes(sector)?, bytes(blocks)?);
    let record = Record {
        time: *time,
        operation,
        offset,
        length,
        service: Some(service),
        hit: Some(hit),
        device: 0,
    };
    let later = time.checked_add(service).and_then(|t| t.checked_add(gap));
    *time = later.ok_or_else(|| lines.error("times add up to more than 584 years"))?;
    Ok(Some(record))
}

/// Writes records; one is held back until the next one's time is known.
pub struct Writer {
    output: Output,
    origin: Origin,
    held: Option<Record>,
    count: u64,
}

impl Writer {
    /// To an output.
    pub fn new(output: Output, origin: Origin) -> Writer {
        Writer { output, origin, held: None, count: 0 }
    }

    fn put(&mut self, record: &Record, next: Option<Nanos>) -> Result<(), TraceError> {
        self.count += 1;
        let kind = match record.operation {
            Operation::Read => "R",
            Operation::Write => "W",
            _ => return Err(self.error("DiskSim's traces hold reads and writes only")),
        };
        let sector = sectors(&self.origin, self.count, record.offset)?;
        let blocks = sectors(&self.origin, self.count, record.length)?;
        let service = record.service.unwrap_or(0);
        let finish = record.time.saturating_add(service);
        let gap = match next {
            None => 0,
            Some(next) => next.checked_sub(finish).ok_or_else(|| {
                self.error("overlaps the next one, which DiskSim's traces cannot hold")
            })?,
        };
        let hit = if record.hit.unwrap_or(true) { "Hit" } else { "Miss" };
        let micros = |t: Nanos| format!("{}.{:03}", t / 1000, t % 1000);
        writeln!(
            self.output,
            "{kind} {hit:<4} {sector:>10} {blocks:>3} {:>12} {:>12}",
            micros(service),
            micros(gap)
        )
        .map_err(|e| self.origin.io(At::Record(self.count), e))
    }

    fn error(&self, why: &str) -> TraceError {
        self.origin.error(At::Record(self.count), why)
    }
}

impl Sink for Writer {
    fn write(&mut self, record: &Record) -> Result<(), TraceError> {
        match self.held.replace(*record) {
            Some(held) => self.put(&held, Some(record.time)),
            None => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<(), TraceError> {
        if let Some(held) = self.held.take() {
            self.put(&held, None)?;
        }
        self.output.flush().map_err(|e| self.origin.io(At::File, e))
    }
}
