//! Real programs: are they there, run them, say why they failed.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::fs::{MemfdFlags, memfd_create};

use super::WorkloadError;
use super::error::Missing;

/// Where programs lie besides `PATH`: a service or a guest's init may have a short one.
const PLACES: [&str; 5] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/bin"];

/// The most bytes of arguments given to one process, far below the kernel's limit.
const ARGUMENTS: usize = 96 * 1024;

/// Where a program is.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(PLACES.iter().map(PathBuf::from));
    places.map(|place| place.join(name)).find(|file| file.is_file())
}

/// Those of (program, package) that are not there.
pub(crate) fn missing(programs: &[(&str, &str)]) -> Vec<Missing> {
    let absent = programs.iter().filter(|(name, _)| find(name).is_none());
    absent
        .map(|(name, package)| Missing {
            what: format!("program {name}"),
            package: Some((*package).to_owned()),
        })
        .collect()
}

/// A command, with the program looked for.
pub(crate) fn command(name: &str) -> Result<Command, WorkloadError> {
    let found =
        find(name).ok_or_else(|| Missing { what: format!("program {name}"), package: None })?;
    let mut command = Command::new(found);
    command.env("LC_ALL", "C").stdin(Stdio::null());
    Ok(command)
}

/// Runs it to its end; its standard output. An exit status other than 0 and those in `fine` is an
/// error that has its last words. What it leaves in the background is not waited for, though that
/// has its standard output.
pub(crate) fn output(command: &mut Command, fine: &[i32]) -> Result<Vec<u8>, WorkloadError> {
    ended(command, fine, true)
}

/// Runs it to its end; what it prints to its standard output is thrown away.
pub(crate) fn run(command: &mut Command) -> Result<(), WorkloadError> {
    ended(command, &[], false).map(drop)
}

fn ended(command: &mut Command, fine: &[i32], keep: bool) -> Result<Vec<u8>, WorkloadError> {
    let failed = |command: &Command, reason: String| WorkloadError::Program {
        command: shown(command),
        reason,
    };
    let done = to_its_end(command, keep).map_err(|error| failed(command, error.to_string()))?;
    let code = done.status.code();
    if done.status.success() || code.is_some_and(|code| fine.contains(&code)) {
        return Ok(done.stdout);
    }
    let said =
        String::from_utf8_lossy(if done.stderr.is_empty() { &done.stdout } else { &done.stderr })
            .into_owned();
    let lines: Vec<_> = said.lines().rev().take(5).collect();
    let last: Vec<_> = lines.into_iter().rev().collect();
    Err(failed(command, format!("{}: {}", done.status, last.join("; "))))
}

/// As [`Command::output`], which waits for all who have the pipe, to the end of the program itself.
fn to_its_end(command: &mut Command, keep: bool) -> io::Result<Output> {
    let file = || Ok::<_, io::Error>(File::from(memfd_create("output", MemfdFlags::CLOEXEC)?));
    let (out, err) = (file()?, file()?);
    let stdout = if keep { out.try_clone()?.into() } else { Stdio::null() };
    let status = command.stdout(stdout).stderr(err.try_clone()?).status()?;
    // Where the others write is theirs: reading must not move it.
    let read = |file: File| {
        let size = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        let mut bytes = vec![0; size];
        file.read_exact_at(&mut bytes, 0).map(|()| bytes)
    };
    Ok(Output { status, stdout: read(out)?, stderr: read(err)? })
}

/// The command as a user would write it.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).take(12).collect::<Vec<_>>().join(" ")
}

/// Runs a program over many names, as few processes as the arguments' length allows (or one
/// `each`), in `dir`.
pub(crate) fn over(
    program: &[&str],
    names: impl Iterator<Item = String>,
    dir: &Path,
    each: bool,
) -> Result<(), WorkloadError> {
    let start = || -> Result<Command, WorkloadError> {
        let mut command = command(program[0])?;
        command.args(&program[1..]).current_dir(dir);
        Ok(command)
    };
    let (mut next, mut length) = (start()?, 0);
    for name in names {
        length += name.len() + 1;
        next.arg(name);
        if each || length >= ARGUMENTS {
            run(&mut next)?;
            (next, length) = (start()?, 0);
        }
    }
    if length > 0 { run(&mut next) } else { Ok(()) }
}

/// Runs it to its end; the bytes of its standard output, which are thrown away.
pub(crate) fn count(command: &mut Command) -> Result<u64, WorkloadError> {
    let failed = |command: &Command, reason: String| WorkloadError::Program {
        command: shown(command),
        reason,
    };
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(command, error.to_string()))?;
    let counted = match child.stdout.as_mut() {
        Some(out) => std::io::copy(out, &mut std::io::sink()),
        None => Ok(0),
    };
    let status = child.wait().map_err(|error| failed(command, error.to_string()))?;
    let counted = counted.map_err(|error| failed(command, error.to_string()))?;
    if status.success() { Ok(counted) } else { Err(failed(command, status.to_string())) }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn what_stays_in_the_background_is_not_waited_for() {
        let since = Instant::now();
        let script = "(echo one; sleep 5; echo three) & sleep 0.2; echo two";
        let said = output(command("sh").unwrap().args(["-ec", script]), &[]).unwrap();
        assert_eq!(said, b"one\ntwo\n");
        assert!(since.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn statuses_and_last_words() {
        let sh = |script: &str| output(command("sh").unwrap().args(["-c", script]), &[3]);
        assert_eq!(sh("echo all; exit 3").unwrap(), b"all\n");
        let said = sh("echo all; echo no luck >&2; exit 4").unwrap_err().to_string();
        assert!(said.contains("no luck") && said.contains('4'), "{said}");
        assert!(run(command("sh").unwrap().args(["-c", "exit 3"])).is_err());
    }
}
