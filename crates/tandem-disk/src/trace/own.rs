//! Tandem's own format: everything a [`Record`] holds, 8 to 12 bytes each as a rule, with a
//! checksum over every byte and an end that says how many there were (`docs/disk.md`).

use std::io::{Read, Write};

use super::lines::{Input, Output};
use super::{At, Operation, Origin, Record, Sink, TraceError};

/// What the file begins with; the last byte is the version.
pub const MAGIC: [u8; 8] = *b"TNDTRAC\x01";
/// Bytes of records in a block, at most.
const BLOCK: usize = 64 << 10;
/// More than any one record takes up.
const MAX_RECORD: usize = 64;

const HAS_SERVICE: u8 = 1 << 2;
const HAS_HIT: u8 = 1 << 3;
const HIT: u8 = 1 << 4;
const FOLLOWS: u8 = 1 << 5;
const SAME_DEVICE: u8 = 1 << 6;

/// What the next record is given relative to.
#[derive(Default, Clone, Copy)]
struct Last {
    time: u64,
    end: u64,
    device: u32,
}

/// Writes records.
pub struct Writer {
    output: Output,
    origin: Origin,
    block: Vec<u8>,
    last: Last,
    count: u64,
}

impl Writer {
    /// To an output.
    ///
    /// # Errors
    /// Failures to write.
    pub fn new(mut output: Output, origin: Origin) -> Result<Writer, TraceError> {
        output.write_all(&MAGIC).map_err(|e| origin.io(At::File, e))?;
        let block = Vec::with_capacity(BLOCK);
        Ok(Writer { output, origin, block, last: Last::default(), count: 0 })
    }

    fn put_block(&mut self, payload: &[u8]) -> Result<(), TraceError> {
        let mut head = Vec::with_capacity(8);
        head.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        head.extend_from_slice(&crc32c::crc32c(payload).to_le_bytes());
        let written = self.output.write_all(&head).and_then(|()| self.output.write_all(payload));
        written.map_err(|e| self.origin.io(At::Record(self.count), e))
    }
}

