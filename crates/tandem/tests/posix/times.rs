//! Which times an operation changes, and which it leaves.

use super::kinds::{pattern, put};
use crate::common::suite::{T, given_dir, posix, posix_on, tick};
use crate::common::sys::*;
use crate::common::volume::Shape;

struct Change {
    name: &'static str,
    work: fn(),
    mtime: bool,
    ctime: bool,
}

const fn change(name: &'static str, work: fn(), mtime: bool, ctime: bool) -> Change {
    Change { name, work, mtime, ctime }
}

fn store(flags: i32, data: &[u8]) {
    assert_eq!(write(&open("f", flags, 0).unwrap(), data), Ok(data.len()));
}

const CHANGES: &[Change] = &[
    change("write", || store(O_WRONLY, b"x"), true, true),
    change("append", || store(O_WRONLY | O_APPEND, b"x"), true, true),
    change("nothing written", || store(O_WRONLY, b""), false, false),
    change("opening and closing", || drop(open("f", O_RDWR, 0).unwrap()), false, false),
    change("truncate", || truncate("f", 50).unwrap(), true, true),
    change("chmod", || chmod("f", 0o600).unwrap(), false, true),
    change("chown", || chown("f", 1, 1).unwrap(), false, true),
    change("link", || link("f", "g").unwrap(), false, true),
    change("unlink of another name", || unlink("g").unwrap(), false, true),
    change("rename", || rename("f", "h").and_then(|()| rename("h", "f")).unwrap(), false, true),
    change("setxattr", || setxattr("f", true, "user.a", b"1", 0).unwrap(), false, true),
    change("removexattr", || removexattr("f", "user.a").unwrap(), false, true),
    change("stat", || assert!(stat("f").is_ok()), false, false),
    change("fsync", || fsync(&open("f", O_RDWR, 0).unwrap()).unwrap(), false, false),
    change(
        "store through a map",
        || {
            let fd = open("f", O_RDWR, 0).unwrap();
            let map = Map::new(&fd, 4096, PROT_READ | PROT_WRITE, MAP_SHARED).unwrap();
            map.put(0, b"mapped");
            map.sync(MS_SYNC).unwrap();
        },
        true,
        true,
    ),
    change(
        "copy_file_range into it",
        || {
            let from = open("source", O_RDONLY, 0).unwrap();
            let to = open("f", O_WRONLY, 0).unwrap();
            copy_file_range(&from, Some(0), &to, Some(0), 10).unwrap();
        },
        true,
        true,
    ),
    change(
        "fallocate",
        || fallocate(&open("f", O_RDWR, 0).unwrap(), 0, 0, 20_000).unwrap(),
        true,
        true,
    ),
    change(
        "punching a hole",
        || {
            let fd = open("f", O_RDWR, 0).unwrap();
            fallocate(&fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096).unwrap();
        },
        true,
        true,
    ),
];

#[test]
fn of_files() {
    posix(|t| {
        put("f", &pattern(100, 1));
        put("source", &pattern(100, 2));
        let born = lstat("f").unwrap().btime;
        for c in CHANGES {
            t.about(c.name);
            // tmpfs leaves them at fallocate.
            if t.tmpfs() && (c.name == "fallocate" || c.name.starts_with("punching")) {
                continue;
            }
            let before = lstat("f").unwrap();
            tick();
            (c.work)();
            let after = lstat("f").unwrap();
            t.eq(("mtime", after.mtime > before.mtime), ("mtime", c.mtime));
            t.eq(("ctime", after.ctime > before.ctime), ("ctime", c.ctime));
            if !c.name.contains("map") {
                t.eq(("atime", after.atime), ("atime", before.atime));
            }
            t.eq(after.btime, born);
        }
        t.about("all of it lasts");
        let last = lstat("f").unwrap();
        let fd = open("f", O_RDONLY, 0).unwrap();
        fsync(&fd).unwrap();
        t.eq(fstat(&fd).map(|s| (s.mtime, s.ctime)), Ok((last.mtime, last.ctime)));
    });
}

#[test]
fn of_directories() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        put("d/f", b"x");
        let quiet: &[(&str, fn())] = &[
            ("look-up", || assert!(stat("d/f").is_ok())),
            ("missing look-up", || assert!(stat("d/missing").is_err())),
            ("write to a file in it", || put("d/f", b"yy")),
            ("chmod of a file in it", || chmod("d/f", 0o600).unwrap()),
        ];
        for (name, work) in quiet {
            t.about(*name);
            let before = lstat("d").unwrap();
            tick();
            work();
            t.eq(lstat("d").unwrap(), before);
        }
        t.about("in a directory in it");
        mkdir("d/e", 0o755).unwrap();
        let before = lstat("d").unwrap();
        tick();
        put("d/e/x", b"");
        unlink("d/e/x").unwrap();
        t.eq(lstat("d").unwrap(), before.clone());
        t.about("an open that creates nothing");
        tick();
        drop(open("d/f", O_CREAT | O_RDWR, 0o644).unwrap());
        t.eq(lstat("d").unwrap(), before);
    });
}

fn read_from_device() {
    let fd = open("f", O_RDONLY, 0).unwrap();
    fsync(&fd).unwrap();
    drop_pages(&fd);
    pread(&fd, 10, 0).unwrap();
}

fn list() {
    read_dir(&open("d", O_RDONLY, 0).unwrap(), 4096).unwrap();
}

fn prepare() {
    put("f", b"contents");
    mkdir("d", 0o755).unwrap();
    put("d/x", b"");
    tick();
}

fn atimes() -> [When; 2] {
    ["f", "d"].map(|p| lstat(p).unwrap().atime)
}

#[test]
fn access_times_relative() {
    posix(|t: &T| {
        prepare();
        let before = atimes();
        read_from_device();
        list();
        let first = atimes();
        t.yes("read once after a change: a new atime", first[0] > before[0]);
        t.yes("listed once after a change: a new atime", first[1] > before[1]);
        tick();
        read_from_device();
        list();
        t.about("read again: the same");
        t.eq(atimes(), first);
        t.about("set to days ago: again");
        for path in ["f", "d"] {
            let s = lstat(path).unwrap();
            utimens(path, [Set::At((s.mtime.0 - 200_000, 0)), Set::At((1, 1))], 0).unwrap();
        }
        read_from_device();
        list();
        t.yes("renewed after a day", atimes()[0] > first[0]);
    });
}

fn with(options: &str) -> Shape {
    let shape = Shape::default();
    Shape { options: format!("{},{options}", shape.options), ..shape }
}

#[test]
fn access_times_never() {
    if given_dir().is_some() {
        return;
    }
    posix_on(with("noatime"), |t| {
        prepare();
        let before = atimes();
        read_from_device();
        list();
        t.eq(atimes(), before);
    });
}

#[test]
fn access_times_always() {
    if given_dir().is_some() {
        return;
    }
    posix_on(with("strictatime"), |t| {
        prepare();
        let mut last = atimes();
        for _ in 0..3 {
            tick();
            read_from_device();
            let now = atimes();
            t.yes("read: a new atime", now[0] > last[0]);
            last = now;
        }
    });
}
