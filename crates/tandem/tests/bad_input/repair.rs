//! `check --repair` and `fsck.tandem`: what they ask, write and return.

use std::path::Path;
use std::process::Command;

use crate::common::program::{Output, run};
use crate::common::volume::{Shape, Volume, skip, tandem};

fn filled() -> Volume {
    let mut v = Volume::mounted(Shape { meta: 16 << 20, data: 256 << 20, ..Shape::default() });
    for i in 0..200 {
        let dir = v.at(&format!("dir{}", i % 10));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join(format!("file{i}")), vec![i as u8; i * 100]).unwrap();
    }
    v.umount();
    v
}

fn lose_checkpoints(v: &Volume) {
    Volume::poke(&v.meta(), 4096, |b| b.fill(0xa5), 8192);
}

#[track_caller]
fn ends_with(out: Output, status: i32) -> Output {
    assert_eq!(out.status.code(), Some(status), "{out}");
    out
}

#[test]
fn nothing_without_a_yes() {
    if skip() {
        return;
    }
    let v = filled();
    ends_with(v.cli("check", &["--repair", "--yes"]), 0);
    lose_checkpoints(&v);
    let before = std::fs::read(v.meta()).unwrap();
    ends_with(v.cli("check", &[]), 8);
    ends_with(v.cli("check", &["--repair"]), 16).says(&["--yes", "--dry-run"]);
    ends_with(v.cli("check", &["--yes"]), 16);
    ends_with(v.cli("check", &["--repair", "--yes", "--dry-run"]), 16);
    ends_with(v.cli("check", &["--repair", "--dry-run"]), 4).says(&["log", "nothing was written"]);
    assert!(std::fs::read(v.meta()).unwrap() == before, "something was written");
}

#[test]
fn repaired() {
    if skip() {
        return;
    }
    let mut v = filled();
    lose_checkpoints(&v);
    let out = ends_with(v.cli("check", &["--repair", "--yes", "--json"]), 1);
    let report: serde_json::Value = serde_json::from_str(&out.out).unwrap();
    assert_eq!(report["made"], true);
    assert_eq!(report["repairs"]["counts"]["log"], 1);
    assert_eq!(report["after"]["problems_total"], 0);
    ends_with(v.cli("check", &[]), 0);
    v.mount();
    for i in 0..200 {
        let path = v.at(&format!("dir{}/file{i}", i % 10));
        assert_eq!(std::fs::read(path).unwrap(), vec![i as u8; i * 100]);
    }
    ends_with(v.cli("check", &["--repair", "--yes"]), 8).says(&["mounted"]);
    v.umount();
}

/// Runs the program under the name by which fsck(8) calls it.
fn fsck(dir: &Path, v: &Volume, flags: &[&str]) -> Output {
    let name = dir.join("fsck.tandem");
    if !name.exists() {
        std::os::unix::fs::symlink(tandem(), &name).unwrap();
    }
    let (meta, data) = (v.meta(), v.data());
    run(Command::new(name).args(flags).arg(meta).arg("--data").arg(data))
}

#[test]
fn as_fsck_calls_it() {
    if skip() {
        return;
    }
    let v = filled();
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    for flags in [&["-a"][..], &["-n"], &["-y"], &["-p", "-C", "0"], &["-f"], &["-T", "-M"]] {
        ends_with(fsck(dir, &v, flags), 0);
    }
    ends_with(fsck(dir, &v, &["-q"]), 16);
    ends_with(fsck(dir, &v, &["-n", "-y"]), 16);
    lose_checkpoints(&v);
    ends_with(fsck(dir, &v, &["-a"]), 4).says(&["--repair"]);
    ends_with(fsck(dir, &v, &["-n"]), 8);
    ends_with(fsck(dir, &v, &["-y"]), 1);
    ends_with(fsck(dir, &v, &["-y"]), 0);
    ends_with(fsck(dir, &v, &["-a"]), 0);
}
