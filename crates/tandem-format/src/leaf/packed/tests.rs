use proptest::prelude::*;

use super::*;
use crate::block::{BlockMeta, Kind};
use crate::error::FormatError;
use crate::hash::name_key;
use crate::leaf::{Body, Leaf};
use crate::record::tests::records;
use crate::record::{Content, DirRoot, Record};
use crate::units::Time;

const IMPLIED: Implied = Implied { hash_key: [1, 2], hash_bits: 48, block_size: 4096 };

fn meta(kind: Kind, leaf: &Leaf) -> BlockMeta {
    BlockMeta {
        volume: 1,
        id: 2,
        owner: 3,
        crash: 4,
        serial: 5,
        index: leaf.prefix(),
        kind,
        level: 0,
        count: leaf.count(),
    }
}

fn encoded(record: &Record) -> Vec<u8> {
    let mut out = Vec::new();
    record.encode(&mut out);
    out
}

fn packed(leaf: &Leaf) -> Vec<u8> {
    leaf.encode(Kind::Leaf, &IMPLIED).unwrap()
}

fn came_back(leaf: &Leaf, kind: Kind) -> usize {
    let bytes = leaf.encode(kind, &IMPLIED).unwrap();
    let read = Leaf::decode(&bytes, &meta(kind, leaf), &IMPLIED).unwrap();
    assert_eq!(&read, leaf);
    assert_eq!(read.size(), leaf.size());
    bytes.len()
}

/// Enters a name; false when there is no more room.
fn enter(leaf: &mut Leaf, name: &[u8], kind: u8, body: Body<'_>) -> bool {
    let rev = name_key(IMPLIED.hash_key, IMPLIED.hash_bits, name);
    leaf.insert(rev << 15 | u64::from(leaf.free_seq(rev)), kind, name, body).is_ok()
}

/// A file of a freshly unpacked tree.
fn file(ino: u64) -> Record {
    let at = |ms: u64| Time { secs: 1_700_000_000, nanos: (ms * 1_000_000) as u32 };
    let extent = crate::Extent { logical: 0, start: 900 + ino * 2, len: 2, unwritten: false };
    Record {
        ino,
        generation: 5,
        mode: 0o100644,
        nlink: 1,
        mtime: Time { secs: 1_600_000_000, nanos: 0 },
        btime: at(ino % 900),
        ctime: at(ino % 900),
        atime: at(ino % 900),
        size: 4097 + ino * 37 % 4000,
        content: Content::Extents([extent].into_iter().collect()),
        ..Record::default()
    }
}

fn full_leaf() -> Leaf {
    let mut leaf = Leaf::new(0, 0);
    leaf.set_next(77);
    for n in 0u64.. {
        let name = format!("file-{n}.c");
        let bytes = encoded(&file(n + 100));
        let body = if n % 9 == 5 { Body::Link(n + 100) } else { Body::Embedded(&bytes) };
        if !enter(&mut leaf, name.as_bytes(), 1, body) {
            return leaf;
        }
    }
    leaf
}

#[test]
fn an_empty_leaf_is_a_few_bytes() {
    assert!(came_back(&Leaf::new(0, 0), Kind::Inode) <= 8);
    assert!(came_back(&Leaf::new(0, 0), Kind::Leaf) <= 8);
}

#[test]
fn files_of_a_tree_take_few_bytes() {
    let mut leaf = Leaf::new(0, 0);
    let mut n = 0;
    while enter(
        &mut leaf,
        format!("file-{n:03}.c").as_bytes(),
        1,
        Body::Embedded(&encoded(&file(n + 100))),
    ) {
        n += 1;
    }
    let len = came_back(&leaf, Kind::Leaf);
    assert!(len < leaf.count() as usize * 7, "{len} bytes for {} files", leaf.count());
}

#[test]
fn directories_without_blocks_take_few_bytes() {
    let mut leaf = Leaf::new(0, 0);
    for n in 0..40u64 {
        let content = Content::Dir(DirRoot { parent: 9, group: 4, ..DirRoot::default() });
        let dir = Record { mode: 0o040755, nlink: 2, content, size: 0, ..file(n + 100) };
        assert!(enter(&mut leaf, format!("d{n:03}").as_bytes(), 2, Body::Embedded(&encoded(&dir))));
    }
    let len = came_back(&leaf, Kind::Leaf);
    assert!(len < 40 * 4, "{len}");
}

#[test]
fn times_of_all_ages_come_back() {
    let mut leaf = Leaf::new(0, 0);
    let far = 1i64 << 39;
    for (n, secs) in [0, -1, 1, far - 1, -far, 1 << 33, -(1 << 33), 1 << 31].into_iter().enumerate()
    {
        for nanos in [0, 1, 999_999_999, 1_000_000, 1000] {
            let rec = Record {
                mtime: Time { secs, nanos },
                atime: Time { secs: -secs.max(1 - far), nanos: 7 },
                ..file(n as u64 * 9 + 1)
            };
            assert!(enter(
                &mut leaf,
                format!("{secs} {nanos}").as_bytes(),
                1,
                Body::Embedded(&encoded(&rec))
            ));
        }
    }
    came_back(&leaf, Kind::Leaf);
}

#[test]
fn equal_hashes_and_links_come_back() {
    let implied = Implied { hash_bits: 1, ..IMPLIED };
    let mut leaf = Leaf::new(0, 0);
    for n in 0..60u64 {
        let name = format!("n{n}");
        let rev = name_key(implied.hash_key, implied.hash_bits, name.as_bytes());
        let key = rev << 15 | u64::from(leaf.free_seq(rev));
        leaf.insert(key, 1, name.as_bytes(), Body::Link(7 + n / 20 * ((1 << 48) / 3))).unwrap();
    }
    let bytes = leaf.encode(Kind::Leaf, &implied).unwrap();
    assert_eq!(Leaf::decode(&bytes, &meta(Kind::Leaf, &leaf), &implied), Ok(leaf));
}

