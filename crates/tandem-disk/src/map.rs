//! What a trace looks like: where requests lie and when, what distances are between them, how much
//! and how long, and which of them are sequential, strided or random.
//!
//! Two passes in bounded memory: [`Span`] finds the range of times and addresses, [`Map`] counts
//! within it. Requests are drawn as the extents that they are, not as their first sectors: an access
//! of 4 KiB every 4 KiB is a line, not every eighth sector.

mod distance;
mod grid;
mod pattern;
mod rate;
mod summary;
mod tracks;

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::request::{Nanos, Operation, SECTOR};
use crate::trace::{Record, TraceError};

pub use distance::Distances;
pub use grid::{Axis, Grid};
pub use pattern::{Class, Patterns, Share};
pub use rate::{Bin, Rates};
pub use summary::{ClassSummary, DistanceSummary, KindSummary, Summary};
pub use tracks::{Spot, Tracks};

/// Devices whose requests are counted apart.
const DEVICES: usize = 256;

/// The range of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Span {
    /// Arrival of the first request.
    pub first: Nanos,
    /// Arrival or, where it is known, completion of the last.
    pub last: Nanos,
    /// The lowest byte and the one behind the highest: of reads, of writes, of discards.
    pub ranges: [Option<(u64, u64)>; 3],
    /// Requests of each device, of the first 256.
    pub devices: BTreeMap<u32, u64>,
    /// Requests of further devices, which no machine has and a damaged trace may name.
    pub other_devices: u64,
}

impl Span {
    /// Of a trace; `None` of an empty one.
    ///
    /// # Errors
    /// What is wrong with the trace.
    pub fn of(
        records: impl Iterator<Item = Result<Record, TraceError>>,
    ) -> Result<Option<Span>, TraceError> {
        let mut span: Option<Span> = None;
        for record in records {
            let record = record?;
            let end = record.finish().unwrap_or(record.time);
            let span = span.get_or_insert_with(|| Span {
                first: record.time,
                last: end,
                ranges: [None; 3],
                devices: BTreeMap::new(),
                other_devices: 0,
            });
            span.last = span.last.max(end);
            if let Some(kind) = kind(record.operation) {
                let to = record.offset.saturating_add(record.length);
                let range = span.ranges[kind].get_or_insert((record.offset, to));
                *range = (range.0.min(record.offset), range.1.max(to));
            }
            if span.devices.len() < DEVICES || span.devices.contains_key(&record.device) {
                *span.devices.entry(record.device).or_default() += 1;
            } else {
                span.other_devices += 1;
            }
        }
        Ok(span)
    }

    /// The byte behind the highest.
    pub fn end(&self) -> u64 {
        self.ranges.iter().flatten().map(|range| range.1).max().unwrap_or(0)
    }
}

/// The place of an operation among the kinds; of a flush none.
fn kind(operation: Operation) -> Option<usize> {
    match operation {
        Operation::Read => Some(0),
        Operation::Write => Some(1),
        Operation::Discard => Some(2),
        Operation::Flush => None,
    }
}

/// How finely a map is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolution {
    /// Cells across, 1 to 10,000; for times and tracks.
    pub columns: usize,
    /// Cells down, 1 to 10,000; for addresses and sectors of a track.
    pub rows: usize,
}

/// Requests of one kind.
#[derive(Debug, Clone)]
pub struct Kind {
    /// What they ask for.
    pub operation: Operation,
    /// How many.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Address against time.
    pub addresses: Grid,
    /// Sector of the track against time.
    pub sectors: Grid,
    /// Sector of the track against the track.
    pub tracks: Grid,
    /// From one's first sector to the next one's.
    pub steps: Distances,
    /// Sequential, strided, random.
    pub patterns: Patterns,
    /// Service times in nanoseconds, if any is known; up to two hours, to three digits.
    pub services: Option<Histogram<u64>>,
}

/// A map of a trace.
#[derive(Debug, Clone)]
pub struct Map {
    /// Its range.
    pub span: Span,
    /// What counts as a track.
    pub layout: Tracks,
    /// Reads, writes and discards.
    pub kinds: [Kind; 3],
    /// Flushes.
    pub flushes: u64,
    /// From the end of each read or write to the beginning of the next, as the arm has to go: in
    /// sectors, or in cylinders where a drive says which.
    pub seeks: Distances,
    /// Throughput and latency.
    pub rates: Rates,
    /// The sector behind the last read or write.
    behind: Option<u64>,
}

const LONGEST: Nanos = 7_200_000_000_000;

impl Map {
    /// An empty map of a range.
    pub fn new(span: Span, layout: Tracks, resolution: Resolution) -> Map {
        let columns = resolution.columns.clamp(1, 10_000);
        let rows = resolution.rows.clamp(1, 10_000);
        let time = Axis::new(span.first, span.last.saturating_add(1), columns);
        let slots = Axis::new(0, u64::from(layout.slots()), rows);
        let operations = [Operation::Read, Operation::Write, Operation::Discard];
        let kinds = operations.map(|operation| {
            let range = kind(operation).and_then(|kind| span.ranges[kind]);
            let (from, to) = range.unwrap_or_default();
            let tracks = layout.range(from / SECTOR, to.div_ceil(SECTOR));
            let track = Axis::new(tracks.0, tracks.1, columns);
            Kind {
                operation,
                requests: 0,
                bytes: 0,
                addresses: Grid::new(time, Axis::new(from, to, rows)),
                sectors: Grid::new(time, slots),
                tracks: Grid::new(track, slots),
                steps: Distances::default(),
                patterns: Patterns::default(),
                services: None,
            }
        });
        let rates =
            Rates::new(Axis::new(span.first, span.last.saturating_add(1), columns.min(240)));
        Map { span, layout, kinds, flushes: 0, seeks: Distances::default(), rates, behind: None }
    }

    /// Takes the next request.
    pub fn add(&mut self, record: &Record) {
        let Some(at) = kind(record.operation) else {
            self.flushes += 1;
            return;
        };
        let kind = &mut self.kinds[at];
        let request = record.request();
        kind.requests += 1;
        kind.bytes = kind.bytes.saturating_add(record.length);
        kind.patterns.add(&request);
        kind.steps.step_to(request.sector);
        let end = record.offset.saturating_add(record.length);
        kind.addresses.mark((record.time, record.time), (record.offset, end));
        if let Some(service) = record.service {
            kind.services = kind.services.take().or_else(services);
            kind.services.iter_mut().for_each(|s| s.saturating_record(service.clamp(1, LONGEST)));
        }
        if record.operation == Operation::Discard || request.sectors == 0 {
            return;
        }
        self.layout.each(request.sector, request.end(), &mut |spots: Spot| {
            kind.sectors.mark((record.time, record.time), spots.slots);
            kind.tracks.mark(spots.tracks, spots.slots);
        });
        if let Some(behind) = self.behind.replace(request.end()) {
            self.seeks.add(self.layout.seek(behind, request.sector));
        }
        self.rates.add(record);
    }

    /// Whether the trace tells how long requests took.
    pub fn has_services(&self) -> bool {
        self.kinds.iter().any(|kind| kind.services.is_some())
    }
}

fn services() -> Option<Histogram<u64>> {
    Histogram::new_with_bounds(1, LONGEST, 3).ok()
}

#[cfg(test)]
mod tests;
