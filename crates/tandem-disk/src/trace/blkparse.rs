//! The text of blkparse(1) in its default format: `maj,min cpu seq time pid action rwbs sector +
//! count [process]`. Issues (D) and completions (C) are taken, the rest is passed over.

use std::io::Write;

use super::lines::{Input, Lines, Output, fixed};
use super::pairing::{Action, Encode, Event, Pairing, Writer};
use super::{At, Operation, Origin, Record, Sink, TraceError, sectors};
use crate::request::SECTOR;

/// Reads records.
pub fn read(input: Input, origin: Origin) -> impl Iterator<Item = Result<Record, TraceError>> {
    let mut reader =
        Reader { lines: Lines::new(input, origin), pairing: Pairing::default(), ended: false };
    std::iter::from_fn(move || reader.next().transpose())
}

struct Reader {
    lines: Lines,
    pairing: Pairing,
    ended: bool,
}

impl Reader {
    fn next(&mut self) -> Result<Option<Record>, TraceError> {
        loop {
            if let Some(record) = self.pairing.next(self.ended) {
                return Ok(Some(record));
            }
            if self.ended {
                return Ok(None);
            }
            let Some(line) = self.lines.next_line()? else {
                self.ended = true;
                match self.pairing.lack() {
                    Some(why) => return Err(self.lines.error(why)),
                    None => continue,
                }
            };
            // The summary behind the events.
            if line.starts_with("CPU") || line.starts_with("Total") {
                self.ended = true;
                continue;
            }
            let line = line.to_string();
            if !line.trim().is_empty() {
                self.line(&line)?;
            }
        }
    }

    fn line(&mut self, line: &str) -> Result<(), TraceError> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let &[device, _cpu, _sequence, time, _pid, action, rwbs, ..] = fields.as_slice() else {
            return self.odd(line, &fields);
        };
        let action = match action {
            "D" => Action::Issue,
            "C" => Action::Complete,
            "Q" => {
                self.pairing.queue();
                return Ok(());
            }
            other if other.len() <= 2 => return Ok(()),
            _ => return self.odd(line, &fields),
        };
        let wrong = |what: &str| self.lines.error(format!("no {what} in `{line}`"));
        let device = device_of(device).ok_or_else(|| wrong("device"))?;
        let time = fixed(time, 9).ok_or_else(|| wrong("time"))?;
        let rest = &fields[7..];
        let (operation, sector, count) = match (rest, operation_of(rwbs)) {
            (&[sector, "+", count, ..], Some(operation)) => {
                let number = |text: &str, what: &str| text.parse().map_err(|_| wrong(what));
                (operation, number(sector, "sector")?, number(count, "number of sectors")?)
            }
            // A flush has no sectors. Another request without any is what has been flushed for.
            (_, _) if rwbs.starts_with('F') => (Operation::Flush, 0u64, 0u64),
            _ => return Ok(()),
        };
        let bytes = |sectors: u64| sectors.checked_mul(SECTOR).ok_or_else(|| wrong("real sector"));
        let (offset, length) = (bytes(sector)?, bytes(count)?);
        self.pairing.add(&Event { time, action, operation, offset, length, device });
        Ok(())
    }

    /// A line that is no event: messages and statistics of processes have few fields.
    fn odd(&self, line: &str, fields: &[&str]) -> Result<(), TraceError> {
        let device = fields.first().and_then(|first| device_of(first));
        match device {
            Some(_) if fields.len() >= 6 => Ok(()),
            _ => Err(self.lines.error(format!("`{line}` is no event of blkparse"))),
        }
    }
}

fn device_of(text: &str) -> Option<u32> {
    let (major, minor) = text.split_once(',')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    (major < 1 << 12 && minor < 1 << 20).then_some(major << 20 | minor)
}

/// What blkparse's letters ask for; an F before the direction is a flush before it.
fn operation_of(rwbs: &str) -> Option<Operation> {
    if rwbs.contains('D') {
        Some(Operation::Discard)
    } else if rwbs.contains('R') {
        Some(Operation::Read)
    } else if rwbs.contains('W') {
        Some(Operation::Write)
    } else if rwbs.starts_with('F') {
        Some(Operation::Flush)
    } else {
        None
    }
}

/// Writes records.
pub fn writer(output: Output, origin: Origin) -> impl Sink {
    Writer::of(Encoder { output, origin, sequence: 0 })
}

/// Writes events as lines.
struct Encoder {
    output: Output,
    origin: Origin,
    sequence: u64,
}

impl Encode for Encoder {
    fn put(&mut self, event: &Event, record: u64) -> Result<(), TraceError> {
        self.sequence += 1;
        let rwbs = match event.operation {
            Operation::Read => "R",
            Operation::Write => "W",
            Operation::Discard => "D",
            Operation::Flush => "FN",
        };
        let (action, pid, process) = match event.action {
            Action::Issue => ("D", 1, "[tandem]"),
            Action::Complete => ("C", 0, "[0]"),
        };
        let sector = sectors(&self.origin, record, event.offset)?;
        let length = sectors(&self.origin, record, event.length)?;
        let extent = match event.operation {
            Operation::Flush => String::new(),
            _ => format!("{sector} + {length} "),
        };
        writeln!(
            self.output,
            "{:>3},{:<3} {:>2} {:>8} {:>5}.{:09} {pid:>5}  {action:<2} {rwbs:>3} {extent}{process}",
            event.device >> 20,
            event.device & 0xf_ffff,
            0,
            self.sequence,
            event.time / 1_000_000_000,
            event.time % 1_000_000_000,
        )
        .map_err(|e| self.origin.io(At::Record(record), e))
    }

    fn close(&mut self) -> Result<(), TraceError> {
        self.output.flush().map_err(|e| self.origin.io(At::File, e))
    }
}