#[test]
fn what_is_no_record_is_not_packed() {
    let mut leaf = Leaf::new(0, 0);
    assert!(enter(&mut leaf, b"a", 1, Body::Embedded(&[255; 30])));
    assert!(leaf.encode(Kind::Leaf, &IMPLIED).is_err());
}

#[test]
fn damage_is_named() {
    let mut leaf = Leaf::new(0, 0);
    enter(&mut leaf, b"a", 1, Body::Embedded(&encoded(&file(1))));
    let good = packed(&leaf);
    let field = |bytes: &[u8], count, index| {
        let meta = BlockMeta { count, index, ..meta(Kind::Leaf, &leaf) };
        match Leaf::decode(bytes, &meta, &IMPLIED) {
            Err(FormatError::Invalid { field, .. } | FormatError::Truncated { field, .. }) => field,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(field(&[], 0, 0), "next");
    assert_eq!(field(&good, 1, 1 << 48), "prefix");
    assert_eq!(field(&good, 169, 0), "count");
    assert_eq!(field(&[&good[..], &[0]].concat(), 1, 0), "len");
    assert_eq!(field(&good[..good.len() - 1], 1, 0), "name");
    let deep = |depth: u8| {
        let mut bytes = good.clone();
        bytes[0] |= depth << 7;
        bytes[1] |= depth >> 1;
        bytes
    };
    assert_eq!(field(&deep(49), 1, 0), "depth");
    assert_eq!(field(&deep(1), 1, 5), "prefix");
    let there = leaf.entry(0).key >> 62;
    assert_eq!(field(&deep(1), 1, (1 - there) << 47), "key");
    let mut twice = Leaf::new(0, 0);
    for ino in [4, 5] {
        let rev = name_key(IMPLIED.hash_key, IMPLIED.hash_bits, b"b");
        twice.insert(rev << 15 | ino, 1, b"b", Body::Link(ino)).unwrap();
    }
    let mut bytes = packed(&twice);
    assert!(Leaf::decode(&bytes, &meta(Kind::Leaf, &twice), &IMPLIED).is_ok());
    // The bit that tells the second sequence number from the first.
    let found = (0..bytes.len() * 8).any(|bit| {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let read = Leaf::decode(&bytes, &meta(Kind::Leaf, &twice), &IMPLIED);
        bytes[bit / 8] ^= 1 << (bit % 8);
        matches!(read, Err(FormatError::Invalid { field: "key", .. }))
    });
    assert!(found);
}

/// What lies in a leaf: record or link, name, and whether its number follows the one before.
fn entry() -> impl Strategy<Value = (Record, bool, Vec<u8>, bool)> {
    let name = prop_oneof![
        "[a-z]{1,8}-[0-9]{1,3}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..255),
    ];
    (records(), any::<bool>(), name, any::<bool>())
}

fn leaf_of(entries: &[(Record, bool, Vec<u8>, bool)], kind: Kind) -> Leaf {
    let mut leaf = Leaf::new(0, 0);
    let mut last = 1;
    for (rec, embedded, name, follows) in entries {
        let ino = if *follows { last + 1 } else { rec.ino };
        last = ino.min((1 << 48) - 2);
        let bytes = encoded(&Record { ino, ..rec.clone() });
        let body = if *embedded { Body::Embedded(&bytes) } else { Body::Link(ino) };
        match kind {
            Kind::Inode if leaf.find_key(ino).is_none() => drop(leaf.insert(ino, 1, b"", body)),
            Kind::Inode => {}
            _ => drop(enter(&mut leaf, name, (ino % 8) as u8, body)),
        }
    }
    leaf
}

proptest! {
    #[test]
    fn leaves_come_back(entries in prop::collection::vec(entry(), 0..60)) {
        for kind in [Kind::Leaf, Kind::Inode] {
            let leaf = leaf_of(&entries, kind);
            let len = came_back(&leaf, kind);
            prop_assert!(len <= leaf.size() + Leaf::PACKING, "{len} for {}", leaf.size());
        }
    }

    #[test]
    fn mutated_leaves_never_panic(
        entries in prop::collection::vec(entry(), 1..8),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        count in 0u32..200,
    ) {
        for leaf in [full_leaf(), leaf_of(&entries, Kind::Leaf)] {
            let mut bytes = packed(&leaf);
            for (at, to) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *to;
            }
            exercise(&bytes, leaf.count());
            exercise(&bytes[..cut.index(bytes.len())], count);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        count in 0u32..170,
    ) {
        exercise(&bytes, count);
        exercise(&[&[0, 0], &bytes[..]].concat(), count);
    }
}

/// Whatever is accepted works, and is written as it was understood.
fn exercise(bytes: &[u8], count: u32) {
    for kind in [Kind::Leaf, Kind::Inode] {
        let meta = BlockMeta { count, index: 0, ..meta(kind, &Leaf::new(0, 0)) };
        let Ok(leaf) = Leaf::decode(bytes, &meta, &IMPLIED) else { continue };
        assert!(leaf.size() <= Leaf::CAPACITY);
        for slot in 0..leaf.count() as usize {
            assert_eq!(leaf.find_key(leaf.entry(slot).key), Some(slot));
        }
        let again = leaf.encode(kind, &IMPLIED).unwrap();
        assert_eq!(Leaf::decode(&again, &meta, &IMPLIED), Ok(leaf));
    }
}
