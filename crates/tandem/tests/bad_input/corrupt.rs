//! Damaged devices: an error that names the device, never a crash, a hang or wrong data.

use crate::common::program::Output;
use crate::common::volume::{Shape, Volume, cli, skip};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

fn shape() -> Shape {
    Shape { meta: 16 << 20, data: 256 << 20, ..Shape::default() }
}

fn filled() -> Volume {
    filled_with(shape())
}

fn filled_with(shape: Shape) -> Volume {
    let mut v = Volume::mounted(shape);
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
    let smaller = vec!["--metadata-size".to_owned(), "8M".to_owned()];
    for shape in [
        shape(),
        Shape { mkfs: smaller.clone(), ..shape() },
        Shape { meta: 256 << 20, data: 0, ..shape() },
        Shape { meta: 256 << 20, data: 0, mkfs: smaller, ..shape() },
    ] {
        let mut v = filled_with(shape);
        let meta = v.meta().to_string_lossy().into_owned();
        let mut page = vec![0; 4096];
        File::open(v.meta()).and_then(|f| f.read_exact_at(&mut page, 0)).unwrap();
        let second = tandem_format::Superblock::decode(&page).unwrap().geometry().superblock_b();
        // Either of them suffices, with a word about the other.
        wipe(&v.meta(), second, 4096);
        v.cli("check", &[]).must_fail().says(&["second superblock"]);
        Volume::poke(&v.meta(), second, |b| b.copy_from_slice(&page), 4096);
        v.try_check().unwrap();
        Volume::poke(&v.meta(), 0, |b| b.fill(0), 4096);
        v.cli("check", &[]).must_fail().says(&["first superblock", "its copy serves"]);
        v.cli("info", &[]).must().says(&["clean"]);
        cli(&["dump", &meta, "superblock"]).must().says(&["superblock B", "format version"]);
        cli(&["dump", &meta, "dir", "/"]).must().says(&["dir3"]);
        v.mount();
        assert_eq!(std::fs::read_dir(v.mnt()).unwrap().count(), 10);
        v.umount();
        v.mkfs().must_fail().says(&[&meta, "--force"]);
        // None of them does not, and nobody is told to make a new volume.
        wipe(&v.meta(), second, 4096);
        for out in [v.cli("check", &[]), v.cli("info", &[]), v.try_mount("")] {
            in_order(&out);
            assert!(!out.text().contains("mkfs"), "{out}");
            out.must_fail().says(&[&meta, "both superblocks"]);
        }
    }
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
