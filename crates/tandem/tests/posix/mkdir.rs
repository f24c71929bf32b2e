//! Directories: their links, what rmdir refuses, and depth.

use super::kinds::{ALL, Kind, NON_DIRS};
use crate::common::suite::{posix, tick};
use crate::common::sys::*;
use crate::common::users::ALICE;

#[test]
fn links_of_directories() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        t.eq(lstat("d").unwrap().nlink, 2);
        for i in 1..=5 {
            mkdir(format!("d/{i}"), 0o755).unwrap();
            t.eq(lstat("d").unwrap().nlink, 2 + i);
        }
        create("d/file", 0o644).unwrap();
        t.eq(lstat("d").unwrap().nlink, 7);
        for i in (1..=5).rev() {
            rmdir(format!("d/{i}")).unwrap();
            t.eq(lstat("d").unwrap().nlink, 1 + i);
        }
        t.about("dots");
        let (here, dot, up) =
            (stat("d").unwrap().ino, stat("d/.").unwrap().ino, stat("d/..").unwrap().ino);
        t.eq(dot, here);
        t.eq(up, stat(".").unwrap().ino);
    });
}

#[test]
fn rmdir_refuses() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        for kind in ALL {
            t.about(format!("{kind:?} inside"));
            kind.make("d/x");
            t.one_of(rmdir("d"), &[ENOTEMPTY, EEXIST]);
            kind.remove("d/x").unwrap();
        }
        for kind in NON_DIRS {
            t.about(format!("{kind:?}"));
            kind.make("x");
            t.err(rmdir("x"), ENOTDIR);
            unlink("x").unwrap();
        }
        symlink("d", "l").unwrap();
        t.about("");
        t.err(rmdir("l"), ENOTDIR);
        t.err(rmdir("d/."), EINVAL);
        mkdir("d/e", 0o755).unwrap();
        t.one_of(rmdir("d/e/.."), &[ENOTEMPTY, EEXIST]);
        t.ok(rmdir("d/e"));
        t.ok(rmdir("d"));
        t.err(rmdir("d"), ENOENT);
    });
}

#[test]
fn rmdir_changes_times() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        mkdir("d/e", 0o755).unwrap();
        let before = lstat("d").unwrap();
        tick();
        t.ok(rmdir("d/e"));
        let after = lstat("d").unwrap();
        t.yes("mtime", after.mtime > before.mtime);
        t.yes("ctime", after.ctime > before.ctime);
        t.about("refused: nothing changes");
        mkdir("d/e", 0o755).unwrap();
        create("d/e/f", 0o644).unwrap();
        let before = (lstat("d").unwrap(), lstat("d/e").unwrap());
        tick();
        t.err(rmdir("d/e"), ENOTEMPTY);
        t.eq((lstat("d").unwrap(), lstat("d/e").unwrap()), before);
    });
}

#[test]
fn a_removed_directory_that_is_open() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        let fd = open("d", O_RDONLY | O_DIRECTORY, 0).unwrap();
        t.ok(rmdir("d"));
        t.eq(fstat(&fd).map(|s| s.nlink), Ok(0));
        t.err(openat(std::os::fd::AsRawFd::as_raw_fd(&fd), "x", O_CREAT | O_WRONLY, 0o644), ENOENT);
        // Linux file systems differ: nothing, the dots, or no directory any more.
        let left = read_dir(&fd, 4096);
        t.yes("no entries", left.map_or_else(|e| e.0 == ENOENT, |v| v.len() <= 2));
        t.ok(mkdir("d", 0o755));
        t.yes("a new one", lstat("d").unwrap().ino != fstat(&fd).unwrap().ino);
    });
}

#[test]
fn deep_trees() {
    posix(|t| {
        let root = t.root().to_owned();
        const DEPTH: usize = 300;
        for i in 0..DEPTH {
            mkdir("deeper-and-deeper", 0o755).unwrap();
            t.ok(chdir("deeper-and-deeper"));
            if i % 50 == 0 {
                create("file", 0o644).unwrap();
            }
        }
        let len = getcwd().map(|p| p.as_os_str().len());
        // Past PATH_MAX the kernel cannot say where it is.
        t.yes("deeper than a path can say", len.is_err() || len.unwrap() > 4000);
        for _ in 0..DEPTH {
            t.ok(chdir(".."));
        }
        t.eq(stat(".").map(|s| s.ino), stat(&root).map(|s| s.ino));
        t.yes("removed", std::fs::remove_dir_all("deeper-and-deeper").is_ok());
        t.eq(names("."), Ok(vec![]));
    });
}

#[test]
fn ordinary_users() {
    posix(|t| {
        ALICE.run(|| {
            t.ok(mkdir("a", 0o700));
            t.ok(mkdir("a/b", 0o000));
            t.err(mkdir("a/b/c", 0o700), EACCES);
            t.ok(rmdir("a/b"));
            t.ok(Kind::File.try_make("a/f", 0));
            t.ok(unlink("a/f"));
        });
        t.ok(mkdir("a/root", 0o000));
        t.about("root needs no rights");
        t.ok(mkdir("a/root/x", 0o000));
        t.ok(create("a/root/x/y", 0o000));
        t.eq(names("a/root/x"), Ok(vec!["y".into()]));
        t.about("her directory, another's directory in it");
        ALICE.run(|| {
            t.one_of(rmdir("a/root"), &[ENOTEMPTY, EEXIST]);
            t.err(unlink("a/root/x/y"), EACCES);
        });
        unlink("a/root/x/y").unwrap();
        rmdir("a/root/x").unwrap();
        t.ok(ALICE.run(|| rmdir("a/root")));
    });
}
