//! open(2) and its flags.

use super::kinds::{Kind, get, put};
use crate::common::suite::{posix, tick};
use crate::common::sys::*;
use crate::common::users::{ALICE, BOB, CAROL};

#[test]
fn create_and_exclusive() {
    posix(|t| {
        t.err(open("f", O_RDWR, 0), ENOENT);
        let fd = open("f", O_CREAT | O_EXCL | O_RDWR, 0o640).unwrap();
        t.eq(write(&fd, b"abc"), Ok(3));
        t.eq(pread(&fd, 10, 0), Ok(b"abc".to_vec()));
        t.err(open("f", O_CREAT | O_EXCL | O_RDWR, 0o640), EEXIST);
        t.ok(open("f", O_CREAT | O_RDWR, 0o777));
        let s = lstat("f").unwrap();
        t.eq((s.perm(), s.size), (0o640, 3));
        t.about("a link, even one that points nowhere, is not followed by O_EXCL");
        symlink("nowhere", "l").unwrap();
        t.err(open("l", O_CREAT | O_EXCL | O_RDWR, 0o644), EEXIST);
        t.gone("nowhere");
        t.about("without O_EXCL it is");
        t.ok(open("l", O_CREAT | O_RDWR, 0o644));
        t.eq(lstat("nowhere").map(|s| s.kind()), Ok(S_IFREG));
        t.about("the descriptor that creates may write whatever the mode says");
        ALICE.run(|| {
            let fd = t.ok(open("r", O_CREAT | O_WRONLY, 0o000)).unwrap();
            t.eq(write(&fd, b"x"), Ok(1));
            t.err(open("r", O_WRONLY, 0), EACCES);
            t.err(open("r", O_RDONLY, 0), EACCES);
        });
    });
}

#[test]
fn truncating() {
    posix(|t| {
        put("f", b"some contents");
        let before = lstat("f").unwrap();
        tick();
        t.ok(open("f", O_WRONLY | O_TRUNC, 0));
        let after = lstat("f").unwrap();
        t.eq((after.size, after.blocks), (0, 0));
        t.yes("mtime grows", after.mtime > before.mtime);
        t.yes("ctime grows", after.ctime > before.ctime);
        put("f", b"more");
        t.about("by reading descriptors too, with the right to write");
        t.ok(open("f", O_RDONLY | O_TRUNC, 0));
        t.eq(lstat("f").unwrap().size, 0);
        put("f", b"more");
        chmod("f", 0o444).unwrap();
        t.about("without the right");
        ALICE.run(|| t.err(open("f", O_RDONLY | O_TRUNC, 0), EACCES));
        t.eq(get("f"), b"more".to_vec());
        t.about("other descriptors see it");
        let fd = open("f", O_RDWR, 0).unwrap();
        t.ok(open("f", O_WRONLY | O_CREAT | O_TRUNC, 0o644));
        t.eq(pread(&fd, 10, 0), Ok(vec![]));
        t.eq(fstat(&fd).map(|s| s.size), Ok(0));
    });
}

#[test]
fn directories() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        t.err(open("d", O_WRONLY, 0), EISDIR);
        t.err(open("d", O_RDWR, 0), EISDIR);
        t.err(open("d", O_RDONLY | O_TRUNC, 0), EISDIR);
        t.err(open("d", O_RDONLY | O_CREAT, 0o644), EISDIR);
        t.err(open("d", O_WRONLY | O_CREAT | O_TRUNC, 0o644), EISDIR);
        t.err(open("d", O_WRONLY | O_CREAT | O_EXCL, 0o644), EEXIST);
        let fd = open("d", O_RDONLY | O_DIRECTORY, 0).unwrap();
        t.err(read(&fd, 10), EISDIR);
        t.err(ftruncate(&fd, 0), EINVAL);
        t.ok(fsync(&fd));
        t.err(truncate("d", 0), EISDIR);
        for kind in [Kind::File, Kind::Fifo, Kind::Char, Kind::Socket] {
            t.about(format!("O_DIRECTORY on {kind:?}"));
            kind.make("x");
            t.err(open("x", O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0), ENOTDIR);
            unlink("x").unwrap();
        }
        symlink("d", "l").unwrap();
        t.ok(open("l", O_RDONLY | O_DIRECTORY, 0));
        t.err(open("l", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0), ENOTDIR);
    });
}

#[test]
fn links_are_not_followed() {
    posix(|t| {
        put("f", b"target");
        symlink("f", "l").unwrap();
        t.ok(open("l", O_RDONLY, 0));
        t.err(open("l", O_RDONLY | O_NOFOLLOW, 0), ELOOP);
        t.err(open("l", O_RDWR | O_CREAT | O_NOFOLLOW, 0o644), ELOOP);
        let fd = open("l", O_PATH | O_NOFOLLOW, 0).unwrap();
        t.eq(fstat(&fd).map(|s| s.kind()), Ok(S_IFLNK));
        t.err(read(&fd, 1), EBADF);
        t.about("a link on the way is");
        mkdir("d", 0o755).unwrap();
        put("d/x", b"1");
        symlink("d", "ld").unwrap();
        t.ok(open("ld/x", O_RDONLY | O_NOFOLLOW, 0));
    });
}

