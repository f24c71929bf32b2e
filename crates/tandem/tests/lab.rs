//! `tandem lab`: what it says of bad input, what it refuses to begin, how often it repeats, what a run
//! leaves behind, and that a kill loses nothing.

mod common;
#[path = "lab/kill.rs"]
mod kill;
#[path = "lab/left.rs"]
mod left;
#[path = "lab/refused.rs"]
mod refused;
#[path = "lab/repeat.rs"]
mod repeat;
#[path = "lab/rootless.rs"]
mod rootless;
#[path = "lab/sync.rs"]
mod sync;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::program::{Output, run};

const TANDEM: &str = env!("CARGO_BIN_EXE_tandem");

fn lab(args: &[&str]) -> Output {
    run(Command::new(TANDEM).arg("lab").args(args))
}

/// Can runs be made here?
fn able() -> bool {
    let here = |path: &str| Path::new(path).exists();
    let able =
        rustix::process::geteuid().is_root() && here("/dev/fuse") && here("/dev/loop-control");
    if !able {
        eprintln!("skipped: root, /dev/fuse and loop devices are needed");
    }
    able
}

/// Every record of a results folder, in the order in which they were made.
fn records(out: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(out.join("records.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn studies_are_listed_and_shown() {
    let listed = lab(&["list", "--json"]).must();
    let studies: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    let names: Vec<&str> =
        studies.as_array().unwrap().iter().map(|study| study["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 7);
    for name in names {
        for scale in ["quick", "full"] {
            let shown = lab(&["show", name, "--scale", scale, "--json"]).must();
            let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
            assert!(shown["runs"].as_u64().unwrap() >= 3, "{name} {scale}");
            assert_eq!(shown["configurations"][0]["id"].as_str().unwrap().len(), 12);
        }
    }
}

#[test]
fn bad_input_is_told() {
    lab(&["show", "nothing"]).must_fail().says(&["nothing", "dualfs-micro", "path"]);
    lab(&["show", "bonnie", "--scale", "huge"]).must_fail().says(&["huge", "full, quick"]);
    lab(&["show", "bonnie", "--only", "filesystem"]).must_fail().says(&["FACTOR=LEVEL"]);
    lab(&["show", "bonnie", "--only", "filesystem=zfs"]).must_fail().says(&["zfs", "ext2"]);
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let out = out.to_str().unwrap();
    lab(&["run", "--out", out]).must_fail().says(&["no study", "tandem lab list"]);
    lab(&["run", "bonnie", "bonnie", "--out", out]).must_fail().says(&["twice"]);
    lab(&["run", "bonnie", "--repetitions", "2", "--out", out]).must_fail().says(&["--trial"]);
    fs::write(dir.path().join("study.toml"), "name = 5\n").unwrap();
    let path = dir.path().join("study.toml");
    lab(&["run", path.to_str().unwrap(), "--out", out]).must_fail().says(&["study.toml:1: name"]);
    let here = dir.path().to_str().unwrap();
    lab(&["run", "bonnie", "--out", here]).must_fail().says(&["no results folder", "not empty"]);
}

#[test]
fn results_that_are_none_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path().to_str().unwrap();
    lab(&["report", here]).must_fail().says(&["no results folder", "lab.json"]);
    lab(&["compare", here, here]).must_fail().says(&["no results folder", "lab.json"]);
    lab(&["compare", here, here, "--metric", "speed"]).must_fail().says(&["io_seconds"]);
    lab(&["compare", here, here, "--level", "100"]).must_fail().says(&["95"]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn doctor_says_what_is_there() {
    let said = lab(&["doctor", "--json"]).must();
    let rows: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let never: Vec<_> =
        rows.as_array().unwrap().iter().filter(|row| row["state"] == "never").collect();
    assert_eq!(never.len(), 2, "Reiser4 and the Spad kernel");
    lab(&["doctor"]).must().says(&["file systems", "ext2", "Reiser4"]);
}
