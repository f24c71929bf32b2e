//! Ten gigabytes of blktrace, read, replayed, mapped and converted in bounded memory. The trace is
//! made while it is read and stored nowhere. Takes minutes:
//! `cargo test --release -p tandem-disk --test huge -- --ignored --nocapture`.

use std::io::{BufReader, Read, Write};
use std::time::Instant;

use tandem_disk::map::{Map, Resolution, Span, Tracks};
use tandem_disk::profile::Profile;
use tandem_disk::replay::{Mode, Options, Outside, replay};
use tandem_disk::trace::{Origin, Record, Sink, TraceError, blktrace, own};

/// Bytes of the trace.
const BYTES: u64 = 10_000_000_000;
/// What the program may take at most, in KiB.
const MOST: u64 = 100 << 10;

const EVENT: usize = 48;
/// Requests under way at once.
const DEPTH: u64 = 8;

/// Events of so many requests: each request is issued, and done when eight more have been.
struct Generator {
    requests: u64,
    event: u64,
    rest: Vec<u8>,
}

impl Generator {
    fn next(&mut self) -> Option<[u8; EVENT]> {
        // Issues and completions by turns, the first completions and the last issues left out.
        let (turn, complete) = (self.event / 2, self.event % 2 == 1);
        self.event += 1;
        let request = if complete { turn.checked_sub(DEPTH) } else { Some(turn) };
        match request {
            Some(request) if request < self.requests => Some(event(self.event, request, complete)),
            _ if turn > self.requests + DEPTH => None,
            _ => self.next(),
        }
    }
}

fn event(number: u64, request: u64, complete: bool) -> [u8; EVENT] {
    // A multiplicative hash; runs of four are sequential.
    let hash = (request / 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let sector = hash % 7_000_000 + request % 4 * 8;
    let kind: u32 = if hash.is_multiple_of(3) { 1 << 17 } else { 1 << 16 };
    let action: u32 = if complete { 8 | 1 << 23 } else { 7 | 1 << 22 };
    let mut raw = [0; EVENT];
    raw[0..4].copy_from_slice(&blktrace::MAGIC.to_le_bytes());
    raw[4..8].copy_from_slice(&(number as u32).to_le_bytes());
    raw[8..16].copy_from_slice(&(number * 2000).to_le_bytes());
    raw[16..24].copy_from_slice(&sector.to_le_bytes());
    raw[24..28].copy_from_slice(&4096u32.to_le_bytes());
    raw[28..32].copy_from_slice(&(kind | action).to_le_bytes());
    raw
}

impl Read for Generator {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.rest.len() < buffer.len().min(64 << 10) {
            match self.next() {
                Some(event) => self.rest.extend_from_slice(&event),
                None => break,
            }
        }
        let count = self.rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.rest[..count]);
        self.rest.drain(..count);
        Ok(count)
    }
}

fn requests() -> u64 {
    BYTES / (2 * EVENT as u64)
}

fn records() -> impl Iterator<Item = Result<Record, TraceError>> {
    let generator = Generator { requests: requests(), event: 0, rest: Vec::new() };
    let input = BufReader::with_capacity(256 << 10, generator);
    blktrace::read(vec![(Box::new(input), Origin::new("generated"))])
}

/// The most memory that the process has had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

struct Counted(std::sync::Arc<std::sync::atomic::AtomicU64>);

impl Write for Counted {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        self.0.fetch_add(buffer.len() as u64, std::sync::atomic::Ordering::Relaxed);
        Ok(buffer.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn say(what: &str, since: Instant) {
    println!("{what}: {:.1} s, peak {} KiB", since.elapsed().as_secs_f64(), peak());
    assert!(peak() < MOST);
}

#[test]
#[ignore = "takes minutes"]
fn ten_gigabytes() {
    for (name, mode) in
        [("ram", Mode::Open), ("st34310a", Mode::Closed { depth: 4 }), ("ram", Mode::Dependent)]
    {
        let start = Instant::now();
        let mut drive = Profile::find(name).unwrap().drive().unwrap();
        let options = Options { mode, outside: Outside::Refuse };
        let report = replay(&mut drive, records(), options, &mut |_| Ok(())).unwrap();
        assert_eq!(report.requests, requests());
        say(&format!("{} requests replayed on {name}, {mode:?}", report.requests), start);
    }
    let start = Instant::now();
    let span = Span::of(records()).unwrap().unwrap();
    let resolution = Resolution { columns: 420, rows: 150 };
    let mut map = Map::new(span, Tracks::Equal(63), resolution);
    records().for_each(|record| map.add(&record.unwrap()));
    assert_eq!(map.kinds.iter().map(|kind| kind.requests).sum::<u64>(), requests());
    say("mapped", start);
    let start = Instant::now();
    let count = std::sync::Arc::default();
    let output = Box::new(Counted(std::sync::Arc::clone(&count)));
    let mut sink: Box<dyn Sink> = Box::new(own::Writer::new(output, Origin::new("out")).unwrap());
    records().for_each(|record| sink.write(&record.unwrap()).unwrap());
    sink.finish().unwrap();
    let bytes = count.load(std::sync::atomic::Ordering::Relaxed);
    assert!(bytes > requests() * 5);
    say(&format!("converted to {bytes} bytes"), start);
}
