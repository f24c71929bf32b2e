//! One request, one answer: what all transports do in between.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::abi::OutHeader;
use crate::reply::{Outcome, ReplyBuf};
use crate::request::Request;
use crate::stats::Counters;

/// What stands behind the door.
pub trait Handler: Send + Sync {
    /// Answers a request. It may take long only if [`Handler::blocking`] said so.
    fn handle(&self, req: Request<'_>, out: &mut ReplyBuf<'_>) -> Outcome;

    /// Whether the answer may take much longer than handing the request to another thread
    /// (some 50 µs): such a request must not hold up those behind it.
    fn blocking(&self, req: &Request<'_>) -> bool {
        let _ = req;
        false
    }
}

/// Room for any request that has a long answer, and for any answer that is not long.
pub(super) const SCRATCH: usize = 1024;

/// Has the request answered. A handler that panics has failed this request, not its thread:
/// nobody else would take the requests that wait for it.
pub(super) fn answer(
    handler: &dyn Handler,
    counters: &Counters,
    req: Request<'_>,
    out: &mut ReplyBuf<'_>,
) -> Outcome {
    counters.request(req.opcode());
    let outcome = match catch_unwind(AssertUnwindSafe(|| handler.handle(req, out))) {
        Ok(outcome) => outcome,
        Err(_) => {
            tracing::error!(
                opcode = req.opcode().name(),
                ino = req.nodeid(),
                "the handler panicked"
            );
            Outcome::Error(libc::EIO)
        }
    };
    counters.carried(u64::from(req.header().len) + out.len() as u64);
    match outcome {
        Outcome::Error(errno) => {
            counters.answered(errno);
            out.clear();
        }
        Outcome::Silent => out.clear(),
        Outcome::Reply => {}
    }
    if req.opcode().wants_reply() {
        // An answer that never comes is a program that never wakes up.
        debug_assert_ne!(outcome, Outcome::Silent, "{:?}", req.opcode());
        if outcome == Outcome::Silent { Outcome::Reply } else { outcome }
    } else {
        Outcome::Silent
    }
}

/// The kernel's form of an outcome: 0 or a negative errno.
pub(super) fn error_code(outcome: Outcome) -> i32 {
    match outcome {
        Outcome::Error(errno) => -errno.abs(),
        Outcome::Reply | Outcome::Silent => 0,
    }
}

/// The header of an answer with `used` bytes after it.
pub(super) fn reply_header(req: &Request<'_>, outcome: Outcome, used: usize) -> OutHeader {
    OutHeader {
        len: (size_of::<OutHeader>() + used) as u32,
        error: error_code(outcome),
        unique: req.header().unique,
    }
}
