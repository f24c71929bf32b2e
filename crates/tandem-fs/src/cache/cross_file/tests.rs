//! The cache of what was read ahead against a model of the device; and what is read ahead when.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::held::Held;
use super::{CrossFile, Directory, Fetch, FileAt, Share, Walks};

const SIZE: u64 = 8 << 20;
const SMALL: u64 = 4096;

/// A device whose bytes tell when they were written.
struct Disk(Vec<u8>);

impl Disk {
    fn range(&self, from: u64, to: u64) -> Vec<u8> {
        self.0[from as usize..to as usize].to_vec()
    }
}

/// Nothing is known of the directory.
const UNKNOWN: Directory = Directory { ino: 0, runs: Vec::new() };

fn whole(size: u64) -> FileAt {
    FileAt { size, off: 0, ahead: 0, before: 0 }
}

/// Reads as the engine does, a file of a directory; returns the first and end byte of the request, if one was made.
fn read_in(
    dir: &Directory,
    cache: &CrossFile,
    disk: &Disk,
    at: u64,
    len: u64,
    limit: u64,
) -> Option<(u64, u64)> {
    let mut buf = vec![0; len as usize];
    let done = cache.read(at, &mut buf, whole(len)) as u64;
    let mut request = None;
    if done < len {
        let (from, rest) = (at + done, len - done);
        request = Some((from, at + len));
        let got = match cache.plan(from, rest, whole(len), dir, limit / 4) {
            Some(fetch) => {
                request = Some((fetch.from, fetch.to));
                let bytes = disk.range(fetch.from, fetch.to);
                let inside = (from - fetch.from) as usize;
                let got = bytes[inside..inside + rest as usize].to_vec();
                cache.fill(fetch, Some(bytes), rest, limit);
                got
            }
            None => disk.range(from, at + len),
        };
        buf[done as usize..].copy_from_slice(&got);
    }
    assert_eq!(buf, disk.range(at, at + len), "stale bytes in [{at}, {})", at + len);
    assert!(cache.stats().held_bytes <= limit);
    request
}

fn read(cache: &CrossFile, disk: &Disk, at: u64, len: u64, limit: u64) -> Option<(u64, u64)> {
    read_in(&UNKNOWN, cache, disk, at, len, limit)
}

fn fresh() -> (CrossFile, Disk) {
    (CrossFile::new(0, SIZE), Disk((0..SIZE).map(|i| (i / 512) as u8).collect()))
}

#[test]
fn as_the_paper_has_it() {
    let (cache, disk) = fresh();
    let limit = 4 << 20;
    // 16 KiB past the end of the first small file ...
    assert_eq!(read(&cache, &disk, 0, SMALL, limit), Some((0, SMALL + (16 << 10))));
    // ... which serve what follows, ...
    for i in 1..5 {
        assert_eq!(read(&cache, &disk, i * SMALL, SMALL, limit), None);
    }
    // ... and then more and more.
    let (from, to) = read(&cache, &disk, 5 * SMALL, SMALL, limit).unwrap();
    assert_eq!(from, 5 * SMALL);
    assert!(to - from > 64 << 10);
    // A large file takes no part.
    assert!(cache.plan(6 << 20, 128 << 10, whole(1 << 30), &UNKNOWN, limit).is_none());
    // Small files far from each other bring 16 KiB each.
    let (cache, disk) = fresh();
    for i in 0..8u64 {
        let at = i * (1 << 20);
        let end = (at + SMALL + (16 << 10)).min(SIZE);
        assert_eq!(read(&cache, &disk, at, SMALL, limit), Some((at, end)));
    }
}

#[test]
fn a_walk_in_any_order_takes_few_requests() {
    let (cache, disk) = fresh();
    let mut requests = 0;
    for i in 0..512u64 {
        // A permutation of 512 files of one directory: 2 MiB. Where they lie is not known.
        let (dir, at) = (Directory { ino: 7, runs: vec![] }, (i * 197 % 512) * SMALL);
        requests += u64::from(read_in(&dir, &cache, &disk, at, SMALL, 4 << 20).is_some());
    }
    assert!(requests <= 16, "{requests} requests");
    assert!(cache.stats().hits >= 496);
    // Where they lie is known: fewer.
    let (cache, disk) = fresh();
    let runs = (0..512).map(|n| (n * SMALL, (n + 1) * SMALL)).collect();
    let dir = Directory { ino: 7, runs };
    let mut requests = 0;
    for i in 0..512u64 {
        let (at, mut buf) = ((i * 197 % 512) * SMALL, vec![0; SMALL as usize]);
        if cache.read(at, &mut buf, whole(SMALL)) == 0 {
            requests += 1;
            let fetch = cache.plan(at, SMALL, whole(SMALL), &dir, 1 << 20).unwrap();
            let bytes = disk.range(fetch.from, fetch.to);
            cache.fill(fetch, Some(bytes), SMALL, 4 << 20);
        }
    }
    assert!(requests <= 16, "{requests} requests");
}

