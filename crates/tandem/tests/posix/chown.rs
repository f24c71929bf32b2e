//! chown(2).

use super::kinds::{ALL, Kind, NODES};
use crate::common::suite::{posix, tick};
use crate::common::sys::*;
use crate::common::users::{ALICE, BOB, TEAM, alice_of_team};

const KEEP: u32 = u32::MAX;

#[test]
fn by_root() {
    posix(|t| {
        for kind in ALL {
            t.about(format!("{kind:?}"));
            kind.make("x");
            for (uid, gid) in [(1, 2), (70_000, 80_000), (u32::MAX - 1, u32::MAX - 1), (0, 0)] {
                let before = lstat("x").unwrap();
                tick();
                t.ok(lchown("x", uid, gid));
                let s = lstat("x").unwrap();
                t.eq((s.uid, s.gid), (uid, gid));
                t.yes("ctime grows", s.ctime > before.ctime);
                t.eq((s.mtime, s.atime), (before.mtime, before.atime));
            }
            t.ok(lchown("x", 5, KEEP));
            t.ok(lchown("x", KEEP, 6));
            t.ok(lchown("x", KEEP, KEEP));
            t.eq(lstat("x").map(|s| (s.uid, s.gid)), Ok((5, 6)));
            kind.remove("x").unwrap();
        }
    });
}

#[test]
fn by_the_owner() {
    posix(|t| {
        for kind in ALL {
            t.about(format!("{kind:?}"));
            kind.make("x");
            lchown("x", ALICE.uid, ALICE.gid).unwrap();
            alice_of_team().run(|| {
                t.ok(lchown("x", KEEP, TEAM));
                t.eq(lstat("x").map(|s| s.gid), Ok(TEAM));
                t.ok(lchown("x", ALICE.uid, ALICE.gid));
                t.err(lchown("x", BOB.uid, KEEP), EPERM);
                t.err(lchown("x", KEEP, BOB.gid), EPERM);
                t.err(lchown("x", 0, 0), EPERM);
                t.ok(lchown("x", ALICE.uid, KEEP));
            });
            t.about(format!("{kind:?}: a group that she is not in"));
            ALICE.run(|| t.err(lchown("x", KEEP, TEAM), EPERM));
            t.about(format!("{kind:?}: somebody else's"));
            BOB.with(&[ALICE.gid, TEAM]).run(|| {
                t.err(lchown("x", BOB.uid, KEEP), EPERM);
                t.err(lchown("x", KEEP, TEAM), EPERM);
                t.err(lchown("x", KEEP, ALICE.gid), EPERM);
            });
            t.eq(lstat("x").map(|s| (s.uid, s.gid)), Ok((ALICE.uid, ALICE.gid)));
            kind.remove("x").unwrap();
        }
    });
}

#[test]
fn special_bits_end() {
    posix(|t| {
        for kind in NODES {
            t.about(format!("{kind:?} by its owner"));
            kind.make("x");
            chown("x", ALICE.uid, ALICE.gid).unwrap();
            for mode in [0o6555, 0o4755, 0o2755] {
                chmod("x", mode).unwrap();
                alice_of_team().run(|| t.ok(chown("x", KEEP, TEAM)));
                t.eq(lstat("x").map(|s| s.perm()), Ok(mode & 0o777));
                alice_of_team().run(|| t.ok(chown("x", KEEP, ALICE.gid)));
            }
            t.about(format!("{kind:?} by root"));
            chmod("x", 0o6755).unwrap();
            t.ok(chown("x", 1, 1));
            t.eq(lstat("x").map(|s| s.perm()), Ok(0o755));
            unlink("x").unwrap();
        }
        t.about("not a directory's");
        mkdir("d", 0o755).unwrap();
        chmod("d", 0o6755).unwrap();
        t.ok(chown("d", 1, 1));
        t.eq(lstat("d").map(|s| s.perm()), Ok(0o6755));
        t.about("by descriptor");
        Kind::File.make("f");
        chmod("f", 0o4755).unwrap();
        let fd = open("f", O_RDONLY, 0).unwrap();
        t.ok(fchown(&fd, 9, 8));
        t.eq(fstat(&fd).map(|s| (s.uid, s.gid, s.perm())), Ok((9, 8, 0o755)));
    });
}
