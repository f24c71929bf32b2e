//! utimensat(2).

use super::kinds::{ALL, put};
use crate::common::suite::{posix, tick};
use crate::common::sys::*;
use crate::common::users::{ALICE, BOB};

const NOFOLLOW: i32 = AT_SYMLINK_NOFOLLOW;

#[test]
fn every_kind_and_range() {
    posix(|t| {
        let mut times: Vec<When> = vec![
            (0, 0),
            (1, 1),
            (-1, 999_999_999),
            (-2_147_483_648, 0),
            (-1_000_000_000, 5),
            (2_147_483_647, 999_999_999),
            (2_147_483_648, 123_456_789),
            (4_294_967_295, 1),
            (4_294_967_296, 999_999_999),
            (10_000_000_000, 500),
        ];
        if t.tandem() {
            // Year 1, year 9999.
            times.extend([(-62_135_596_800, 1), (253_402_300_799, 999_999_999)]);
        }
        for kind in ALL {
            kind.make("x");
            for pair in times.windows(2) {
                t.about(format!("{kind:?} {pair:?}"));
                t.ok(utimens("x", [Set::At(pair[0]), Set::At(pair[1])], NOFOLLOW));
                t.eq(lstat("x").map(|s| (s.atime, s.mtime)), Ok((pair[0], pair[1])));
            }
            kind.remove("x").unwrap();
        }
        t.about("by descriptor");
        put("f", b"");
        let fd = open("f", O_RDONLY, 0).unwrap();
        t.ok(futimens(&fd, [Set::At((11, 12)), Set::At((13, 14))]));
        t.eq(fstat(&fd).map(|s| (s.atime, s.mtime)), Ok(((11, 12), (13, 14))));
    });
}

#[test]
fn now_and_omit() {
    posix(|t| {
        put("f", b"");
        let old = [Set::At((100, 1)), Set::At((200, 2))];
        let born = lstat("f").unwrap();
        utimens("f", old, 0).unwrap();
        t.ok(utimens("f", [Set::Omit, Set::At((300, 3))], 0));
        t.eq(lstat("f").map(|s| (s.atime, s.mtime)), Ok(((100, 1), (300, 3))));
        t.ok(utimens("f", [Set::At((400, 4)), Set::Omit], 0));
        t.eq(lstat("f").map(|s| (s.atime, s.mtime)), Ok(((400, 4), (300, 3))));
        t.ok(utimens("f", [Set::Now, Set::Omit], 0));
        let s = lstat("f").unwrap();
        t.yes("atime is now", s.atime >= born.ctime && s.mtime == (300, 3));
        t.ok(utimens("f", [Set::Omit, Set::Now], 0));
        t.yes("mtime is now", lstat("f").unwrap().mtime >= born.ctime);
        utimens("f", old, 0).unwrap();
        t.ok(utimens_null("f"));
        let s = lstat("f").unwrap();
        t.yes("both are now", s.atime >= born.ctime && s.mtime >= born.ctime);
        t.about("ctime");
        tick();
        let before = lstat("f").unwrap();
        t.ok(utimens("f", old, 0));
        let after = lstat("f").unwrap();
        t.yes("grows", after.ctime > before.ctime);
        t.eq(after.btime, born.btime);
        tick();
        t.about("omitting both changes nothing");
        t.ok(utimens("f", [Set::Omit, Set::Omit], 0));
        t.eq(lstat("f").unwrap(), after);
        t.about("refused");
        t.err(utimens("f", [Set::At((0, 1_000_000_000)), Set::Omit], 0), EINVAL);
        t.err(utimens("f", [Set::Omit, Set::At((0, u32::MAX))], 0), EINVAL);
        t.err(utimens("f", old, 1 << 20), EINVAL);
    });
}

#[test]
fn who_may() {
    posix(|t| {
        put("f", b"");
        mkdir("d", 0o755).unwrap();
        for path in ["f", "d"] {
            chown(path, ALICE.uid, ALICE.gid).unwrap();
            let given = [Set::At((1, 1)), Set::At((2, 2))];
            // The mode for others, what setting to the present gives to somebody else.
            for (mode, now) in [(0o700, Err(Errno(EACCES))), (0o702, Ok(())), (0o707, Ok(()))] {
                t.about(format!("{path} mode {mode:o}"));
                chmod(path, mode).unwrap();
                BOB.run(|| {
                    t.eq(utimens_null(path), now);
                    t.eq(utimens(path, [Set::Now, Set::Now], 0), now);
                    t.err(utimens(path, given, 0), EPERM);
                    t.err(utimens(path, [Set::Now, Set::Omit], 0), EPERM);
                    t.err(utimens(path, [Set::Omit, Set::Now], 0), EPERM);
                    t.ok(utimens(path, [Set::Omit, Set::Omit], 0));
                });
            }
            t.about(format!("{path} by its owner"));
            chmod(path, 0).unwrap();
            ALICE.run(|| {
                t.ok(utimens(path, given, 0));
                t.ok(utimens_null(path));
                t.ok(utimens(path, [Set::Now, Set::Omit], 0));
            });
        }
    });
}

#[test]
fn links() {
    posix(|t| {
        put("f", b"");
        symlink("f", "l").unwrap();
        let was = lstat("l").unwrap().mtime;
        t.ok(utimens("l", [Set::At((1, 1)), Set::At((2, 2))], 0));
        t.eq(lstat("f").map(|s| s.mtime), Ok((2, 2)));
        t.eq(lstat("l").map(|s| s.mtime), Ok(was));
        t.ok(utimens("l", [Set::At((3, 3)), Set::At((4, 4))], NOFOLLOW));
        t.eq(lstat("f").map(|s| s.mtime), Ok((2, 2)));
        t.eq(lstat("l").map(|s| (s.atime, s.mtime)), Ok(((3, 3), (4, 4))));
    });
}

#[test]
fn times_stay_when_set_after_writing() {
    posix(|t| {
        // What every archiver does: write, set the times, close, and expect them to stay.
        for i in 0..20 {
            let name = format!("f{i}");
            let fd = open(&name, O_CREAT | O_WRONLY, 0o644).unwrap();
            write(&fd, &vec![1u8; 1000 * i]).unwrap();
            t.ok(futimens(&fd, [Set::At((1000, 1)), Set::At((2000, 2))]));
            drop(fd);
        }
        let dir = open(".", O_RDONLY, 0).unwrap();
        syncfs(&dir).unwrap();
        for i in 0..20 {
            let fd = open(format!("f{i}"), O_RDONLY, 0).unwrap();
            fsync(&fd).unwrap();
            drop_pages(&fd);
            t.eq(fstat(&fd).map(|s| (s.atime, s.mtime)), Ok(((1000, 1), (2000, 2))));
        }
    });
}
