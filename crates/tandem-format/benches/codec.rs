//! Speed of the codecs that every operation goes through.

use divan::{Bencher, black_box};
use tandem_format::{
    BlockMeta, Body, Content, DirRoot, Extent, Implied, Kind, Leaf, Record, Time, name_key,
};

fn main() {
    divan::main();
}

const KEY: [u64; 2] = [3, 4];
const IMPLIED: Implied = Implied { hash_key: KEY, hash_bits: 48, block_size: 4096 };

fn name(n: u32) -> String {
    format!("report-{n:04}.txt")
}

fn file() -> Record {
    let time = Time { secs: 1_700_000_000, nanos: 123_456_789 };
    let extent = Extent { logical: 0, start: 123_456, len: 3, unwritten: false };
    Record {
        ino: 123_456,
        generation: 77,
        mode: 0o100644,
        nlink: 1,
        uid: 1000,
        gid: 1000,
        atime: time,
        mtime: time,
        ctime: time,
        btime: time,
        size: 12_345,
        content: Content::Extents([extent].into_iter().collect()),
        ..Record::default()
    }
}

fn dir() -> Record {
    let root = DirRoot { parent: 5, entries: 100, subdirs: 7, root: 99, group: 3 };
    Record { mode: 0o040755, nlink: 9, content: Content::Dir(root), size: 0, ..file() }
}

fn encoded(record: &Record) -> Vec<u8> {
    let mut out = Vec::new();
    record.encode(&mut out);
    out
}

/// A full leaf, and the names in it with their keys.
fn full() -> (Leaf, Vec<(u64, String)>) {
    let (mut leaf, mut names) = (Leaf::new(0, 0), Vec::new());
    let body = encoded(&file());
    for n in 0.. {
        let name = name(n);
        let rev = name_key(KEY, 48, name.as_bytes());
        if leaf.insert(rev << 15, 1, name.as_bytes(), Body::Embedded(&body)).is_err() {
            break;
        }
        names.push((rev, name));
    }
    (leaf, names)
}

/// Calls `f` with the names of a full leaf in turn.
fn in_turn<T>(bencher: Bencher<'_, '_>, mut f: impl FnMut(&mut Leaf, u64, &[u8]) -> T) {
    let (mut leaf, names) = full();
    let mut n = 0;
    bencher.bench_local(|| {
        n = (n + 7) % names.len();
        let (rev, name) = &names[n];
        f(&mut leaf, black_box(*rev), name.as_bytes())
    });
}

#[divan::bench]
fn hash(bencher: Bencher<'_, '_>) {
    in_turn(bencher, |_, _, name| name_key(KEY, 48, name));
}

#[divan::bench]
fn leaf_search(bencher: Bencher<'_, '_>) {
    in_turn(bencher, |leaf, rev, name| leaf.search(rev, name));
}

#[divan::bench]
fn leaf_search_absent(bencher: Bencher<'_, '_>) {
    in_turn(bencher, |leaf, rev, name| leaf.search(rev ^ 1 << 30, name));
}

#[divan::bench]
fn leaf_remove_and_insert(bencher: Bencher<'_, '_>) {
    let body = encoded(&file());
    in_turn(bencher, |leaf, rev, name| {
        if let Some(slot) = leaf.search(rev, name) {
            leaf.remove(slot);
        }
        leaf.insert(rev << 15, 1, name, Body::Embedded(&body))
    });
}

/// Time for each of the entries of one leaf is the figure divided by their number.
#[divan::bench]
fn leaf_fill(bencher: Bencher<'_, '_>) {
    let (_, names) = full();
    let body = encoded(&file());
    bencher.counter(names.len()).bench_local(|| {
        let mut leaf = Leaf::new(0, 0);
        for (rev, name) in &names {
            let _ = leaf.insert(rev << 15, 1, name.as_bytes(), Body::Embedded(&body));
        }
        leaf
    });
}

#[divan::bench]
fn leaf_replace_same_length(bencher: Bencher<'_, '_>) {
    let body = encoded(&file());
    let mut n = 0;
    in_turn(bencher, |leaf, _, _| {
        n = (n + 1) % leaf.count() as usize;
        leaf.replace(n, Body::Embedded(&body))
    });
}

#[divan::bench]
fn leaf_split(bencher: Bencher<'_, '_>) {
    let (leaf, _) = full();
    bencher.with_inputs(|| leaf.clone()).bench_local_values(|mut leaf| (leaf.split(), leaf));
}

#[divan::bench]
fn leaf_decode(bencher: Bencher<'_, '_>) {
    let (leaf, _) = full();
    let payload = leaf.encode(Kind::Leaf, &IMPLIED).expect("whole records");
    let meta = BlockMeta {
        volume: 0,
        id: 0,
        owner: 0,
        crash: 0,
        serial: 0,
        index: 0,
        kind: Kind::Leaf,
        level: 0,
        count: leaf.count(),
    };
    bencher
        .counter(leaf.count())
        .bench_local(|| Leaf::decode(black_box(&payload), &meta, &IMPLIED));
}

#[divan::bench]
fn leaf_encode(bencher: Bencher<'_, '_>) {
    let (leaf, _) = full();
    bencher.counter(leaf.count()).bench_local(|| black_box(&leaf).encode(Kind::Leaf, &IMPLIED));
}

#[divan::bench]
fn record_encode_file(bencher: Bencher<'_, '_>) {
    encode(bencher, &file());
}

#[divan::bench]
fn record_encode_dir(bencher: Bencher<'_, '_>) {
    encode(bencher, &dir());
}

fn encode(bencher: Bencher<'_, '_>, record: &Record) {
    let mut out = Vec::with_capacity(256);
    bencher.bench_local(|| {
        out.clear();
        black_box(record).encode(&mut out);
        out.len()
    });
}

#[divan::bench]
fn record_decode_file(bencher: Bencher<'_, '_>) {
    let bytes = encoded(&file());
    bencher.bench_local(|| Record::decode(black_box(&bytes)));
}

#[divan::bench]
fn record_decode_dir(bencher: Bencher<'_, '_>) {
    let bytes = encoded(&dir());
    bencher.bench_local(|| Record::decode(black_box(&bytes)));
}
