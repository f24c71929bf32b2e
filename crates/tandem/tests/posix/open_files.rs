//! Files that lose their name while they are open.

use super::kinds::{get, pattern, put};
use crate::common::suite::{posix, tick};
use crate::common::sys::*;

#[test]
fn unlinked_while_open() {
    posix(|t| {
        let data = pattern(300_000, 1);
        put("f", &data);
        let fd = open("f", O_RDWR, 0).unwrap();
        let other = open("f", O_RDONLY, 0).unwrap();
        t.ok(unlink("f"));
        t.gone("f");
        t.eq(fstat(&fd).map(|s| (s.nlink, s.size)), Ok((0, 300_000)));
        t.yes("contents stay", pread(&fd, 400_000, 0).unwrap() == data);
        t.ok(ftruncate(&fd, 1000));
        t.eq(pwrite(&fd, b"later", 2000), Ok(5));
        t.eq(fstat(&other).map(|s| s.size), Ok(2005));
        t.eq(pread(&other, 10, 2000), Ok(b"later".to_vec()));
        t.ok(fchmod(&fd, 0o600));
        t.ok(fchown(&fd, 1, 2));
        t.ok(futimens(&fd, [Set::At((1, 2)), Set::At((3, 4))]));
        t.ok(fsync(&fd));
        t.eq(fstat(&fd).map(|s| (s.perm(), s.uid, s.mtime)), Ok((0o600, 1, (3, 4))));
        t.about("through /proc");
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&fd));
        t.eq(open(&path, O_RDONLY, 0).and_then(|f| pread(&f, 5, 2000)), Ok(b"later".to_vec()));
        t.err(link_fd(&fd, "again"), ENOENT);
        t.about("a new file of that name is another");
        put("f", b"new");
        t.eq(pread(&other, 10, 2000), Ok(b"later".to_vec()));
        t.eq(get("f"), b"new".to_vec());
    });
}

#[test]
fn links_count_down_while_open() {
    posix(|t| {
        put("a", b"x");
        link("a", "b").unwrap();
        let fd = open("a", O_RDONLY, 0).unwrap();
        let mut last = fstat(&fd).unwrap();
        for (name, left) in [("a", 1), ("b", 0)] {
            tick();
            t.ok(unlink(name));
            let now = fstat(&fd).unwrap();
            t.eq(now.nlink, left);
            t.yes("ctime grows", now.ctime > last.ctime);
            t.eq(now.mtime, last.mtime);
            last = now;
        }
    });
}

#[test]
fn many_unlinked_files() {
    posix(|t| {
        let fds: Vec<_> = (0..300)
            .map(|i| {
                put("f", &pattern(10_000, i));
                let fd = open("f", O_RDWR, 0).unwrap();
                unlink("f").unwrap();
                fd
            })
            .collect();
        t.eq(names("."), Ok(vec![]));
        for (i, fd) in fds.iter().enumerate() {
            t.yes("its own contents", pread(fd, 20_000, 0) == Ok(pattern(10_000, i as u64)));
        }
    });
}

#[test]
fn a_directory_removed_under_a_process() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        chdir("d").unwrap();
        t.ok(rmdir("../d"));
        t.err(create("x", 0o644), ENOENT);
        t.err(mkdir("x", 0o755), ENOENT);
        t.err(symlink("y", "x"), ENOENT);
        t.eq(stat(".").map(|s| s.nlink), Ok(0));
        t.yes("no names", names(".").map_or_else(|e| e.0 == ENOENT, |n| n.is_empty()));
        t.err(getcwd(), ENOENT);
        t.ok(chdir(t.root()));
    });
}
