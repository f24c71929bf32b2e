//! Making nodes of every kind: modes, owners, umask, inherited groups, times.

use super::kinds::{ALL, Kind, NODES};
use crate::common::suite::{posix, tick};
use crate::common::sys::*;
use crate::common::users::{ALICE, TEAM, alice_of_team, with_umask};

#[test]
fn modes_and_umask() {
    posix(|t| {
        for kind in NODES.into_iter().chain([Kind::Dir]) {
            for umask in [0, 0o022, 0o077, 0o070, 0o501, 0o777] {
                for mode in [0o000, 0o151, 0o644, 0o755, 0o777] {
                    t.about(format!("{kind:?} {mode:o} umask {umask:o}"));
                    t.ok(with_umask(umask, || kind.try_make("x", mode)));
                    let s = lstat("x").unwrap();
                    t.eq(s.mode, kind.bits() | (mode & !umask));
                    kind.remove("x").unwrap();
                }
            }
        }
        t.about("special bits");
        with_umask(0, || {
            t.ok(create("f", 0o6755));
            t.eq(lstat("f").unwrap().perm(), 0o6755);
            t.ok(mkdir("d", 0o1777));
            t.eq(lstat("d").unwrap().perm(), 0o1777);
            t.ok(open("c", O_CREAT | O_WRONLY, 0o1644));
            t.eq(lstat("c").unwrap().perm(), 0o1644);
        });
        t.about("a symbolic link has all rights");
        with_umask(0o777, || symlink("x", "l")).unwrap();
        t.eq(lstat("l").unwrap().mode, S_IFLNK | 0o777);
    });
}

#[test]
fn owners() {
    posix(|t| {
        mkdir("d", 0o777).unwrap();
        chmod("d", 0o777).unwrap();
        for kind in ALL {
            if matches!(kind, Kind::Char | Kind::Block) {
                t.about(format!("{kind:?} by an ordinary user"));
                t.err(ALICE.run(|| kind.try_make("d/x", 0o644)), EPERM);
                continue;
            }
            t.about(format!("{kind:?}"));
            t.ok(ALICE.run(|| kind.try_make("d/x", 0o644)));
            let s = lstat("d/x").unwrap();
            t.eq((s.uid, s.gid), (ALICE.uid, ALICE.gid));
            kind.remove("d/x").unwrap();
        }
        t.about("the group of the process, not of the directory");
        chown("d", 0, 77).unwrap();
        create("d/x", 0o644).unwrap();
        t.eq(lstat("d/x").unwrap().gid, 0);
    });
}

#[test]
fn set_group_id_directories() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        chown("d", 12, TEAM).unwrap();
        chmod("d", 0o2777).unwrap();
        for kind in ALL {
            t.about(format!("{kind:?}"));
            t.ok(kind.try_make("d/x", 0o751));
            let s = lstat("d/x").unwrap();
            t.eq((s.uid, s.gid), (0, TEAM));
            match kind {
                Kind::Dir => t.eq(s.perm(), 0o2751),
                Kind::Symlink => t.eq(s.perm(), 0o777),
                _ => t.eq(s.perm(), 0o751),
            };
            kind.remove("d/x").unwrap();
        }
        t.about("set-group-ID executables of a group that one is not in");
        with_umask(0, || {
            ALICE.run(|| t.ok(create("d/x", 0o2755)));
            t.eq(lstat("d/x").unwrap().perm(), 0o755);
            alice_of_team().run(|| t.ok(create("d/y", 0o2755)));
            t.eq(lstat("d/y").unwrap().perm(), 0o2755);
        });
        t.about("two levels down");
        mkdir("d/e", 0o755).unwrap();
        mkdir("d/e/f", 0o755).unwrap();
        t.eq(lstat("d/e/f").map(|s| (s.gid, s.perm())), Ok((TEAM, 0o2755)));
        t.about("an unnamed file");
        if let Some(fd) = t.ok(open("d", O_TMPFILE | O_RDWR, 0o644)) {
            t.eq(fstat(&fd).map(|s| s.gid), Ok(TEAM));
        }
    });
}

