//! Every decoder of `tandem-format`: what it accepts comes back the same from its encoder.

use std::fmt::Debug;

use tandem_format::{
    BlockMeta, Body, Checkpoint, DataLabel, DeltaRecord, ExtentNode, FormatError, GroupEntry,
    ImapBlock, Implied, Kind, Leaf, Record, SegEntry, Summary, Superblock, Table, Words, crc, open,
    peek, record_ino, seal,
};

/// Decodes bytes as the structure that the first of them names, with its checksum made right.
///
/// # Panics
/// When a structure that was accepted is another one after encoding and decoding.
pub fn structures(input: &[u8]) {
    let Some((&which, bytes)) = input.split_first() else { return };
    match which % 16 {
        0 => page(bytes, Superblock::decode, Superblock::encode),
        1 => page(bytes, DataLabel::decode, DataLabel::encode),
        2 => page(bytes, Checkpoint::decode, Checkpoint::encode),
        3 => summary(bytes),
        4 => block(bytes),
        5 => same(bytes, Words::decode, Words::encode),
        6 => same(bytes, ImapBlock::decode, ImapBlock::encode),
        7 => same(bytes, SegEntry::decode_all, |e| SegEntry::encode_all(e)),
        8 => same(bytes, GroupEntry::decode_all, |e| GroupEntry::encode_all(e)),
        9 => same(bytes, Table::decode, Table::encode),
        10 => level(bytes),
        11 => deltas(bytes),
        12 => leaf(bytes, Kind::Leaf),
        13 => leaf(bytes, Kind::Inode),
        14 => record(bytes),
        _ => {
            let _ = (open(bytes), peek(bytes), Summary::peek(bytes), Summary::decode(bytes));
        }
    }
}

fn same<T: PartialEq + Debug>(
    bytes: &[u8],
    decode: impl Fn(&[u8]) -> Result<T, FormatError>,
    encode: impl Fn(&T) -> Vec<u8>,
) {
    if let Ok(value) = decode(bytes) {
        assert_eq!(decode(&encode(&value)), Ok(value));
    }
}

/// A page of 4096 bytes: short inputs stand for its beginning.
fn page<T: PartialEq + Debug>(
    bytes: &[u8],
    decode: impl Fn(&[u8]) -> Result<T, FormatError>,
    encode: impl Fn(&T) -> Vec<u8>,
) {
    let _ = decode(bytes);
    let mut page = bytes.to_vec();
    page.resize(4096, 0);
    seal_page(&mut page);
    same(&page, decode, encode);
}

/// Puts the right checksum into a superblock, label or checkpoint.
pub(crate) fn seal_page(page: &mut [u8]) {
    page[8..12].fill(0);
    let sum = crc(page);
    page[8..12].copy_from_slice(&sum.to_le_bytes());
}

/// Puts the right checksum into a summary of `len` bytes, if it is that long.
pub(crate) fn seal_summary(bytes: &mut [u8], len: usize) {
    if let Some(summary) = bytes.get_mut(..len) {
        summary[4..8].fill(0);
        let sum = crc(summary);
        summary[4..8].copy_from_slice(&sum.to_le_bytes());
    }
}

fn summary(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    if let Ok((blocks, _)) = Summary::peek(&bytes) {
        seal_summary(&mut bytes, Summary::len_for(blocks as usize));
    }
    if let Ok(summary) = Summary::decode(&bytes) {
        let last = summary.blocks().last().map_or(0, |(at, e)| at + u32::from(e.grains));
        assert!(last <= summary.total);
        let _ = summary.verify_payload(&bytes[summary.encoded_len()..]);
        assert_eq!(Summary::decode(&summary.encode()), Ok(summary));
    }
}

/// Puts the right checksum into a block, when its length is possible.
pub(crate) fn seal_block(bytes: &mut [u8]) {
    let Some(&[low, high]) = bytes.get(50..52) else { return };
    let len = usize::from(u16::from_le_bytes([low, high]));
    if let Some(block) = bytes.get_mut(..len).filter(|block| block.len() >= 64) {
        block[4..8].fill(0);
        let sum = crc(block);
        block[4..8].copy_from_slice(&sum.to_le_bytes());
    }
}

fn block(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    seal_block(&mut bytes);
    if let Ok((meta, payload)) = open(&bytes) {
        let mut again = Vec::new();
        seal(&mut again, &meta, payload);
        assert_eq!(open(&again), Ok((meta, payload)));
    }
}

fn level(bytes: &[u8]) {
    if let Some((&level, bytes)) = bytes.split_first() {
        same(bytes, |bytes| ExtentNode::decode(bytes, level % 4), ExtentNode::encode);
    }
}

fn deltas(bytes: &[u8]) {
    for record in DeltaRecord::read(bytes).flatten() {
        let mut out = Vec::new();
        record.encode(&mut out);
        assert_eq!(DeltaRecord::read(&out).collect::<Vec<_>>(), [Ok(record)]);
    }
}

fn record(bytes: &[u8]) {
    let _ = record_ino(bytes);
    same(bytes, Record::decode, |record| {
        let mut out = Vec::new();
        record.encode(&mut out);
        assert_eq!(out.len(), record.encoded_len());
        out
    });
}

fn leaf(bytes: &[u8], kind: Kind) {
    let Some((&[count, index, bits], payload)) = bytes.split_first_chunk::<3>() else { return };
    let implied = Implied {
        hash_key: [1, 2],
        hash_bits: [48, 2, 8, 1][usize::from(bits) % 4],
        block_size: 512 << (bits >> 4 & 7),
    };
    let index = u64::from(index) << 40;
    let meta = BlockMeta {
        volume: 1,
        id: 1,
        owner: 1,
        crash: 1,
        serial: 1,
        index,
        kind,
        level: 0,
        count: count.into(),
    };
    let Ok(leaf) = Leaf::decode(payload, &meta, &implied) else { return };
    assert_eq!(leaf.count(), u32::from(count));
    let packed = leaf.encode(kind, &implied).expect("what was decoded can be encoded");
    assert!(packed.len() <= leaf.size() + Leaf::PACKING, "{} of {}", packed.len(), leaf.size());
    let again = Leaf::decode(&packed, &meta, &implied).expect("what was encoded can be decoded");
    for slot in 0..leaf.count() as usize {
        let (a, b) = (leaf.entry(slot), again.entry(slot));
        assert_eq!((a.key, a.kind, a.name), (b.key, b.kind, b.name));
        match (a.body, b.body) {
            (Body::Embedded(a), Body::Embedded(b)) => {
                assert_eq!(Record::decode(a), Record::decode(b));
                assert!(Record::decode(a).is_ok());
            }
            (a, b) => assert_eq!(a, b),
        }
        if kind == Kind::Leaf {
            assert_eq!(leaf.search(a.key >> 15, a.name).map(|s| leaf.entry(s).name), Some(a.name));
        }
    }
}
