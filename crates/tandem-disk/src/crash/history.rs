//! What was asked of devices, and the way through it.

use std::sync::Arc;

use super::Store;

/// Something that may change what a device holds, or makes it last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Bytes written at an offset.
    Write(u64, Arc<[u8]>),
    /// Offset and length of a range that is not needed any more.
    Discard(u64, u64),
    /// Everything before it lasts.
    Flush,
}

impl Change {
    /// First byte and length of what it changes.
    pub fn range(&self) -> (u64, u64) {
        match self {
            Change::Write(off, data) => (*off, data.len() as u64),
            Change::Discard(off, len) => (*off, *len),
            Change::Flush => (0, 0),
        }
    }

    pub(super) fn apply(&self, store: &mut Store) {
        match self {
            Change::Write(off, data) => store.write(data, *off),
            Change::Discard(off, len) => store.discard(*off, *len),
            Change::Flush => {}
        }
    }
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Which of the devices.
    pub device: usize,
    /// What it was asked.
    pub change: Change,
}

/// Requests to several devices in the order in which they ended, and what was there before.
#[derive(Clone)]
pub struct History {
    /// What lasted when the history began, by device.
    pub base: Vec<Store>,
    /// The requests since.
    pub events: Vec<Event>,
}

impl History {
    /// A walk from the beginning.
    pub fn walk(&self) -> Walk<'_> {
        Walk { events: &self.events, at: 0, durable: self.base.clone(), pending: Vec::new() }
    }
}

/// A point between two requests of a history.
#[derive(Clone)]
pub struct Walk<'a> {
    events: &'a [Event],
    at: usize,
    pub(super) durable: Vec<Store>,
    /// Numbers of the requests that no flush has followed.
    pending: Vec<usize>,
}

impl<'a> Walk<'a> {
    /// How many requests lie before this point.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The request that comes next.
    pub fn next(&self) -> Option<&'a Event> {
        self.events.get(self.at)
    }

    /// Goes past the next request; false at the end.
    pub fn step(&mut self) -> bool {
        let events = self.events;
        let Some(event) = events.get(self.at) else { return false };
        match event.change {
            Change::Flush => {
                let store = &mut self.durable[event.device];
                self.pending.retain(|&n| {
                    let mine = events[n].device == event.device;
                    if mine {
                        events[n].change.apply(store);
                    }
                    !mine
                });
            }
            _ => self.pending.push(self.at),
        }
        self.at += 1;
        true
    }

    /// Goes on until `at` requests lie before this point, or to the end.
    pub fn go_to(&mut self, at: usize) {
        while self.at < at && self.step() {}
    }

    /// Writes and discards that a power failure here may undo.
    pub fn pending(&self) -> impl ExactSizeIterator<Item = &'a Event> + '_ {
        self.pending.iter().map(|&n| &self.events[n])
    }

    /// What lasts for certain.
    pub fn durable(&self) -> &[Store] {
        &self.durable
    }
}
