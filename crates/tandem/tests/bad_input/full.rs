//! Devices without room: what was accepted is kept, what does not fit is refused with ENOSPC,
//! and deleting always works.

use crate::common::sys::{self, *};
use crate::common::volume::{Shape, Volume, skip};
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};

const FULL: Errno = Errno(ENOSPC);

fn close(fd: OwnedFd) -> R<()> {
    sys::raw(SYS_close, [fd.into_raw_fd().into(), 0, 0, 0, 0, 0]).map(drop)
}

fn contents(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + seed * 17 + i / 251) as u8).collect()
}

/// Writes a file as programs do that look at every result.
fn store(path: &std::path::Path, data: &[u8], durable: bool) -> R<()> {
    let fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0o644)?;
    let mut done = 0;
    while done < data.len() {
        done += write(&fd, &data[done..])?;
    }
    if durable {
        fsync(&fd)?;
    }
    close(fd)
}

fn small_data() -> Shape {
    Shape { meta: 64 << 20, data: 64 << 20, ..Shape::default() }
}

fn small_metadata() -> Shape {
    Shape { meta: 8 << 20, data: 1 << 30, ..Shape::default() }
}

#[test]
fn data_device() {
    if skip() {
        return;
    }
    for durable in [true, false] {
        let mut v = Volume::mounted(small_data());
        let mut kept = BTreeMap::new();
        let mut refused = None;
        for i in 0..2000 {
            let (name, data) = (format!("f{i}"), contents(i, 20_000 + i * 97));
            match store(&v.at(&name), &data, durable) {
                Ok(()) => drop(kept.insert(name, data)),
                Err(e) => {
                    refused = Some((name, e));
                    break;
                }
            }
        }
        let (name, error) = refused.expect("64 MiB cannot hold this");
        assert_eq!(error, FULL, "durable: {durable}");
        let sum: usize = kept.values().map(Vec::len).sum();
        assert!(sum > 48 << 20, "only {sum} bytes fit, durable: {durable}");
        // All that was accepted is there, now and later.
        let same = |v: &Volume| {
            for (name, data) in &kept {
                assert!(std::fs::read(v.at(name)).unwrap() == *data, "{name}, durable: {durable}");
            }
        };
        same(&v);
        // Deleting works, and makes room.
        unlink(v.at(&name)).unwrap();
        v.remount();
        same(&v);
        let first: Vec<String> = kept.keys().take(200).cloned().collect();
        for name in &first {
            unlink(v.at(name)).unwrap();
            kept.remove(name);
        }
        let again = contents(9, 1 << 20);
        store(&v.at("again"), &again, true).unwrap();
        assert!(std::fs::read(v.at("again")).unwrap() == again);
        v.finish();
    }
}

#[test]
fn one_large_file() {
    if skip() {
        return;
    }
    let mut v = Volume::mounted(small_data());
    store(&v.at("before"), &contents(1, 100_000), true).unwrap();
    let fd = open(v.at("large"), O_CREAT | O_RDWR, 0o644).unwrap();
    let piece = contents(2, 1 << 20);
    let mut accepted = 0usize;
    let error = loop {
        match write(&fd, &piece).and_then(|n| fsync(&fd).map(|()| n)) {
            Ok(n) => accepted += n,
            Err(e) => break e,
        }
        assert!(accepted < 128 << 20);
    };
    assert_eq!(error, FULL);
    assert!(accepted > 48 << 20, "only {accepted} bytes fit");
    let same = |data: &[u8]| data.chunks(1 << 20).all(|c| c == &piece[..c.len()]);
    assert!(same(&pread(&fd, accepted, 0).unwrap()));
    // Overwriting what is there needs no more room for long, nor do small changes of metadata.
    assert_eq!(fallocate(&fd, 0, 0, 1 << 30), Err(FULL));
    chmod(v.at("large"), 0o600).unwrap();
    mkdir(v.at("d"), 0o755).unwrap();
    rename(v.at("before"), v.at("d/moved")).unwrap();
    drop(fd);
    v.remount();
    let now = std::fs::read(v.at("large")).unwrap();
    assert!(now.len() >= accepted && same(&now[..accepted]));
    assert!(std::fs::read(v.at("d/moved")).unwrap() == contents(1, 100_000));
    truncate(v.at("large"), 1 << 20).unwrap();
    store(&v.at("new"), &contents(3, 20 << 20), true).unwrap();
    assert!(std::fs::read(v.at("new")).unwrap() == contents(3, 20 << 20));
    v.finish();
}

