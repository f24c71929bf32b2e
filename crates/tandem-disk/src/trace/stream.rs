//! Opening traces of any format, compressed or not, and creating them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Cursor, Read, Write};
use std::path::{Path, PathBuf};

use super::lines::{Input, Output};
use super::{
    At, Format, Origin, Record, Records, Sink, TraceError, blkparse, blktrace, disksim, fio, msr,
    own,
};

const BUFFER: usize = 256 << 10;

/// How a trace is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Its format; `None` to look.
    pub format: Option<Format>,
    /// Records that are held to be put in order of time; 0 for a trace that is in order.
    pub sort: usize,
}

/// Opens a trace. Of blktrace's files, one a CPU, all are read that belong together.
///
/// # Errors
/// Files that cannot be opened, and what is no trace. What is wrong further on comes with the
/// records, out-of-order times among it.
pub fn open(path: &Path, options: Options) -> Result<(Format, Records), TraceError> {
    let mut siblings = per_cpu(path);
    // A CPU that had nothing to do leaves an empty file.
    siblings.retain(|file| std::fs::metadata(file).map_or(true, |meta| meta.len() > 0));
    let first = siblings.first().map_or(path, PathBuf::as_path);
    let (input, format, origin) = input(first)?;
    let format = match options.format.or(format) {
        Some(format) => format,
        None => return Err(origin.error(At::File, "no known format of traces")),
    };
    let records: Records = match format {
        Format::Tandem => Box::new(own::read(input, origin.clone())),
        Format::Disksim => Box::new(disksim::read(input, origin.clone())),
        Format::Blkparse => Box::new(blkparse::read(input, origin.clone())),
        Format::Fio2 | Format::Fio3 => Box::new(fio::read(input, origin.clone())),
        Format::Msr => Box::new(msr::read(input, origin.clone())),
        Format::Blktrace => {
            let mut inputs = vec![(input, origin.clone())];
            for other in siblings.iter().skip(1) {
                let (input, _, origin) = self::input(other)?;
                inputs.push((input, origin));
            }
            Box::new(blktrace::read(inputs))
        }
    };
    Ok((format, Box::new(Ordered::new(records, origin, options.sort))))
}

/// Opens a file, decompresses it, and looks at its beginning.
fn input(path: &Path) -> Result<(Input, Option<Format>, Origin), TraceError> {
    let origin = Origin::new(path.display().to_string());
    let file = File::open(path).map_err(|e| origin.io(At::File, e))?;
    let mut raw = BufReader::with_capacity(BUFFER, file);
    let start = raw.fill_buf().map_err(|e| origin.io(At::File, e))?;
    let mut input: Input = match start {
        [0x1f, 0x8b, ..] => {
            let plain = flate2::bufread::MultiGzDecoder::new(raw);
            Box::new(BufReader::with_capacity(BUFFER, plain))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let plain = zstd::stream::read::Decoder::with_buffer(raw);
            let plain = plain.map_err(|e| origin.io(At::File, e))?;
            Box::new(BufReader::with_capacity(BUFFER, plain))
        }
        _ => Box::new(raw),
    };
    let mut start = vec![0; 4096];
    let mut got = 0;
    while got < start.len() {
        match input.read(&mut start[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(origin.io(At::File, e)),
        }
    }
    start.truncate(got);
    let format = recognize(&start);
    Ok((
        Box::new(BufReader::with_capacity(BUFFER, Cursor::new(start).chain(input))),
        format,
        origin,
    ))
}

/// The format of a file that begins so.
fn recognize(start: &[u8]) -> Option<Format> {
    if start.starts_with(&own::MAGIC[..7]) {
        return Some(Format::Tandem);
    }
    if let [a, b, c, d, ..] = *start {
        let word = [a, b, c, d];
        let magic = blktrace::MAGIC & 0xffff_ff00;
        let is = |found: u32| found & 0xffff_ff00 == magic;
        if is(u32::from_le_bytes(word)) || is(u32::from_be_bytes(word)) {
            return Some(Format::Blktrace);
        }
    }
    let text = String::from_utf8_lossy(start);
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    if line.starts_with("fio version 2") {
        return Some(Format::Fio2);
    }
    if line.starts_with("fio version") {
        return Some(Format::Fio3);
    }
    let fields: Vec<&str> = line.split_whitespace().collect();
    match fields.as_slice() {
        ["R" | "W", "Hit" | "Miss" | "Doub" | "Trip", ..] => Some(Format::Disksim),
        [device, ..] if fields.len() >= 6 && is_device(device) => Some(Format::Blkparse),
        _ if line.split(',').count() == 7 => Some(Format::Msr),
        _ => None,
    }
}

fn is_device(text: &str) -> bool {
    let number = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    text.split_once(',').is_some_and(|(major, minor)| number(major) && number(minor))
}

/// The files `X.blktrace.0`, `X.blktrace.1`, … that a path means; none for any other path.
fn per_cpu(path: &Path) -> Vec<PathBuf> {
    let name = path.to_string_lossy();
    let stem = match name.rsplit_once(".blktrace.") {
        Some((stem, cpu)) if cpu.bytes().all(|b| b.is_ascii_digit()) => format!("{stem}.blktrace"),
        _ if name.ends_with(".blktrace") && !path.exists() => name.to_string(),
        _ if !path.exists() => format!("{name}.blktrace"),
        _ => return Vec::new(),
    };
    let file = |cpu: u32| PathBuf::from(format!("{stem}.{cpu}"));
    // CPUs may be off line, but not a thousand in a row.
    let mut found = Vec::new();
    let mut missing = 0;
    let mut cpu = 0;
    while missing < 1024 {
        if file(cpu).exists() {
            found.push(file(cpu));
            missing = 0;
        } else {
            missing += 1;
        }
        cpu += 1;
    }
    found
}

/// Records in order of time, or an error that says where they are not.
struct Ordered {
    records: Records,
    origin: Origin,
    window: usize,
    held: BTreeMap<(u64, u64), Record>,
    last: u64,
    count: u64,
    failed: bool,
}

impl Ordered {
    fn new(records: Records, origin: Origin, window: usize) -> Ordered {
        let held = BTreeMap::new();
        Ordered { records, origin, window, held, last: 0, count: 0, failed: false }
    }

    fn fetch(&mut self) -> Result<Option<Record>, TraceError> {
        while self.held.len() <= self.window {
            match self.records.next().transpose()? {
                None => break,
                Some(record) if self.window == 0 => return Ok(Some(record)),
                Some(record) => {
                    self.held.insert((record.time, self.count), record);
                    self.count += 1;
                }
            }
        }
        Ok(self.held.pop_first().map(|(_, record)| record))
    }
}

impl Iterator for Ordered {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.fetch().transpose()?;
        if self.window == 0 {
            self.count += 1;
        }
        let next = next.and_then(|record| {
            if record.time < self.last {
                let why = format!(
                    "{} ns earlier than the record before; --sort N holds N records to put them \
                     in order",
                    self.last - record.time
                );
                return Err(self.origin.error(At::Record(self.count), why));
            }
            self.last = record.time;
            Ok(record)
        });
        self.failed = next.is_err();
        Some(next)
    }
}

