//! What a run leaves when it is killed, and taking that down.
//!
//! Loop devices and mounts are found by where they lie, processes by a variable of their
//! environment: whatever a program of the run starts has it too, in whatever session or group. Those
//! of a guest, which is no such program, are one group, whose number and start are written down as
//! soon as it is there; the places of a control group are written down before.

use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::{StageError, group, loops, mounts};
use crate::measure::Process;

/// How long a killed process may take to be gone.
const END: Duration = Duration::from_secs(10);

/// The file, in the stage's directory, of [`note_groups`].
const GROUPS: &str = "groups";

/// The variable that all processes of a run have in their environment: its work directory.
const VARIABLE: &str = "TANDEM_LAB_WORK";

/// Has a program and all that it starts found by [`super::clean`]; `dir` is a directory right in the
/// work directory, without links in its path.
pub(crate) fn mark<'c>(command: &'c mut Command, dir: &Path) -> &'c mut Command {
    command.env(VARIABLE, dir.parent().unwrap_or(dir))
}

/// The directory, within the work directory, in which everything of a run lies.
pub(super) fn stage_dir(work: &Path) -> PathBuf {
    work.join("stage")
}

/// A process that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Noted {
    pid: u32,
    /// In clock ticks since boot.
    started: u64,
    /// It leads a process group of its own, all of which is of the run.
    leads: bool,
}

/// Notes a process in the stage's directory.
pub(super) fn note(dir: &Path, pid: u32) -> Result<(), StageError> {
    let Some(process) = Process::of(pid) else { return Ok(()) };
    let path = dir.join("processes");
    let noted = File::options().create(true).append(true).open(&path).and_then(|mut file| {
        writeln!(file, "{pid} {} {}", process.started, process.group == pid)?;
        file.sync_data()
    });
    noted.map_err(|e| fail(&path, e))
}

/// Notes where the run's control group is to be made.
pub(super) fn note_groups(dir: &Path, places: &[PathBuf]) -> Result<(), StageError> {
    let path = dir.join(GROUPS);
    let lines = places.iter().map(|place| format!("{}\n", place.display()));
    let noted = File::create(&path).and_then(|mut file| {
        file.write_all(lines.collect::<String>().as_bytes())?;
        file.sync_data()
    });
    noted.map_err(|e| fail(&path, e))
}

fn fail(path: &Path, error: std::io::Error) -> StageError {
    StageError::failed(path.display().to_string(), error)
}

/// See [`super::clean`].
pub(super) fn clean(work: &Path) -> Result<(), StageError> {
    let Ok(work) = work.canonicalize() else { return Ok(()) };
    let noted = std::fs::read_to_string(stage_dir(&work).join("processes")).unwrap_or_default();
    for noted in noted.lines().filter_map(parse) {
        end(noted)?;
    }
    end_marked(&work)?;
    let Ok(dir) = stage_dir(&work).canonicalize() else { return Ok(()) };
    let groups = std::fs::read_to_string(dir.join(GROUPS)).unwrap_or_default();
    groups.lines().try_for_each(|place| group::remove(Path::new(place)))?;
    // What is mounted may lie on a loop device, and that on something that is mounted.
    for _ in 0..3 {
        mounts::unmount_all(&dir.join("mnt"));
        loops::over(&dir).iter().for_each(|device| loops::detach(device));
    }
    let left = mounts::unmount_all(&dir);
    let loops = loops::over(&dir);
    if let Some(left) = left.first().or(loops.first()) {
        return Err(StageError::failed("clean", format!("{} cannot be freed", left.display())));
    }
    std::fs::remove_dir_all(&dir).map_err(|e| fail(&dir, e))
}

fn parse(line: &str) -> Option<Noted> {
    let mut words = line.split(' ');
    let (pid, started) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some(Noted { pid, started, leads: words.next()? == "true" })
}

/// Kills a process if it is the one that was noted, with the group that it led. As long as a group
/// has members its number is given to no other process, so a leader that is gone is no other's.
fn end(noted: Noted) -> Result<(), StageError> {
    let Noted { pid, started, leads } = noted;
    let ours = |now: &Process| match now.pid == pid {
        true => now.started == started,
        false => leads && now.group == pid && now.started >= started,
    };
    let other = || Process::of(pid).is_some_and(|now| now.started != started);
    until_gone(|| {
        let all = Process::all().into_values();
        let left = all.filter(|now| ours(now) && !now.ended()).collect();
        if other() { Vec::new() } else { left }
    })
}

/// Kills processes that have the mark of a work directory.
fn end_marked(work: &Path) -> Result<(), StageError> {
    let mark = [VARIABLE.as_bytes(), b"=", work.as_os_str().as_bytes()].concat();
    let ours = |now: &Process| {
        // Those of other users, which cannot be read without root, are no run of this user's.
        let environment = std::fs::read(format!("/proc/{}/environ", now.pid)).unwrap_or_default();
        now.pid != std::process::id() && environment.split(|&byte| byte == 0).any(|v| v == mark)
    };
    until_gone(|| {
        let all = Process::all().into_values();
        all.filter(|now| !now.is_kernel() && !now.ended() && ours(now)).collect()
    })
}

/// Kills processes as long as there are some; those that are killed may have started others.
pub(crate) fn until_gone(left: impl Fn() -> Vec<Process>) -> Result<(), StageError> {
    let since = Instant::now();
    loop {
        let left = left();
        let Some(first) = left.first() else { return Ok(()) };
        if since.elapsed() > END {
            let reason = format!("process {} ({}) does not end", first.pid, first.name);
            return Err(StageError::failed("clean", reason));
        }
        left.iter().for_each(|process| kill(process.pid));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Kills a process.
pub(super) fn kill(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// Kills a process group.
pub(super) fn kill_group(group: u32) {
    if let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
}
