//! Sequential, strided or random: what each request is to those before it.

use std::collections::VecDeque;

use serde::Serialize;

use super::distance::difference;
use crate::request::Request;

/// Runs that can go on beside one another and are still sequential.
const STREAMS: usize = 32;

/// What a request is to those of its kind before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Begins where one of the last 32 runs ended.
    Sequential,
    /// As far from the one before as its neighbour is, three or more in a row.
    Strided,
    /// Neither.
    Random,
}

/// A part of the requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// How many.
    pub requests: u64,
    /// Their sectors.
    pub sectors: u64,
}

/// How many requests there are of each class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patterns {
    shares: [Share; 3],
    /// Where runs ended, the one used last in front.
    ends: VecDeque<u64>,
    last: Option<Last>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Last {
    sector: u64,
    sectors: u64,
    /// How far from the one before it.
    step: Option<i64>,
    class: Class,
}

impl Patterns {
    pub(super) fn add(&mut self, request: &Request) {
        let step = self.last.map(|last| difference(request.sector, last.sector));
        let again = step.is_some() && step == self.last.and_then(|last| last.step);
        let class = match self.continued(request) {
            true => Class::Sequential,
            false if again && step != Some(0) => Class::Strided,
            false => Class::Random,
        };
        // The first step of a stride is seen to be one at the second.
        if let Some(last) = self.last.filter(|last| last.class == Class::Random)
            && class == Class::Strided
        {
            self.count(Class::Random, last.sectors, false);
            self.count(Class::Strided, last.sectors, true);
        }
        self.count(class, request.sectors, true);
        let Request { sector, sectors, .. } = *request;
        self.last = Some(Last { sector, sectors, step, class });
    }

    /// Whether the request continues a run; either way one ends where it does.
    fn continued(&mut self, request: &Request) -> bool {
        let found = self.ends.iter().position(|&end| end == request.sector);
        match found {
            Some(at) => drop(self.ends.remove(at)),
            None if self.ends.len() == STREAMS => drop(self.ends.pop_back()),
            None => {}
        }
        self.ends.push_front(request.end());
        found.is_some()
    }

    fn count(&mut self, class: Class, sectors: u64, more: bool) {
        let share = &mut self.shares[class as usize];
        let change = |count: &mut u64, by: u64| {
            *count = if more { count.saturating_add(by) } else { count.saturating_sub(by) };
        };
        change(&mut share.requests, 1);
        change(&mut share.sectors, sectors);
    }

    /// The requests of a class.
    pub fn share(&self, class: Class) -> Share {
        self.shares[class as usize]
    }
}
