//! Symbolic links.

use super::kinds::{get, put};
use crate::common::suite::{posix, tick};
use crate::common::sys::*;
use crate::common::users::ALICE;

#[test]
fn targets_of_every_length() {
    posix(|t| {
        // A target from one byte to the longest: in the record, in the leaf, in its own block.
        let lens = [1, 2, 7, 30, 59, 60, 61, 100, 128, 255, 256, 500, 1000, 2000, 3000, 4000, 4094];
        for len in lens.into_iter().chain([4095]) {
            t.about(format!("{len} bytes"));
            let target: String = (0..len).map(|i| char::from(b'a' + (i % 26) as u8)).collect();
            let name = format!("l{len}");
            t.ok(symlink(&target, &name));
            t.eq(readlink(&name), Ok(target.into_bytes()));
            let s = lstat(&name).unwrap();
            t.eq((s.size, s.mode, s.nlink), (len as u64, S_IFLNK | 0o777, 1));
        }
        t.about("too long");
        t.err(symlink("x".repeat(4096), "l"), ENAMETOOLONG);
        t.err(symlink("", "l"), ENOENT);
        t.about("any bytes");
        t.ok(symlink("//.//..\n\u{1}é", "l"));
        t.eq(readlink("l"), Ok("//.//..\n\u{1}é".into()));
    });
}

#[test]
fn following() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        put("d/f", b"here");
        symlink("d/f", "to-file").unwrap();
        symlink("d", "to-dir").unwrap();
        symlink("../d/f", "d/up").unwrap();
        symlink(t.root().join("d/f"), "absolute").unwrap();
        for path in ["to-file", "to-dir/f", "d/up", "to-dir/up", "absolute", "to-dir/../d/f"] {
            t.about(path);
            t.eq(get(path), b"here".to_vec());
        }
        t.about("calls that follow");
        t.ok(chmod("to-file", 0o600));
        t.ok(chown("to-file", 3, 4));
        t.ok(truncate("to-file", 2));
        let s = lstat("d/f").unwrap();
        t.eq((s.perm(), s.uid, s.gid, s.size), (0o600, 3, 4, 2));
        t.about("calls that do not");
        t.ok(lchown("to-file", 8, 9));
        t.eq(lstat("to-file").map(|s| (s.uid, s.gid)), Ok((8, 9)));
        t.eq(lstat("d/f").map(|s| (s.uid, s.gid)), Ok((3, 4)));
        t.ok(unlink("to-file"));
        t.ok(lstat("d/f"));
        t.err(unlink("to-dir/"), ENOTDIR);
        t.about("no link");
        t.err(readlink("d/f"), EINVAL);
        t.err(readlink("d"), EINVAL);
    });
}

#[test]
fn dangling() {
    posix(|t| {
        symlink("made-later", "l").unwrap();
        t.err(stat("l"), ENOENT);
        t.err(open("l", O_RDONLY, 0), ENOENT);
        t.eq(lstat("l").map(|s| s.kind()), Ok(S_IFLNK));
        t.err(mkdir("l", 0o755), EEXIST);
        put("l", b"through the link");
        t.eq(get("made-later"), b"through the link".to_vec());
    });
}

#[test]
fn times_and_owner() {
    posix(|t| {
        let before = lstat(".").unwrap();
        tick();
        ALICE.run(|| symlink("x", "l")).unwrap();
        let (s, dir) = (lstat("l").unwrap(), lstat(".").unwrap());
        t.eq((s.uid, s.gid), (ALICE.uid, ALICE.gid));
        t.yes("the directory's mtime grows", dir.mtime > before.mtime);
        t.ok(utimens("l", [Set::At((5, 6)), Set::At((7, 8))], AT_SYMLINK_NOFOLLOW));
        let s = lstat("l").unwrap();
        t.eq((s.atime, s.mtime), ((5, 6), (7, 8)));
        t.about("replacing a link in one step");
        symlink("new", "l2").unwrap();
        t.ok(rename("l2", "l"));
        t.eq(readlink("l"), Ok(b"new".to_vec()));
    });
}
