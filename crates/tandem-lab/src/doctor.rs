//! What can be measured on this machine, what is missing, and what works without it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::known;
use crate::peer::{self, Lack, Peer, World};
use crate::stage::{group, program};
use crate::workload::{self, WorkloadSpec};

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is there.
    Here,
    /// It is not, and could be.
    Missing,
    /// It cannot be had.
    Never,
}

/// One thing that the lab uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// `system`, `file system` or `workload`.
    pub group: &'static str,
    /// What it is.
    pub what: String,
    /// How it stands.
    pub state: State,
    /// Where it runs, or what is missing of it.
    pub detail: String,
    /// Debian packages that bring what is missing.
    pub packages: Vec<String>,
    /// What is lost without it.
    pub without: String,
}

/// Everything that the lab uses.
pub fn examine() -> Vec<Row> {
    let mut rows = system();
    rows.extend(peer::ALL.iter().map(file_system));
    rows.extend(known::workloads().into_iter().map(work));
    rows
}

/// Packages that would bring all that is missing, each once.
pub fn packages(rows: &[Row]) -> Vec<String> {
    let mut all: Vec<String> = rows.iter().flat_map(|row| row.packages.clone()).collect();
    all.sort();
    all.dedup();
    all
}

fn system() -> Vec<Row> {
    let root = rustix::process::geteuid().is_root();
    let here = |path: &str| Path::new(path).exists();
    let row = |what: &str, state: bool, package: Option<&str>, without: &str| Row {
        group: "system",
        what: what.to_owned(),
        state: if state { State::Here } else { State::Missing },
        detail: String::new(),
        packages: package.filter(|_| !state).map(str::to_owned).into_iter().collect(),
        without: if state { String::new() } else { without.to_owned() },
    };
    let uml = program::find(crate::guest::KERNEL).is_some();
    let browser =
        program::find("chromium-headless-shell").is_some() || program::find("chromium").is_some();
    vec![
        row(
            "root's rights",
            root,
            None,
            "nothing runs on the running kernel; what a User-Mode Linux guest has still does",
        ),
        row(
            "/dev/fuse",
            here("/dev/fuse"),
            Some("fuse3"),
            "no emulated disk, no Tandem, NTFS or fuse2fs",
        ),
        row(
            "loop devices",
            here("/dev/loop-control"),
            None,
            "nothing runs on the running kernel; what a User-Mode Linux guest has still does",
        ),
        row(
            "User-Mode Linux",
            uml,
            Some(peer::UML_PACKAGE),
            "ReiserFS, JFS and others that the running kernel lacks are skipped",
        ),
        memory(),
        row(
            "tracefs",
            here("/sys/kernel/tracing") || here("/sys/kernel/debug/tracing"),
            None,
            "tandem disk trace cannot capture real devices; the lab's runs are traced all the same, \
             by the emulated disk",
        ),
        row(
            "a headless browser",
            browser,
            Some("chromium-headless-shell"),
            "only the test of the report's page is skipped",
        ),
    ]
}

/// What bounds memory on the running kernel.
fn memory() -> Row {
    let found = group::probe();
    let without = "runs with a bound on their memory are skipped, but for those in User-Mode Linux";
    Row {
        group: "system",
        what: group::WHAT.to_owned(),
        state: if found.is_ok() { State::Here } else { State::Missing },
        without: if found.is_ok() { String::new() } else { without.to_owned() },
        detail: found.unwrap_or_else(|why| why),
        packages: Vec::new(),
    }
}

fn file_system(peer: &Peer) -> Row {
    let mut row = Row {
        group: "file system",
        what: peer.title.to_owned(),
        state: State::Here,
        detail: String::new(),
        packages: Vec::new(),
        without: String::new(),
    };
    if let Some(reason) = peer.absent {
        (row.state, row.detail) = (State::Never, reason.to_owned());
        row.without = "its rows stay empty".to_owned();
        return row;
    }
    let worlds = [World::Host, World::Uml].map(|world| (world, peer.lacks(world)));
    let runs: Vec<&str> = worlds
        .iter()
        .filter(|(_, lacks)| lacks.is_empty())
        .map(|(world, _)| match world {
            World::Host => "running kernel",
            World::Uml => "User-Mode Linux",
        })
        .collect();
    if !runs.is_empty() {
        row.detail = runs.join(", ");
        return row;
    }
    // What would bring it soonest: the world that lacks least.
    let least = worlds.into_iter().min_by_key(|(_, lacks)| lacks.len());
    let lacks = least.map(|(_, lacks)| lacks).unwrap_or_default();
    row.state = State::Missing;
    row.detail = told(lacks.iter().map(|lack| lack.what.as_str()));
    row.packages = lacks.into_iter().filter_map(|lack: Lack| lack.package).collect();
    row.without = "its runs are skipped".to_owned();
    row
}

fn work(name: &'static str) -> Row {
    let spec =
        WorkloadSpec { name: name.to_owned(), parameters: BTreeMap::new(), processes: 1, seed: 0 };
    // A workload that must be told more (a command) lacks nothing that could be known here.
    let missing = workload::missing(&spec).unwrap_or_default();
    let here = missing.is_empty();
    Row {
        group: "workload",
        what: name.to_owned(),
        state: if here { State::Here } else { State::Missing },
        detail: told(missing.iter().map(|missing| missing.what.as_str())),
        packages: missing.into_iter().filter_map(|missing| missing.package).collect(),
        without: if here { String::new() } else { "its runs are skipped".to_owned() },
    }
}

fn told<'w>(what: impl Iterator<Item = &'w str>) -> String {
    let what: Vec<&str> = what.collect();
    if what.is_empty() { String::new() } else { format!("no {}", what.join(", no ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_its_row() {
        let rows = examine();
        for peer in peer::ALL {
            assert!(rows.iter().any(|row| row.what == peer.title), "{}", peer.title);
        }
        for row in &rows {
            let whole = row.state == State::Here;
            assert_eq!(whole, row.without.is_empty(), "{row:?}");
            assert!(!whole || row.packages.is_empty(), "{row:?}");
        }
        let never: Vec<_> = rows.iter().filter(|row| row.state == State::Never).collect();
        assert!(never.iter().any(|row| row.what.contains("Reiser4")), "{never:?}");
        assert!(never.iter().any(|row| row.what.contains("Spad")), "{never:?}");
        assert!(never.iter().all(|row| !row.detail.is_empty()));
    }
}
