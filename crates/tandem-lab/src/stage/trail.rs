//! What a run leaves when it is killed, and taking that down.
//!
//! Loop devices and mounts are found by where they lie. Processes are not: their numbers and when
//! they started are written down as soon as they are there; the places of a control group, before.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::{StageError, group, loops, mounts};
use crate::measure::Process;

/// How long a killed process may take to be gone.
const END: Duration = Duration::from_secs(10);

/// The file, in the stage's directory, of [`note_groups`].
const GROUPS: &str = "groups";

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
pub(crate) fn note(dir: &Path, pid: u32) -> Result<(), StageError> {
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
    let Ok(dir) = stage_dir(work).canonicalize() else { return Ok(()) };
    let noted = std::fs::read_to_string(dir.join("processes")).unwrap_or_default();
    for noted in noted.lines().filter_map(parse) {
        end(noted)?;
    }
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
    let since = Instant::now();
    loop {
        let all = Process::all();
        let left: Vec<u32> =
            all.values().filter(|now| ours(now) && !now.ended()).map(|now| now.pid).collect();
        if left.is_empty() || other() {
            return Ok(());
        }
        if since.elapsed() > END {
            return Err(StageError::failed("clean", format!("process {pid} does not end")));
        }
        left.into_iter().for_each(kill);
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
