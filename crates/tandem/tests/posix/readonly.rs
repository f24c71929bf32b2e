//! A mount that nothing can be written to.

use super::kinds::{ALL, put};
use crate::common::suite::read_only;
use crate::common::sys::*;
use crate::common::users::ALICE;

fn prepare() {
    mkdir("d", 0o755).unwrap();
    put("d/f", b"contents");
    put("f", b"contents");
    setxattr("f", true, "user.a", b"1", 0).unwrap();
    for kind in ALL {
        kind.make(&format!("{kind:?}"));
    }
    mkdir("empty", 0o777).unwrap();
}

type Call = fn() -> R<()>;

const WRITING: &[(&str, Call)] = &[
    ("open to write", || open("f", O_WRONLY, 0).map(drop)),
    ("open to read and write", || open("f", O_RDWR, 0).map(drop)),
    ("open and truncate", || open("f", O_RDONLY | O_TRUNC, 0).map(drop)),
    ("create", || open("new", O_CREAT | O_RDONLY, 0o644).map(drop)),
    ("create exclusively", || create("new", 0o644)),
    ("mkdir", || mkdir("new", 0o755)),
    ("mkfifo", || mkfifo("new", 0o644)),
    ("mknod", || mknod("new", S_IFCHR | 0o644, makedev(1, 3))),
    ("symlink", || symlink("x", "new")),
    ("link", || link("f", "new")),
    ("unlink", || unlink("f")),
    ("rmdir", || rmdir("empty")),
    ("rename", || rename("f", "new")),
    ("rename over", || rename("f", "d/f")),
    ("exchange", || rename2("f", "d/f", RENAME_EXCHANGE)),
    ("chmod", || chmod("f", 0o600)),
    ("chown", || chown("f", 1, 1)),
    ("lchown", || lchown("Symlink", 1, 1)),
    ("truncate", || truncate("f", 0)),
    ("utimensat", || utimens("f", [Set::Now, Set::Now], 0)),
    ("setxattr", || setxattr("f", true, "user.b", b"1", 0)),
    ("removexattr", || removexattr("f", "user.a")),
    ("unnamed file", || open("d", O_TMPFILE | O_RDWR, 0o600).map(drop)),
    ("fchmod", || fchmod(&open("f", O_RDONLY, 0)?, 0o600)),
    ("access", || eaccess("f", W_OK)),
];

#[test]
fn nothing_changes() {
    read_only(prepare, |t| {
        let before: Vec<_> = ["f", "d", "d/f", "empty", "Fifo"].map(|p| lstat(p).unwrap()).into();
        for (name, call) in WRITING {
            t.about(*name);
            t.err(call(), EROFS);
        }
        t.about("what exists");
        t.err(mkdir("d", 0o755), EEXIST);
        t.err(create("f", 0o644), EEXIST);
        t.err(symlink("x", "f"), EEXIST);
        t.ok(open("f", O_CREAT | O_RDONLY, 0o644));
        t.about("what does not");
        t.one_of(unlink("missing"), &[ENOENT, EROFS]);
        t.one_of(rmdir("missing"), &[ENOENT, EROFS]);
        t.one_of(rename("missing", "new"), &[ENOENT, EROFS]);
        t.about("reading");
        t.eq(std::fs::read("f").ok(), Some(b"contents".to_vec()));
        t.eq(getxattr("f", "user.a"), Ok(b"1".to_vec()));
        t.eq(readlink("Symlink"), Ok(b"points/nowhere".to_vec()));
        t.eq(names(".").map(|n| n.len()), Ok(10));
        t.ok(open("f", O_RDONLY, 0).and_then(|fd| fsync(&fd)));
        t.about("devices and fifos are no part of it");
        t.ok(open("Char", O_RDWR, 0));
        t.ok(open("Fifo", O_RDWR | O_NONBLOCK, 0));
        t.about("others");
        ALICE.run(|| {
            t.err(create("empty/x", 0o644), EROFS);
            t.ok(open("f", O_RDONLY, 0));
        });
        t.about("afterwards");
        let after: Vec<_> = ["f", "d", "d/f", "empty", "Fifo"].map(|p| lstat(p).unwrap()).into();
        t.eq(after, before);
        t.yes("statfs says so", statvfs(".").unwrap().f_flag & ST_RDONLY != 0);
    });
}
