//! chmod(2).

use super::kinds::{NODES, get, put};
use crate::common::suite::{posix, tick};
use crate::common::sys::*;
use crate::common::users::{ALICE, BOB, TEAM, alice_of_team};

#[test]
fn every_mode() {
    posix(|t| {
        create("f", 0o644).unwrap();
        mkdir("d", 0o755).unwrap();
        for mode in (0..=0o7777).step_by(0o37).chain([0o7777]) {
            t.about(format!("{mode:o}"));
            t.ok(chmod("f", mode));
            t.eq(lstat("f").map(|s| s.mode), Ok(S_IFREG | mode));
            t.ok(chmod("d", mode));
            t.eq(lstat("d").map(|s| s.mode), Ok(S_IFDIR | mode));
        }
        for kind in NODES {
            t.about(format!("{kind:?}"));
            kind.make("n");
            t.ok(chmod("n", 0o751));
            t.eq(lstat("n").map(|s| s.mode), Ok(kind.bits() | 0o751));
            unlink("n").unwrap();
        }
        t.about("by descriptor");
        let fd = open("f", O_RDONLY, 0).unwrap();
        t.ok(fchmod(&fd, 0o123));
        t.eq(fstat(&fd).map(|s| s.perm()), Ok(0o123));
        t.about("type bits are ignored");
        t.ok(chmod("f", S_IFDIR | 0o600));
        t.eq(lstat("f").map(|s| s.mode), Ok(S_IFREG | 0o600));
    });
}

#[test]
fn only_the_owner() {
    posix(|t| {
        create("f", 0o644).unwrap();
        mkdir("d", 0o755).unwrap();
        for path in ["f", "d"] {
            t.about(path);
            let before = lstat(path).unwrap();
            tick();
            chmod(path, before.perm()).unwrap();
            let after = lstat(path).unwrap();
            t.yes("ctime grows", after.ctime > before.ctime);
            t.eq((after.mtime, after.atime), (before.mtime, before.atime));
            ALICE.run(|| t.err(chmod(path, 0o777), EPERM));
            t.eq(lstat(path).unwrap(), after);
            chown(path, ALICE.uid, ALICE.gid).unwrap();
            ALICE.run(|| t.ok(chmod(path, 0o700)));
            BOB.run(|| t.err(chmod(path, 0o777), EPERM));
            t.eq(lstat(path).map(|s| s.perm()), Ok(0o700));
        }
    });
}

#[test]
fn set_group_id_of_a_strange_group() {
    posix(|t| {
        for (path, dir) in [("f", false), ("d", true)] {
            t.about(path);
            if dir { mkdir(path, 0o755) } else { create(path, 0o755) }.unwrap();
            chown(path, ALICE.uid, TEAM).unwrap();
            ALICE.run(|| t.ok(chmod(path, 0o2755)));
            t.eq(lstat(path).map(|s| s.perm()), Ok(0o755));
            alice_of_team().run(|| t.ok(chmod(path, 0o2755)));
            t.eq(lstat(path).map(|s| s.perm()), Ok(0o2755));
            ALICE.run(|| t.ok(chmod(path, 0o4711)));
            t.eq(lstat(path).map(|s| s.perm()), Ok(0o4711));
            t.ok(chmod(path, 0o6755));
            t.eq(lstat(path).map(|s| s.perm()), Ok(0o6755));
        }
    });
}

#[test]
fn special_bits_end_when_others_write() {
    posix(|t| {
        type Change = fn();
        let changes: &[(&str, Change)] = &[
            ("write", || {
                let fd = open("f", O_WRONLY, 0).unwrap();
                pwrite(&fd, b"X", 0).unwrap();
            }),
            ("append", || {
                let fd = open("f", O_WRONLY | O_APPEND, 0).unwrap();
                write(&fd, b"X").unwrap();
            }),
            ("truncate", || truncate("f", 1).unwrap()),
            ("ftruncate", || ftruncate(&open("f", O_WRONLY, 0).unwrap(), 100).unwrap()),
            ("O_TRUNC", || drop(open("f", O_WRONLY | O_TRUNC, 0).unwrap())),
            ("fallocate", || fallocate(&open("f", O_WRONLY, 0).unwrap(), 0, 0, 9000).unwrap()),
            ("copy_file_range", || {
                let from = open("source", O_RDONLY, 0).unwrap();
                let to = open("f", O_WRONLY, 0).unwrap();
                copy_file_range(&from, Some(0), &to, Some(0), 5).unwrap();
            }),
        ];
        put("source", b"source");
        for (name, change) in changes {
            // A set-group-ID bit without the right to execute has another meaning, and stays.
            for (mode, left) in [(0o4777, 0o777), (0o2777, 0o777), (0o6777, 0o777)] {
                t.about(format!("{name} on {mode:o}"));
                put("f", b"some contents");
                chown("f", BOB.uid, BOB.gid).unwrap();
                chmod("f", mode).unwrap();
                ALICE.run(change);
                t.eq(lstat("f").map(|s| s.perm()), Ok(left));
                unlink("f").unwrap();
            }
        }
        t.about("root keeps them");
        put("f", b"some contents");
        chmod("f", 0o6777).unwrap();
        put("g", b"other");
        changes[0].1();
        t.eq(lstat("f").map(|s| s.perm()), Ok(0o6777));
        t.eq(get("f"), b"Xome contents".to_vec());
        t.about("reading keeps them");
        ALICE.run(|| get("f"));
        t.eq(lstat("f").map(|s| s.perm()), Ok(0o6777));
    });
}
