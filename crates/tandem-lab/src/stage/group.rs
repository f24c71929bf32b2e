//! A control group around what a run starts: the bound on the memory that it may fill.
//!
//! In it are the agent, workers, what they start, and a file system's daemons; page cache, slabs and
//! whatever else is charged to them counts. Emulated disks are not in it: they are the drive.

mod hierarchy;

use std::fs;
use std::hash::Hasher;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use siphasher::sip::SipHasher13;

use super::{StageError, trail};
use crate::agent::Report;
use hierarchy::{Hierarchy, Version};

/// How long killed members may take to be gone.
const END: Duration = Duration::from_secs(10);

/// How the names of all groups begin.
const NAME: &str = "tandem-lab-";

/// A control group; whoever is in it is killed, and it is removed, at the end.
pub(super) struct Group {
    dir: PathBuf,
    version: Version,
    /// Files and what was written to them.
    set: Vec<(PathBuf, String)>,
}

impl Group {
    /// Of the run whose stage is `stage`, with at most `bound` bytes.
    ///
    /// # Errors
    /// [`StageError::Missing`] where there is no such group to be had, and why.
    pub fn new(stage: &Path, bound: u64) -> Result<Group, StageError> {
        let missing = |why| StageError::Missing { what: format!("{WHAT} ({why})"), package: None };
        let hierarchy = Hierarchy::find().map_err(missing)?;
        let name = name(stage);
        // Noted before it is there: a note may be ahead of what there is, never behind.
        let places: Vec<PathBuf> = hierarchy.parents().map(|dir| dir.join(&name)).collect();
        trail::note_groups(stage, &places)?;
        let dir = hierarchy.make(&name).map_err(missing)?;
        let mut group = Group { dir, version: hierarchy.version, set: Vec::new() };
        for (file, value) in group.version.limits(bound) {
            let file = group.dir.join(file);
            // Kernels without swap accounting do not have the second.
            if group.set.is_empty() || file.exists() {
                let written = fs::write(&file, &value);
                written.map_err(|e| {
                    StageError::failed(format!("write {value} to {}", file.display()), e)
                })?;
                group.set.push((file, value));
            }
        }
        Ok(group)
    }

    /// Who writes 0 to it is in the group, with everything that it starts from then on.
    pub fn members(&self) -> PathBuf {
        self.dir.join(MEMBERS)
    }

    /// What set the bound, as a shell would be told.
    pub fn commands(&self) -> impl Iterator<Item = String> {
        self.set.iter().map(|(file, value)| format!("echo {value} > {}", file.display()))
    }

    /// Members that the kernel has killed for want of memory.
    pub fn killed(&self) -> u64 {
        let text = fs::read_to_string(self.dir.join(self.version.events())).unwrap_or_default();
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // What cannot be removed now, `clean` finds again.
        let _ = remove(&self.dir);
    }
}

/// The report of a run that came to its end, and of which nothing was killed for want of memory.
pub(super) fn whole(
    report: Result<Report, StageError>,
    group: Option<&Group>,
) -> Result<Report, StageError> {
    let killed = group.map_or(0, Group::killed);
    match report.and_then(Report::whole) {
        Ok(_) if killed > 0 => {
            Err(StageError::failed("memory", "And yet all was done.").starved(killed))
        }
        ended => ended.map_err(|error| error.starved(killed)),
    }
}

/// What is missing where no group can be had.
pub(crate) const WHAT: &str = "a control group for memory";

/// The file that lists who is in a group.
const MEMBERS: &str = "cgroup.procs";

/// Where groups are made, or why they cannot be: one is made and removed.
pub(crate) fn probe() -> Result<String, String> {
    let hierarchy = Hierarchy::find()?;
    let dir = hierarchy.make(&format!("{NAME}probe-{:08x}", fastrand::u32(..)))?;
    fs::remove_dir(&dir).map_err(|e| format!("remove {}: {e}", dir.display()))?;
    let parent = dir.parent().unwrap_or(&dir).display();
    Ok(format!("{}, under {parent}", hierarchy.version.name()))
}

/// A name that depends on the place of the stage.
fn name(stage: &Path) -> String {
    let mut hasher = SipHasher13::new();
    hasher.write(stage.as_os_str().as_encoded_bytes());
    format!("{NAME}{:012x}", hasher.finish() >> 16)
}

/// Kills whoever is in the group, and removes it if it is there.
pub(super) fn remove(dir: &Path) -> Result<(), StageError> {
    let ours =
        dir.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(NAME.as_bytes()));
    let since = Instant::now();
    while ours && dir.join(MEMBERS).exists() {
        let members = fs::read_to_string(dir.join(MEMBERS)).unwrap_or_default();
        members.lines().filter_map(|pid| pid.parse().ok()).for_each(trail::kill);
        match fs::remove_dir(dir) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                if since.elapsed() > END {
                    return Err(StageError::failed(format!("remove {}", dir.display()), error));
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            _ => break,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_bounds_and_goes() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: not root");
            return;
        }
        let stage = tempfile::tempdir().unwrap();
        let group = match Group::new(stage.path(), 64 << 20) {
            Ok(group) => group,
            Err(error) => return eprintln!("skipped: {error}"),
        };
        let dir = group.dir.clone();
        let limit = fs::read_to_string(&group.set[0].0).unwrap();
        assert_eq!(limit.trim(), (64 << 20).to_string());
        assert_eq!(group.killed(), 0);
        assert!(group.commands().next().unwrap().starts_with("echo 67108864 > /"));
        // A member does not keep it.
        let mut member = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        fs::write(group.members(), member.id().to_string()).unwrap();
        drop(group);
        assert!(!dir.exists());
        assert!(!member.wait().unwrap().success());
        // A note that is ahead of what there is, and another's group.
        remove(&dir).unwrap();
        remove(dir.parent().unwrap()).unwrap();
        assert!(dir.parent().unwrap().exists());
    }

    #[test]
    fn what_wants_more_is_killed_and_counted() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: not root");
            return;
        }
        let stage = tempfile::tempdir().unwrap();
        let group = match Group::new(stage.path(), 64 << 20) {
            Ok(group) => group,
            Err(error) => return eprintln!("skipped: {error}"),
        };
        // `tail` keeps what has no line in memory.
        let script =
            format!("echo 0 > {}; head -c 200M /dev/zero | tail", group.members().display());
        let status = std::process::Command::new("sh").args(["-c", &script]).status().unwrap();
        assert!(!status.success());
        assert!(group.killed() > 0);
    }
}
