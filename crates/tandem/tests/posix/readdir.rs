//! Listing directories: complete, without repetition, seekable, while they change.

use super::kinds::{ALL, Kind};
use crate::common::suite::posix;
use crate::common::sys::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

fn fill(many: usize) {
    for i in 0..many {
        create(format!("d/entry-{i:05}"), 0o644).unwrap();
    }
}

fn is_dot(e: &Dirent) -> bool {
    e.name == b"." || e.name == b".."
}

fn text(e: &Dirent) -> String {
    String::from_utf8_lossy(&e.name).into_owned()
}

#[test]
fn what_is_listed() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        t.about("an empty directory");
        let fd = open("d", O_RDONLY, 0).unwrap();
        let mut dots: Vec<String> = read_dir(&fd, 4096).unwrap().iter().map(text).collect();
        dots.sort();
        t.eq(dots, vec![".".into(), "..".into()]);
        for kind in ALL {
            kind.make(&format!("d/{kind:?}"));
        }
        lseek(&fd, 0, SEEK_SET).unwrap();
        let all = read_dir(&fd, 4096).unwrap();
        t.eq(all.len(), 9);
        for e in &all {
            t.about(text(e));
            let s = lstat(format!("d/{}", text(e))).unwrap();
            t.eq(e.ino, s.ino);
            t.eq(u32::from(e.kind) << 12, s.kind());
        }
        for kind in ALL {
            let name = format!("{kind:?}").into_bytes();
            let found = all.iter().find(|e| e.name == name);
            t.eq(found.map(|e| e.kind), Some(kind.dt()));
        }
    });
}

#[test]
fn buffers_of_every_size() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        fill(1000);
        let fd = open("d", O_RDONLY, 0).unwrap();
        for size in [300, 512, 1000, 4096, 32_768, 1 << 20] {
            t.about(format!("{size} bytes"));
            lseek(&fd, 0, SEEK_SET).unwrap();
            let all = read_dir(&fd, size).unwrap();
            let set: BTreeSet<_> = all.iter().map(|e| e.name.clone()).collect();
            t.eq((all.len(), set.len()), (1002, 1002));
        }
        t.about("too small for one entry");
        lseek(&fd, 0, SEEK_SET).unwrap();
        t.err(getdents(&fd, 16), EINVAL);
    });
}

#[test]
fn every_position_can_be_gone_back_to() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        fill(500);
        let fd = open("d", O_RDONLY, 0).unwrap();
        let all = read_dir(&fd, 4096).unwrap();
        let positions: BTreeSet<i64> = all.iter().map(|e| e.next).collect();
        t.eq(positions.len(), all.len());
        for (i, e) in all.iter().enumerate().step_by(7) {
            t.about(format!("after entry {i}"));
            t.eq(lseek(&fd, e.next, SEEK_SET), Ok(e.next));
            t.yes("the rest follows", read_dir(&fd, 1024).unwrap() == all[i + 1..]);
        }
        t.about("by another descriptor");
        let other = open("d", O_RDONLY, 0).unwrap();
        lseek(&other, all[250].next, SEEK_SET).unwrap();
        t.yes("the rest follows", read_dir(&other, 4096).unwrap() == all[251..]);
        t.about("though what was before it is gone");
        for e in all[..250].iter().filter(|e| !is_dot(e)) {
            unlink(format!("d/{}", text(e))).unwrap();
        }
        lseek(&other, all[250].next, SEEK_SET).unwrap();
        t.yes("the rest follows", read_dir(&other, 4096).unwrap() == all[251..]);
    });
}

#[test]
fn rewinding_shows_the_present() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        fill(10);
        let fd = open("d", O_RDONLY, 0).unwrap();
        t.eq(read_dir(&fd, 4096).map(|v| v.len()), Ok(12));
        create("d/new", 0o644).unwrap();
        unlink("d/entry-00003").unwrap();
        rename("d/entry-00004", "d/renamed").unwrap();
        lseek(&fd, 0, SEEK_SET).unwrap();
        let now: BTreeSet<String> = read_dir(&fd, 4096).unwrap().iter().map(text).collect();
        t.eq(now.len(), 12);
        t.yes("new", now.contains("new") && now.contains("renamed"));
        t.yes("gone", !now.contains("entry-00003") && !now.contains("entry-00004"));
    });
}

