//! A lab that is killed at random moments and goes on makes the same runs, each once.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::common::random::Random;
use super::{TANDEM, able, lab, records};

const KILLS: u32 = 10;

const STUDY: &str = r#"
name = "small"
title = "Something quick"
workload = "io-bound"
parameters = { count = 40 }
[factors]
filesystem = ["ext2", "ext4"]
disk = ["st34310a", "ram"]
[scale.quick]
repetitions = 3
size = "32M"
"#;

#[test]
fn killed_and_resumed() {
    if !able() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let study = dir.path().join("small.toml");
    fs::write(&study, STUDY).unwrap();
    let study = study.to_str().unwrap();
    let wanted = wanted(study);
    assert_eq!(wanted.len(), 12);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut random = Random::new(now.as_millis() as u64);
    let mut kills = 0;
    for folder in 0.. {
        let out = dir.path().join(format!("out{folder}"));
        let out = out.to_str().unwrap();
        while kills < KILLS && killed(study, out, &mut random) {
            kills += 1;
        }
        lab(&["run", study, "--beside", "--out", out]).must();
        assert_eq!(made(Path::new(out)), wanted, "after {kills} kills");
        nothing_left(Path::new(out));
        if kills == KILLS {
            break;
        }
    }
}

/// The identity of every run of the study, once.
fn wanted(study: &str) -> BTreeMap<String, u32> {
    let shown = lab(&["show", study, "--json"]).must();
    let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
    let ids = shown["configurations"].as_array().unwrap().iter().map(|one| &one["id"]);
    let ids = ids.flat_map(|id| (1..=3).map(move |nth| format!("{}-{nth}", id.as_str().unwrap())));
    ids.map(|id| (id, 1)).collect()
}

/// How many records each run has; every one of them done.
fn made(out: &Path) -> BTreeMap<String, u32> {
    let mut made = BTreeMap::new();
    for record in records(out) {
        assert_eq!(record["status"]["status"], "done", "{record:#}");
        *made.entry(record["id"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    made
}

/// Runs the lab until some more records are there, and a moment longer; was it killed before its end?
fn killed(study: &str, out: &str, random: &mut Random) -> bool {
    let records = || {
        let text = fs::read(Path::new(out).join("records.jsonl")).unwrap_or_default();
        text.iter().filter(|byte| **byte == b'\n').count()
    };
    let until = records() + random.below(3);
    let mut lab = Command::new(TANDEM)
        .args(["lab", "run", study, "--beside", "--out", out])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while records() < until && lab.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(random.below(1500) as u64));
    lab.kill().unwrap();
    lab.wait().unwrap().code().is_none()
}

pub fn nothing_left(out: &Path) {
    let out = out.canonicalize().unwrap();
    let out = out.to_str().unwrap();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(out), "{mounts}");
    for entry in fs::read_dir("/sys/block").unwrap() {
        let backing = entry.unwrap().path().join("loop/backing_file");
        let file = fs::read_to_string(backing).unwrap_or_default();
        assert!(!file.contains(out), "{file}");
    }
    for entry in fs::read_dir("/proc").unwrap() {
        let line = fs::read(entry.unwrap().path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        assert!(!line.contains(out), "{line}");
    }
    assert!(!Path::new(out).join("work").exists());
}
