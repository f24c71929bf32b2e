//! Reading and writing.

use super::kinds::{get, pattern, put};
use crate::common::suite::posix;
use crate::common::sys::*;

#[test]
fn sizes_and_offsets() {
    posix(|t| {
        let fd = open("f", O_CREAT | O_RDWR, 0o644).unwrap();
        let mut model: Vec<u8> = Vec::new();
        let lens = [1, 511, 512, 513, 4095, 4096, 4097, 65_535, 131_073, 1_048_577];
        for (i, len) in lens.into_iter().enumerate() {
            for off in [0usize, 1, 4095, 100_000 * i] {
                let data = pattern(len, (i + off) as u64);
                t.eq(pwrite(&fd, &data, off as i64), Ok(len));
                if model.len() < off + len {
                    model.resize(off + len, 0);
                }
                model[off..off + len].copy_from_slice(&data);
            }
            t.about(format!("after {len}"));
            t.eq(fstat(&fd).map(|s| s.size), Ok(model.len() as u64));
            t.yes("reads back", pread(&fd, 4 << 20, 0).unwrap() == model);
        }
        fsync(&fd).unwrap();
        drop_pages(&fd);
        t.yes("reads back from the device", get("f") == model);
        t.about("at and behind the end");
        t.eq(pread(&fd, 10, model.len() as i64), Ok(vec![]));
        t.eq(pread(&fd, 10, 1 << 40), Ok(vec![]));
        t.eq(pread(&fd, 10, model.len() as i64 - 3).map(|v| v.len()), Ok(3));
    });
}

#[test]
fn large_requests() {
    posix(|t| {
        let data = pattern(24 << 20, 5);
        put("f", &data);
        t.yes("the same", get("f") == data);
        let fd = open("f", O_RDONLY, 0).unwrap();
        fsync(&fd).unwrap();
        drop_pages(&fd);
        t.yes("the same from the device", get("f") == data);
        t.yes("all its blocks", lstat("f").unwrap().blocks * 512 >= 24 << 20);
    });
}

#[test]
fn appending() {
    posix(|t| {
        put("f", b"begin ");
        let a = open("f", O_WRONLY | O_APPEND, 0).unwrap();
        let b = open("f", O_WRONLY | O_APPEND, 0).unwrap();
        write(&a, b"a ").unwrap();
        write(&b, b"b ").unwrap();
        write(&a, b"c").unwrap();
        t.eq(get("f"), b"begin a b c".to_vec());
        t.about("pwrite appends too, on Linux");
        t.eq(pwrite(&a, b"!", 0), Ok(1));
        t.eq(get("f"), b"begin a b c!".to_vec());
        t.about("many writers lose nothing");
        put("log", b"");
        std::thread::scope(|s| {
            for id in 0..4u8 {
                s.spawn(move || {
                    let fd = open("log", O_WRONLY | O_APPEND, 0).unwrap();
                    for i in 0..500u32 {
                        let line = format!("{id}:{i:06}:{}\n", "x".repeat((i % 60) as usize));
                        assert_eq!(write(&fd, line.as_bytes()), Ok(line.len()));
                    }
                });
            }
        });
        let text = String::from_utf8(get("log")).unwrap();
        t.eq(text.lines().count(), 2000);
        for id in 0..4 {
            let prefix = format!("{id}:");
            let order: Vec<u32> = text
                .lines()
                .filter_map(|l| l.strip_prefix(&prefix)?.get(..6)?.parse().ok())
                .collect();
            t.yes("each in its order, none torn", order == (0..500).collect::<Vec<_>>());
        }
    });
}