#[test]
fn through_maps_and_holes() {
    if skip() {
        return;
    }
    // A hole is a promise that cannot be kept; what is stored in it is either kept or an error.
    let mut v = Volume::mounted(small_data());
    let fd = open(v.at("sparse"), O_CREAT | O_RDWR, 0o644).unwrap();
    ftruncate(&fd, 1 << 30).unwrap();
    let mut written = Vec::new();
    for i in 0..1024i64 {
        let done = pwrite(&fd, &contents(i as usize, 256 << 10), i << 20).and_then(|_| fsync(&fd));
        match done {
            Ok(()) => written.push(i),
            Err(e) => {
                assert_eq!(e, FULL);
                break;
            }
        }
    }
    assert!(written.len() > 190 && written.len() < 260, "{}", written.len());
    drop(fd);
    v.remount();
    let fd = open(v.at("sparse"), O_RDONLY, 0).unwrap();
    for i in written {
        assert!(pread(&fd, 256 << 10, i << 20).unwrap() == contents(i as usize, 256 << 10));
    }
    drop(fd);
    unlink(v.at("sparse")).unwrap();
    store(&v.at("new"), &contents(3, 20 << 20), true).unwrap();
    v.finish();
}

#[test]
fn data_of_many_writers() {
    if skip() {
        return;
    }
    // Delayed data of several files is outstanding when the device becomes full.
    let mut v = Volume::mounted(small_data());
    let root = v.mnt();
    let kept: Vec<(String, usize, usize)> = std::thread::scope(|s| {
        let writers: Vec<_> = (0..4)
            .map(|id| {
                let root = &root;
                s.spawn(move || {
                    let mut kept = Vec::new();
                    for i in 0..1000 {
                        let (name, len) = (format!("w{id}-{i}"), 10_000 + (i * 7919) % 200_000);
                        match store(&root.join(&name), &contents(id * 1000 + i, len), false) {
                            Ok(()) => kept.push((name, id * 1000 + i, len)),
                            Err(e) => {
                                assert_eq!(e, FULL);
                                break;
                            }
                        }
                    }
                    kept
                })
            })
            .collect();
        writers.into_iter().flat_map(|w| w.join().unwrap()).collect()
    });
    let sum: usize = kept.iter().map(|k| k.2).sum();
    assert!(sum > 44 << 20, "only {sum} bytes fit");
    for remounted in [false, true] {
        for (name, seed, len) in &kept {
            let now = std::fs::read(v.at(name)).unwrap();
            assert!(now == contents(*seed, *len), "{name}, remounted: {remounted}");
        }
        if !remounted {
            v.remount();
        }
    }
    v.finish();
}

