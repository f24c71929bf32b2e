//! Reading everything: of a mounted volume, and of one that is not.

mod common;

use common::random::Random;
use common::sys::*;
use common::users::ALICE;
use common::volume::{Shape, Volume, cli, skip, tandem};
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..len.div_ceil(4)).flat_map(|_| (random.next() as u32).to_le_bytes()).take(len).collect()
}

fn filled() -> Volume {
    let v = Volume::mounted(Shape { meta: 64 << 20, data: 256 << 20, ..Shape::default() });
    for d in 0..10 {
        mkdir(v.at(&format!("d{d}")), 0o755).unwrap();
        for f in 0..30 {
            let path = v.at(&format!("d{d}/file{f}"));
            std::fs::write(&path, bytes(1 + f * f * 97, d * 100 + f as u64)).unwrap();
        }
    }
    std::fs::write(v.at("d3/large"), bytes(9 << 20, 7)).unwrap();
    let holes = open(v.at("holes"), O_CREAT | O_RDWR, 0o644).unwrap();
    pwrite(&holes, b"far out", 1 << 40).unwrap();
    fallocate(&holes, 0, 0, 1 << 20).unwrap();
    fsync(&holes).unwrap();
    v
}

fn scrub(v: &Volume) -> (i32, Value) {
    let out = cli(&["scrub", &v.mnt().to_string_lossy(), "--json"]);
    let status = out.status.code().expect("ends by itself");
    (status, serde_json::from_str(&out.out).unwrap_or_else(|e| panic!("{e}: {out}")))
}

/// Where these bytes are in a file.
fn places(path: &Path, what: &[u8]) -> Vec<u64> {
    let all = std::fs::read(path).unwrap();
    let at = |i: &usize| all[*i..].starts_with(what);
    (0..all.len()).filter(|i| all[*i] == what[0]).filter(at).map(|i| i as u64).collect()
}

#[test]
fn sound() {
    if skip() {
        return;
    }
    let mut v = filled();
    let (status, report) = scrub(&v);
    assert_eq!((status, &report["bad_total"], &report["complete"]), (0, &0.into(), &true.into()));
    assert_eq!(report["files"], 302);
    let contents: u64 = (0..30u64).map(|f| (1 + f * f * 97).div_ceil(4096) * 4096).sum();
    let all = contents * 10 + (9 << 20) + 4096;
    assert_eq!(report["data_bytes"], all);
    assert!(report["metadata_blocks"].as_u64().unwrap() > 10, "{report}");
    // Anybody may look, not anybody may have it done.
    let mnt = v.mnt();
    let refused =
        ALICE.run(|| std::process::Command::new(tandem()).arg("scrub").arg(&mnt).output());
    let refused = refused.unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("permission denied"), "{said}");
    v.umount();
    v.cli("check", &["--scrub"]).must().says(&["contents read", "302 files"]);
}

#[test]
fn contents_that_cannot_be_read() {
    if skip() {
        return;
    }
    let mut v = Volume::mounted(Shape { meta: 64 << 20, data: 256 << 20, ..Shape::default() });
    mkdir(v.at("d3"), 0o755).unwrap();
    let large = bytes(1 << 20, 7);
    for (name, len) in [("d3/other", 9000), ("d3/large", 1 << 20)] {
        let fd = open(v.at(name), O_CREAT | O_WRONLY, 0o644).unwrap();
        assert_eq!(write(&fd, &large[..len]), Ok(len));
        fsync(&fd).unwrap();
    }
    let cut = places(&v.data(), &large[(1 << 20) - 8192..(1 << 20) - 4096])[0];
    let size = std::fs::metadata(v.data()).unwrap().len();
    let image = File::options().write(true).open(v.data()).unwrap();
    image.set_len(cut).unwrap();
    let (status, report) = scrub(&v);
    assert_eq!(status, 4, "{report}");
    let bad = report["bad"].as_array().unwrap();
    let large: Vec<&Value> = bad.iter().filter(|b| b["what"] == "/d3/large").collect();
    assert_eq!(large.len(), 2, "{report}");
    assert_eq!(large[0]["offset"], cut);
    assert_eq!(large[0]["file_offset"], (1 << 20) - 8192);
    assert_eq!(large[0]["device"], *v.data().to_string_lossy());
    // The volume goes on.
    image.set_len(size).unwrap();
    std::fs::write(v.at("more"), b"more").unwrap();
    v.finish();
}

#[test]
fn metadata_that_memory_still_has() {
    if skip() {
        return;
    }
    let mut v = filled();
    let name = b"a name that is nowhere else";
    create(v.at("d5").join(std::str::from_utf8(name).unwrap()), 0o644).unwrap();
    fsync(&open(v.at("d5"), O_RDONLY, 0).unwrap()).unwrap();
    let image = File::options().read(true).write(true).open(v.meta()).unwrap();
    let flip = |v: &Volume| {
        let places = places(&v.meta(), b" name that is nowhere else");
        assert!(!places.is_empty());
        for at in &places {
            image.write_all_at(b"A", at - 1).unwrap();
        }
        places
    };
    let places = flip(&v);
    assert!(v.at("d5/a name that is nowhere else").exists());
    let (status, report) = scrub(&v);
    assert_eq!((status, &report["bad_total"]), (4, &1.into()), "{report}");
    assert_eq!(report["bad"][0]["device"], *v.meta().to_string_lossy());
    for at in places {
        image.write_all_at(b"a", at - 1).unwrap();
    }
    assert_eq!(scrub(&v).0, 0);
    v.finish();
}
