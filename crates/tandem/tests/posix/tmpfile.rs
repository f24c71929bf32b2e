//! Files without a name.

use super::kinds::get;
use crate::common::suite::posix;
use crate::common::sys::*;
use crate::common::users::ALICE;

#[test]
fn without_a_name() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        let before = lstat("d").unwrap();
        let fd = open("d", O_TMPFILE | O_RDWR, 0o640).unwrap();
        let s = fstat(&fd).unwrap();
        t.eq((s.nlink, s.size, s.mode), (0, 0, S_IFREG | 0o640));
        t.eq(lstat("d").unwrap(), before);
        t.eq(names("d"), Ok(vec![]));
        t.eq(write(&fd, b"no name"), Ok(7));
        t.eq(pread(&fd, 10, 0), Ok(b"no name".to_vec()));
        t.ok(fsync(&fd));
        t.about("it does not keep the directory");
        t.ok(rmdir("d"));
        t.eq(pread(&fd, 10, 3), Ok(b"name".to_vec()));
        t.about("refused");
        t.err(open(".", O_TMPFILE | O_RDONLY, 0o600), EINVAL);
        t.err(open("missing", O_TMPFILE | O_RDWR, 0o600), ENOENT);
        create("f", 0o644).unwrap();
        t.err(open("f", O_TMPFILE | O_RDWR, 0o600), ENOTDIR);
    });
}

#[test]
fn given_a_name() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        let fd = open("d", O_TMPFILE | O_RDWR, 0o600).unwrap();
        write(&fd, b"published").unwrap();
        t.ok(link_fd(&fd, "d/f"));
        t.eq(fstat(&fd).map(|s| s.nlink), Ok(1));
        t.eq(get("d/f"), b"published".to_vec());
        t.ok(link_fd(&fd, "second"));
        t.eq(fstat(&fd).map(|s| s.nlink), Ok(2));
        t.err(link_fd(&fd, "second"), EEXIST);
        t.eq(pwrite(&fd, b"P", 0), Ok(1));
        drop(fd);
        t.eq(get("second"), b"Published".to_vec());
        t.about("with O_EXCL it never gets one");
        let fd = open("d", O_TMPFILE | O_RDWR | O_EXCL, 0o600).unwrap();
        t.err(link_fd(&fd, "third"), ENOENT);
        t.about("many at once");
        let fds: Vec<_> = (0..100).map(|_| open(".", O_TMPFILE | O_RDWR, 0o600).unwrap()).collect();
        for (i, fd) in fds.iter().enumerate() {
            write(fd, format!("{i}").as_bytes()).unwrap();
            if i % 2 == 0 {
                t.ok(link_fd(fd, format!("t{i}")));
            }
        }
        drop(fds);
        t.eq(get("t42"), b"42".to_vec());
        t.eq(names(".").map(|n| n.len()), Ok(52));
    });
}

#[test]
fn owner_and_rights() {
    posix(|t| {
        ALICE.run(|| {
            let fd = t.ok(open(".", O_TMPFILE | O_RDWR, 0o000)).unwrap();
            t.eq(fstat(&fd).map(|s| (s.uid, s.gid)), Ok((ALICE.uid, ALICE.gid)));
            t.eq(write(&fd, b"x"), Ok(1));
        });
    });
}