#[test]
fn access_modes_are_kept() {
    posix(|t| {
        put("f", b"12345");
        let (r, w) = (open("f", O_RDONLY, 0).unwrap(), open("f", O_WRONLY, 0).unwrap());
        t.err(write(&r, b"x"), EBADF);
        t.err(ftruncate(&r, 0), EINVAL);
        t.err(fallocate(&r, 0, 0, 10), EBADF);
        t.err(read(&w, 1), EBADF);
        t.eq(write(&w, b"x"), Ok(1));
        t.eq(read(&r, 10), Ok(b"x2345".to_vec()));
        t.about("a descriptor keeps its rights when the mode changes");
        chown("f", ALICE.uid, ALICE.gid).unwrap();
        chmod("f", 0o600).unwrap();
        let fd = ALICE.run(|| open("f", O_RDWR, 0)).unwrap();
        chmod("f", 0).unwrap();
        chown("f", BOB.uid, BOB.gid).unwrap();
        ALICE.run(|| {
            t.eq(pwrite(&fd, b"y", 0), Ok(1));
            t.eq(pread(&fd, 1, 0), Ok(b"y".to_vec()));
            t.err(open("f", O_RDONLY, 0), EACCES);
        });
    });
}

#[test]
fn rights_by_class() {
    posix(|t| {
        create("f", 0o644).unwrap();
        chown("f", ALICE.uid, ALICE.gid).unwrap();
        let flags = [(O_RDONLY, 4), (O_WRONLY, 2), (O_RDWR, 6)];
        // Owner, member of the group, other; only the first that fits counts.
        for (user, shift) in [(ALICE, 6), (CAROL, 3), (BOB, 0)] {
            for bits in 0..8u32 {
                for others in [0, 0o777] {
                    let mode = (others & !(7 << shift)) | (bits << shift);
                    chmod("f", mode).unwrap();
                    for (flag, need) in flags {
                        t.about(format!("{user:?} mode {mode:o} flags {flag}"));
                        let got = user.run(|| open("f", flag, 0).map(drop));
                        let want = if bits & need == need { Ok(()) } else { Err(Errno(EACCES)) };
                        t.eq(got, want);
                    }
                }
            }
        }
        t.about("root may");
        chmod("f", 0).unwrap();
        t.ok(open("f", O_RDWR, 0));
        t.err(eaccess("f", X_OK), EACCES);
        chmod("f", 0o001).unwrap();
        t.ok(eaccess("f", X_OK));
    });
}

#[test]
fn running_programs() {
    posix(|t| {
        put("script", b"#!/bin/sh\necho ran\n");
        chmod("script", 0o755).unwrap();
        let run = || std::process::Command::new("./script").output();
        t.yes("a script runs", run().is_ok_and(|o| o.stdout == b"ran\n"));
        chmod("script", 0o644).unwrap();
        t.eq(run().map_err(|e| e.raw_os_error()).err(), Some(Some(EACCES)));
        let program = std::fs::read("/bin/sleep").unwrap();
        put("sleep", &program);
        chmod("sleep", 0o755).unwrap();
        let mut child = std::process::Command::new("./sleep").arg("30").spawn().unwrap();
        t.about("a program that is running");
        t.err(open("sleep", O_WRONLY, 0), ETXTBSY);
        t.err(truncate("sleep", 0), ETXTBSY);
        t.ok(open("sleep", O_RDONLY, 0));
        t.ok(unlink("sleep"));
        child.kill().unwrap();
        child.wait().unwrap();
        t.about("one that is being written");
        put("w", &program);
        chmod("w", 0o755).unwrap();
        let writer = open("w", O_WRONLY, 0).unwrap();
        let ran = std::process::Command::new("./w").arg("0").status();
        t.eq(ran.map_err(|e| e.raw_os_error()).err(), Some(Some(ETXTBSY)));
        drop(writer);
    });
}

#[test]
fn odd_flags() {
    posix(|t| {
        put("f", b"x");
        // O_PATH keeps only what concerns the path.
        let fd = open("f", O_PATH, 0).unwrap();
        t.eq(fstat(&fd).map(|s| s.size), Ok(1));
        t.err(write(&fd, b"x"), EBADF);
        t.err(fchmod(&fd, 0o600), EBADF);
        t.about("O_NOATIME is the owner's");
        chmod("f", 0o666).unwrap();
        t.ok(open("f", O_RDONLY | O_NOATIME, 0));
        ALICE.run(|| t.err(open("f", O_RDONLY | O_NOATIME, 0), EPERM));
        t.about("changing flags afterwards");
        let fd = open("f", O_RDWR, 0).unwrap();
        t.ok(fcntl_int(&fd, F_SETFL, O_APPEND | O_NONBLOCK));
        t.eq(write(&fd, b"y"), Ok(1));
        t.eq(get("f"), b"xy".to_vec());
        t.about("a negative offset");
        t.err(pread(&fd, 1, -1), EINVAL);
        t.err(pwrite(&fd, b"x", -1), EINVAL);
        t.err(lseek(&fd, -1, SEEK_SET), EINVAL);
        t.eq(lseek(&fd, 0, SEEK_END), Ok(2));
        t.eq(lseek(&fd, 1 << 40, SEEK_CUR), Ok((1 << 40) + 2));
        t.eq(read(&fd, 1), Ok(vec![]));
    });
}
