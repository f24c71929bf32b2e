//! What a workload leaves running ends with its run, in whatever session it is.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::common::program::have_all;
use super::kill::nothing_left;
use super::{TANDEM, able, lab, records};

/// A step of that command, after preparations that leave something asleep for so long, too.
fn study(dir: &Path, name: &str, prepared: u32, command: &str) -> String {
    let text = format!(
        r#"
name = "{name}"
title = "Something that stays"
workload = "command"
[parameters]
prepare = "setsid sleep {prepared}.{id} & echo > file"
steps = [
    {{ name = "first", command = """{command}""" }},
    {{ name = "then", command = "test -e there", cold = true }},
]
[factors]
filesystem = ["ext2"]
disk = ["st34310a"]
[scale.quick]
repetitions = 3
size = "16M"
"#,
        id = std::process::id(),
    );
    let path = dir.join(format!("{name}.toml"));
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Processes that sleep so long, of this test's.
fn asleep(seconds: u32) -> usize {
    let wanted = format!("sleep\0{seconds}.{}\0", std::process::id());
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let is = |entry: &fs::DirEntry| {
        fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == wanted.as_bytes())
    };
    entries.filter(is).count()
}

/// A lab that ends by SIGKILL.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn gone_after_the_run() {
    if !able() || !have_all(&["setsid"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let id = std::process::id();
    for (name, command, ends) in [
        ("done", format!("touch there; setsid sleep 602.{id} & sleep 0.2"), "done"),
        ("failed", format!("setsid sleep 602.{id} & sleep 0.2; exit 1"), "failed"),
    ] {
        let study = study(dir.path(), name, 601, &command);
        let out = dir.path().join(name);
        lab(&["run", &study, "--trial", "--beside", "--out", out.to_str().unwrap()]);
        let record = &records(&out)[0];
        assert_eq!(record["status"]["status"], ends, "{record:#}");
        let marked = record["flags"].as_array().unwrap().iter().any(|flag| {
            flag["rule"] == "left-behind" && flag["text"].as_str().unwrap().contains("sleep")
        });
        assert_eq!(marked, ends == "done", "{record:#}");
        assert_eq!((asleep(601), asleep(602)), (0, 0), "{name}");
        nothing_left(&out);
    }
}

#[test]
fn gone_after_a_kill() {
    if !able() || !have_all(&["setsid"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (id, again) = (std::process::id(), dir.path().join("again"));
    let again = again.to_str().unwrap();
    let command =
        format!("touch there; test -e {again} || {{ setsid sleep 603.{id} & sleep 604.{id}; }}");
    let study = study(dir.path(), "killed", 605, &command);
    let out = dir.path().join("out");
    let run = ["lab", "run", &study, "--trial", "--beside", "--out", out.to_str().unwrap()];
    let mut command = Command::new(TANDEM);
    let killed = command.args(run).stdout(Stdio::null()).stderr(Stdio::null());
    let killed = Killed(killed.spawn().unwrap());
    let since = Instant::now();
    while (asleep(603), asleep(604)) != (1, 1) {
        assert!(since.elapsed() < Duration::from_secs(100), "does not come that far");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(killed);
    assert_eq!(asleep(603), 1, "nothing of the lab's is there to end it");
    fs::write(again, "").unwrap();
    lab(&run[1..]).must();
    assert_eq!((asleep(603), asleep(604), asleep(605)), (0, 0, 0));
    assert_eq!(records(&out).len(), 1);
    nothing_left(&out);
}
