//! How well a model predicts a measured drive.
//!
//! The *demerit figure* (Ruemmler and Wilkes 1994, "An introduction to disk drive modeling"): the
//! root mean square of the horizontal distance between the two distributions of service times, as a
//! share of the measured mean. Requests are replayed one at a time, with the trace's own gaps.

use serde::Serialize;

use crate::drive::{Drive, Medium, Queue};
use crate::model::ModelError;
use crate::model::disk::{DiskParameters, HardDisk, Parts};
use crate::replay::ReplayError;
use crate::request::{Cached, Nanos, Operation, Request};
use crate::trace::{Record, TraceError};

/// A group of requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Group {
    /// What they are.
    pub name: String,
    /// How many.
    pub requests: u64,
    /// Mean measured time, in milliseconds.
    pub measured_ms: f64,
    /// Mean predicted time, in milliseconds.
    pub predicted_ms: f64,
    /// The demerit figure among them, as a share of their own measured mean.
    pub demerit: f64,
}

/// A model beside the whole one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Simpler {
    /// What it has.
    pub name: String,
    /// Its demerit figure.
    pub demerit: f64,
}

/// What a validation has shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Validation {
    /// Requests compared.
    pub requests: u64,
    /// Mean measured time, in milliseconds.
    pub measured_ms: f64,
    /// Mean predicted time, in milliseconds.
    pub predicted_ms: f64,
    /// The demerit figure, a fraction.
    pub demerit: f64,
    /// Reads, writes; what the model's cache served, and the rest.
    pub groups: Vec<Group>,
    /// Simpler models of the same drive.
    pub simpler: Vec<Simpler>,
    /// (share, measured, predicted): times in milliseconds at the percentiles 1 to 99.
    pub percentiles: Vec<(f64, f64, f64)>,
}

/// A validation that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ValidateError {
    /// The trace is wrong, or does not fit the drive.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The profile is wrong.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The trace holds no measured times.
    #[error("the trace holds no service times to compare with")]
    NothingMeasured,
}

impl From<TraceError> for ValidateError {
    fn from(error: TraceError) -> ValidateError {
        ValidateError::Replay(error.into())
    }
}

/// The demerit figure of two sets of times, which are put in order.
pub fn demerit(measured: &mut [Nanos], predicted: &mut [Nanos]) -> f64 {
    measured.sort_unstable();
    predicted.sort_unstable();
    let sum: f64 = measured.iter().map(|&t| t as f64).sum();
    let squares: f64 =
        measured.iter().zip(predicted.iter()).map(|(&m, &p)| (m as f64 - p as f64).powi(2)).sum();
    let n = measured.len().min(predicted.len());
    if n == 0 || sum <= 0.0 {
        return 0.0;
    }
    (squares / n as f64).sqrt() / (sum / measured.len() as f64)
}

/// Compares a model with a trace that has measured service times; those without are served but
/// not compared. The trace's requests are held in memory, 64 bytes each.
///
/// # Errors
/// [`ValidateError`].
pub fn validate(
    medium: &Medium,
    records: impl Iterator<Item = Result<Record, TraceError>>,
) -> Result<Validation, ValidateError> {
    let records = records.collect::<Result<Vec<Record>, TraceError>>()?;
    let drive = Drive::new(medium, Queue::default())?;
    for (at, record) in records.iter().enumerate() {
        let (end, sectors) = (record.request().end(), drive.sectors());
        if end > sectors {
            return Err(ReplayError::Beyond { record: at as u64 + 1, end, sectors }.into());
        }
    }
    let mut serve = served(drive);
    let predicted = predict(&records, &mut serve);
    let pairs: Vec<(Operation, Nanos, Nanos, Cached)> = records
        .iter()
        .zip(&predicted)
        .filter_map(|(r, &(time, cached))| Some((r.operation, r.service?, time, cached)))
        .collect();
    if pairs.is_empty() {
        return Err(ValidateError::NothingMeasured);
    }
    let all = group("all", pairs.iter().map(|p| (p.1, p.2)));
    let kinds = [Operation::Read, Operation::Write];
    let by_kind = kinds.map(|kind| {
        let name = if kind == Operation::Read { "reads" } else { "writes" };
        let of_kind: Vec<_> = pairs.iter().filter(|p| p.0 == kind).collect();
        let hits = |hit: bool| {
            let name = format!("{name}, {}", if hit { "hits" } else { "misses" });
            let wanted = of_kind.iter().filter(move |p| (p.3 == Cached::Hit) == hit);
            group(&name, wanted.map(|p| (p.1, p.2)))
        };
        [group(name, of_kind.iter().map(|p| (p.1, p.2))), hits(true), hits(false)]
    });
    let groups = by_kind.into_iter().flatten().filter(|g| g.requests > 0).collect();
    Ok(Validation {
        requests: all.requests,
        measured_ms: all.measured_ms,
        predicted_ms: all.predicted_ms,
        demerit: all.demerit,
        groups,
        simpler: simpler(medium, &records, all.measured_ms)?,
        percentiles: percentiles(pairs.iter().map(|p| (p.1, p.2))),
    })
}

