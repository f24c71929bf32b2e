//! Removing names.

use super::kinds::{NON_DIRS, put};
use crate::common::suite::{posix, tick};
use crate::common::sys::*;
use crate::common::users::ALICE;

#[test]
fn every_kind() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        for kind in NON_DIRS {
            t.about(format!("{kind:?}"));
            kind.make("d/x");
            let before = lstat("d").unwrap();
            tick();
            t.ok(unlink("d/x"));
            let after = lstat("d").unwrap();
            t.yes("mtime grows", after.mtime > before.mtime);
            t.yes("ctime grows", after.ctime > before.ctime);
            t.gone("d/x");
            t.err(unlink("d/x"), ENOENT);
        }
        t.about("a directory");
        t.err(unlink("d"), EISDIR);
        t.err(unlink("."), EISDIR);
        t.eq(lstat("d").map(|s| s.nlink), Ok(2));
        t.about("a link to a directory");
        symlink("d", "l").unwrap();
        t.ok(unlink("l"));
        t.ok(lstat("d"));
    });
}

#[test]
fn the_name_is_free_at_once() {
    posix(|t| {
        for i in 0..200u32 {
            put("f", &i.to_le_bytes());
            t.eq(lstat("f").map(|s| s.size), Ok(4));
            t.ok(unlink("f"));
            t.gone("f");
            t.ok(mkdir("f", 0o755));
            t.ok(rmdir("f"));
        }
        t.eq(names("."), Ok(vec![]));
    });
}

#[test]
fn rights_are_the_directorys() {
    posix(|t| {
        mkdir("d", 0o777).unwrap();
        chmod("d", 0o777).unwrap();
        create("d/root", 0o000).unwrap();
        t.ok(ALICE.run(|| unlink("d/root")));
        ALICE.run(|| {
            mkdir("hers", 0o755).unwrap();
            create("hers/f", 0o644).unwrap();
            chmod("hers", 0o555).unwrap();
            t.err(unlink("hers/f"), EACCES);
            chmod("hers", 0o666).unwrap();
            t.err(unlink("hers/f"), EACCES);
            chmod("hers", 0o300).unwrap();
            t.ok(unlink("hers/f"));
        });
    });
}

#[test]
fn space_comes_back() {
    posix(|t| {
        let free = || {
            let fd = open(".", O_RDONLY, 0).unwrap();
            syncfs(&fd).unwrap();
            statvfs(".").map(|s| s.f_bfree * s.f_frsize).unwrap()
        };
        let before = free();
        put("f", &vec![7u8; 8 << 20]);
        let fd = open("f", O_RDONLY, 0).unwrap();
        fsync(&fd).unwrap();
        let during = free();
        t.yes("used", during + (7 << 20) < before);
        unlink("f").unwrap();
        drop(fd);
        // Freed space may wait for a commit.
        let back = (0..100).any(|_| {
            let back = free() + (1 << 20) > before;
            if !back {
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            back
        });
        t.yes("free again within ten seconds", back);
    });
}
