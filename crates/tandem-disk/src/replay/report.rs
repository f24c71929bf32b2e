//! What a replay has shown.

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::drive::Completion;
use crate::model::ssd::Wear;
use crate::request::{Cached, Nanos, Operation, Request, SECTOR};

/// Times of many requests, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Longest.
    pub max: f64,
}

/// Requests of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Kind {
    /// How many.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many the cache served.
    pub hits: u64,
    /// From when the drive began with each to when it was done, in milliseconds.
    pub service_ms: Distribution,
}

/// What a replay has shown.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// Requests of all kinds.
    pub requests: u64,
    /// Bytes of reads and writes.
    pub bytes: u64,
    /// From the first submission to the last completion, in seconds.
    pub elapsed_s: f64,
    /// Sum over requests of finish minus start, in seconds, where a drive has taken no more of them
    /// than its queue has places: seed 000's disk I/O time ([`Completion::io_time`]).
    pub io_time_s: f64,
    /// Sum over requests of finish minus the drive's beginning with them, in seconds.
    pub service_time_s: f64,
    /// Time in which any request was under way, in seconds.
    pub busy_s: f64,
    /// Submission to completion, in milliseconds.
    pub response_ms: Distribution,
    /// Beginning to completion, in milliseconds.
    pub service_ms: Distribution,
    /// Reads.
    pub reads: Kind,
    /// Writes.
    pub writes: Kind,
    /// Flushes.
    pub flushes: Kind,
    /// Discards.
    pub discards: Kind,
    /// Requests for which the arm moved.
    pub seeks: u64,
    /// Cylinders, over those.
    pub mean_seek_distance: f64,
    /// Time of seeks, rotation and transfer on the medium, in seconds; what the drive does by
    /// itself is not in it.
    pub seek_s: f64,
    /// See `seek_s`.
    pub rotation_s: f64,
    /// See `seek_s`.
    pub transfer_s: f64,
    /// Share of reads and writes that begin where the one before ends.
    pub sequential: f64,
    /// Mean bytes of reads and writes.
    pub mean_bytes: f64,
    /// Reads and writes by size: (bytes up to, how many), powers of two.
    pub sizes: Vec<(u64, u64)>,
    /// Mean over submissions of requests already under way.
    pub mean_depth: f64,
    /// Most requests under way.
    pub max_depth: u64,
    /// What an SSD has programmed.
    pub wear: Option<Wear>,
}

/// Three digits over the whole range of times; beyond two hours a time counts as two hours.
const LONGEST: u64 = 7_200_000_000_000;

struct Times {
    histogram: Option<Histogram<u64>>,
    sum: u128,
    count: u64,
    max: Nanos,
}

impl Default for Times {
    fn default() -> Times {
        let histogram = Histogram::new_with_bounds(1, LONGEST, 3).ok();
        Times { histogram, sum: 0, count: 0, max: 0 }
    }
}

impl Times {
    fn add(&mut self, time: Nanos) {
        self.sum += u128::from(time);
        self.count += 1;
        self.max = self.max.max(time);
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(time.clamp(1, LONGEST));
        }
    }

    /// All times of several.
    fn sum<'a>(parts: impl Iterator<Item = &'a Times>) -> Times {
        let mut all = Times::default();
        for part in parts {
            all.sum += part.sum;
            all.count += part.count;
            all.max = all.max.max(part.max);
            if let (Some(all), Some(part)) = (&mut all.histogram, &part.histogram) {
                // They have the same bounds, so that every value fits.
                let _ = all.add(part);
            }
        }
        all
    }

    fn distribution(&self) -> Distribution {
        let Some(histogram) = self.histogram.as_ref().filter(|_| self.count > 0) else {
            return Distribution::default();
        };
        let at = |quantile| histogram.value_at_quantile(quantile).min(self.max) as f64 / 1e6;
        Distribution {
            mean: self.sum as f64 / self.count as f64 / 1e6,
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: self.max as f64 / 1e6,
        }
    }
}

#[derive(Default)]
struct KindCounts {
    bytes: u64,
    hits: u64,
    times: Times,
}