#[test]
fn a_directory_s_files_are_read_over_small_gaps() {
    let (cache, _) = fresh();
    let kib = |n: u64| n << 10;
    // Three files with small gaps between them, and one that is far.
    let runs =
        vec![(kib(0), kib(40)), (kib(200), kib(220)), (kib(222), kib(230)), (kib(700), kib(710))];
    let dir = Directory { ino: 7, runs };
    let file = whole(kib(20));
    for _ in 0..2 {
        cache.plan(kib(200), kib(20), file, &dir, 1 << 20);
    }
    let fetch = cache.plan(kib(200), kib(20), file, &dir, 1 << 20).unwrap();
    assert!(fetch.from == 0 && fetch.to < kib(700), "{fetch:?}");
    let Share { own, siblings, others } = fetch.share;
    assert_eq!((own, siblings), (kib(20), kib(210)));
    assert_eq!(own + siblings + others, fetch.to - fetch.from);
}

#[test]
fn a_directory_is_a_walk_wherever_its_files_lie() {
    let (cache, _) = fresh();
    let mib = |n: u64| n << 20;
    let runs: Vec<_> = (0..8)
        .flat_map(|n| [0, 1].map(|k| (mib(n) + k * SMALL, mib(n) + (k + 1) * SMALL)))
        .collect();
    let dir = Directory { ino: 7, runs: runs.clone() };
    let ask = |at: u64| {
        let fetch = cache.plan(at, SMALL, whole(SMALL), &dir, 4 << 20).unwrap();
        (fetch.from, fetch.to)
    };
    assert_eq!(ask(0), (0, 2 * SMALL + (16 << 10)), "16 KiB past it and its neighbour");
    ask(mib(3));
    let (from, to) = ask(mib(5) + SMALL);
    assert!(from <= mib(5) && to >= mib(5) + 2 * SMALL, "{from} to {to}");
    // The same file read on is not another file.
    let (cache, _) = fresh();
    let far = |off: u64| FileAt { size: mib(4), off, ahead: mib(4) - off - SMALL, before: off };
    for n in 0..3 {
        let fetch = cache.plan(n * SMALL, SMALL, far(n * SMALL), &dir, 4 << 20);
        if let Some(fetch) = fetch {
            cache.fill(fetch, None, 0, 4 << 20);
        }
    }
    assert!(cache.stats().bytes_ahead <= 3 * (20 << 10), "{:?}", cache.stats());
}

#[test]
fn widths_follow_use() {
    let mut walks = Walks::default();
    let first = walks.others.width();
    for _ in 0..40 {
        walks.others.learn(1000, 1000);
    }
    assert_eq!(walks.others.width(), 8 * first);
    for _ in 0..100 {
        walks.others.learn(100, 1000);
        walks.siblings.learn(0, 1000);
        assert!(!walks.siblings.learn(0, 0), "nothing says nothing");
    }
    assert_eq!(walks.others.width(), 128 << 10);
    assert_eq!(walks.siblings.width(), 64 << 10);
    // What is hardly ever used is read as the paper has it, until it is used.
    for _ in 0..80 {
        walks.others.learn(10, 1000);
    }
    assert_eq!(walks.others.width(), 16 << 10);
    for _ in 0..100 {
        walks.others.learn(1000, 1000);
    }
    assert_eq!(walks.others.width(), 8 * first);
}

#[test]
fn what_is_read_while_it_is_written_is_not_kept() {
    let (cache, mut disk) = fresh();
    let Fetch { id, from, to, run, share } =
        cache.plan(0, SMALL, whole(SMALL), &UNKNOWN, SIZE).unwrap();
    let old = disk.range(from, to);
    disk.0[8192..8704].fill(0xee);
    cache.forget(8192, 8704);
    cache.fill(Fetch { id, from, to, run, share }, Some(old), SMALL, SIZE);
    let mut buf = vec![0; SMALL as usize];
    assert_eq!(cache.read(0, &mut buf, whole(SMALL)), SMALL as usize);
    assert_eq!(cache.read(8192, &mut buf, whole(SMALL)), 0);
    read(&cache, &disk, 8192, SMALL, SIZE);
    read(&cache, &disk, 4096, 2 * SMALL, SIZE);
}