impl Sink for Writer {
    fn write(&mut self, record: &Record) -> Result<(), TraceError> {
        self.count += 1;
        let Some(later) = record.time.checked_sub(self.last.time) else {
            return Err(self.origin.error(At::Record(self.count), "earlier than the one before"));
        };
        let mut flags = match record.operation {
            Operation::Read => 0,
            Operation::Write => 1,
            Operation::Flush => 2,
            Operation::Discard => 3,
        };
        let follows = record.offset == self.last.end;
        for (set, flag) in [
            (record.service.is_some(), HAS_SERVICE),
            (record.hit.is_some(), HAS_HIT),
            (record.hit == Some(true), HIT),
            (follows, FOLLOWS),
            (record.device == self.last.device, SAME_DEVICE),
        ] {
            if set {
                flags |= flag;
            }
        }
        let out = &mut self.block;
        out.push(flags);
        varint(out, later);
        if !follows {
            let distance = record.offset.wrapping_sub(self.last.end) as i64;
            varint(out, (distance << 1 ^ distance >> 63) as u64);
        }
        varint(out, record.length);
        if let Some(service) = record.service {
            varint(out, service);
        }
        if flags & SAME_DEVICE == 0 {
            varint(out, u64::from(record.device));
        }
        let end = record.offset.wrapping_add(record.length);
        self.last = Last { time: record.time, end, device: record.device };
        if self.block.len() + MAX_RECORD > BLOCK {
            let block = std::mem::take(&mut self.block);
            self.put_block(&block)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), TraceError> {
        if !self.block.is_empty() {
            let block = std::mem::take(&mut self.block);
            self.put_block(&block)?;
        }
        let count = self.count.to_le_bytes();
        let mut end = 0u32.to_le_bytes().to_vec();
        end.extend_from_slice(&crc32c::crc32c(&count).to_le_bytes());
        end.extend_from_slice(&count);
        let written = self.output.write_all(&end).and_then(|()| self.output.flush());
        written.map_err(|e| self.origin.io(At::File, e))
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads records.
pub fn read(input: Input, origin: Origin) -> impl Iterator<Item = Result<Record, TraceError>> {
    let mut reader = Reader {
        input,
        origin,
        block: Vec::new(),
        used: 0,
        at: 0,
        last: Last::default(),
        count: 0,
        ended: false,
    };
    std::iter::from_fn(move || reader.next().transpose())
}

struct Reader {
    input: Input,
    origin: Origin,
    block: Vec<u8>,
    used: usize,
    /// Where the block's records begin in the file.
    at: u64,
    last: Last,
    count: u64,
    ended: bool,
}

impl Reader {
    fn next(&mut self) -> Result<Option<Record>, TraceError> {
        if self.at == 0 {
            let mut magic = [0; MAGIC.len()];
            self.exactly(&mut magic)?;
            if magic != MAGIC {
                return Err(self.error("is not a trace of Tandem's, or of another version"));
            }
            self.at = MAGIC.len() as u64;
        }
        while self.used == self.block.len() {
            if self.ended || !self.next_block()? {
                return Ok(None);
            }
        }
        let record = self.record();
        let at = self.at + self.used as u64;
        let why = "a record that makes no sense";
        let record = record.ok_or_else(|| self.origin.error(At::Byte(at), why))?;
        self.count += 1;
        Ok(Some(record))
    }

    fn error(&self, why: impl Into<String>) -> TraceError {
        self.origin.error(At::Byte(self.at), why)
    }

    fn exactly(&mut self, buffer: &mut [u8]) -> Result<(), TraceError> {
        self.input.read_exact(buffer).map_err(|e| match e.kind() {
            std::io::ErrorKind::UnexpectedEof => self.error("cut off"),
            _ => self.origin.io(At::Byte(self.at), e),
        })
    }

    fn next_block(&mut self) -> Result<bool, TraceError> {
        self.at += self.block.len() as u64;
        let mut head = [0; 8];
        self.exactly(&mut head)?;
        let [a, b, c, d, e, f, g, h] = head;
        let (len, sum) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        let len = len as usize;
        if len > BLOCK {
            return Err(self.error(format!("a block of {len} bytes: damaged")));
        }
        let mut block = vec![0; if len == 0 { 8 } else { len }];
        self.exactly(&mut block)?;
        if crc32c::crc32c(&block) != sum {
            return Err(self.error("a block with a wrong checksum: damaged"));
        }
        self.at += 8;
        if len == 0 {
            self.ended = true;
            let mut count = [0; 8];
            count.copy_from_slice(&block);
            let count = u64::from_le_bytes(count);
            if count != self.count {
                return Err(self.error(format!("{} records, {count} were written", self.count)));
            }
            self.block.clear();
            self.used = 0;
            return Ok(false);
        }
        self.block = block;
        self.used = 0;
        Ok(true)
    }

    fn record(&mut self) -> Option<Record> {
        let flags = *self.block.get(self.used)?;
        self.used += 1;
        let time = self.last.time.checked_add(self.varint()?)?;
        let offset = if flags & FOLLOWS != 0 {
            self.last.end
        } else {
            let coded = self.varint()?;
            let distance = (coded >> 1) as i64 ^ -((coded & 1) as i64);
            self.last.end.wrapping_add(distance as u64)
        };
        let length = self.varint()?;
        let service = if flags & HAS_SERVICE != 0 { Some(self.varint()?) } else { None };
        let device = if flags & SAME_DEVICE != 0 {
            self.last.device
        } else {
            u32::try_from(self.varint()?).ok()?
        };
        let operation = match flags & 3 {
            0 => Operation::Read,
            1 => Operation::Write,
            2 => Operation::Flush,
            _ => Operation::Discard,
        };
        let hit = (flags & HAS_HIT != 0).then_some(flags & HIT != 0);
        self.last = Last { time, end: offset.wrapping_add(length), device };
        Some(Record { time, operation, offset, length, service, hit, device })
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.block.get(self.used)?;
            self.used += 1;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                return None;
            }
            value |= part << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}
