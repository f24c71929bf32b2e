//! A trace that is written in the order of arrival, while requests end in any order.

use std::collections::VecDeque;

use crate::request::Nanos;
use crate::trace::{Record, Sink, TraceError};

/// Requests that have not ended, and those that wait behind them.
pub(super) struct Journal {
    sink: Option<Box<dyn Sink>>,
    window: VecDeque<(Record, bool)>,
    /// Number of the record at the front.
    first: u64,
    failed: Option<TraceError>,
}

impl Journal {
    pub(super) fn new(sink: Box<dyn Sink>) -> Journal {
        Journal { sink: Some(sink), window: VecDeque::new(), first: 0, failed: None }
    }

    /// Takes a request down; its time is not before that of the one before.
    pub(super) fn begin(&mut self, record: Record) -> u64 {
        self.window.push_back((record, false));
        self.first + self.window.len() as u64 - 1
    }

    /// The request has ended.
    pub(super) fn end(&mut self, entry: u64, service: Nanos, hit: Option<bool>) {
        let at = entry.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        let Some((record, ended)) = at.and_then(|at| self.window.get_mut(at)) else { return };
        (record.service, record.hit, *ended) = (Some(service), hit, true);
        while let Some(&(record, true)) = self.window.front() {
            self.pop(&record);
        }
    }

    /// Writes everything, also what has not ended.
    pub(super) fn finish(&mut self) -> Result<(), TraceError> {
        while let Some(&(record, _)) = self.window.front() {
            self.pop(&record);
        }
        let closed = self.sink.take().map_or(Ok(()), |sink| sink.finish());
        self.failed.take().map_or(closed, Err)
    }

    fn pop(&mut self, record: &Record) {
        self.window.pop_front();
        self.first += 1;
        if let Some(sink) = &mut self.sink
            && let Err(e) = sink.write(record)
        {
            self.failed = Some(e);
            self.sink = None;
        }
    }
}
