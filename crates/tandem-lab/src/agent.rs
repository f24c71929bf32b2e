//! The agent: executes a job, on the host as a child of the lab, in a guest as its init.
//!
//! It makes the file system, mounts it, starts the workers of each phase, lets them begin together
//! and measures. What it found is a [`Report`] in a file, also when something went wrong.

mod daemons;
mod orphans;
mod phase;
mod volume;
mod worker;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::guest;
use crate::job::Job;
use crate::record::{Flag, Phase};
use crate::stage::StageError;
use crate::workload;

use phase::Agent;

pub use worker::work;

/// What the agent leaves.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Every command, as it was given.
    pub commands: Vec<String>,
    /// What was measured.
    pub phases: Vec<Phase>,
    /// What was wrong with it.
    pub flags: Vec<Flag>,
    /// Why it did not come to its end.
    pub failure: Option<Failure>,
}

impl Report {
    /// The report of a run that came to its end.
    ///
    /// # Errors
    /// Why it did not.
    pub fn whole(self) -> Result<Report, StageError> {
        match self.failure {
            Some(Failure { step, reason }) => Err(StageError::Failed { step, reason }),
            None => Ok(self),
        }
    }
}

/// Why a run did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Which step: a command as it was given, a phase.
    pub step: String,
    /// Its last words.
    pub reason: String,
}

impl From<StageError> for Failure {
    fn from(error: StageError) -> Failure {
        match error {
            StageError::Failed { step, reason } => Failure { step, reason },
            missing => Failure { step: "agent".into(), reason: missing.to_string() },
        }
    }
}

/// Where the agent tells how far it is, a line each.
pub fn progress_file(out: &Path) -> PathBuf {
    out.with_extension("progress")
}

/// Executes the job in `job` and writes a [`Report`] to `out`.
///
/// As process 1 it is the init of a guest, and does not return: the guest is switched off.
///
/// # Errors
/// A job that cannot be read, a report that cannot be written. What went wrong in the run is in the
/// report.
pub fn run(job: &Path, out: &Path) -> io::Result<()> {
    let init = std::process::id() == 1;
    if init {
        if let Err(error) = guest::begin(out) {
            // There may be no console yet; the kernel's log has one.
            let _ = std::fs::write("/dev/kmsg", format!("agent: {error}"));
            guest::end();
        }
    } else {
        die_with_parent()?;
    }
    let done = std::fs::read(job)
        .and_then(|text| serde_json::from_slice(&text).map_err(io::Error::from))
        .and_then(|job: Job| {
            // A guest's kernel is the run's alone.
            let starved = |error: StageError| error.starved(if init { guest::killed() } else { 0 });
            write(out, &execute(&job, out, &starved))
        });
    if init {
        if let Err(error) = &done {
            eprintln!("agent: {error}");
        }
        guest::end();
    }
    done
}

/// When the lab dies, the agent does; when the agent dies, workers do.
fn die_with_parent() -> io::Result<()> {
    let parent = rustix::process::getppid();
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    if rustix::process::getppid() != parent {
        return Err(io::Error::other("the parent is gone"));
    }
    Ok(())
}

fn execute(job: &Job, out: &Path, seen: &dyn Fn(StageError) -> StageError) -> Report {
    let mut report = Report::default();
    if let Err(error) = steps(job, out, &mut report) {
        report.failure = Some(seen(error).into());
    }
    report
}

fn steps(job: &Job, out: &Path, report: &mut Report) -> Result<(), StageError> {
    // Daemons that their parents leave become children of this process, which sees their end.
    let reaper = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    reaper.map_err(|e| StageError::failed("become a reaper of processes", e))?;
    if let Some(group) = &job.group {
        let joined = std::fs::write(group, "0");
        joined.map_err(|e| StageError::failed(format!("join {}", group.display()), e))?;
    }
    guest::load(&job.modules)?;
    let phases = workload::phases(&job.workload)
        .map_err(|e| StageError::failed(format!("workload {}", job.workload.name), e))?;
    let mut agent = Agent::new(job, out, report)?;
    agent.make()?;
    for (at, phase) in phases.iter().enumerate() {
        let next_is_cold = phases.get(at + 1).is_none_or(|next| next.cold);
        agent.phase(at, phases.len(), phase, next_is_cold)?;
    }
    agent.finish();
    Ok(())
}

/// Whole or not at all.
fn write(out: &Path, report: &Report) -> io::Result<()> {
    let part = out.with_extension("part");
    let mut file = std::fs::File::create(&part)?;
    serde_json::to_writer(&mut file, report)?;
    file.flush()?;
    file.sync_all()?;
    std::fs::rename(part, out)
}
