//! Handles, by which NFS servers and others find files without a path.

use super::kinds::{get, put};
use crate::common::suite::posix;
use crate::common::sys::*;
use crate::common::users::ALICE;
use std::os::fd::OwnedFd;

fn root() -> OwnedFd {
    open(".", O_RDONLY, 0).unwrap()
}

/// Makes the kernel forget what it does not use.
fn forget() {
    let _ = syncfs(&root());
    std::fs::write("/proc/sys/vm/drop_caches", "2").unwrap();
}

#[test]
fn files_and_directories() {
    posix(|t| {
        put("f", b"by handle");
        mkdir("d", 0o755).unwrap();
        mkdir("d/e", 0o755).unwrap();
        put("d/e/g", b"deep");
        let (f, _) = name_to_handle("f").unwrap();
        let (e, _) = name_to_handle("d/e").unwrap();
        let (g, _) = name_to_handle("d/e/g").unwrap();
        t.eq(name_to_handle("f").map(|h| h.0), Ok(f.clone()));
        t.yes("different files, different handles", f != g);
        for forgotten in [false, true] {
            t.about(format!("forgotten by the kernel: {forgotten}"));
            if forgotten {
                forget();
            }
            let root = root();
            let fd = t.ok(open_by_handle(&root, &f, O_RDWR));
            t.eq(fd.as_ref().and_then(|fd| pread(fd, 20, 0).ok()), Some(b"by handle".to_vec()));
            let fd = t.ok(open_by_handle(&root, &g, O_RDONLY));
            t.eq(fd.as_ref().and_then(|fd| pread(fd, 20, 0).ok()), Some(b"deep".to_vec()));
            if let Some(dir) = t.ok(open_by_handle(&root, &e, O_RDONLY | O_DIRECTORY)) {
                let listed = read_dir(&dir, 4096).unwrap();
                t.yes("it lists", listed.iter().any(|e| e.name == b"g"));
                t.eq(fstat(&dir).map(|s| s.ino), lstat("d/e").map(|s| s.ino));
                let up = std::os::fd::AsRawFd::as_raw_fd(&dir);
                let up = openat(up, "..", O_RDONLY, 0).and_then(|fd| fstat(&fd));
                t.eq(up.map(|s| s.ino), lstat("d").map(|s| s.ino));
            }
        }
    });
}

#[test]
fn they_survive_renaming_and_die_with_the_file() {
    posix(|t| {
        put("f", b"1");
        mkdir("d", 0o755).unwrap();
        let (handle, _) = name_to_handle("f").unwrap();
        rename("f", "d/g").unwrap();
        t.eq(name_to_handle("d/g").map(|h| h.0), Ok(handle.clone()));
        forget();
        let fd = open_by_handle(&root(), &handle, O_RDWR);
        t.eq(fd.as_ref().ok().and_then(|fd| pread(fd, 5, 0).ok()), Some(b"1".to_vec()));
        t.about("writing by it");
        if let Ok(fd) = fd {
            t.eq(pwrite(&fd, b"22", 0), Ok(2));
        }
        t.eq(get("d/g"), b"22".to_vec());
        t.about("with a second name");
        link("d/g", "h").unwrap();
        unlink("d/g").unwrap();
        t.ok(open_by_handle(&root(), &handle, O_RDONLY));
        t.about("gone");
        unlink("h").unwrap();
        forget();
        t.err(open_by_handle(&root(), &handle, O_RDONLY), ESTALE);
        for i in 0..100 {
            put(&format!("new{i}"), b"");
        }
        t.about("its number in use again");
        t.err(open_by_handle(&root(), &handle, O_RDONLY), ESTALE);
    });
}

#[test]
fn who_may() {
    posix(|t| {
        put("f", b"1");
        let (handle, _) = name_to_handle("f").unwrap();
        let root = root();
        ALICE.run(|| t.err(open_by_handle(&root, &handle, O_RDONLY), EPERM));
        symlink("f", "l").unwrap();
        let (link, _) = name_to_handle("l").unwrap();
        t.err(open_by_handle(&root, &link, O_RDONLY), ELOOP);
        t.eq(open_by_handle(&root, &link, O_PATH).and_then(|f| fstat(&f)).map(|s| s.kind()), {
            Ok(S_IFLNK)
        });
    });
}
