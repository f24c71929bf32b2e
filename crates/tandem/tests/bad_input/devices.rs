//! Devices that are not, or do not belong together, or are not what they were.

use crate::common::program::Output;
use crate::common::volume::{Loop, Shape, Volume, image, scratch, skip};
use crate::common::volume::{cli, tandem};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use tandem_format::Superblock;

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Every command that opens a volume, on these devices.
fn every(meta: &Path, data: Option<&Path>, mnt: &Path) -> Vec<Output> {
    let mut devices = vec![text(meta)];
    if let Some(data) = data {
        devices.extend(["--data".into(), text(data)]);
    }
    ["mount", "check", "info"]
        .map(|command| {
            let mut args = vec![command.to_owned()];
            args.extend(devices.clone());
            if command == "mount" {
                args.push(text(mnt));
            }
            cli(&args)
        })
        .into()
}

#[track_caller]
fn all_fail(outs: Vec<Output>, words: &[&str]) {
    for out in outs {
        out.must_fail().says(words);
    }
}

#[test]
fn not_a_volume() {
    let dir = scratch();
    let mnt = dir.path().join("mnt");
    std::fs::create_dir(&mnt).unwrap();
    let zeros = dir.path().join("zeros.img");
    image(&zeros, 64 << 20);
    let noise = dir.path().join("noise.img");
    let bytes: Vec<u8> =
        (0..1u32 << 22).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    std::fs::write(&noise, bytes).unwrap();
    let short = dir.path().join("short.img");
    std::fs::write(&short, b"short").unwrap();
    let empty = dir.path().join("empty.img");
    std::fs::write(&empty, b"").unwrap();
    for path in [&zeros, &noise, &short, &empty] {
        let before = std::fs::read(path).unwrap();
        all_fail(every(path, None, &mnt), &[&text(path)]);
        for out in every(path, None, &mnt) {
            out.says_one_of(&["not a tandem", "no tandem", "too small", "empty"]);
        }
        all_fail(every(path, Some(&zeros), &mnt), &[&text(path)]);
        assert!(std::fs::read(path).unwrap() == before, "untouched");
    }
    // It says what there is to do about it.
    for out in every(&zeros, None, &mnt) {
        out.says(&["mkfs"]);
    }
    drop(tandem());
}

#[test]
fn of_different_volumes_swapped_or_one_missing() {
    let (a, b) = (Volume::make(Shape::default()), Volume::make(Shape::default()));
    let digest = |p: &Path| {
        let mut head = vec![0; 1 << 20];
        File::open(p).and_then(|f| f.read_exact_at(&mut head, 0)).unwrap();
        head
    };
    let before = [a.meta(), a.data(), b.meta(), b.data()].map(|p| digest(&p));
    let mnt = a.mnt();
    let outs = every(&a.meta(), Some(&b.data()), &mnt);
    all_fail(outs, &[&text(&b.data())]);
    for out in every(&a.meta(), Some(&b.data()), &mnt) {
        out.says_one_of(&["another volume", "belongs to volume"]);
    }
    // Swapped, it says so.
    all_fail(every(&a.data(), Some(&a.meta()), &mnt), &["data device"]);
    // The same one twice, also under another name.
    for out in every(&a.meta(), Some(&a.meta()), &mnt) {
        out.must_fail().says(&["same", &text(&a.meta())]);
    }
    let link = a.dir().join("link.img");
    std::os::unix::fs::symlink(a.meta(), &link).unwrap();
    all_fail(every(&a.meta(), Some(&link), &mnt), &["same"]);
    let hard = a.dir().join("hard.img");
    std::fs::hard_link(a.meta(), &hard).unwrap();
    all_fail(every(&a.meta(), Some(&hard), &mnt), &["same"]);
    // Without its data device.
    all_fail(every(&a.meta(), None, &mnt), &["--data"]);
    // With one that is none.
    let zeros = a.dir().join("zeros.img");
    image(&zeros, 4 << 30);
    all_fail(every(&a.meta(), Some(&zeros), &mnt), &[&text(&zeros)]);
    // The data device alone.
    all_fail(every(&a.data(), None, &mnt), &["data device"]);
    // A volume on one device, with another.
    let one = Volume::make(Shape { meta: 1 << 30, data: 0, ..Shape::default() });
    all_fail(every(&one.meta(), Some(&a.data()), &mnt), &["--data"]);
    let after = [a.meta(), a.data(), b.meta(), b.data()].map(|p| digest(&p));
    assert!(before == after, "nothing has been written");
    a.try_check().unwrap();
    b.try_check().unwrap();
}

fn change(path: &Path, change: impl Fn(&mut Superblock)) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut page = vec![0; 4096];
    file.read_exact_at(&mut page, 0).unwrap();
    let mut superblock = Superblock::decode(&page).unwrap();
    let second = superblock.geometry().superblock_b();
    change(&mut superblock);
    let page = superblock.encode();
    file.write_all_at(&page, 0).unwrap();
    file.write_all_at(&page, second).unwrap();
}

