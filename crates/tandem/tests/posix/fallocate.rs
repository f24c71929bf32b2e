//! fallocate(2).

use super::kinds::{get, pattern, put};
use crate::common::suite::posix;
use crate::common::sys::*;

const KEEP: i32 = FALLOC_FL_KEEP_SIZE;
const PUNCH: i32 = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
const ZERO: i32 = FALLOC_FL_ZERO_RANGE;

#[test]
fn allocating() {
    posix(|t| {
        let fd = open("f", O_CREAT | O_RDWR, 0o644).unwrap();
        t.ok(fallocate(&fd, 0, 0, 1 << 20));
        let s = fstat(&fd).unwrap();
        t.eq(s.size, 1 << 20);
        t.yes("blocks are taken", s.blocks * 512 >= 1 << 20);
        t.yes("reads as zero", get("f") == vec![0; 1 << 20]);
        t.about("contents stay");
        let data = pattern(10_000, 1);
        pwrite(&fd, &data, 5000).unwrap();
        t.ok(fallocate(&fd, 0, 0, 2 << 20));
        t.eq(fstat(&fd).map(|s| s.size), Ok(2 << 20));
        t.yes("they do", pread(&fd, 10_000, 5000) == Ok(data));
        t.about("keeping the size");
        t.ok(fallocate(&fd, KEEP, 0, 4 << 20));
        let s = fstat(&fd).unwrap();
        t.eq(s.size, 2 << 20);
        t.yes("blocks behind the end", s.blocks * 512 >= 4 << 20);
        t.ok(ftruncate(&fd, 3 << 20));
        t.eq(pread(&fd, 100, (2 << 20) - 50), Ok(vec![0; 100]));
        t.about("smaller than the file: no change of size");
        t.ok(fallocate(&fd, 0, 0, 100));
        t.eq(fstat(&fd).map(|s| s.size), Ok(3 << 20));
        t.about("far away");
        t.ok(fallocate(&fd, 0, 1 << 32, 65_536));
        t.eq(fstat(&fd).map(|s| s.size), Ok((1 << 32) + 65_536));
        t.eq(pread(&fd, 10, 1 << 32), Ok(vec![0; 10]));
    });
}

#[test]
fn punching() {
    posix(|t| {
        const LEN: usize = 1 << 20;
        let data = pattern(LEN, 2);
        put("f", &data);
        let fd = open("f", O_RDWR, 0).unwrap();
        fsync(&fd).unwrap();
        let mut model = data;
        let taken = fstat(&fd).unwrap().blocks;
        let holes =
            [(100, 50), (4096, 4096), (65_536, 131_072), (300_001, 99_999), (LEN - 10, 100)];
        for (off, len) in holes {
            t.about(format!("{len} at {off}"));
            t.ok(fallocate(&fd, PUNCH, off as i64, len as i64));
            model[off..(off + len).min(LEN)].fill(0);
            t.yes("the rest stays", pread(&fd, LEN * 2, 0).unwrap() == model);
        }
        fsync(&fd).unwrap();
        drop_pages(&fd);
        t.about("afterwards");
        t.yes("the same from the device", pread(&fd, LEN * 2, 0).unwrap() == model);
        let s = fstat(&fd).unwrap();
        t.eq(s.size, LEN as u64);
        t.yes("blocks are given back", s.blocks + 131_072 / 512 <= taken);
        t.about("writing into a hole");
        t.eq(pwrite(&fd, b"filled", 100_000), Ok(6));
        model[100_000..100_006].copy_from_slice(b"filled");
        t.yes("works", pread(&fd, LEN * 2, 0).unwrap() == model);
        t.about("all of it");
        t.ok(fallocate(&fd, PUNCH, 0, LEN as i64 * 2));
        fsync(&fd).unwrap();
        t.eq(fstat(&fd).map(|s| (s.size, s.blocks)), Ok((LEN as u64, 0)));
        t.about("behind the end");
        t.ok(fallocate(&fd, PUNCH, LEN as i64 * 4, 4096));
        t.eq(fstat(&fd).map(|s| s.size), Ok(LEN as u64));
    });
}

