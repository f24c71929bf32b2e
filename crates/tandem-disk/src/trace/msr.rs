//! The CSV of the MSR Cambridge traces (Narayanan, Donnelly, Rowstron 2008, "Write off-loading"):
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`, times in units of 100 ns, the
//! first since 1601.

use std::io::Write;

use super::lines::{Input, Lines, Output};
use super::{At, Operation, Origin, Record, Sink, TraceError};

const TICK: u64 = 100;
/// Where times begin that are written: 1 February 2007, about when the traces were taken.
const EPOCH: u64 = 128_147_616_000_000_000;

/// Reads records; the first one's time is 0.
pub fn read(input: Input, origin: Origin) -> impl Iterator<Item = Result<Record, TraceError>> {
    let mut lines = Lines::new(input, origin);
    let mut base = None;
    std::iter::from_fn(move || next(&mut lines, &mut base).transpose())
}

fn next(lines: &mut Lines, base: &mut Option<u64>) -> Result<Option<Record>, TraceError> {
    let line = loop {
        match lines.next_line()? {
            None => return Ok(None),
            Some("") => {}
            Some(line) if line.starts_with("Timestamp") => {}
            Some(line) => break line.to_string(),
        }
    };
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let &[stamp, _host, disk, kind, offset, size, response] = fields.as_slice() else {
        return Err(lines.error(format!("{} fields, not 7", fields.len())));
    };
    let number = |what: &str, text: &str| {
        text.parse::<u64>().map_err(|_| lines.error(format!("{what} `{text}` is not a number")))
    };
    let operation = if kind.eq_ignore_ascii_case("read") {
        Operation::Read
    } else if kind.eq_ignore_ascii_case("write") {
        Operation::Write
    } else {
        return Err(lines.error(format!("`{kind}` is neither Read nor Write")));
    };
    let stamp = number("timestamp", stamp)?;
    let since = stamp.checked_sub(*base.get_or_insert(stamp));
    let since = since.ok_or_else(|| lines.error("earlier than the first record"))?;
    let nanos = |n: u64| n.checked_mul(TICK).ok_or_else(|| lines.error("no time"));
    let device = u32::try_from(number("disk number", disk)?);
    Ok(Some(Record {
        time: nanos(since)?,
        operation,
        offset: number("offset", offset)?,
        length: number("size", size)?,
        service: Some(nanos(number("response time", response)?)?),
        hit: None,
        device: device.map_err(|_| lines.error("no number of a disk"))?,
    }))
}

/// Writes records.
pub struct Writer {
    output: Output,
    origin: Origin,
    count: u64,
}

impl Writer {
    /// To an output.
    pub fn new(output: Output, origin: Origin) -> Writer {
        Writer { output, origin, count: 0 }
    }
}

impl Sink for Writer {
    fn write(&mut self, record: &Record) -> Result<(), TraceError> {
        self.count += 1;
        let kind = match record.operation {
            Operation::Read => "Read",
            Operation::Write => "Write",
            _ => {
                let why = "the MSR format holds reads and writes only";
                return Err(self.origin.error(At::Record(self.count), why));
            }
        };
        writeln!(
            self.output,
            "{},tandem,{},{kind},{},{},{}",
            EPOCH + record.time / TICK,
            record.device,
            record.offset,
            record.length,
            record.service.unwrap_or(0) / TICK
        )
        .map_err(|e| self.origin.io(At::Record(self.count), e))
    }

    fn finish(mut self: Box<Self>) -> Result<(), TraceError> {
        self.output.flush().map_err(|e| self.origin.io(At::File, e))
    }
}