#[test]
fn synchronous() {
    posix(|t| {
        for flag in [O_SYNC, O_DSYNC, O_SYNC | O_APPEND] {
            t.about(format!("flags {flag:o}"));
            let fd = open("f", O_CREAT | O_TRUNC | O_RDWR | flag, 0o644).unwrap();
            for i in 0..20u8 {
                t.eq(write(&fd, &[i; 1000]), Ok(1000));
            }
            t.eq(fstat(&fd).map(|s| s.size), Ok(20_000));
            t.yes("blocks are there", fstat(&fd).unwrap().blocks * 512 >= 20_000);
        }
        t.about("fsync of everything");
        let fd = open("f", O_RDWR, 0).unwrap();
        t.ok(fsync(&fd));
        t.ok(fdatasync(&fd));
        mkdir("d", 0o755).unwrap();
        let dir = open("d", O_RDONLY | O_DIRECTORY, 0).unwrap();
        t.ok(fsync(&dir));
        t.ok(fdatasync(&dir));
        t.ok(syncfs(&dir));
        t.about("by a descriptor for reading, after removal");
        let reader = open("f", O_RDONLY, 0).unwrap();
        unlink("f").unwrap();
        t.ok(fsync(&reader));
        t.ok(fsync(&fd));
        rmdir("d").unwrap();
        t.ok(fsync(&dir));
    });
}

#[test]
fn direct() {
    posix(|t| {
        let fd = match open("f", O_CREAT | O_RDWR | O_DIRECT, 0o644) {
            Ok(fd) => fd,
            Err(e) => {
                t.yes(&format!("O_DIRECT opens: {e}"), t.tmpfs());
                return;
            }
        };
        for i in 0..16u8 {
            let block = Aligned::new(65_536, i + 1);
            t.eq(pwrite(&fd, block.bytes(), i64::from(i) * 65_536), Ok(65_536));
        }
        t.eq(fstat(&fd).map(|s| s.size), Ok(1 << 20));
        let mut block = Aligned::new(131_072, 0);
        t.eq(block.pread(&fd, 65_536), Ok(131_072));
        t.yes("reads back", block.bytes()[..65_536] == [2; 65_536]);
        t.eq(block.pread(&fd, (1 << 20) - 4096), Ok(4096));
        t.about("buffered readers see it");
        t.yes("they do", get("f").chunks(65_536).enumerate().all(|(i, c)| c[0] == i as u8 + 1));
        t.about("direct readers see what was buffered");
        let buffered = open("f", O_WRONLY, 0).unwrap();
        pwrite(&buffered, &[0xee; 4096], 8192).unwrap();
        t.ok(block.pread(&fd, 8192));
        t.yes("they do", block.bytes()[..4096] == [0xee; 4096]);
        t.about("buffered readers see what was written directly over cached pages");
        t.yes("cached", get("f").len() == 1 << 20);
        pwrite(&fd, Aligned::new(4096, 0x77).bytes(), 16_384).unwrap();
        t.yes("they do", get("f")[16_384..20_480] == [0x77; 4096]);
    });
}

#[test]
fn several_threads_in_one_file() {
    posix(|t| {
        const PART: usize = 200_000;
        let fd = open("f", O_CREAT | O_RDWR, 0o644).unwrap();
        std::thread::scope(|s| {
            for part in 0..4usize {
                let fd = &fd;
                s.spawn(move || {
                    let data = pattern(PART, part as u64);
                    for (i, chunk) in data.chunks(7_001).enumerate() {
                        let off = part * PART + i * 7_001;
                        assert_eq!(pwrite(fd, chunk, off as i64), Ok(chunk.len()));
                    }
                });
            }
        });
        let all = get("f");
        t.eq(all.len(), 4 * PART);
        let same = all.chunks(PART).enumerate().all(|(i, c)| c == pattern(PART, i as u64));
        t.yes("every part is as written", same);
    });
}

#[test]
fn many_small_files() {
    posix(|t| {
        for i in 0..2000usize {
            put(&format!("f{i}"), &pattern(i * 13 % 9000, i as u64));
        }
        let dir = open(".", O_RDONLY, 0).unwrap();
        syncfs(&dir).unwrap();
        let same = (0..2000).all(|i| get(&format!("f{i}")) == pattern(i * 13 % 9000, i as u64));
        t.yes("all as written", same);
    });
}
