//! Leaving a process behind that serves the mount.
//!
//! The parent starts the program anew instead of forking (no thread has to be thought of), with a
//! pipe as its standard output, and returns when the child has said there that it is ready, or
//! why it is not.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::serve;
use crate::cli::options::MountFlags;
use crate::cli::{MountArgs, exit};
use crate::{logging, output};

const READY: &str = "ready\n";

/// Starts the process that serves the mount and waits until it is ready.
pub fn parent(args: &MountArgs) -> Result<u8> {
    let mut child = Command::new("/proc/self/exe")
        .arg0("tandem")
        .args(child_args(args))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("start the process that serves the mount")?;
    let mut said = String::new();
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_string(&mut said).context("wait for the process that serves the mount")?;
    }
    if said == READY {
        return Ok(exit::OK);
    }
    let status = child.wait()?;
    if said.is_empty() {
        bail!("the process that serves the mount died: {status}");
    }
    bail!("{}", said.trim_end());
}

fn child_args(args: &MountArgs) -> Vec<OsString> {
    let mut out: Vec<OsString> = vec!["mount".into(), "--background-child".into()];
    if args.sloppy {
        out.push("--sloppy".into());
    }
    out.extend((0..args.verbose).map(|_| "--verbose".into()));
    for list in &args.options {
        out.extend(["-o".into(), list.into()]);
    }
    if let Some(data) = &args.data {
        out.extend(["--data".into(), data.into()]);
    }
    out.push("--".into());
    out.extend([args.meta.clone().into(), args.dir.clone().into()]);
    out
}

/// The process left behind.
pub fn child(args: &MountArgs, flags: MountFlags, dir: &Path) -> Result<u8> {
    // A session of its own: signals from the terminal are not for it.
    rustix::process::setsid().context("begin a session")?;
    // It was started as /proc/self/exe, which is what ps would show.
    let _ = rustix::thread::set_name(c"tandem");
    logging::to_syslog(args.verbose);
    let result = serve::serve(args, flags, dir, detach);
    if let Err(error) = &result {
        let error = output::message(error);
        tracing::error!("{}: {error}", dir.display());
        // Read by the parent while it waits; later, standard output leads nowhere.
        let _ = write!(std::io::stdout(), "{error}");
        return Ok(exit::FAILURE);
    }
    result
}

/// Says that the mount is ready and lets go of the terminal and the working directory.
fn detach() -> Result<()> {
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    std::env::set_current_dir("/")?;
    let mut out = std::io::stdout();
    out.write_all(READY.as_bytes())?;
    out.flush()?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tracing::error!("{panic}");
        default(panic);
    }));
    Ok(())
}
