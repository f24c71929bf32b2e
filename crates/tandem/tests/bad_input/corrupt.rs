//! Damaged devices: an error that names the device, never a crash, a hang or wrong data.

use crate::common::program::Output;
use crate::common::volume::{Shape, Volume, skip};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

fn shape() -> Shape {
    Shape { meta: 16 << 20, data: 256 << 20, ..Shape::default() }
}

fn filled() -> Volume {
    let mut v = Volume::mounted(shape());
    for i in 0..300 {
        let dir = v.at(&format!("dir{}", i % 10));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join(format!("file{i}")), vec![i as u8; i * 100]).unwrap();
    }
    v.umount();
    v
}

#[track_caller]
fn in_order(out: &Output) {
    assert!(out.status.signal().is_none(), "killed: {out}");
    assert!(!out.text().contains("panicked"), "{out}");
}

fn wipe(path: &Path, off: u64, len: usize) {
    Volume::poke(path, off, |b| b.fill(0xa5), len);
}

#[test]
fn superblocks() {
    if skip() {
        return;
    }
    let mut v = filled();
    let size = std::fs::metadata(v.meta()).unwrap().len();
    let meta = v.meta().to_string_lossy().into_owned();
    // Either of them suffices, with a word about the other.
    wipe(&v.meta(), 0, 4096);
    let out = v.cli("check", &[]);
    in_order(&out);
    out.says(&["superblock"]);
    v.mount();
    assert_eq!(std::fs::read_dir(v.mnt()).unwrap().count(), 10);
    v.umount();
    // None of them does not.
    wipe(&v.meta(), size - 4096, 4096);
    wipe(&v.meta(), 0, 4096);
    for command in ["check", "info"] {
        let out = v.cli(command, &[]);
        in_order(&out);
        out.must_fail().says(&[&meta]);
    }
    v.try_mount("").must_fail().says(&[&meta]);
}

#[test]
fn checkpoints() {
    if skip() {
        return;
    }
    let mut v = filled();
    let meta = v.meta().to_string_lossy().into_owned();
    // An older checkpoint and the log after it lead to the same state, or it says that not.
    wipe(&v.meta(), 4096, 4096);
    in_order(&v.cli("check", &[]));
    let out = v.try_mount("");
    in_order(&out);
    if out.ok() {
        crate::common::volume::cli(&["umount", &v.mnt().to_string_lossy()]).must();
    }
    wipe(&v.meta(), 4096, 8192);
    let out = v.cli("check", &[]);
    in_order(&out);
    out.must_fail().says(&[&meta, "checkpoint"]);
    v.try_mount("").must_fail().says(&[&meta, "checkpoint"]);
    let _ = v.try_umount();
}

#[test]
fn any_bytes_of_the_log() {
    if skip() {
        return;
    }
    let v = filled();
    let whole = std::fs::read(v.meta()).unwrap();
    let used: Vec<usize> =
        (65_536..whole.len()).step_by(64).filter(|&i| whole[i..i + 64] != [0; 64]).collect();
    let mut x = 88_172_645_463_325_252u64;
    let mut random = move |below: usize| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x % below as u64) as usize
    };
    let mut found = 0;
    for round in 0..24 {
        let mut bytes = whole.clone();
        for _ in 0..[1, 8, 100][round % 3] {
            let at = used[random(used.len())] + random(64);
            bytes[at] ^= 1 << random(8);
        }
        std::fs::write(v.meta(), &bytes).unwrap();
        let out = v.cli("check", &[]);
        in_order(&out);
        found += usize::from(!out.ok());
        let out = v.try_mount("");
        in_order(&out);
        if out.ok() {
            let walk = crate::common::program::sh(&format!(
                "find {0} -type f -exec cat {{}} + | wc -c; touch {0}/x; rm -rf {0}/dir3 || true",
                v.mnt().display()
            ));
            assert!(walk.status.signal().is_none());
            in_order(&crate::common::volume::cli(&["umount", &v.mnt().to_string_lossy()]));
        }
    }
    // A flipped bit in a block that nothing refers to any more goes unnoticed, rightly.
    assert!(found > 8, "check noticed {found} of 24 damages");
    std::fs::write(v.meta(), &whole).unwrap();
    v.try_check().unwrap();
}

#[test]
fn the_data_label() {
    if skip() {
        return;
    }
    let v = filled();
    let data = v.data().to_string_lossy().into_owned();
    wipe(&v.data(), 0, 4096);
    for out in [v.cli("check", &[]), v.try_mount("")] {
        in_order(&out);
        out.must_fail().says(&[&data]);
    }
}
