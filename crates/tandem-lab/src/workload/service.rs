//! A server that works for a phase and does not outlive it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::WorkloadError;
use super::error::io;
use super::program::{self, shown};

/// How long a server may take to begin and to end.
const PATIENCE: Duration = Duration::from_secs(300);

/// The signal that ends a server in good order.
#[derive(Clone, Copy)]
pub(super) struct Stop {
    signal: Signal,
    name: &'static str,
}

/// SIGINT.
pub(super) const INTERRUPT: Stop = Stop { signal: Signal::INT, name: "INT" };

/// SIGQUIT.
pub(super) const QUIT: Stop = Stop { signal: Signal::QUIT, name: "QUIT" };

/// Words before a server's command: it is sent `stop` when the process that started it dies, however
/// that dies.
pub(super) fn mortal(stop: Stop) -> Result<[String; 3], WorkloadError> {
    let setpriv = program::find("setpriv").ok_or_else(|| super::Missing {
        what: "program setpriv".to_owned(),
        package: Some("util-linux".to_owned()),
    })?;
    Ok([setpriv.display().to_string(), "--pdeathsig".to_owned(), stop.name.to_owned()])
}

/// A server under way.
pub(super) struct Service {
    child: Child,
    command: String,
    log: PathBuf,
    stop: Stop,
}

impl Service {
    /// Starts it; its output goes to `log`. `stop` is the signal that ends it in good order.
    pub fn start(mut command: Command, log: &Path, stop: Stop) -> Result<Service, WorkloadError> {
        let out = File::create(log).map_err(io("create", log))?;
        let err = out.try_clone().map_err(io("open", log))?;
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        let shown = shown(&command);
        let child = command.spawn().map_err(|error| WorkloadError::Program {
            command: shown.clone(),
            reason: error.to_string(),
        })?;
        Ok(Service { child, command: shown, log: log.to_owned(), stop })
    }

    /// Waits until `ready` says so.
    pub fn wait_for(&mut self, ready: impl Fn() -> bool) -> Result<(), WorkloadError> {
        let start = Instant::now();
        while !ready() {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(self.failed(&status.to_string()));
            }
            if start.elapsed() > PATIENCE {
                return Err(self.failed("it does not answer"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Ends it and waits until it has ended.
    pub fn end(mut self) -> Result<(), WorkloadError> {
        if let Ok(Some(status)) = self.child.try_wait() {
            return Err(self.failed(&format!("ended before its time: {status}")));
        }
        self.signal();
        let start = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(self.failed(&status.to_string())),
                _ if start.elapsed() > PATIENCE => return Err(self.failed("it does not end")),
                _ => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    fn signal(&self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It may have ended on its own; that shows when it is waited for.
            let _ = kill_process(pid, self.stop.signal);
        }
    }

    fn failed(&self, what: &str) -> WorkloadError {
        let said = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = said.lines().rev().take(5).collect();
        let last: Vec<_> = lines.into_iter().rev().collect();
        WorkloadError::Program {
            command: self.command.clone(),
            reason: format!("{what}: {}", last.join("; ")),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        self.signal();
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(10) {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
