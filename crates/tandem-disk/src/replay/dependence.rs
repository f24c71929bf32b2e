//! Which requests of a trace waited for which.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::request::Nanos;
use crate::trace::Record;

/// Requests by when they were done in the trace. A request that arrived later may have waited for
/// them; one that arrived before cannot have.
#[derive(Debug, Default)]
pub(super) struct Dependences {
    /// When it was done, and its number.
    done: BinaryHeap<Reverse<(Nanos, u64)>>,
    timed: bool,
}

impl Dependences {
    /// A request that is submitted. `None`: neither it nor any before it has a service time.
    pub fn submitted(&mut self, number: u64, record: &Record) -> Option<()> {
        // One that was never seen to end is waited for by none.
        if let Some(finish) = record.finish() {
            self.timed = true;
            self.done.push(Reverse((finish, number)));
        }
        self.timed.then_some(())
    }

    /// The next request that was done by `arrival`; it is given once.
    pub fn before(&mut self, arrival: Nanos) -> Option<u64> {
        let &Reverse((finish, number)) = self.done.peek()?;
        if finish > arrival {
            return None;
        }
        self.done.pop();
        Some(number)
    }
}
