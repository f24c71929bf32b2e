//! A device that fails as told.
//!
//! [`Faults`] is a list of rules, each saying what request it is for, what then happens, and when;
//! [`FaultDevice`] is a device in front of another that keeps to it. Rules have a text form:
//!
//! ```text
//! rules     rule [; rule ...]
//! rule      request:fault[,key=value ...]
//! request   read, write, flush, discard or any
//! fault     error      fails, nothing is done          errno= EIO (default), ENOSPC, ENXIO, EROFS, ETIMEDOUT
//!           short      does a part, then fails         bytes= how many (default: half)
//!           lost       says it is done, and does nothing (not reads)
//!           misdirect  goes elsewhere                  by= how many bytes further on (default 4096)
//!           flip       flips bits of what passes       bits= how many (default 1)
//!           stale      reads what was there before the last write (reads only)
//!           delay      takes longer                    us= microseconds (default 1000; 0: only yields)
//!           gone       the device is gone: this fails, and all that follows, with ENXIO
//! when      at=OFFSET[+LENGTH]   the request touches this range (default: anywhere)
//!           after=N              not the first N of the requests that fit
//!           times=N              so often at most (default: always)
//!           nth=N                only the Nth, from 1: after=N-1,times=1
//!           one-in=N             by chance, once in N times
//! ```
//!
//! Numbers are decimal, with a suffix k, m or g for powers of 1024. For example
//! `read:error,at=1m+64k; flush:lost,nth=3; write:flip,one-in=1000`. Of several rules that fit a
//! request, all delays act, and the first of the others.

mod device;
mod parse;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::time::Duration;

use parking_lot::Mutex;

pub use device::FaultDevice;
pub use parse::ParseError;

/// What a device is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Bytes from it.
    Read,
    /// Bytes to it.
    Write,
    /// Durability.
    Flush,
    /// To forget a range.
    Discard,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Fails with an error of the operating system; nothing is done.
    Error(i32),
    /// Does so many bytes (`None`: half), then fails with EIO.
    Short(Option<u64>),
    /// Says that it is done; nothing is.
    Lost,
    /// Goes so many bytes further on; past the device's end, to its beginning.
    Misdirect(u64),
    /// Flips so many bits of what is read or written.
    Flip(u32),
    /// Reads what was there before the last write.
    Stale,
    /// Takes longer; zero only lets other threads go first.
    Delay(Duration),
    /// Fails, as does everything after it.
    Gone,
}

/// What goes wrong with which requests, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Which requests; `None`: all.
    pub request: Option<Request>,
    /// What happens to them.
    pub fault: Fault,
    /// Bytes that the request must touch; `None`: anywhere. A flush touches no byte.
    pub at: Option<Range<u64>>,
    /// How many requests that fit are left alone first.
    pub after: u64,
    /// How often it happens at most; `None`: always.
    pub times: Option<u64>,
    /// It happens by chance, once in so many times; 0 and 1: each time.
    pub one_in: u64,
}

impl Rule {
    /// A rule for all requests of a kind, always.
    pub fn new(request: Request, fault: Fault) -> Rule {
        let (request, at) = (Some(request), None);
        Rule { request, fault, at, after: 0, times: None, one_in: 1 }
    }

    /// The same for the `n`th request only, counted from 1.
    pub fn nth(self, n: u64) -> Rule {
        Rule { after: n.saturating_sub(1), times: Some(1), ..self }
    }

    fn fits(&self, request: Request, off: u64, len: u64) -> bool {
        let possible = match self.fault {
            Fault::Stale => request == Request::Read,
            Fault::Lost => request != Request::Read,
            Fault::Flip(_) => matches!(request, Request::Read | Request::Write),
            Fault::Misdirect(_) | Fault::Short(_) => request != Request::Flush,
            Fault::Error(_) | Fault::Delay(_) | Fault::Gone => true,
        };
        possible
            && self.request.is_none_or(|r| r == request)
            && self.at.as_ref().is_none_or(|at| {
                request != Request::Flush && off < at.end && at.start < off.saturating_add(len)
            })
    }
}

struct Live {
    rule: Rule,
    /// Requests that fitted so far, and how often it happened.
    seen: u64,
    done: u64,
}

struct State {
    rules: Vec<Live>,
    rng: fastrand::Rng,
    gone: bool,
}

/// What is wrong with a device; may be changed while it is in use.
pub struct Faults {
    state: Mutex<State>,
}

impl Faults {
    /// Rules, and the seed of everything that is left to chance.
    pub fn new(rules: Vec<Rule>, seed: u64) -> Faults {
        let rng = fastrand::Rng::with_seed(seed);
        let faults = Faults { state: Mutex::new(State { rules: Vec::new(), rng, gone: false }) };
        faults.set(rules);
        faults
    }

    /// Other rules; a device that was gone is back.
    pub fn set(&self, rules: Vec<Rule>) {
        let mut state = self.state.lock();
        state.rules = rules.into_iter().map(|rule| Live { rule, seen: 0, done: 0 }).collect();
        state.gone = false;
    }

    /// How often the rules that `which` holds for have acted.
    pub fn happened(&self, which: impl Fn(&Rule) -> bool) -> u64 {
        let state = self.state.lock();
        state.rules.iter().filter(|live| which(&live.rule)).map(|live| live.done).sum()
    }

    fn remembers(&self) -> bool {
        self.state.lock().rules.iter().any(|live| live.rule.fault == Fault::Stale)
    }

    /// What happens to a request: how long it waits, and what is wrong with it.
    fn judge(&self, request: Request, off: u64, len: u64) -> (Option<Duration>, Option<Fault>) {
        let State { rules, rng, gone } = &mut *self.state.lock();
        let (mut delay, mut fault) = (None, gone.then_some(Fault::Gone));
        for live in rules.iter_mut().filter(|live| live.rule.fits(request, off, len)) {
            let slow = if let Fault::Delay(by) = live.rule.fault { Some(by) } else { None };
            if fault.is_some() && slow.is_none() {
                continue;
            }
            live.seen += 1;
            let rule = &live.rule;
            let due = live.seen > rule.after && rule.times.is_none_or(|times| live.done < times);
            if !due || (rule.one_in > 1 && rng.u64(..rule.one_in) > 0) {
                continue;
            }
            live.done += 1;
            match slow {
                Some(by) => delay = Some(delay.unwrap_or_default() + by),
                None => fault = Some(rule.fault),
            }
        }
        *gone |= fault == Some(Fault::Gone);
        (delay, fault)
    }

    fn flip(&self, bytes: &mut [u8], bits: u32) {
        let rng = &mut self.state.lock().rng;
        for _ in 0..if bytes.is_empty() { 0 } else { bits } {
            bytes[rng.usize(..bytes.len())] ^= 1 << rng.u8(..8);
        }
    }
}
