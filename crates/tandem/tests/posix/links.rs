//! Hard links.

use super::kinds::{Kind, NON_DIRS, get, put};
use crate::common::suite::{posix, tick};
use crate::common::sys::*;
use crate::common::users::{ALICE, BOB};

#[test]
fn every_kind_can_be_linked() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        for kind in NON_DIRS {
            t.about(format!("{kind:?}"));
            kind.make("a");
            t.eq(lstat("a").unwrap().nlink, 1);
            t.ok(link("a", "b"));
            t.ok(link("b", "d/c"));
            let (a, b, c) = (lstat("a").unwrap(), lstat("b").unwrap(), lstat("d/c").unwrap());
            t.eq(a.nlink, 3);
            t.eq(&a, &b);
            t.eq(&a, &c);
            t.about(format!("{kind:?}: attributes are common"));
            if kind != Kind::Symlink {
                t.ok(chmod("b", 0o611));
                t.eq(lstat("a").unwrap().perm(), 0o611);
            }
            t.ok(lchown("d/c", 5, 6));
            t.eq(lstat("a").map(|s| (s.uid, s.gid)), Ok((5, 6)));
            t.ok(unlink("a"));
            t.eq(lstat("b").unwrap().nlink, 2);
            t.gone("a");
            t.ok(unlink("b"));
            t.eq(lstat("d/c").map(|s| (s.nlink, s.ino)), Ok((1, a.ino)));
            t.ok(rename("d/c", "a"));
            t.ok(unlink("a"));
        }
    });
}

#[test]
fn times() {
    posix(|t| {
        put("a", b"contents");
        mkdir("d", 0o755).unwrap();
        let (file, dir) = (lstat("a").unwrap(), lstat("d").unwrap());
        tick();
        t.ok(link("a", "d/b"));
        let (file2, dir2) = (lstat("a").unwrap(), lstat("d").unwrap());
        t.yes("the file's ctime grows", file2.ctime > file.ctime);
        t.eq(file2.mtime, file.mtime);
        t.yes("the directory's mtime grows", dir2.mtime > dir.mtime);
        t.yes("the directory's ctime grows", dir2.ctime > dir.ctime);
        tick();
        t.ok(unlink("d/b"));
        let (file3, dir3) = (lstat("a").unwrap(), lstat("d").unwrap());
        t.yes("ctime grows again", file3.ctime > file2.ctime);
        t.eq(file3.mtime, file.mtime);
        t.yes("the directory's mtime too", dir3.mtime > dir2.mtime);
        t.about("refused: nothing changes");
        put("x", b"");
        let before = (lstat("a").unwrap(), lstat("x").unwrap(), lstat(".").unwrap());
        tick();
        t.err(link("a", "x"), EEXIST);
        t.eq((lstat("a").unwrap(), lstat("x").unwrap(), lstat(".").unwrap()), before);
    });
}

#[test]
fn refused() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        t.err(link("d", "e"), EPERM);
        t.err(link("missing", "e"), ENOENT);
        put("f", b"");
        t.err(link("f", "missing/x"), ENOENT);
        t.about("to another file system");
        t.err(link("/proc/self/status", "e"), EXDEV);
        t.about("directories by ordinary users");
        ALICE.run(|| {
            mkdir("hers", 0o755).unwrap();
            t.err(link("hers", "e"), EPERM);
        });
        t.about("a link to a link is to the link itself");
        symlink("f", "l").unwrap();
        t.ok(link("l", "l2"));
        t.eq(lstat("l2").map(|s| s.kind()), Ok(S_IFLNK));
        t.ok(linkat("l", "f2", AT_SYMLINK_FOLLOW));
        t.eq(lstat("f2").map(|s| s.ino), lstat("f").map(|s| s.ino));
    });
}

#[test]
fn by_other_users() {
    posix(|t| {
        ALICE.run(|| put("hers", b"1"));
        chmod("hers", 0o666).unwrap();
        mkdir("open", 0o777).unwrap();
        chmod("open", 0o777).unwrap();
        t.ok(ALICE.run(|| link("hers", "open/a")));
        t.about("one may link what one may read and write");
        t.ok(BOB.run(|| link("hers", "open/b")));
        t.eq(lstat("hers").map(|s| (s.nlink, s.uid)), Ok((3, ALICE.uid)));
    });
}

#[test]
fn thousands() {
    posix(|t| {
        const MANY: u32 = 5000;
        put("f", b"one file");
        mkdir("d", 0o755).unwrap();
        for i in 0..MANY {
            if t.ok(link("f", format!("d/{i}"))).is_none() {
                return;
            }
        }
        t.eq(lstat("f").map(|s| s.nlink), Ok(MANY + 1));
        t.eq(get("d/4321"), b"one file".to_vec());
        put("d/17", b"changed");
        t.eq(get("f"), b"changed".to_vec());
        t.ok(unlink("f"));
        let ino = lstat("d/0").unwrap().ino;
        let all = (0..MANY)
            .all(|i| lstat(format!("d/{i}")).is_ok_and(|s| s.ino == ino && s.nlink == MANY));
        t.yes("all are one", all);
        for i in 1..MANY {
            unlink(format!("d/{i}")).unwrap();
        }
        t.eq(lstat("d/0").map(|s| s.nlink), Ok(1));
        t.eq(get("d/0"), b"changed".to_vec());
    });
}

#[test]
fn names_of_one_file_in_many_directories() {
    posix(|t| {
        put("f", b"x");
        for i in 0..100 {
            mkdir(format!("d{i}"), 0o755).unwrap();
            link("f", format!("d{i}/name")).unwrap();
        }
        for i in (0..100).step_by(2) {
            rename(format!("d{i}/name"), format!("d{}/other", i + 1)).unwrap();
            rmdir(format!("d{i}")).unwrap();
        }
        t.eq(lstat("f").map(|s| s.nlink), Ok(101));
        t.eq(names("d1"), Ok(vec!["name".into(), "other".into()]));
        t.about("renaming one name of a file to another name of it does nothing");
        t.ok(rename("d1/name", "d1/other"));
        t.eq(names("d1"), Ok(vec!["name".into(), "other".into()]));
        t.eq(lstat("f").map(|s| s.nlink), Ok(101));
    });
}
