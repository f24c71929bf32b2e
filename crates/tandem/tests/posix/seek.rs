//! SEEK_DATA and SEEK_HOLE.

use super::kinds::{pattern, put};
use crate::common::suite::posix;
use crate::common::sys::*;

const K: i64 = 1024;
const M: i64 = 1024 * K;

fn map_of(fd: &std::os::fd::OwnedFd) -> Vec<(i64, i64)> {
    let (mut out, mut at) = (Vec::new(), 0);
    while let Ok(data) = lseek(fd, at, SEEK_DATA) {
        let hole = lseek(fd, data, SEEK_HOLE).unwrap();
        out.push((data, hole));
        at = hole;
    }
    out
}

#[test]
fn data_and_holes() {
    posix(|t| {
        let fd = open("f", O_CREAT | O_RDWR, 0o644).unwrap();
        for (off, len) in [(64 * K, 64 * K), (M, 256 * K), (10 * M, 64 * K)] {
            pwrite(&fd, &pattern(len as usize, 1), off).unwrap();
        }
        ftruncate(&fd, 12 * M).unwrap();
        let want = [(64 * K, 128 * K), (M, M + 256 * K), (10 * M, 10 * M + 64 * K)];
        for written in [false, true] {
            t.about(format!("on the device: {written}"));
            if written {
                fsync(&fd).unwrap();
                drop_pages(&fd);
            }
            t.eq(map_of(&fd), want.to_vec());
            t.eq(lseek(&fd, 0, SEEK_HOLE), Ok(0));
            t.eq(lseek(&fd, 64 * K, SEEK_HOLE), Ok(128 * K));
            t.eq(lseek(&fd, 100 * K, SEEK_HOLE), Ok(128 * K));
            t.eq(lseek(&fd, 100 * K, SEEK_DATA), Ok(100 * K));
            t.eq(lseek(&fd, 128 * K, SEEK_DATA), Ok(M));
            t.eq(lseek(&fd, 11 * M, SEEK_HOLE), Ok(11 * M));
            t.err(lseek(&fd, 11 * M, SEEK_DATA), ENXIO);
            t.err(lseek(&fd, 12 * M, SEEK_DATA), ENXIO);
            t.err(lseek(&fd, 12 * M, SEEK_HOLE), ENXIO);
            t.err(lseek(&fd, 13 * M, SEEK_HOLE), ENXIO);
        }
        t.about("the position moves");
        lseek(&fd, 0, SEEK_DATA).unwrap();
        t.eq(lseek(&fd, 0, SEEK_CUR), Ok(64 * K));
    });
}

#[test]
fn without_holes() {
    posix(|t| {
        put("f", &pattern(100_000, 1));
        let fd = open("f", O_RDONLY, 0).unwrap();
        t.eq(lseek(&fd, 0, SEEK_DATA), Ok(0));
        t.eq(lseek(&fd, 0, SEEK_HOLE), Ok(100_000));
        t.eq(lseek(&fd, 99_999, SEEK_HOLE), Ok(100_000));
        t.err(lseek(&fd, 100_000, SEEK_HOLE), ENXIO);
        t.about("an empty file");
        put("e", b"");
        let fd = open("e", O_RDONLY, 0).unwrap();
        t.err(lseek(&fd, 0, SEEK_DATA), ENXIO);
        t.err(lseek(&fd, 0, SEEK_HOLE), ENXIO);
        t.about("nothing but a hole");
        truncate("e", M).unwrap();
        t.eq(lseek(&fd, 0, SEEK_HOLE), Ok(0));
        t.err(lseek(&fd, 0, SEEK_DATA), ENXIO);
    });
}

#[test]
fn sparse_copies() {
    posix(|t| {
        let fd = open("f", O_CREAT | O_RDWR, 0o644).unwrap();
        for i in 0..40 {
            pwrite(&fd, &pattern(4096, i), i as i64 * 3 * M).unwrap();
        }
        ftruncate(&fd, 130 * M).unwrap();
        // At once, with nothing yet on the device, and again afterwards.
        for copy in ["first", "second"] {
            t.about(copy);
            let out = std::process::Command::new("cp").args(["--sparse=auto", "f", copy]).status();
            t.yes("cp works", out.is_ok_and(|s| s.success()));
            let same = std::process::Command::new("cmp").args(["f", copy]).status();
            t.yes("the same contents", same.is_ok_and(|s| s.success()));
            let copied = open(copy, O_RDONLY, 0).unwrap();
            fsync(&copied).unwrap();
            t.yes("sparse", fstat(&copied).unwrap().blocks * 512 < 20 * M as u64);
            fsync(&fd).unwrap();
            drop_pages(&fd);
        }
    });
}
