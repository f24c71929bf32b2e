//! What can be run without root's rights is run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::TANDEM;

const STUDY: &str = r#"
name = "rootless"
title = "In a guest"
workload = "io-bound"
parameters = { count = 40 }
[factors]
filesystem = ["ext2"]
disk = ["st34310a"]
[scale.quick]
repetitions = 3
size = "32M"
"#;

/// `nobody`, as Debian numbers it.
const NOBODY: &str = "65534";

#[test]
fn a_guest_needs_no_root() {
    let here = |program: &str| Path::new("/usr/bin").join(program).exists();
    let all = ["linux.uml", "fusermount3", "setpriv"].into_iter().all(here);
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/fuse").exists() || !all {
        eprintln!("skipped: root, /dev/fuse, linux.uml, fusermount3 and setpriv are needed");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let open =
        |path: &Path, bits: u32| fs::metadata(path).unwrap().permissions().mode() & bits == bits;
    let reached = dir.path().ancestors().skip(1).all(|above| open(above, 0o001));
    if !reached || !open(Path::new("/dev/fuse"), 0o006) {
        eprintln!("skipped: nobody may not use /dev/fuse or the directory for temporary files");
        return;
    }
    let everybody = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o777));
    everybody(dir.path()).unwrap();
    // The program may lie where only root may enter.
    let tandem = dir.path().join("tandem");
    fs::copy(TANDEM, &tandem).unwrap();
    everybody(&tandem).unwrap();
    let study = dir.path().join("rootless.toml");
    fs::write(&study, STUDY).unwrap();
    let out = dir.path().join("out");
    let run = Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
        .arg(&tandem)
        .args(["lab", "run", "--trial", "--beside", "--out"])
        .args([&out, &study])
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    let records = fs::read_to_string(out.join("records.jsonl")).unwrap();
    let record: serde_json::Value = serde_json::from_str(records.trim()).unwrap();
    assert_eq!(record["status"]["status"], "done", "{record:#}");
    let phases = record["phases"].as_array().unwrap();
    let read = phases.iter().flat_map(|phase| phase["devices"].as_array().unwrap());
    assert!(read.map(|device| device["read_sectors"].as_u64().unwrap()).sum::<u64>() > 0);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(dir.path().to_str().unwrap()), "{mounts}");
}