#[test]
fn a_failed_read_leaves_nothing() {
    let (cache, _) = fresh();
    let fetch = cache.plan(0, SMALL, whole(SMALL), &UNKNOWN, SIZE).unwrap();
    cache.fill(fetch, None, 0, SIZE);
    assert_eq!(cache.stats().held_bytes, 0);
    assert_eq!(cache.read(0, &mut [0; 16], whole(SMALL)), 0);
}

#[test]
fn what_is_used_again_stays() {
    let mut held = Held::default();
    for i in 0..4u64 {
        held.insert(i * 100, vec![i as u8; 100], &[], (0, 0), 0);
    }
    assert_eq!(held.find(0, 10).len(), 1);
    let gone = held.evict().unwrap();
    assert_eq!((gone.len, gone.used), (100, 0));
    assert_eq!((held.find(0, 100).len(), held.find(100, 100).len()), (1, 0));
    // Ranges cut to nothing give their buffer up; the rest of one keeps it.
    assert!(held.cut(0, 99).is_empty());
    assert_eq!(held.bytes(), 300);
    assert_eq!(held.cut(99, 100).len(), 1);
    assert_eq!(held.bytes(), 200);
    assert_eq!((held.covered_to(250), held.covered_from(350)), (400, 200));
    assert_eq!((held.covered_to(150), held.covered_from(150)), (150, 150));
}

#[derive(Debug, Clone)]
enum Step {
    Read(u64, u64),
    /// A read that begins, and the steps after which it ends.
    Begin(u64, u64, u8),
    Write(u64, u64),
    Shrink(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let place = || (0..(2u64 << 20) / 512, 1..40u64).prop_map(|(at, n)| (at * 512, n * 512));
    prop_oneof![
        6 => place().prop_map(|(at, n)| Step::Read(at, n)),
        3 => (place(), 0..6u8).prop_map(|((at, n), wait)| Step::Begin(at, n, wait)),
        3 => place().prop_map(|(at, n)| Step::Write(at, n)),
        1 => (0..2u64 << 20).prop_map(Step::Shrink),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Whatever is read, written and dropped in between, every read returns what D has.
    #[test]
    fn never_stale(steps in prop::collection::vec(step(), 1..200), limit in 1u64 << 16..4 << 20) {
        let (cache, mut disk) = fresh();
        let mut stamp = 0u8;
        let mut under_way: Vec<(usize, Fetch, Vec<u8>)> = Vec::new();
        for (now, step) in steps.into_iter().enumerate() {
            match step {
                Step::Read(at, len) => { read(&cache, &disk, at, len, limit); }
                Step::Begin(at, len, wait) => {
                    if let Some(fetch) = cache.plan(at, len, whole(len), &UNKNOWN, limit) {
                        let bytes = disk.range(fetch.from, fetch.to);
                        under_way.push((now + usize::from(wait), fetch, bytes));
                    }
                }
                Step::Write(at, len) => {
                    stamp = stamp.wrapping_add(1);
                    disk.0[at as usize..(at + len) as usize].fill(stamp);
                    cache.forget(at, at + len);
                }
                Step::Shrink(to) => {
                    cache.shrink(to);
                    prop_assert!(cache.stats().held_bytes <= to);
                }
            }
            let (ended, rest): (Vec<_>, Vec<_>) =
                under_way.into_iter().partition(|(end, ..)| *end <= now);
            under_way = rest;
            for (_, fetch, bytes) in ended {
                cache.fill(fetch, Some(bytes), 0, limit);
            }
        }
        for at in (0..2u64 << 20).step_by(4096) {
            read(&cache, &disk, at, 4096, limit);
        }
    }

    /// The ranges against a set of bytes.
    #[test]
    fn ranges_as_a_model_has_them(
        ops in prop::collection::vec((any::<bool>(), 0..300u64, 1..60u64), 1..80),
    ) {
        let mut held = Held::default();
        let mut model = BTreeSet::new();
        for (put, at, len) in ops {
            if put {
                held.insert(at, vec![0; len as usize], &[(at + len / 3, at + len / 2)], (at, at), 0);
                model.extend(at..at + len);
                model.retain(|b| !(at + len / 3..at + len / 2).contains(b));
            } else {
                held.cut(at, at + len);
                model.retain(|b| !(at..at + len).contains(b));
            }
            for at in 0..360u64 {
                let there = held.find(at, 1).len() == 1;
                prop_assert_eq!(there, model.contains(&at), "byte {}", at);
                let to = (at..).find(|b| !model.contains(b)).unwrap();
                prop_assert_eq!(held.covered_to(at), to);
                let from = (0..at).rev().find(|b| !model.contains(b)).map_or(0, |b| b + 1);
                prop_assert_eq!(held.covered_from(at), from);
            }
        }
    }
}
