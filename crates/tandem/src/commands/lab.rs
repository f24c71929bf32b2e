//! `tandem lab`.

mod agent;
mod compare;
mod doctor;
mod list;
mod report;
mod run;
mod show;

use anyhow::Result;

use crate::cli::lab::{LabArgs, LabCommand};

/// Runs one of its commands.
pub fn run(args: &LabArgs) -> Result<u8> {
    match &args.command {
        LabCommand::List(args) => list::run(args),
        LabCommand::Show(args) => show::run(args),
        LabCommand::Doctor(args) => doctor::run(args),
        LabCommand::Run(args) => run::run(args),
        LabCommand::Report(args) => report::run(args),
        LabCommand::Compare(args) => compare::run(args),
        LabCommand::Agent(args) => agent::run(args),
        LabCommand::Worker => agent::work(),
    }
}

/// A time as people say it: `3 h 20 min`.
fn time(seconds: f64) -> String {
    let whole = seconds.round().max(0.0) as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) if minutes < 10 => format!("{minutes} min {seconds} s"),
        (0, minutes, _) => format!("{minutes} min"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}
