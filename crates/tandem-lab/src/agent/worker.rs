//! A worker: one process of a phase.
//!
//! It is given an [`Order`] as a line of JSON on standard input, says `ready`, waits for a second
//! line, works, and writes an [`Answer`] as a line of JSON to standard output.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use wait4::Wait4;

use crate::measure::process::Usage;
use crate::stage::{StageError, program};
use crate::workload::{self, Context, Outcome, WorkloadSpec};

const READY: &str = "ready";

/// What a worker is to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The workload.
    pub workload: WorkloadSpec,
    /// The phase.
    pub phase: String,
    /// The file system under test.
    pub dir: PathBuf,
    /// A directory on another one.
    pub scratch: PathBuf,
    /// Which process it is, from 0.
    pub process: u32,
}

/// What a worker has done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// When it began, in nanoseconds of CLOCK_MONOTONIC.
    pub start: u64,
    /// When it was done.
    pub end: u64,
    /// Its results, or why there are none.
    pub outcome: Result<Outcome, String>,
}

/// A worker's life.
///
/// # Errors
/// Orders that cannot be read, answers that cannot be written.
pub fn work() -> io::Result<()> {
    super::die_with_parent()?;
    let mut lines = io::stdin().lock().lines();
    let mut line = || lines.next().unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into()));
    let order: Order = serde_json::from_str(&line()?)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{READY}")?;
    out.flush()?;
    line()?;
    let context = Context {
        dir: order.dir,
        scratch: order.scratch,
        process: order.process,
        processes: order.workload.processes,
        seed: order.workload.seed,
    };
    let start = now();
    let outcome = workload::run(&order.workload, &order.phase, &context);
    let answer = Answer { start, end: now(), outcome: outcome.map_err(|e| e.to_string()) };
    serde_json::to_writer(&mut out, &answer)?;
    writeln!(out)?;
    out.flush()
}

/// CLOCK_MONOTONIC, which all processes of a kernel share.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A worker as the agent has it; killed if it is dropped before its end.
pub(super) struct Worker {
    step: String,
    errors: PathBuf,
    child: Option<Child>,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// A worker at its end.
pub(super) struct Finished {
    pub answer: Answer,
    pub outcome: Outcome,
    /// Of it and of its children.
    pub used: Usage,
    /// The most memory of it or of one of its children, in bytes.
    pub memory: u64,
}

impl Worker {
    /// Starts a worker and waits until it is ready. What it complains of goes to `errors`.
    pub fn start(order: &Order, errors: &Path) -> Result<Worker, StageError> {
        let step = format!("phase {}, process {}", order.phase, order.process);
        let fail = |e: io::Error| StageError::failed(step.clone(), e);
        let exe = std::env::current_exe().map_err(fail)?;
        let mut child = Command::new(exe)
            .args(["lab", "worker"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(errors).map_err(fail)?)
            .spawn()
            .map_err(fail)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| StageError::failed(&step, "no pipes"))?;
        let output = BufReader::new(output);
        let (child, input) = (Some(child), Some(input));
        let mut worker = Worker { step, errors: errors.to_owned(), child, input, output };
        let order = serde_json::to_string(order).map_err(|e| worker.failed(e.to_string()))?;
        worker.say(&order)?;
        match worker.hear()?.trim() {
            READY => Ok(worker),
            other => Err(worker.failed(format!("said {other:?}"))),
        }
    }

    /// Lets it begin.
    pub fn go(&mut self) -> Result<(), StageError> {
        self.say("go")
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Result<Finished, StageError> {
        let line = self.hear()?;
        let answer: Answer = serde_json::from_str(&line)
            .map_err(|e| self.failed(format!("answered {line:?}: {e}")))?;
        self.input = None;
        let Some(mut child) = self.child.take() else { return Err(self.failed("gone".into())) };
        let ended = child.wait4().map_err(|e| self.failed(e.to_string()))?;
        let outcome = match &answer.outcome {
            Ok(outcome) => outcome.clone(),
            Err(reason) => return Err(self.failed(reason.clone())),
        };
        let used = Usage::new(ended.rusage.utime, ended.rusage.stime);
        Ok(Finished { answer, outcome, used, memory: ended.rusage.maxrss })
    }

    fn say(&mut self, line: &str) -> Result<(), StageError> {
        let said = self.input.as_mut().map_or(Ok(()), |input| {
            writeln!(input, "{line}")?;
            input.flush()
        });
        said.map_err(|e| self.failed(e.to_string()))
    }

    fn hear(&mut self) -> Result<String, StageError> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) => Err(self.failed("died".into())),
            Ok(_) => Ok(line),
            Err(error) => Err(self.failed(error.to_string())),
        }
    }

    /// The reason, and what the worker has complained of.
    fn failed(&self, reason: String) -> StageError {
        let said = std::fs::read_to_string(&self.errors).unwrap_or_default();
        let said = program::tail(&said, 4);
        let reason = if said.is_empty() { reason } else { format!("{reason}: {said}") };
        StageError::failed(&self.step, reason)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
