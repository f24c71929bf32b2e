//! Processes that a workload leaves behind: whatever their session, this process is their reaper.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::{Pid, WaitOptions};

use crate::measure::Process;
use crate::stage::{StageError, trail};

/// The numbers of all that descends from this process.
pub(super) fn family() -> BTreeSet<u32> {
    strangers(&BTreeSet::new()).into_iter().map(|process| process.pid).collect()
}

/// Ends whatever descends from this process, but for those of `keep` and what descends from them,
/// and says their names.
///
/// # Errors
/// One does not end.
pub(super) fn end(keep: &BTreeSet<u32>) -> Result<Vec<String>, StageError> {
    let alive = || -> Vec<Process> {
        strangers(keep).into_iter().filter(|process| !process.ended()).collect()
    };
    let names = alive().into_iter().map(|process| process.name).collect();
    trail::until_gone(alive)?;
    for process in strangers(keep) {
        if let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) {
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
    Ok(names)
}

fn strangers(keep: &BTreeSet<u32>) -> Vec<Process> {
    let mut children: BTreeMap<u32, Vec<Process>> = BTreeMap::new();
    for process in Process::all().into_values().filter(|process| !keep.contains(&process.pid)) {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = children.remove(&std::process::id()).unwrap_or_default();
    let mut at = 0;
    while let Some(process) = found.get(at) {
        let next = children.remove(&process.pid);
        found.extend(next.into_iter().flatten());
        at += 1;
    }
    found
}
