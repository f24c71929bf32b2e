//! What a phase has written is on the devices at its end, without an unmount, too.

use std::fs;

use super::{able, lab, records};

/// `fuse2fs` writes through the page cache of a device of which the kernel's mount does not know.
const STUDY: &str = r#"
name = "warm"
title = "Two warm phases"
workload = "command"
[parameters]
steps = [
    { name = "write", command = "dd if=/dev/zero of=file bs=1M count=8 2>/dev/null" },
    { name = "rest", command = ":" },
]
[factors]
filesystem = ["ext2", "tandem", "ntfs-3g", "fuse2fs"]
disk = ["ram"]
[scale.quick]
repetitions = 3
size = "64M"
"#;

#[test]
fn written_by_its_own_phase() {
    if !able() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let study = dir.path().join("warm.toml");
    fs::write(&study, STUDY).unwrap();
    let out = dir.path().join("out");
    let out_dir = out.to_str().unwrap();
    lab(&["run", study.to_str().unwrap(), "--trial", "--beside", "--out", out_dir]).must();
    for record in records(&out) {
        if record["status"]["status"] == "skipped" {
            eprintln!("skipped: {record}");
            continue;
        }
        let written = |at: usize| -> u64 {
            let devices = record["phases"][at]["devices"].as_array().unwrap();
            devices.iter().map(|device| device["write_sectors"].as_u64().unwrap()).sum()
        };
        let sectors = 8 << 20 >> 9;
        assert!(written(0) >= sectors && written(1) < sectors / 8, "{record:#}");
    }
}