#[test]
fn deleting_while_listing() {
    posix(|t| {
        for (many, buffer) in [(100, 512), (3000, 1024), (3000, 32_768)] {
            t.about(format!("{many} entries, {buffer} bytes"));
            mkdir("d", 0o755).unwrap();
            fill(many);
            let fd = open("d", O_RDONLY, 0).unwrap();
            let mut seen = 0;
            loop {
                let part = getdents(&fd, buffer).unwrap();
                if part.is_empty() {
                    break;
                }
                for e in part.iter().filter(|e| !is_dot(e)) {
                    t.ok(unlink(format!("d/{}", text(e))));
                    seen += 1;
                }
            }
            t.eq(seen, many);
            t.ok(rmdir("d"));
        }
    });
}

#[test]
fn creating_while_listing() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        fill(1000);
        let fd = open("d", O_RDONLY, 0).unwrap();
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        let mut made = 0;
        loop {
            let part = getdents(&fd, 1024).unwrap();
            if part.is_empty() {
                break;
            }
            for e in &part {
                *seen.entry(text(e)).or_default() += 1;
            }
            // Leaves split under the reader.
            for _ in 0..100 {
                if made < 4000 {
                    create(format!("d/new-{made}"), 0o644).unwrap();
                    made += 1;
                }
            }
        }
        t.yes("nothing twice", seen.values().all(|n| *n == 1));
        let missed = (0..1000).filter(|i| !seen.contains_key(&format!("entry-{i:05}"))).count();
        t.eq(missed, 0);
    });
}

#[test]
fn renaming_while_listing() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        mkdir("away", 0o755).unwrap();
        fill(1500);
        let fd = open("d", O_RDONLY, 0).unwrap();
        let mut seen = BTreeSet::new();
        loop {
            let part = getdents(&fd, 2048).unwrap();
            if part.is_empty() {
                break;
            }
            for e in part.iter().filter(|e| !is_dot(e)) {
                t.yes("not twice", seen.insert(text(e)));
                t.ok(rename(format!("d/{}", text(e)), format!("away/{}", text(e))));
            }
        }
        t.eq(seen.len(), 1500);
        t.eq(names("away").map(|n| n.len()), Ok(1500));
    });
}

#[test]
fn others_change_it_at_the_same_time() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        fill(800);
        let stop = AtomicBool::new(false);
        let bad = std::thread::scope(|s| {
            let writers: Vec<_> = (0..2)
                .map(|id| {
                    let stop = &stop;
                    s.spawn(move || {
                        let mut i = 0u64;
                        while !stop.load(Ordering::Relaxed) {
                            let name = format!("d/w{id}-{}", i % 700);
                            if (i / 700).is_multiple_of(2) {
                                create(&name, 0o644).unwrap();
                            } else {
                                unlink(&name).unwrap();
                            }
                            i += 1;
                        }
                        i
                    })
                })
                .collect();
            let mut bad = Vec::new();
            for round in 0..40 {
                let fd = open("d", O_RDONLY, 0).unwrap();
                let all = read_dir(&fd, [700, 4096, 65_536][round % 3]).unwrap();
                let mut count: BTreeMap<String, u32> = BTreeMap::new();
                for e in all.iter().filter(|e| e.name.starts_with(b"entry-")) {
                    *count.entry(text(e)).or_default() += 1;
                }
                if count.len() != 800 || count.values().any(|n| *n != 1) {
                    let twice = count.values().filter(|n| **n > 1).count();
                    bad.push(format!("{} of 800 names, {twice} repeated", count.len()));
                }
            }
            stop.store(true, Ordering::Relaxed);
            for w in writers {
                w.join().unwrap();
            }
            bad
        });
        t.eq(bad, Vec::<String>::new());
    });
}

#[test]
fn subdirectories() {
    posix(|t| {
        for i in 0..300 {
            mkdir(format!("s{i}"), 0o755).unwrap();
            Kind::File.make(&format!("s{i}/f"));
        }
        let fd = open(".", O_RDONLY, 0).unwrap();
        let all = read_dir(&fd, 4096).unwrap();
        t.eq(all.len(), 302);
        t.yes("all directories", all.iter().all(|e| e.kind == DT_DIR));
        t.eq(stat(".").map(|s| s.nlink), Ok(302));
        let up = all.iter().find(|e| e.name == b"..").map(|e| e.ino);
        t.eq(up, stat("..").ok().map(|s| s.ino));
    });
}
