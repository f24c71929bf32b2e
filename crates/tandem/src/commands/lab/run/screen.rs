//! What is seen while runs are made: a line for each, and on a terminal what it is doing.

use std::cell::RefCell;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tandem_lab::record::{Record, Status};
use tandem_lab::run::{Event, Outlook};

use crate::commands::lab::time;
use crate::output;
use crate::units::bytes;

pub struct Screen {
    bar: Option<ProgressBar>,
    place: RefCell<String>,
}

impl Screen {
    pub fn new() -> Screen {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed:>4} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Screen { bar, place: RefCell::default() }
    }

    pub fn tell(&self, event: Event<'_>) {
        match event {
            Event::Planned(outlook) => planned(outlook).iter().for_each(|line| self.line(line)),
            Event::Begins(configuration, repetition, at, of) => {
                let name = format!("{} {}", configuration.study, configuration.label());
                *self.place.borrow_mut() = format!("[{at}/{of}] {name} #{repetition}");
                self.doing("");
                self.bar.iter().for_each(ProgressBar::reset_elapsed);
            }
            Event::Doing(what) => self.doing(what),
            Event::Ended(record, left) => self.line(&self.ended(record, left)),
        }
    }

    pub fn end(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }

    fn doing(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{}: {what}", self.place.borrow()));
        }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => output::say(text),
        }
    }

    fn ended(&self, record: &Record, left: Option<f64>) -> String {
        let left = left.map_or_else(String::new, |left| format!(", {} left", time(left)));
        let how = match &record.status {
            Status::Done => format!("{:.1} s{left}", record.elapsed),
            Status::Failed(reason) => format!("FAILED: {reason}"),
            Status::Skipped(reason) => format!("skipped: {reason}"),
        };
        format!("{}: {how}", self.place.borrow())
    }
}

fn planned(outlook: &Outlook) -> Vec<String> {
    let mut lines = Vec::new();
    for (reason, count) in &outlook.left_out {
        lines.push(format!("left out, {count} combinations: {reason}"));
    }
    let made = match outlook.made {
        0 => String::new(),
        made => format!(", {made} of them made before"),
    };
    let time = outlook.seconds.map_or_else(
        || "their time is not known yet".to_owned(),
        |seconds| format!("about {}", time(seconds)),
    );
    lines.push(format!(
        "{} runs{made}; {time}; at most {} of disk and {} of memory",
        outlook.runs(),
        bytes(outlook.disk),
        bytes(outlook.memory)
    ));
    lines
}
