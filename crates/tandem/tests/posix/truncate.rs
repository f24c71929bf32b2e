//! truncate(2) and ftruncate(2).

use super::kinds::{Kind, get, pattern, put};
use crate::common::suite::{posix, tick};
use crate::common::sys::*;
use crate::common::users::ALICE;

#[test]
fn shrinking_and_growing() {
    posix(|t| {
        let data = pattern(200_000, 3);
        for len in [0, 1, 511, 512, 4095, 4096, 4097, 65_536, 100_001, 199_999, 200_000] {
            for by_fd in [false, true] {
                t.about(format!("to {len}, by descriptor: {by_fd}"));
                put("f", &data);
                let set = |len| {
                    if by_fd {
                        ftruncate(&open("f", O_RDWR, 0).unwrap(), len)
                    } else {
                        truncate("f", len)
                    }
                };
                t.ok(set(len as i64));
                t.eq(lstat("f").map(|s| s.size), Ok(len as u64));
                t.yes("the beginning stays", get("f") == data[..len]);
                t.ok(set(300_000));
                let grown = get("f");
                t.eq(grown.len(), 300_000);
                t.yes("the beginning still stays", grown[..len] == data[..len]);
                t.yes("the rest is zero", grown[len..].iter().all(|b| *b == 0));
            }
        }
    });
}

#[test]
fn nothing_old_comes_back() {
    posix(|t| {
        put("f", &[0xffu8; 10_000]);
        let fd = open("f", O_RDWR, 0).unwrap();
        for cut in [1u64, 100, 4095, 4096, 5000, 8191] {
            t.about(format!("cut at {cut}"));
            pwrite(&fd, &[0xffu8; 10_000], 0).unwrap();
            fsync(&fd).unwrap();
            t.ok(ftruncate(&fd, cut as i64));
            t.about(format!("cut at {cut}, then a write behind it"));
            pwrite(&fd, b"!", 9_999).unwrap();
            let all = pread(&fd, 20_000, 0).unwrap();
            t.eq(all.len(), 10_000);
            t.yes("zero between", all[cut as usize..9_999].iter().all(|b| *b == 0));
            fsync(&fd).unwrap();
            drop_pages(&fd);
            t.yes("the same from the device", pread(&fd, 20_000, 0).unwrap() == all);
        }
    });
}

#[test]
fn times_and_blocks() {
    posix(|t| {
        put("f", &pattern(100_000, 4));
        let fd = open("f", O_RDWR, 0).unwrap();
        fsync(&fd).unwrap();
        t.yes("blocks are there", lstat("f").unwrap().blocks * 512 >= 100_000);
        let before = lstat("f").unwrap();
        tick();
        t.ok(truncate("f", 10));
        let after = lstat("f").unwrap();
        t.yes("mtime grows", after.mtime > before.mtime);
        t.yes("ctime grows", after.ctime > before.ctime);
        fsync(&fd).unwrap();
        t.yes("blocks are gone", lstat("f").unwrap().blocks * 512 <= 65_536);
        tick();
        t.ok(ftruncate(&fd, 1 << 30));
        let grown = lstat("f").unwrap();
        t.yes("mtime grows again", grown.mtime > after.mtime);
        fsync(&fd).unwrap();
        t.yes("growing takes no blocks", lstat("f").unwrap().blocks * 512 <= 65_536);
        t.ok(truncate("f", 0));
        fsync(&fd).unwrap();
        t.eq(lstat("f").map(|s| (s.size, s.blocks)), Ok((0, 0)));
    });
}

#[test]
fn refused() {
    posix(|t| {
        put("f", b"123");
        t.err(truncate("f", -1), EINVAL);
        t.err(truncate("f", i64::MIN), EINVAL);
        let fd = open("f", O_RDWR, 0).unwrap();
        t.err(ftruncate(&fd, -1), EINVAL);
        t.err(ftruncate(&open("f", O_RDONLY, 0).unwrap(), 0), EINVAL);
        mkdir("d", 0o755).unwrap();
        t.err(truncate("d", 0), EISDIR);
        for kind in [Kind::Fifo, Kind::Char, Kind::Block, Kind::Socket] {
            t.about(format!("{kind:?}"));
            kind.make("x");
            t.err(truncate("x", 0), EINVAL);
            unlink("x").unwrap();
        }
        t.about("without the right to write");
        ALICE.run(|| t.err(truncate("f", 0), EACCES));
        t.eq(get("f"), b"123".to_vec());
    });
}

#[test]
fn the_largest_sizes() {
    posix(|t| {
        create("f", 0o644).unwrap();
        let fd = open("f", O_RDWR, 0).unwrap();
        let sizes: &[i64] = if t.tandem() {
            &[1 << 31, 1 << 32, 1 << 44, 1 << 52, i64::MAX - 4096, i64::MAX]
        } else {
            &[1 << 31, 1 << 32, 1 << 43]
        };
        for size in sizes {
            t.about(format!("{size}"));
            t.ok(ftruncate(&fd, *size));
            t.eq(fstat(&fd).map(|s| (s.size, s.blocks)), Ok((*size as u64, 0)));
            // The kernel's FUSE refuses to read the page that ends at 2^63.
            if *size < i64::MAX {
                t.eq(pread(&fd, 10, size - 4), Ok(vec![0; 4]));
            }
            t.eq(lseek(&fd, 0, SEEK_END), Ok(*size));
            t.ok(fsync(&fd));
            t.ok(truncate("f", 5));
            t.eq(lstat("f").map(|s| s.size), Ok(5));
        }
        if !t.tandem() {
            return;
        }
        t.about("contents at the end of the largest file that can be read");
        let end = i64::MAX - 4095;
        t.eq(pwrite(&fd, b"the end", end - 7), Ok(7));
        t.eq(fstat(&fd).map(|s| s.size), Ok(end as u64));
        t.eq(pread(&fd, 100, end - 9), Ok(b"\0\0the end".to_vec()));
        t.ok(fsync(&fd));
        drop_pages(&fd);
        t.eq(pread(&fd, 100, end - 9), Ok(b"\0\0the end".to_vec()));
        t.yes("few blocks", fstat(&fd).unwrap().blocks <= 256);
        t.ok(ftruncate(&fd, 0));
        t.eq(fstat(&fd).map(|s| s.size), Ok(0));
    });
}

#[test]
fn a_file_of_a_hundred_gigabytes() {
    posix(|t| {
        let fd = open("f", O_CREAT | O_RDWR, 0o644).unwrap();
        let size = 100i64 << 30;
        t.ok(ftruncate(&fd, size));
        // Scattered pieces: extents far apart, in no order.
        let at = |i: i64| (i * 7_919_999_983) % (size - 4096);
        for i in 0..300i64 {
            t.eq(pwrite(&fd, &i.to_le_bytes(), at(i)), Ok(8));
        }
        t.ok(fsync(&fd));
        drop_pages(&fd);
        for i in 0..300i64 {
            t.eq(pread(&fd, 8, at(i)), Ok(i.to_le_bytes().to_vec()));
        }
        t.eq(fstat(&fd).map(|s| s.size), Ok(size as u64));
        t.yes("sparse", fstat(&fd).unwrap().blocks * 512 < 64 << 20);
        drop(fd);
        let start = std::time::Instant::now();
        t.ok(unlink("f"));
        t.yes("removed in under a second", start.elapsed().as_secs_f64() < 1.0);
    });
}
