//! A progress bar that appears only when it is worth while.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const DELAY: Duration = Duration::from_secs(1);

/// A bar on standard error once something has taken a second, if that is a terminal.
pub struct Progress {
    bar: ProgressBar,
    start: Instant,
    terminal: bool,
}

impl Progress {
    /// Begins something; its length may still be unknown.
    pub fn new(message: &'static str) -> Progress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_message(message);
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} % {eta:>4}")
        {
            bar.set_style(style);
        }
        Progress { bar, start: Instant::now(), terminal: std::io::stderr().is_terminal() }
    }

    /// `done` of `total` of a phase is done.
    pub fn set(&self, phase: &'static str, done: u64, total: u64) {
        if !self.terminal {
            return;
        }
        self.bar.set_message(phase);
        self.bar.set_length(total.max(done));
        self.bar.set_position(done);
        if self.bar.is_hidden() && self.start.elapsed() > DELAY {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Progress {
    /// Takes the bar away, for something to be asked.
    pub fn hide(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
