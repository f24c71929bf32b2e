//! Locks: flock(2), POSIX record locks, open file description locks.

use super::kinds::put;
use crate::common::suite::posix;
use crate::common::sys::*;

const WRITE: i32 = F_WRLCK;
const READ: i32 = F_RDLCK;
const FREE: i32 = F_UNLCK;

#[test]
fn whole_files() {
    posix(|t| {
        put("f", b"");
        let (a, b) = (open("f", O_RDWR, 0).unwrap(), open("f", O_RDONLY, 0).unwrap());
        t.ok(flock(&a, LOCK_EX));
        t.err(flock(&b, LOCK_EX | LOCK_NB), EAGAIN);
        t.err(flock(&b, LOCK_SH | LOCK_NB), EAGAIN);
        t.ok(flock(&a, LOCK_SH));
        t.ok(flock(&b, LOCK_SH | LOCK_NB));
        t.err(flock(&a, LOCK_EX | LOCK_NB), EAGAIN);
        t.ok(flock(&b, LOCK_UN));
        t.ok(flock(&a, LOCK_EX | LOCK_NB));
        t.about("closing releases");
        drop(a);
        t.ok(flock(&b, LOCK_EX | LOCK_NB));
        t.about("between processes");
        let other = || std::process::Command::new("flock").args(["-n", "f", "true"]).status();
        t.yes("held", other().is_ok_and(|s| s.code() == Some(1)));
        t.ok(flock(&b, LOCK_UN));
        t.yes("free", other().is_ok_and(|s| s.success()));
        t.about("a waiter gets it");
        t.ok(flock(&b, LOCK_EX));
        std::thread::scope(|s| {
            let waiter = s.spawn(|| {
                let c = open("f", O_RDWR, 0).unwrap();
                flock(&c, LOCK_EX)
            });
            std::thread::sleep(std::time::Duration::from_millis(50));
            t.yes("waits", !waiter.is_finished());
            t.ok(flock(&b, LOCK_UN));
            t.eq(waiter.join().unwrap(), Ok(()));
        });
        t.about("directories");
        mkdir("d", 0o755).unwrap();
        let (a, b) = (open("d", O_RDONLY, 0).unwrap(), open("d", O_RDONLY, 0).unwrap());
        t.ok(flock(&a, LOCK_EX));
        t.err(flock(&b, LOCK_EX | LOCK_NB), EAGAIN);
    });
}

#[test]
fn ranges_between_descriptions() {
    posix(|t| {
        put("f", b"");
        let (a, b) = (open("f", O_RDWR, 0).unwrap(), open("f", O_RDWR, 0).unwrap());
        let set = F_OFD_SETLK;
        t.ok(lock(&a, set, WRITE, 0, 100));
        t.err(lock(&b, set, WRITE, 50, 100), EAGAIN);
        t.err(lock(&b, set, READ, 99, 1), EAGAIN);
        t.ok(lock(&b, set, WRITE, 100, 100));
        t.err(lock(&a, set, READ, 0, 0), EAGAIN);
        t.ok(lock(&a, set, FREE, 40, 20));
        t.ok(lock(&b, set, READ, 40, 20));
        t.err(lock(&b, set, READ, 39, 1), EAGAIN);
        t.ok(lock(&a, set, READ, 40, 20));
        t.err(lock(&a, set, WRITE, 40, 20), EAGAIN);
        drop(a);
        t.ok(lock(&b, set, WRITE, 0, 0));
        t.about("far away");
        t.ok(lock(&b, set, WRITE, i64::MAX - 10, 10));
    });
}

#[test]
fn ranges_between_processes() {
    posix(|t| {
        put("f", b"");
        let fd = open("f", O_RDWR, 0).unwrap();
        t.ok(lock(&fd, F_SETLK, WRITE, 10, 10));
        t.about("one's own locks are no obstacle");
        let again = open("f", O_RDWR, 0).unwrap();
        t.ok(lock(&again, F_SETLK, READ, 0, 100));
        t.ok(lock(&fd, F_SETLK, WRITE, 10, 10));
        let me = std::process::id() as i32;
        let seen = in_child(|| {
            let fd = open("f", O_RDWR, 0)?;
            let held = lock(&fd, F_SETLK, WRITE, 15, 1) == Err(Errno(EAGAIN));
            let shared = lock(&fd, F_SETLK, READ, 0, 5).is_ok();
            let owner = lock_owner(&fd, READ, 0, 100)? == (WRITE, me);
            let free = lock(&fd, F_SETLK, WRITE, 200, 5).is_ok();
            Ok(u8::from(held) | u8::from(shared) << 1 | u8::from(owner) << 2 | u8::from(free) << 3)
        });
        t.about("another process: refused, shared, told by whom, elsewhere free");
        t.eq(seen, Ok(0b1111));
        t.about("closing any descriptor releases all of the process's");
        drop(again);
        let free = in_child(|| {
            let fd = open("f", O_RDWR, 0)?;
            lock(&fd, F_SETLK, WRITE, 0, 0).map(|()| 1)
        });
        t.eq(free, Ok(1));
        t.about("locks end with the process");
        t.ok(lock(&fd, F_SETLK, WRITE, 0, 0));
        t.about("rights");
        let reader = open("f", O_RDONLY, 0).unwrap();
        t.err(lock(&reader, F_SETLK, WRITE, 0, 1), EBADF);
        t.err(lock(&fd, F_SETLK, WRITE, -1, 1), EINVAL);
    });
}
