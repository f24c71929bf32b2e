//! Submitting requests and taking completions.

use rustc_hash::FxHashMap;

use crate::drive::{Completion, Drive};
use crate::request::{Nanos, SECTOR};
use crate::trace::{Record, TraceError};

use super::dependence::Dependences;
use super::report::{Collector, Report};

/// When requests are submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// At the times of the trace.
    Open,
    /// As fast as completions allow, so many at once.
    Closed {
        /// Requests under way at once, at least 1.
        depth: usize,
    },
    /// Each as soon as all requests are done that were done in the trace when it arrived: who
    /// waited waits, without pauses, and what was under way together is so again. The
    /// dependences are those of Haghdoost et al., "On the Accuracy and Scalability of Intensive
    /// I/O Workload Replay" (FAST 2017), without their limit on the think time between.
    Dependent,
    /// One at a time, each as long after the last one's completion as in the trace: what was
    /// measured so is reproduced so.
    Paced,
}

/// What is done about requests that end beyond the drive's end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outside {
    /// They are refused.
    Refuse,
    /// All addresses are multiplied by this, 0 to 1.
    Scale(f64),
}

/// How to replay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// When requests are submitted.
    pub mode: Mode,
    /// What is done about requests beyond the end.
    pub outside: Outside,
}

/// A replay that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The trace is wrong.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A request ends beyond the drive.
    #[error(
        "record {record} ends at sector {end}, the drive at {sectors}; --scale fits the trace to it"
    )]
    Beyond {
        /// Which record, from 1.
        record: u64,
        /// The first sector behind it.
        end: u64,
        /// The drive's sectors.
        sectors: u64,
    },
    /// Nothing says which requests waited for which.
    #[error(
        "record {record} has no service time: without those a dependent replay cannot tell which \
         requests waited for which (closed and open replays need none)"
    )]
    Untimed {
        /// Which record, from 1.
        record: u64,
    },
    /// What takes the results cannot.
    #[error("writing the results: {0}")]
    Output(#[from] std::io::Error),
}

/// A request of the trace, and what the drive made of it.
#[derive(Debug, Clone, Copy)]
pub struct Finished {
    /// Its number in the trace, from 1.
    pub number: u64,
    /// What the trace says.
    pub record: Record,
    /// What the drive says.
    pub completion: Completion,
}

/// Replays a trace; `each` is given every request when it is done, in that order.
///
/// # Errors
/// [`ReplayError`].
pub fn replay(
    drive: &mut Drive,
    records: impl Iterator<Item = Result<Record, TraceError>>,
    options: Options,
    each: &mut dyn FnMut(&Finished) -> std::io::Result<()>,
) -> Result<Report, ReplayError> {
    let mut run = Run {
        drive,
        each,
        collector: Collector::default(),
        open: FxHashMap::default(),
        now: 0,
        number: 0,
    };
    let mut before: Option<Record> = None;
    let mut dependences = Dependences::default();
    for record in records {
        let record = record?;
        let at = match options.mode {
            Mode::Open => {
                run.take_until(record.time)?;
                record.time
            }
            Mode::Closed { depth } => {
                while run.open.len() >= depth.max(1) {
                    run.take_one()?;
                }
                run.now
            }
            Mode::Dependent => {
                while let Some(number) = dependences.before(record.time) {
                    run.take(number)?;
                }
                let record_number = run.number + 1;
                dependences
                    .submitted(record_number, &record)
                    .ok_or(ReplayError::Untimed { record: record_number })?;
                run.now
            }
            Mode::Paced => {
                run.take_until(Nanos::MAX)?;
                let pause = before.map_or(record.time, |before| {
                    record.time.saturating_sub(before.finish().unwrap_or(before.time))
                });
                run.now.saturating_add(pause)
            }
        };
        run.submit(at, record, options.outside)?;
        before = Some(record);
    }
    run.take_until(Nanos::MAX)?;
    Ok(Report { wear: run.drive.wear(), ..run.collector.report() })
}

struct Run<'a> {
    drive: &'a mut Drive,
    each: &'a mut dyn FnMut(&Finished) -> std::io::Result<()>,
    collector: Collector,
    open: FxHashMap<u64, Record>,
    now: Nanos,
    number: u64,
}

impl Run<'_> {
    fn submit(&mut self, at: Nanos, record: Record, outside: Outside) -> Result<(), ReplayError> {
        self.number += 1;
        let mut request = record.request();
        if let Outside::Scale(scale) = outside {
            // Runs of requests stay runs: the first sector is scaled, the length is not.
            request.sector = (request.sector as f64 * scale) as u64;
            let last = self.drive.sectors().saturating_sub(request.sectors);
            request.sector = request.sector.min(last);
        }
        let (end, sectors) = (request.end(), self.drive.sectors());
        if end > sectors {
            return Err(ReplayError::Beyond { record: self.number, end, sectors });
        }
        self.now = self.now.max(at);
        self.collector.submitted(self.now, &request, self.open.len() as u64);
        self.drive.submit(self.now, self.number, request);
        self.open.insert(self.number, record);
        Ok(())
    }

    fn take_until(&mut self, until: Nanos) -> Result<(), ReplayError> {
        while let Some(completion) = self.drive.complete(until) {
            self.finished(completion)?;
        }
        Ok(())
    }

    /// Goes on until the request with this number is done.
    fn take(&mut self, number: u64) -> Result<(), ReplayError> {
        while self.open.contains_key(&number) {
            self.take_one()?;
        }
        Ok(())
    }

    fn take_one(&mut self) -> Result<(), ReplayError> {
        match self.drive.complete(Nanos::MAX) {
            Some(completion) => self.finished(completion),
            None => Ok(()),
        }
    }

    fn finished(&mut self, completion: Completion) -> Result<(), ReplayError> {
        self.now = self.now.max(completion.service.finish);
        self.collector.finished(&completion);
        if let Some(record) = self.open.remove(&completion.tag) {
            (self.each)(&Finished { number: completion.tag, record, completion })?;
        }
        Ok(())
    }
}

/// The scale that fits a trace to a drive: its last byte to the drive's last.
pub fn fitting(last_byte: u64, drive: &Drive) -> f64 {
    let end = last_byte.div_ceil(SECTOR).max(1) as f64;
    (drive.sectors() as f64 / end).min(1.0)
}
