//! A map in figures.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::{Class, Distances, Kind, Map, Span};
use crate::replay::Distribution;
use crate::request::SECTOR;

/// How many of the most frequent distances are named.
const NAMED: usize = 8;

/// The requests of a class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClassSummary {
    /// Its name.
    pub class: Class,
    /// How many.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their share of the requests, 0 to 1.
    pub share: f64,
    /// Their share of the bytes, 0 to 1.
    pub share_of_bytes: f64,
}

/// Distances in figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DistanceSummary {
    /// How many.
    pub count: u64,
    /// Mean of those that are not 0, directions aside.
    pub mean: f64,
    /// From, to (both included), how many; powers of two.
    pub histogram: Vec<(i64, i64, u64)>,
    /// The most frequent ones up to 65,536 either way, and how many.
    pub frequent: Vec<(i64, u64)>,
}

/// Requests of one kind in figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KindSummary {
    /// How many.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sequential, strided, random.
    pub classes: Vec<ClassSummary>,
    /// From one's first sector to the next one's, in sectors.
    pub steps: DistanceSummary,
    /// How long they took, where that is known.
    pub service_ms: Option<Distribution>,
}

/// A map in figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Its range.
    pub span: Span,
    /// Reads, writes and discards, those that there are.
    pub kinds: BTreeMap<&'static str, KindSummary>,
    /// Flushes.
    pub flushes: u64,
    /// What `seeks` are counted in.
    pub seek_unit: &'static str,
    /// From the end of each read or write to the beginning of the next.
    pub seeks: DistanceSummary,
}

impl Map {
    /// The map in figures.
    pub fn summary(&self) -> Summary {
        let named = ["reads", "writes", "discards"].into_iter().zip(&self.kinds);
        Summary {
            span: self.span.clone(),
            kinds: named.filter(|(_, k)| k.requests > 0).map(|(n, k)| (n, kind(k))).collect(),
            flushes: self.flushes,
            seek_unit: self.layout.unit(),
            seeks: distances(&self.seeks),
        }
    }
}

fn kind(kind: &Kind) -> KindSummary {
    let share = |part: u64, of: u64| if of == 0 { 0.0 } else { part as f64 / of as f64 };
    let classes = [Class::Sequential, Class::Strided, Class::Random].map(|class| {
        let found = kind.patterns.share(class);
        let bytes = found.sectors.saturating_mul(SECTOR);
        ClassSummary {
            class,
            requests: found.requests,
            bytes,
            share: share(found.requests, kind.requests),
            share_of_bytes: share(bytes, kind.bytes),
        }
    });
    KindSummary {
        requests: kind.requests,
        bytes: kind.bytes,
        classes: classes.into(),
        steps: distances(&kind.steps),
        service_ms: kind.services.as_ref().map(distribution),
    }
}

fn distances(of: &Distances) -> DistanceSummary {
    DistanceSummary {
        count: of.count(),
        mean: of.mean(),
        histogram: of.buckets(),
        frequent: of.frequent(NAMED),
    }
}

fn distribution(times: &Histogram<u64>) -> Distribution {
    let at = |quantile| times.value_at_quantile(quantile).min(times.max()) as f64 / 1e6;
    Distribution {
        mean: times.mean() / 1e6,
        p50: at(0.5),
        p90: at(0.9),
        p95: at(0.95),
        p99: at(0.99),
        p999: at(0.999),
        max: times.max() as f64 / 1e6,
    }
}