fn group(name: &str, pairs: impl Iterator<Item = (Nanos, Nanos)>) -> Group {
    let (mut measured, mut predicted): (Vec<Nanos>, Vec<Nanos>) = pairs.unzip();
    let mean = |times: &[Nanos]| {
        times.iter().map(|&t| t as f64).sum::<f64>() / times.len().max(1) as f64 / 1e6
    };
    Group {
        name: name.to_string(),
        requests: measured.len() as u64,
        measured_ms: mean(&measured),
        predicted_ms: mean(&predicted),
        demerit: demerit(&mut measured, &mut predicted),
    }
}

fn percentiles(pairs: impl Iterator<Item = (Nanos, Nanos)>) -> Vec<(f64, f64, f64)> {
    let (mut measured, mut predicted): (Vec<Nanos>, Vec<Nanos>) = pairs.unzip();
    measured.sort_unstable();
    predicted.sort_unstable();
    let at = |times: &[Nanos], percent: usize| {
        times[(times.len() * percent / 100).min(times.len() - 1)] as f64 / 1e6
    };
    (1..100).map(|p| (p as f64 / 100.0, at(&measured, p), at(&predicted, p))).collect()
}

/// Serves one request at a time.
fn served(mut drive: Drive) -> impl FnMut(Nanos, &Request) -> (Nanos, Cached) {
    move |at, request| {
        drive.submit(at, 0, *request);
        let done = drive.complete(Nanos::MAX);
        done.map_or((at, Cached::Miss), |done| (done.service.finish, done.service.cached))
    }
}

fn predict(
    records: &[Record],
    serve: &mut dyn FnMut(Nanos, &Request) -> (Nanos, Cached),
) -> Vec<(Nanos, Cached)> {
    let mut now = records.first().map_or(0, |record| record.time);
    let mut out = Vec::with_capacity(records.len());
    for (at, record) in records.iter().enumerate() {
        let (finish, cached) = serve(now, &record.request());
        out.push((finish.saturating_sub(now), cached));
        let done = record.finish().unwrap_or(record.time);
        let gap = records.get(at + 1).map_or(0, |next| next.time.saturating_sub(done));
        now = finish.max(now).saturating_add(gap);
    }
    out
}

/// The models that leave parts out, the simplest first.
fn simpler(medium: &Medium, records: &[Record], mean_ms: f64) -> Result<Vec<Simpler>, ModelError> {
    let constant = (mean_ms * 1e6) as Nanos;
    let mut out = vec![Simpler {
        name: "a constant: the measured mean".to_string(),
        demerit: compared(records, records.iter().map(|_| constant)),
    }];
    let Medium::Disk(disk) = medium else { return Ok(out) };
    let none = Parts {
        seek_curve: false,
        rotation: false,
        controller: false,
        read_cache: false,
        write_reporting: false,
    };
    let curve = Parts { seek_curve: true, ..none };
    let rotation = Parts { rotation: true, ..curve };
    let controller = Parts { controller: true, ..rotation };
    let cache = Parts { read_cache: true, ..controller };
    for (name, parts) in [
        ("average seek, half a turn, transfer", none),
        ("+ the seek curve", curve),
        ("+ rotational position", rotation),
        ("+ controller and bus", controller),
        ("+ read cache and read-ahead", cache),
        ("+ immediate reporting of writes (all)", Parts::ALL),
    ] {
        let times = without(disk, parts, records)?;
        out.push(Simpler { name: name.to_string(), demerit: compared(records, times.into_iter()) });
    }
    Ok(out)
}

fn without(
    disk: &DiskParameters,
    parts: Parts,
    records: &[Record],
) -> Result<Vec<Nanos>, ModelError> {
    let mut disk = HardDisk::with_parts(disk, parts)?;
    let mut serve = |at: Nanos, request: &Request| (disk.serve(at, request).finish, Cached::Miss);
    Ok(predict(records, &mut serve).into_iter().map(|(time, _)| time).collect())
}

fn compared(records: &[Record], times: impl Iterator<Item = Nanos>) -> f64 {
    let pairs = records.iter().zip(times).filter_map(|(r, time)| Some((r.service?, time)));
    let (mut measured, mut predicted): (Vec<Nanos>, Vec<Nanos>) = pairs.unzip();
    demerit(&mut measured, &mut predicted)
}
