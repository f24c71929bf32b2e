//! `tandem disk` as it is called.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tandem-disk/data/disks").join(name)
}

fn tandem(args: &[&dyn AsRef<std::ffi::OsStr>]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tandem"));
    command.arg("disk");
    for arg in args {
        command.arg(arg);
    }
    command.output().unwrap()
}

fn json(args: &[&dyn AsRef<std::ffi::OsStr>]) -> serde_json::Value {
    let output = tandem(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn validate_prints_the_demerit() {
    let (trace, specs) = (data("cheetah9LP.trace"), data("cheetah9LP.diskspecs"));
    let found = json(&[&"validate", &trace, &"--profile", &specs, &"--json"]);
    let demerit = found["demerit"].as_f64().unwrap();
    assert!((0.0..0.03).contains(&demerit), "{demerit}");
    let text = tandem(&[&"validate", &trace, &"--profile", &"st39102lw"]);
    assert!(String::from_utf8_lossy(&text.stdout).contains("demerit 2.5"));
}

#[test]
fn converted_traces_replay_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let own = dir.path().join("t.tdt.zst");
    let binary = dir.path().join("t.blktrace.0");
    let trace = data("barracuda.trace");
    assert!(tandem(&[&"convert", &trace, &own]).status.success());
    assert!(tandem(&[&"convert", &own, &binary]).status.success());
    let replay = |trace: &Path| json(&[&"replay", &trace, &"--profile", &"hdd20t", &"--json"]);
    let expected = replay(&trace);
    assert_eq!(expected["requests"], 10_000);
    assert_eq!(replay(&own), expected);
    assert_eq!(replay(&binary), expected);
}

#[test]
fn every_request_in_a_csv() {
    let dir = tempfile::tempdir().unwrap();
    let csv = dir.path().join("times.csv");
    let trace = data("barracuda.trace");
    assert!(tandem(&[&"replay", &trace, &"-p", &"ram", &"--csv", &csv]).status.success());
    let text = std::fs::read_to_string(&csv).unwrap();
    assert_eq!(text.lines().count(), 10_001);
    assert!(text.starts_with("request,operation,sector"));
}

#[test]
fn what_cannot_be_is_said() {
    let trace = data("cheetah9LP.trace");
    let said = |args: &[&dyn AsRef<std::ffi::OsStr>]| {
        let output = tandem(args);
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let text = said(&[&"replay", &trace, &"--profile", &"nothing"]);
    assert!(text.contains("hdd20t"), "{text}");
    let text = said(&[&"replay", &trace, &"--profile", &"st34310a"]);
    assert!(text.contains("--scale"), "{text}");
    let text = said(&[&"convert", &trace, &"/tmp/x.unknown"]);
    assert!(text.contains("--to"), "{text}");
    let text = said(&[&"replay", &data("barracuda.seek"), &"--profile", &"ram"]);
    assert!(text.contains("no known format"), "{text}");
    let scaled = tandem(&[&"replay", &trace, &"--profile", &"st34310a", &"--scale"]);
    assert!(scaled.status.success());
}
