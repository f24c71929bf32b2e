//! The kernel's binary records (`struct blk_io_trace`, linux/blktrace_api.h): 48 bytes each,
//! in either byte order, with what the driver adds behind.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use super::lines::{Input, Output};
use super::pairing::{Action, Encode, Event, Pairing, Writer};
use super::{At, Operation, Origin, Record, Sink, TraceError, sectors};
use crate::request::SECTOR;

/// `BLK_IO_TRACE_MAGIC` and version 7.
pub const MAGIC: u32 = 0x6561_7407;
const BYTES: usize = 48;

const ISSUE: u32 = 7;
const COMPLETE: u32 = 8;
const QUEUE: u32 = 1;
const TC_READ: u32 = 1 << 16;
const TC_WRITE: u32 = 1 << 17;
const TC_FLUSH: u32 = 1 << 18;
const TC_ISSUE: u32 = 1 << 22;
const TC_COMPLETE: u32 = 1 << 23;
const TC_FS: u32 = 1 << 24;
const TC_NOTIFY: u32 = 1 << 26;
const TC_DISCARD: u32 = 1 << 29;

/// Reads records from the files of all CPUs, merged by time.
pub fn read(inputs: Vec<(Input, Origin)>) -> impl Iterator<Item = Result<Record, TraceError>> {
    let files = inputs.into_iter().map(|(input, origin)| File { input, origin, at: 0 }).collect();
    let mut reader = Reader {
        files,
        next: BTreeMap::new(),
        started: false,
        base: None,
        pairing: Pairing::default(),
    };
    std::iter::from_fn(move || reader.next().transpose())
}

struct File {
    input: Input,
    origin: Origin,
    at: u64,
}

/// A record as it is in the file.
#[derive(Clone, Copy)]
struct Raw {
    time: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
}

impl File {
    fn error(&self, why: impl Into<String>) -> TraceError {
        self.origin.error(At::Byte(self.at), why)
    }

    /// The next record that is not a message.
    fn next(&mut self) -> Result<Option<Raw>, TraceError> {
        loop {
            let mut raw = [0; BYTES];
            let got = self.fill(&mut raw)?;
            if got == 0 {
                return Ok(None);
            }
            if got < BYTES {
                return Err(self.error(format!("cut off: {got} of {BYTES} bytes of a record")));
            }
            let big = match (word(&raw, 0, false), word(&raw, 0, true)) {
                (MAGIC, _) => false,
                (_, MAGIC) => true,
                (found, _) => {
                    let why = format!("{found:#010x} where a record of version 7 should begin");
                    return Err(self.error(why));
                }
            };
            let pdu = u64::from(half(&raw, 46, big));
            self.at += BYTES as u64;
            if pdu > 0 {
                let skipped = std::io::copy(&mut (&mut self.input).take(pdu), &mut std::io::sink());
                let skipped = skipped.map_err(|e| self.origin.io(At::Byte(self.at), e))?;
                if skipped < pdu {
                    return Err(self.error("cut off within what the driver added to a record"));
                }
                self.at += pdu;
            }
            let action = word(&raw, 28, big);
            if action & TC_NOTIFY == 0 {
                let long = |at| u64::from(word(&raw, at, big));
                let double = |at: usize| {
                    if big { long(at) << 32 | long(at + 4) } else { long(at + 4) << 32 | long(at) }
                };
                let (time, sector) = (double(8), double(16));
                let (bytes, device) = (word(&raw, 24, big), word(&raw, 36, big));
                return Ok(Some(Raw { time, sector, bytes, action, device }));
            }
        }
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, TraceError> {
        let mut got = 0;
        while got < buffer.len() {
            match self.input.read(&mut buffer[got..]) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.origin.io(At::Byte(self.at), e)),
            }
        }
        Ok(got)
    }
}

