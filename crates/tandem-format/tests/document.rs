//! The examples of `docs/format.md` are what the crate writes.

use tandem_format::*;

const DOCUMENT: &str = include_str!("../../../docs/format.md");

/// The bytes of the document's fenced blocks that are marked as such.
fn examples() -> Vec<Vec<u8>> {
    let blocks = DOCUMENT.split("```hex\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks
        .map(|text| {
            let bytes = text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16));
            bytes.collect::<Result<_, _>>().expect("two hexadecimal digits a byte")
        })
        .collect()
}

#[test]
fn the_block_is_as_shown() {
    let time = Time { secs: 1_700_000_000, nanos: 0 };
    let record = Record {
        ino: 16,
        generation: 1,
        mode: 0o100644,
        nlink: 1,
        atime: time,
        mtime: time,
        ctime: time,
        btime: time,
        ..Record::default()
    };
    let mut bytes = Vec::new();
    record.encode(&mut bytes);
    let mut leaf = Leaf::new(0, 0);
    let key = name_key([1, 2], 48, b"name") << 15;
    leaf.insert(key, 1, b"name", Body::Embedded(&bytes)).expect("room in an empty leaf");
    let meta = BlockMeta {
        volume: 0x1122_3344_5566_7788,
        id: 7,
        owner: 1,
        crash: 2,
        serial: 3,
        index: 0,
        kind: Kind::Leaf,
        level: 0,
        count: leaf.count(),
    };
    let mut block = Vec::new();
    let implied = Implied { hash_key: [1, 2], hash_bits: 48, block_size: 4096 };
    seal(&mut block, &meta, &leaf.encode(Kind::Leaf, &implied).expect("a whole record"));
    assert_eq!(examples(), [block]);
}

#[test]
fn hashes_and_checksums_are_as_shown() {
    let shown = |text: String| assert!(DOCUMENT.contains(&text), "{text}");
    for (name, title) in [("", "(empty)"), ("a", "`a`"), ("name", "`name`")] {
        shown(format!("| {title} | `{:#014x}` |", name_key([1, 2], 48, name.as_bytes())));
    }
    shown(format!("| `name`, 4 bits | `{:#014x}` |", name_key([1, 2], 4, b"name")));
    shown(format!("`{:#x}`", crc(b"123456789")));
}

#[test]
fn sizes_are_as_shown() {
    assert_eq!((FANOUT, IMAP_PER_BLOCK, SEG_PER_BLOCK, GROUP_PER_BLOCK), (504, 252, 252, 126));
    assert_eq!((EXTENTS_PER_NODE, CHILDREN_PER_NODE), (168, 252));
    assert_eq!((SUMMARY_HEADER, SUMMARY_ENTRY, PARTIAL_MAX), (96, 20, 131_072));
    assert_eq!((GRAIN, HEADER, FREE_CHUNK, Leaf::CAPACITY), (64, 64, 4032, 4032));
    assert_eq!((CHECKPOINTS, SEGMENT_AREA, DATA_AREA), ([4096, 8192], 65536, 65536));
    assert_eq!((SEGMENTS_MAX, GROUPS_MAX, GROUP_BLOCKS_MAX), (1 << 22, 1 << 18, 1 << 27));
}