#[test]
fn zeroing() {
    posix(|t| {
        if t.tmpfs() {
            return;
        }
        const LEN: usize = 300_000;
        let mut model = pattern(LEN, 3);
        put("f", &model);
        let fd = open("f", O_RDWR, 0).unwrap();
        for (off, len) in [(0, 10), (4095, 4098), (65_536, 65_536), (299_000, 1000)] {
            t.about(format!("{len} at {off}"));
            t.ok(fallocate(&fd, ZERO | KEEP, off as i64, len as i64));
            model[off..off + len].fill(0);
            t.yes("the rest stays", pread(&fd, LEN * 2, 0).unwrap() == model);
        }
        fsync(&fd).unwrap();
        drop_pages(&fd);
        t.about("afterwards");
        t.yes("the same from the device", pread(&fd, LEN * 2, 0).unwrap() == model);
        t.about("past the end, keeping the size");
        t.ok(fallocate(&fd, ZERO | KEEP, 299_900, 10_000));
        t.eq(fstat(&fd).map(|s| s.size), Ok(LEN as u64));
        t.about("past the end");
        t.ok(fallocate(&fd, ZERO, 299_900, 10_000));
        t.eq(fstat(&fd).map(|s| s.size), Ok(309_900));
        t.eq(pread(&fd, 20_000, 299_900), Ok(vec![0; 10_000]));
    });
}

#[test]
fn refused() {
    posix(|t| {
        put("f", b"contents");
        let fd = open("f", O_RDWR, 0).unwrap();
        t.err(fallocate(&fd, 0, 0, 0), EINVAL);
        t.err(fallocate(&fd, 0, -1, 10), EINVAL);
        t.err(fallocate(&fd, 0, 0, -1), EINVAL);
        t.err(fallocate(&fd, 0, i64::MAX, 10), EFBIG);
        t.err(fallocate(&fd, FALLOC_FL_PUNCH_HOLE, 0, 10), EOPNOTSUPP);
        t.err(fallocate(&fd, 1 << 20, 0, 10), EOPNOTSUPP);
        t.err(fallocate(&open("f", O_RDONLY, 0).unwrap(), 0, 0, 10), EBADF);
        if t.tandem() {
            t.err(fallocate(&fd, FALLOC_FL_COLLAPSE_RANGE, 0, 4096), EOPNOTSUPP);
            t.err(fallocate(&fd, FALLOC_FL_INSERT_RANGE, 0, 4096), EOPNOTSUPP);
        }
        mkfifo("p", 0o644).unwrap();
        let p = open("p", O_RDWR, 0).unwrap();
        t.err(fallocate(&p, 0, 0, 10), ESPIPE);
        if !t.tandem() {
            // Others work on the same file system, and this takes all of it for a moment.
            return;
        }
        t.about("more than there is");
        let all = statvfs(".").map(|s| s.f_blocks * s.f_frsize).unwrap();
        t.one_of(fallocate(&fd, 0, 0, all as i64 * 2), &[ENOSPC, EFBIG]);
        t.eq(get("f").get(..8).map(<[u8]>::to_vec), Some(b"contents".to_vec()));
    });
}

#[test]
fn allocated_space_can_be_written() {
    posix(|t| {
        let fd = open("f", O_CREAT | O_RDWR, 0o644).unwrap();
        t.ok(fallocate(&fd, 0, 0, 1 << 20));
        fsync(&fd).unwrap();
        let mut model = vec![0u8; 1 << 20];
        for i in 0..100usize {
            let (off, data) = (i * 9_973 % 1_000_000, pattern(1 + i * 37, i as u64));
            t.eq(pwrite(&fd, &data, off as i64), Ok(data.len()));
            model[off..off + data.len()].copy_from_slice(&data);
        }
        t.yes("reads back", pread(&fd, 2 << 20, 0).unwrap() == model);
        fsync(&fd).unwrap();
        drop_pages(&fd);
        t.yes("reads back from the device", pread(&fd, 2 << 20, 0).unwrap() == model);
    });
}