impl KindCounts {
    fn kind(&self) -> Kind {
        Kind {
            requests: self.times.count,
            bytes: self.bytes,
            hits: self.hits,
            service_ms: self.times.distribution(),
        }
    }
}

/// Counts while a replay goes on, in bounded memory.
#[derive(Default)]
pub(super) struct Collector {
    kinds: [KindCounts; 4],
    response: Times,
    io: u128,
    first: Option<Nanos>,
    last: Nanos,
    busy: Nanos,
    busy_until: Nanos,
    seeks: u64,
    distance: u128,
    seek: u128,
    rotation: u128,
    transfer: u128,
    expected: Option<u64>,
    sequential: u64,
    accesses: u64,
    sizes: std::collections::BTreeMap<u64, u64>,
    depth: u128,
    max_depth: u64,
    submitted: u64,
}

impl Collector {
    pub fn submitted(&mut self, at: Nanos, request: &Request, under_way: u64) {
        self.first.get_or_insert(at);
        self.submitted += 1;
        self.depth += u128::from(under_way);
        self.max_depth = self.max_depth.max(under_way + 1);
        if matches!(request.operation, Operation::Read | Operation::Write) {
            self.accesses += 1;
            self.sequential += u64::from(self.expected == Some(request.sector));
            self.expected = Some(request.end());
            let size = (request.sectors * SECTOR).max(1).next_power_of_two();
            *self.sizes.entry(size).or_default() += 1;
        }
    }

    pub fn finished(&mut self, done: &Completion) {
        let finish = done.service.finish;
        let kind = &mut self.kinds[match done.request.operation {
            Operation::Read => 0,
            Operation::Write => 1,
            Operation::Flush => 2,
            Operation::Discard => 3,
        }];
        let service = finish.saturating_sub(done.started);
        kind.bytes += done.request.sectors * SECTOR;
        kind.hits += u64::from(done.service.cached == Cached::Hit);
        kind.times.add(service);
        self.response.add(finish.saturating_sub(done.submitted));
        self.io += u128::from(done.io_time());
        self.last = self.last.max(finish);
        // Completions come in order of their time, so the busy time is a union of what they cover.
        let from = done.submitted.max(self.busy_until);
        self.busy += finish.saturating_sub(from);
        self.busy_until = self.busy_until.max(finish);
        if done.service.seek_distance > 0 {
            self.seeks += 1;
            self.distance += u128::from(done.service.seek_distance);
        }
        self.seek += u128::from(done.service.seek);
        self.rotation += u128::from(done.service.rotation);
        self.transfer += u128::from(done.service.transfer);
    }

    pub fn report(&self) -> Report {
        let seconds = |nanos: u128| nanos as f64 / 1e9;
        let share = |part: f64, of: u64| if of == 0 { 0.0 } else { part / of as f64 };
        let [reads, writes, flushes, discards] = &self.kinds;
        let service = Times::sum(self.kinds.iter().map(|kind| &kind.times));
        let bytes = reads.bytes + writes.bytes;
        Report {
            requests: service.count,
            bytes,
            elapsed_s: seconds(u128::from(self.last.saturating_sub(self.first.unwrap_or(0)))),
            io_time_s: seconds(self.io),
            service_time_s: seconds(service.sum),
            busy_s: seconds(u128::from(self.busy)),
            response_ms: self.response.distribution(),
            service_ms: service.distribution(),
            reads: reads.kind(),
            writes: writes.kind(),
            flushes: flushes.kind(),
            discards: discards.kind(),
            seeks: self.seeks,
            mean_seek_distance: share(self.distance as f64, self.seeks),
            seek_s: seconds(self.seek),
            rotation_s: seconds(self.rotation),
            transfer_s: seconds(self.transfer),
            sequential: share(self.sequential as f64, self.accesses),
            mean_bytes: share(bytes as f64, self.accesses),
            sizes: self.sizes.iter().map(|(&size, &count)| (size, count)).collect(),
            mean_depth: share(self.depth as f64, self.submitted),
            max_depth: self.max_depth,
            wear: None,
        }
    }
}