fn word(raw: &[u8; BYTES], at: usize, big: bool) -> u32 {
    let bytes = [raw[at], raw[at + 1], raw[at + 2], raw[at + 3]];
    if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

fn half(raw: &[u8; BYTES], at: usize, big: bool) -> u16 {
    let bytes = [raw[at], raw[at + 1]];
    if big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
}

struct Reader {
    files: Vec<File>,
    next: BTreeMap<(u64, usize), Raw>,
    started: bool,
    base: Option<u64>,
    pairing: Pairing,
}

impl Reader {
    fn next(&mut self) -> Result<Option<Record>, TraceError> {
        if !self.started {
            self.started = true;
            for at in 0..self.files.len() {
                self.fetch(at)?;
            }
        }
        loop {
            if let Some(record) = self.pairing.next(self.next.is_empty()) {
                return Ok(Some(record));
            }
            let Some(((time, at), raw)) = self.next.pop_first() else {
                let lack = self.pairing.lack();
                return lack.map_or(Ok(None), |why| Err(self.files[0].error(why)));
            };
            self.fetch(at)?;
            self.event(time, at, raw)?;
        }
    }

    fn fetch(&mut self, at: usize) -> Result<(), TraceError> {
        if let Some(raw) = self.files[at].next()? {
            self.next.insert((raw.time, at), raw);
        }
        Ok(())
    }

    fn event(&mut self, time: u64, at: usize, raw: Raw) -> Result<(), TraceError> {
        let action = match raw.action & 0xffff {
            ISSUE => Action::Issue,
            COMPLETE => Action::Complete,
            QUEUE => {
                self.pairing.queue();
                return Ok(());
            }
            _ => return Ok(()),
        };
        let operation = if raw.action & TC_DISCARD != 0 {
            Operation::Discard
        } else if raw.bytes == 0 && raw.action & TC_FLUSH != 0 {
            Operation::Flush
        } else if raw.bytes == 0 {
            // What has been flushed for is reported once more, as a write of nothing.
            return Ok(());
        } else if raw.action & TC_WRITE != 0 {
            Operation::Write
        } else if raw.action & TC_READ != 0 {
            Operation::Read
        } else {
            return Ok(());
        };
        // Times that a trace holds may begin with the machine's start.
        let time = time.saturating_sub(*self.base.get_or_insert(time));
        let sector = if operation == Operation::Flush { 0 } else { raw.sector };
        let beyond = || self.files[at].error(format!("sector {sector} is beyond any drive"));
        let offset = sector.checked_mul(SECTOR).ok_or_else(beyond)?;
        let length = u64::from(raw.bytes);
        self.pairing.add(&Event { time, action, operation, offset, length, device: raw.device });
        Ok(())
    }
}

/// Writes records, little-endian, as one CPU's file.
pub fn writer(output: Output, origin: Origin) -> impl Sink {
    Writer::of(Encoder { output, origin, sequence: 0 })
}

/// Writes events as the kernel's records.
struct Encoder {
    output: Output,
    origin: Origin,
    sequence: u32,
}

impl Encode for Encoder {
    fn put(&mut self, event: &Event, record: u64) -> Result<(), TraceError> {
        self.sequence = self.sequence.wrapping_add(1);
        let kind = match event.operation {
            Operation::Read => TC_READ,
            Operation::Write => TC_WRITE,
            Operation::Discard => TC_WRITE | TC_DISCARD,
            // As the kernel has it: no flush is a write.
            Operation::Flush => TC_READ | TC_FLUSH,
        };
        let action = match event.action {
            Action::Issue => ISSUE | TC_ISSUE,
            Action::Complete => COMPLETE | TC_COMPLETE,
        };
        let bytes = u32::try_from(event.length).map_err(|_| {
            let why = format!("{} bytes are more than this format can hold", event.length);
            self.origin.error(At::Record(record), why)
        })?;
        let sector = sectors(&self.origin, record, event.offset)?;
        let mut raw = Vec::with_capacity(BYTES);
        raw.extend_from_slice(&MAGIC.to_le_bytes());
        raw.extend_from_slice(&self.sequence.to_le_bytes());
        raw.extend_from_slice(&event.time.to_le_bytes());
        raw.extend_from_slice(&sector.to_le_bytes());
        for word in [bytes, kind | TC_FS | action, 1, event.device, 0, 0] {
            raw.extend_from_slice(&word.to_le_bytes());
        }
        self.output.write_all(&raw).map_err(|e| self.origin.io(At::Record(record), e))
    }

    fn close(&mut self) -> Result<(), TraceError> {
        self.output.flush().map_err(|e| self.origin.io(At::File, e))
    }
}