/// Creates a trace; what its name ends with says whether it is compressed.
///
/// # Errors
/// Files that cannot be created.
pub fn create(path: &Path, format: Format) -> Result<Box<dyn Sink>, TraceError> {
    let origin = Origin::new(path.display().to_string());
    let file = File::create(path).map_err(|e| origin.io(At::File, e))?;
    let raw = BufWriter::with_capacity(BUFFER, file);
    let output: Output = match path.extension().and_then(|e| e.to_str()) {
        Some("zst") => {
            let packed = zstd::stream::write::Encoder::new(raw, 3);
            Box::new(Packed::Zstd(Some(packed.map_err(|e| origin.io(At::File, e))?)))
        }
        Some("gz") => {
            let packed = flate2::write::GzEncoder::new(raw, flate2::Compression::default());
            Box::new(Packed::Gzip(Some(packed)))
        }
        _ => Box::new(raw),
    };
    Ok(match format {
        Format::Tandem => Box::new(own::Writer::new(output, origin)?),
        Format::Disksim => Box::new(disksim::Writer::new(output, origin)),
        Format::Blkparse => Box::new(blkparse::writer(output, origin)),
        Format::Blktrace => Box::new(blktrace::writer(output, origin)),
        Format::Fio2 => Box::new(fio::Writer::new(output, origin, 2)),
        Format::Fio3 => Box::new(fio::Writer::new(output, origin, 3)),
        Format::Msr => Box::new(msr::Writer::new(output, origin)),
    })
}

/// A compressed file; flushing it, which sinks do once, at their end, ends it.
enum Packed {
    Zstd(Option<zstd::stream::write::Encoder<'static, BufWriter<File>>>),
    Gzip(Option<flate2::write::GzEncoder<BufWriter<File>>>),
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Packed::Zstd(Some(packed)) => packed.write(bytes),
            Packed::Gzip(Some(packed)) => packed.write(bytes),
            _ => Err(std::io::Error::other("already finished")),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Packed::Zstd(packed) => packed.take().map_or(Ok(()), |p| p.finish()?.flush()),
            Packed::Gzip(packed) => packed.take().map_or(Ok(()), |p| p.finish()?.flush()),
        }
    }
}