#[test]
fn device_numbers() {
    posix(|t| {
        let numbers = [(0, 0), (1, 3), (8, 255), (259, 256), (0xfff, 0xf_ffff), (254, 65_536)];
        for (major, minor) in numbers {
            for kind in [S_IFCHR, S_IFBLK] {
                t.about(format!("{kind:o} {major}:{minor}"));
                t.ok(mknod("n", kind | 0o600, makedev(major, minor)));
                let s = lstat("n").unwrap();
                t.eq((s.kind(), s.rdev), (kind, (major, minor)));
                t.eq((s.size, s.blocks, s.nlink), (0, 0, 1));
                t.ok(unlink("n"));
            }
        }
        t.about("no device number elsewhere");
        mkfifo("p", 0o600).unwrap();
        create("f", 0o600).unwrap();
        t.eq(lstat("p").unwrap().rdev, (0, 0));
        t.eq(lstat("f").unwrap().rdev, (0, 0));
        t.about("mknod of other types");
        t.ok(mknod("r", S_IFREG | 0o640, 0));
        t.eq(lstat("r").unwrap().mode, S_IFREG | 0o640);
        t.ok(mknod("r0", 0o640, 0));
        t.eq(lstat("r0").unwrap().mode, S_IFREG | 0o640);
        t.err(mknod("d", S_IFDIR | 0o755, 0), EPERM);
        t.err(mknod("l", S_IFLNK | 0o777, 0), EINVAL);
        t.err(mknod("m", S_IFMT | 0o777, 0), EINVAL);
    });
}

#[test]
fn nodes_in_use() {
    posix(|t| {
        mkfifo("p", 0o600).unwrap();
        t.about("a fifo without a reader");
        t.err(open("p", O_WRONLY | O_NONBLOCK, 0), ENXIO);
        let reader = open("p", O_RDONLY | O_NONBLOCK, 0).unwrap();
        let writer = open("p", O_WRONLY | O_NONBLOCK, 0).unwrap();
        t.eq(write(&writer, b"through"), Ok(7));
        t.eq(read(&reader, 100), Ok(b"through".to_vec()));
        t.about("a device");
        mknod("null", S_IFCHR | 0o666, makedev(1, 3)).unwrap();
        let null = open("null", O_RDWR, 0);
        if let Some(null) = t.ok(null) {
            t.eq(write(&null, b"gone"), Ok(4));
            t.eq(read(&null, 10), Ok(vec![]));
        }
        t.about("a socket");
        let listener = std::os::unix::net::UnixListener::bind("s").unwrap();
        t.eq(lstat("s").unwrap().kind(), S_IFSOCK);
        t.err(open("s", O_RDWR, 0), ENXIO);
        let client = std::os::unix::net::UnixStream::connect("s");
        t.yes("a client connects by the name", client.is_ok());
        drop(listener);
        t.ok(unlink("s"));
    });
}

#[test]
fn times_of_what_is_made() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        for kind in ALL {
            t.about(format!("{kind:?}"));
            let before = lstat("d").unwrap();
            tick();
            kind.make("d/x");
            let (dir, new) = (lstat("d").unwrap(), lstat("d/x").unwrap());
            t.yes("the directory's mtime grows", dir.mtime > before.mtime);
            t.yes("the directory's ctime grows", dir.ctime > before.ctime);
            t.eq(dir.atime, before.atime);
            t.yes("the new times are of now", new.mtime > before.mtime);
            t.eq(new.ctime, new.mtime);
            t.eq(new.atime, new.mtime);
            if let Some(born) = new.btime {
                t.yes("born now", born > before.mtime && born <= new.ctime);
            }
            kind.remove("d/x").unwrap();
        }
    });
}

#[test]
fn numbers_are_not_shared() {
    posix(|t| {
        let mut seen = std::collections::HashSet::new();
        for i in 0..50 {
            for kind in ALL {
                let name = format!("{kind:?}{i}");
                kind.make(&name);
                let s = lstat(&name).unwrap();
                t.yes("its own number", seen.insert(s.ino));
                t.yes("not zero", s.ino != 0);
            }
        }
    });
}

#[test]
fn names_of_any_bytes() {
    posix(|t| {
        let byte_name = |b: u8| -> std::ffi::OsString {
            std::os::unix::ffi::OsStringExt::from_vec(vec![b'x', b, b])
        };
        let usable = || (1u8..=255).filter(|b| *b != b'/');
        for b in usable() {
            t.about(format!("byte {b}"));
            t.ok(create(byte_name(b), 0o644));
        }
        t.about("listing");
        let dir = open(".", O_RDONLY, 0).unwrap();
        let mut listed: Vec<Vec<u8>> =
            read_dir(&dir, 4096).unwrap().into_iter().map(|e| e.name).collect();
        listed.retain(|n| n != b"." && n != b"..");
        listed.sort();
        let want: Vec<Vec<u8>> = usable().map(|b| vec![b'x', b, b]).collect();
        t.eq(listed, want);
        for b in usable() {
            t.about(format!("byte {b}"));
            t.ok(unlink(byte_name(b)));
        }
        t.about("names that differ in case, or in how a letter is composed, differ");
        for name in ["a", "A", "é", "e\u{301}", " ", "a ", "...", "-", "\u{1F4C1}", "*", "\\"] {
            t.ok(create(name, 0o644));
        }
        t.eq(names(".").map(|n| n.len()), Ok(11));
    });
}
