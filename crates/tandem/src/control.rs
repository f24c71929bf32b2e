//! How the commands ask a mounted volume: a socket in a runtime directory, named by the mount's
//! device number, so that a mount that hangs can still be asked.
//!
//! The client writes one word and a newline; the server answers with one line of JSON. The answer
//! to `wait` comes when the volume has been shut down.

mod places;
mod server;
#[cfg(test)]
mod tests;

use std::io::{BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, pidfd_open};
use serde_json::Value;

use crate::mounts::Mount;

pub use server::Server;

const PATIENCE: Duration = Duration::from_secs(10);

fn connect(mount: &Mount) -> Result<UnixStream> {
    places::connect(&places::all(), mount.dev).with_context(|| mount.dir.display().to_string())
}

/// Asks the daemon of `mount` one word.
pub fn ask(mount: &Mount, word: &str) -> Result<Value> {
    let mut stream = connect(mount)?;
    writeln!(stream, "{word}")?;
    let mut text = String::new();
    stream
        .read_to_string(&mut text)
        .with_context(|| format!("{}: the volume's daemon does not answer", mount.dir.display()))?;
    let value: Value = serde_json::from_str(&text)
        .with_context(|| format!("{}: the volume's daemon gave no answer", mount.dir.display()))?;
    if let Some(error) = value.get("error").and_then(Value::as_str) {
        bail!("{}: {error}", mount.dir.display());
    }
    Ok(value)
}

/// The end of a mount, to be waited for.
pub struct Ending {
    stream: UnixStream,
    /// The daemon's process, where it can be told.
    process: Option<OwnedFd>,
}

impl Ending {
    /// Asks to be told when the volume of `mount` has been shut down.
    pub fn of(mount: &Mount) -> Result<Ending> {
        let mut stream = connect(mount)?;
        writeln!(stream, "wait")?;
        stream.set_read_timeout(None)?;
        let process = rustix::net::sockopt::socket_peercred(&stream)
            .and_then(|peer| pidfd_open(peer.pid, PidfdFlags::empty()))
            .ok();
        Ok(Ending { stream, process })
    }

    /// Waits until the daemon's process has ended, and returns its last counters; an error when the
    /// shutdown failed or the daemon died.
    pub fn wait(self) -> Result<Value> {
        let mut text = String::new();
        BufReader::new(self.stream).read_to_string(&mut text)?;
        // Only when the process is gone are its devices free for certain.
        if let Some(process) = &self.process {
            while poll(&mut [PollFd::new(process, PollFlags::IN)], None) == Err(Errno::INTR) {}
        }
        let Ok(value) = serde_json::from_str::<Value>(&text) else {
            bail!("the volume's daemon ended without a word; the next mount recovers the volume");
        };
        match value.get("error").and_then(Value::as_str) {
            Some(error) => bail!("the volume could not be shut down cleanly: {error}"),
            None => Ok(value),
        }
    }
}