#[test]
fn metadata_device() {
    if skip() {
        return;
    }
    let mut v = Volume::mounted(Shape { meta: 4 << 20, ..small_metadata() });
    let mut many = 0usize;
    let name = |i: usize| format!("d{}/a file with a name of some length, number {i}", i / 500);
    let error = loop {
        let path = v.at(&name(many));
        let made =
            if many.is_multiple_of(500) { mkdir(path.parent().unwrap(), 0o755) } else { Ok(()) };
        match made.and_then(|()| create(&path, 0o644)) {
            Ok(()) => many += 1,
            Err(e) => break e,
        }
        assert!(many < 1_000_000, "4 MiB cannot hold this");
    };
    assert_eq!(error, FULL);
    assert!(many > 10_000, "only {many} files fit into 4 MiB");
    let sees = |v: &Volume, from: usize| {
        (from..many).all(|i| lstat(v.at(&name(i))).is_ok_and(|s| s.kind() == S_IFREG))
    };
    assert!(sees(&v, 0), "every accepted file is there");
    // Each kind of new thing is refused the same way, or still fits; nothing else happens.
    let also = [
        mkdir(v.at("new-dir"), 0o755),
        symlink("x".repeat(3000), v.at("new-link")),
        setxattr(v.at(&name(0)), true, "user.big", &vec![1; 60_000], 0),
        link(v.at(&name(0)), v.at("new-name")),
    ];
    assert!(also.iter().all(|r| matches!(r, Ok(()) | Err(FULL))), "{also:?}");
    v.remount();
    assert!(sees(&v, 0), "every accepted file is there after a remount");
    // Deleting works although there is no room for the log of it, and makes room.
    for i in 0..many / 2 {
        unlink(v.at(&name(i))).unwrap();
    }
    assert!(sees(&v, many / 2));
    for i in 0..many / 4 {
        create(v.at(&format!("d0/new {i}")), 0o644).unwrap();
    }
    v.remount();
    assert!(sees(&v, many / 2));
    let listed = names(v.at("d0")).unwrap();
    assert!(listed.iter().filter(|n| n.starts_with("new ")).count() == many / 4);
    // All of it, on the way to an empty volume.
    std::fs::read_dir(v.mnt()).unwrap().flatten().for_each(|e| {
        let removed = if e.file_type().unwrap().is_dir() {
            std::fs::remove_dir_all(e.path())
        } else {
            std::fs::remove_file(e.path())
        };
        removed.unwrap();
    });
    create(v.at("last"), 0o644).unwrap();
    v.finish();
}

#[test]
fn metadata_of_one_file() {
    if skip() {
        return;
    }
    // Extents: as many as there are blocks, each for itself.
    let mut v = Volume::mounted(small_metadata());
    let fd = open(v.at("f"), O_CREAT | O_RDWR, 0o644).unwrap();
    let mut many = 0i64;
    let error = loop {
        let done = pwrite(&fd, &many.to_le_bytes(), many * 8192)
            .and_then(|_| if many % 1000 == 999 { fsync(&fd) } else { Ok(()) });
        match done {
            Ok(()) => many += 1,
            Err(e) => break Some(e),
        }
        if many == 200_000 {
            break None;
        }
    };
    assert!(error.is_none_or(|e| e == FULL), "{error:?}");
    let durable = many / 1000 * 1000;
    assert!(durable > 50_000, "{many}");
    drop(fd);
    v.remount();
    let fd = open(v.at("f"), O_RDONLY, 0).unwrap();
    for i in (0..durable).step_by(7) {
        assert_eq!(pread(&fd, 8, i * 8192), Ok(i.to_le_bytes().to_vec()), "piece {i}");
    }
    drop(fd);
    unlink(v.at("f")).unwrap();
    create(v.at("g"), 0o644).unwrap();
    v.finish();
}

#[test]
fn many_rounds_of_filling_and_emptying() {
    if skip() {
        return;
    }
    let mut v = Volume::mounted(small_data());
    for round in 0..6 {
        let dir = v.at(&format!("round{round}"));
        mkdir(&dir, 0o755).unwrap();
        let many = (0..)
            .take_while(|i| store(&dir.join(format!("{i}")), &contents(*i, 400_000), false).is_ok())
            .count();
        assert!(many > 110, "round {round}: only {many} fit");
        std::fs::remove_dir_all(&dir).unwrap();
    }
    let root = open(v.mnt(), O_RDONLY, 0).unwrap();
    syncfs(&root).unwrap();
    assert!(root.as_raw_fd() > 0);
    drop(root);
    v.finish();
}