#[test]
fn newer_formats_and_unknown_features() {
    let v = Volume::make(Shape::default());
    let (meta, data) = (v.meta(), v.data());
    change(&meta, |s| s.version += 1);
    all_fail(every(&meta, Some(&data), &v.mnt()), &[&text(&meta), "newer", "version"]);
    let v = Volume::make(Shape::default());
    let (meta, data) = (v.meta(), v.data());
    change(&meta, |s| s.incompat |= 1 << 40);
    all_fail(every(&meta, Some(&data), &v.mnt()), &[&text(&meta), "feature"]);
    // mkfs does not take it for an empty device.
    v.mkfs().must_fail().says(&[&text(&meta), "--force"]);
    if skip() {
        return;
    }
    // What may be read by those who do not know it can be read, and not written.
    let mut v = Volume::make(Shape::default());
    change(&v.meta(), |s| s.ro_compat |= 1 << 40);
    v.try_mount("").must_fail().says(&[&text(&v.meta()), "ro"]);
    v.mount_with("ro");
    assert!(std::fs::create_dir(v.at("x")).is_err());
    v.umount();
    // What may be ignored is.
    let mut v = Volume::make(Shape::default());
    change(&v.meta(), |s| s.compat |= 1 << 40);
    v.mount();
    std::fs::write(v.at("x"), "y").unwrap();
    v.finish();
}

#[test]
fn a_superblock_that_would_take_all_memory() {
    let sizes = [(256 << 20, 64 << 30), (300 << 30, 64 << 20)];
    let changes: [fn(&mut Superblock); 2] = [
        |s| {
            s.group_blocks = 1;
            s.groups = s.blocks as u32;
        },
        |s| {
            s.segment_size = 65536;
            s.segments = (s.meta_size - 65536 - 4096) / 65536;
        },
    ];
    for ((meta, data), damage) in sizes.into_iter().zip(changes) {
        let v = Volume::make(Shape { meta, data, ..Shape::default() });
        change(&v.meta(), damage);
        let outs = every(&v.meta(), Some(&v.data()), &v.mnt());
        all_fail(outs, &[&text(&v.meta()), "cannot be"]);
    }
    // mkfs does not make such a thing.
    let v = Volume::images(Shape { meta: 300 << 30, ..Shape::default() });
    v.cli("mkfs", &["--segment-size", "64K"]).must_fail().says(&[&text(&v.meta()), "segment-size"]);
}

#[test]
fn a_device_that_shrank() {
    if skip() {
        return;
    }
    let mut v = Volume::mounted(Shape::default());
    for i in 0..200 {
        std::fs::write(v.at(&format!("f{i}")), vec![i as u8; 100_000]).unwrap();
    }
    v.umount();
    for (path, full) in [(v.data(), 4u64 << 30), (v.meta(), 256 << 20)] {
        let file = File::options().write(true).open(&path).unwrap();
        // Kept, as cutting a file off loses what was there.
        let kept = v.dir().join("kept");
        crate::common::program::sh(&format!(
            "cp --sparse=always {} {}",
            path.display(),
            kept.display()
        ))
        .must();
        for size in [full - 4096, full / 2, 1 << 20, 5000] {
            file.set_len(size).unwrap();
            for out in every(&v.meta(), Some(&v.data()), &v.mnt()) {
                out.must_fail().says(&[&text(&path)]);
            }
        }
        file.set_len(full / 2).unwrap();
        cli(&["info", &text(&v.meta())]).must_fail().says(&[if path == v.meta() {
            "shrunk"
        } else {
            "--data"
        }]);
        for out in every(&v.meta(), Some(&v.data()), &v.mnt()) {
            out.says_one_of(&["smaller", "shrank", "shrunk", "short", "bytes"]);
        }
        file.set_len(0).unwrap();
        for out in every(&v.meta(), Some(&v.data()), &v.mnt()) {
            assert!(!out.text().contains("mkfs") || path == v.meta(), "{out}");
            out.must_fail().says(&[&text(&path)]).says_one_of(&["shrunk", "small"]);
        }
        std::fs::rename(&kept, &path).unwrap();
    }
    v.mount();
    assert!((0..200).all(|i| std::fs::read(v.at(&format!("f{i}"))).unwrap() == [i as u8; 100_000]));
    v.finish();
}

#[test]
fn too_small() {
    for (meta, data) in [(4096, 1 << 30), (65_536, 1 << 30), (256 << 20, 4096), (256 << 20, 65_536)]
    {
        let v = Volume::images(Shape { meta, data, ..Shape::default() });
        let small = if meta < 1 << 20 { v.meta() } else { v.data() };
        v.mkfs().must_fail().says(&[&text(&small)]).says_one_of(&["small", "least", "at least"]);
    }
    let v = Volume::images(Shape { meta: 1 << 20, data: 0, ..Shape::default() });
    v.mkfs().must_fail().says_one_of(&["small", "least"]);
}

#[test]
fn block_devices() {
    if skip() {
        return;
    }
    let v = Volume::images(Shape::default());
    let (Some(meta), Some(data)) = (Loop::new(&v.meta(), &[]), Loop::new(&v.data(), &[])) else {
        println!("not run: no loop devices");
        return;
    };
    let mnt = text(&v.mnt());
    cli(&["mkfs", &meta.0, "--data", &data.0]).must();
    cli(&["mount", &meta.0, &mnt, "--data", &data.0]).must();
    std::fs::write(v.at("f"), "on block devices").unwrap();
    // The same bytes under another name.
    v.try_mount("").must_fail();
    v.cli("mkfs", &["--force"]).must_fail();
    cli(&["check", &meta.0, "--data", &data.0]).must_fail().says(&[&mnt]);
    cli(&["umount", &mnt]).must();
    cli(&["check", &meta.0, "--data", &data.0]).must();
    // A loop device and the file behind it are one device.
    cli(&["check", &meta.0, "--data", &text(&v.meta())]).must_fail().says(&["same"]);
    v.try_check().unwrap();
}
