//! Memory maps.

use super::kinds::{get, pattern, put};
use crate::common::suite::posix;
use crate::common::sys::*;

const RW: i32 = PROT_READ | PROT_WRITE;

#[test]
fn maps_and_calls_see_each_other() {
    posix(|t| {
        put("f", &pattern(20_000, 1));
        let fd = open("f", O_RDWR, 0).unwrap();
        let map = Map::new(&fd, 20_480, RW, MAP_SHARED).unwrap();
        t.eq(map.get(0, 20_000), pattern(20_000, 1));
        t.about("stores");
        map.put(5_000, b"stored");
        t.eq(pread(&fd, 6, 5_000), Ok(b"stored".to_vec()));
        t.eq(get("f")[5_000..5_006].to_vec(), b"stored".to_vec());
        t.about("writes");
        pwrite(&fd, b"written", 9_000).unwrap();
        t.eq(map.get(9_000, 7), b"written".to_vec());
        t.about("another descriptor, another map");
        let other = open("f", O_RDWR, 0).unwrap();
        let second = Map::new(&other, 20_480, RW, MAP_SHARED).unwrap();
        second.put(100, b"second");
        t.eq(map.get(100, 6), b"second".to_vec());
        t.ok(map.sync(MS_SYNC));
        t.ok(second.sync(MS_ASYNC));
        t.about("another process");
        let out = std::process::Command::new("cat").arg("f").output().unwrap();
        t.eq(out.stdout[5_000..5_006].to_vec(), b"stored".to_vec());
        t.about("what lies behind the end is zero, and stays out of the file");
        t.eq(map.get(20_000, 480), vec![0; 480]);
        map.put(20_100, b"outside");
        t.ok(map.sync(MS_SYNC));
        t.eq(fstat(&fd).map(|s| s.size), Ok(20_000));
        t.ok(ftruncate(&fd, 20_400));
        t.about("the map outlives descriptor and name");
        drop((fd, other));
        t.ok(unlink("f"));
        map.put(0, b"still");
        t.eq(second.get(0, 5), b"still".to_vec());
    });
}

#[test]
fn maps_and_a_creator_who_only_writes() {
    posix(|t| {
        let fd = open("f", O_CREAT | O_EXCL | O_WRONLY, 0o644).unwrap();
        let mut model = pattern(10_000, 3);
        t.eq(write(&fd, &model), Ok(10_000));
        let reader = open("f", O_RDWR, 0).unwrap();
        let map = Map::new(&reader, 10_000, RW, MAP_SHARED).unwrap();
        for i in 0..40usize {
            t.about(format!("round {i}"));
            let (stored, written) = (i * 731 % 9_000, i * 1_733 % 9_900);
            map.put(stored, &[i as u8; 50]);
            model[stored..stored + 50].fill(i as u8);
            t.eq(pwrite(&fd, &[!(i as u8); 100], written as i64), Ok(100));
            model[written..written + 100].fill(!(i as u8));
            t.eq(map.get(0, 10_000), model.clone());
            t.eq(pread(&reader, 10_000, 0), Ok(model.clone()));
        }
        t.about("to the end");
        let more = open("f", O_WRONLY | O_APPEND, 0).unwrap();
        t.eq(write(&more, b"by another"), Ok(10));
        t.eq(lseek(&fd, 0, SEEK_END), Ok(10_010));
        t.eq(write(&fd, b"by the creator"), Ok(14));
        t.eq(pread(&reader, 100, 10_000), Ok(b"by anotherby the creator".to_vec()));
    });
}

#[test]
fn stores_reach_the_device() {
    posix(|t| {
        let fd = open("f", O_CREAT | O_RDWR, 0o644).unwrap();
        const LEN: usize = 4 << 20;
        ftruncate(&fd, LEN as i64).unwrap();
        let map = Map::new(&fd, LEN, RW, MAP_SHARED).unwrap();
        let mut model = vec![0u8; LEN];
        for i in 0..500usize {
            let (off, data) = (i * 8_191 % (LEN - 200), pattern(100, i as u64));
            map.put(off, &data);
            model[off..off + 100].copy_from_slice(&data);
            if i % 100 == 99 {
                t.ok(map.sync(MS_SYNC));
            }
        }
        drop(map);
        fsync(&fd).unwrap();
        drop_pages(&fd);
        t.yes("read back", pread(&fd, LEN, 0).unwrap() == model);
    });
}

#[test]
fn private_maps_stay_private() {
    posix(|t| {
        put("f", &[b'x'; 8192]);
        let fd = open("f", O_RDONLY, 0).unwrap();
        let map = Map::new(&fd, 8192, RW, MAP_PRIVATE).unwrap();
        map.put(10, b"mine");
        t.eq(map.get(10, 4), b"mine".to_vec());
        t.eq(get("f"), vec![b'x'; 8192]);
        t.about("a shared map for writing needs a descriptor for writing");
        t.err(Map::new(&fd, 4096, RW, MAP_SHARED).map(drop), EACCES);
        t.ok(Map::new(&fd, 4096, PROT_READ, MAP_SHARED).map(drop));
    });
}

#[test]
fn writers_and_readers_at_once() {
    posix(|t| {
        const WORDS: usize = 2048;
        put("f", &[0; WORDS * 8]);
        let fd = open("f", O_RDWR, 0).unwrap();
        let maps: Vec<Map> =
            (0..3).map(|_| Map::new(&fd, WORDS * 8, RW, MAP_SHARED).unwrap()).collect();
        std::thread::scope(|s| {
            for (part, map) in maps.iter().take(2).enumerate() {
                s.spawn(move || {
                    for i in (part..WORDS).step_by(2) {
                        map.put(i * 8, &(i as u64 + 1).to_le_bytes());
                    }
                });
            }
            s.spawn(|| {
                for _ in 0..50 {
                    let _ = maps[2].sync(MS_SYNC);
                    let _ = pread(&fd, WORDS * 8, 0);
                }
            });
        });
        let words: Vec<u64> =
            get("f").chunks(8).map(|c| u64::from_le_bytes(c.try_into().unwrap())).collect();
        t.yes("every store is there", words == (1..=WORDS as u64).collect::<Vec<_>>());
    });
}

#[test]
fn truncating_under_a_map() {
    posix(|t| {
        put("f", &[b'a'; 12_288]);
        let fd = open("f", O_RDWR, 0).unwrap();
        let map = Map::new(&fd, 12_288, RW, MAP_SHARED).unwrap();
        t.eq(map.get(4_090, 12), vec![b'a'; 12]);
        ftruncate(&fd, 4_096 + 10).unwrap();
        t.eq(map.get(4_090, 30), [vec![b'a'; 16], vec![0; 14]].concat());
        ftruncate(&fd, 12_288).unwrap();
        t.eq(map.get(8_000, 4_000), vec![0; 4_000]);
        t.eq(get("f")[4_106..].iter().map(|b| u32::from(*b)).sum::<u32>(), 0);
    });
}
