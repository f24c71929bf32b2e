//! Issue and completion events, made into requests.

use std::collections::{HashMap, VecDeque};

use super::{Operation, Record, Sink, TraceError};
use crate::request::Nanos;

/// Requests under way at once, beyond which the oldest is given up: more than any queue is deep.
const MAX_OPEN: usize = 65_536;

/// What an event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Issue,
    Complete,
}

/// An event of the block layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    pub time: Nanos,
    pub action: Action,
    pub operation: Operation,
    pub offset: u64,
    pub length: u64,
    pub device: u32,
}

type Key = (u32, Operation, u64);

/// Requests in the order of their issue, each held until it is done.
#[derive(Default)]
pub(super) struct Pairing {
    open: VecDeque<(Record, bool)>,
    first: u64,
    by_key: HashMap<Key, VecDeque<u64>>,
    queued: bool,
    issued: bool,
}

impl Pairing {
    /// A request was queued (Q): it is counted when it is issued.
    pub fn queue(&mut self) {
        self.queued = true;
    }

    /// Why there are no requests although something was queued.
    pub fn lack(&self) -> Option<&'static str> {
        let why = "holds no issues (D), only what was queued: trace with -a issue";
        (self.queued && !self.issued).then_some(why)
    }

    pub fn add(&mut self, event: &Event) {
        let key = (event.device, event.operation, event.offset);
        match event.action {
            Action::Issue => {
                self.issued = true;
                let Event { time, operation, offset, length, device, .. } = *event;
                let record =
                    Record { time, operation, offset, length, service: None, hit: None, device };
                let number = self.first + self.open.len() as u64;
                self.open.push_back((record, false));
                self.by_key.entry(key).or_default().push_back(number);
            }
            Action::Complete => {
                let Some(waiting) = self.by_key.get_mut(&key) else { return };
                let number = waiting.pop_front();
                if waiting.is_empty() {
                    self.by_key.remove(&key);
                }
                let at = number.and_then(|n| n.checked_sub(self.first)).map(|at| at as usize);
                if let Some((record, done)) = at.and_then(|at| self.open.get_mut(at)) {
                    record.service = event.time.checked_sub(record.time);
                    *done = true;
                }
            }
        }
    }

    /// The next request that is done, or given up.
    pub fn next(&mut self, ended: bool) -> Option<Record> {
        let (record, done) = *self.open.front()?;
        if !done && !ended && self.open.len() <= MAX_OPEN {
            return None;
        }
        self.open.pop_front();
        if !done {
            let key = (record.device, record.operation, record.offset);
            if let Some(waiting) = self.by_key.get_mut(&key) {
                waiting.retain(|&number| number != self.first);
                if waiting.is_empty() {
                    self.by_key.remove(&key);
                }
            }
        }
        self.first += 1;
        Some(record)
    }
}

/// A format that has issues and completions apart.
pub(super) trait Encode: Send {
    /// Writes an event of the record with this number, from 1.
    fn put(&mut self, event: &Event, record: u64) -> Result<(), TraceError>;

    /// Writes what is left.
    fn close(&mut self) -> Result<(), TraceError>;
}

/// Writes requests as events.
pub(super) struct Writer<E> {
    encoder: E,
    events: Unpairing,
    count: u64,
}

impl<E> Writer<E> {
    pub fn of(encoder: E) -> Writer<E> {
        Writer { encoder, events: Unpairing::default(), count: 0 }
    }
}

impl<E: Encode> Sink for Writer<E> {
    fn write(&mut self, record: &Record) -> Result<(), TraceError> {
        self.count += 1;
        let events = self.events.add(record);
        events.iter().try_for_each(|event| self.encoder.put(event, self.count))
    }

    fn finish(mut self: Box<Self>) -> Result<(), TraceError> {
        let events = self.events.rest();
        events.iter().try_for_each(|event| self.encoder.put(event, self.count))?;
        self.encoder.close()
    }
}

/// Requests as events in order of time: each one's completion is held until its time comes.
#[derive(Default)]
struct Unpairing {
    due: std::collections::BTreeMap<(Nanos, u64), Record>,
    count: u64,
}

impl Unpairing {
    /// The events up to a request's issue, that one last.
    fn add(&mut self, record: &Record) -> Vec<Event> {
        let mut out = self.until(record.time);
        out.push(event(record, Action::Issue, record.time));
        if let Some(finish) = record.finish() {
            self.due.insert((finish, self.count), *record);
            self.count += 1;
        }
        out
    }

    /// The completions that are left.
    fn rest(&mut self) -> Vec<Event> {
        self.until(Nanos::MAX)
    }

    fn until(&mut self, time: Nanos) -> Vec<Event> {
        let mut out = Vec::new();
        while let Some(first) = self.due.first_entry().filter(|e| e.key().0 <= time) {
            let finish = first.key().0;
            out.push(event(&first.remove(), Action::Complete, finish));
        }
        out
    }
}

fn event(record: &Record, action: Action, time: Nanos) -> Event {
    let Record { operation, offset, length, device, .. } = *record;
    Event { time, action, operation, offset, length, device }
}
