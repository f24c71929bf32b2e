//! Faults in the log: all of them when they are few, their number when they are many.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::request::Request;

/// Lines a minute.
const MOST: u32 = 20;
const WINDOW: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Complaints {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    since: Option<Instant>,
    lines: u32,
    left_out: u32,
}

impl Complaints {
    /// Says what went wrong with what is called so, unless too much has gone wrong lately.
    pub(super) fn log(
        &self,
        req: &Request<'_>,
        e: &tandem_fs::Error,
        called: impl FnOnce() -> String,
    ) {
        let mut state = self.state.lock();
        if state.since.is_none_or(|since| since.elapsed() > WINDOW) {
            if state.left_out > 0 {
                tracing::error!("{} more operations failed", state.left_out);
            }
            *state = State { since: Some(Instant::now()), ..State::default() };
        }
        if state.lines < MOST {
            state.lines += 1;
            let file = called();
            tracing::error!(op = req.opcode().name(), ino = req.nodeid(), "{file}: {e}");
        } else {
            state.left_out += 1;
        }
    }
}
