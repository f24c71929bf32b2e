//! What a commit changes in the IFile's tables, between checkpoints.

use crate::bits::{unzigzag, zigzag};
use crate::bytes::{Reader, VARINT_MAX, put_varint};
use crate::error::FormatError;
use crate::page::refuse;

/// One change. Those of the block map are not among them: summaries imply them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaRecord {
    /// The i-node map's entry of `ino` becomes `w0`, `w1`.
    ImapSet {
        /// I-node number.
        ino: u64,
        /// First word of the entry.
        w0: u64,
        /// Second word of the entry.
        w1: u64,
    },
    /// These i-nodes are no more.
    ImapClear {
        /// The first i-node's number.
        ino: u64,
        /// How many, 1 to [`CLEAR_MAX`].
        n: u64,
    },
    /// The block id is free; what it was mapped to is dead.
    IdFree {
        /// Block id.
        id: u64,
    },
    /// Data blocks are in use.
    Alloc {
        /// First data block.
        start: u64,
        /// Data blocks, at least one.
        len: u64,
    },
    /// Data blocks are free.
    Free {
        /// First data block.
        start: u64,
        /// Data blocks, at least one.
        len: u64,
    },
    /// The volume's counters, as they are now.
    Counters {
        /// The lowest i-node number never used.
        next_ino: u64,
        /// The lowest block id never used.
        next_id: u64,
        /// Live i-nodes.
        inodes: u64,
    },
    /// A group has more or fewer directories and i-nodes.
    GroupCounts {
        /// The group.
        group: u32,
        /// Directories to add.
        dirs: i64,
        /// I-nodes to add.
        inodes: i64,
    },
}

const IMAP_SET: u8 = 1;
const IMAP_CLEAR: u8 = 2;
const ID_FREE: u8 = 3;
const ALLOC: u8 = 4;
const FREE: u8 = 5;
const COUNTERS: u8 = 6;
const GROUP_COUNTS: u8 = 7;

/// I-nodes that one record clears at most.
pub const CLEAR_MAX: u64 = 4096;

/// Bytes of the longest record.
pub const DELTA_RECORD_MAX: usize = 1 + 3 * VARINT_MAX;
const STRUCTURE: &str = "delta record";

impl DeltaRecord {
    /// Appends the record; at most [`DELTA_RECORD_MAX`] bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            // The top bit tells the two forms apart.
            DeltaRecord::ImapSet { ino, w0, w1 } => {
                tagged(out, IMAP_SET, &[ino, w0, w1.rotate_left(1)]);
            }
            DeltaRecord::ImapClear { ino, n } => tagged(out, IMAP_CLEAR, &[ino, n]),
            DeltaRecord::IdFree { id } => tagged(out, ID_FREE, &[id]),
            DeltaRecord::Alloc { start, len } => tagged(out, ALLOC, &[start, len]),
            DeltaRecord::Free { start, len } => tagged(out, FREE, &[start, len]),
            DeltaRecord::Counters { next_ino, next_id, inodes } => {
                tagged(out, COUNTERS, &[next_ino, next_id, inodes]);
            }
            DeltaRecord::GroupCounts { group, dirs, inodes } => {
                tagged(out, GROUP_COUNTS, &[group.into(), zigzag(dirs), zigzag(inodes)]);
            }
        }
    }

    /// The records of a Delta block's payload, in order. Ends after the first error.
    pub fn read(payload: &[u8]) -> impl Iterator<Item = Result<DeltaRecord, FormatError>> {
        let mut rest = Reader::new(STRUCTURE, payload);
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let record = next(&mut rest);
            if record.is_err() {
                rest = Reader::new(STRUCTURE, &[]);
            }
            Some(record)
        })
    }
}

fn tagged(out: &mut Vec<u8>, tag: u8, words: &[u64]) {
    out.push(tag);
    for &word in words {
        put_varint(out, word);
    }
}

fn next(f: &mut Reader<'_>) -> Result<DeltaRecord, FormatError> {
    Ok(match f.u8("tag")? {
        IMAP_SET => {
            let (ino, w0, w1) = (f.varint("i-node")?, f.varint("w0")?, f.varint("w1")?);
            DeltaRecord::ImapSet { ino, w0, w1: w1.rotate_right(1) }
        }
        IMAP_CLEAR => {
            let (ino, n) = run(f)?;
            if n > CLEAR_MAX {
                return refuse(STRUCTURE, "length", n);
            }
            DeltaRecord::ImapClear { ino, n }
        }
        ID_FREE => DeltaRecord::IdFree { id: f.varint("block id")? },
        ALLOC => {
            let (start, len) = run(f)?;
            DeltaRecord::Alloc { start, len }
        }
        FREE => {
            let (start, len) = run(f)?;
            DeltaRecord::Free { start, len }
        }
        COUNTERS => {
            let (next_ino, next_id) = (f.varint("next i-node")?, f.varint("next block id")?);
            DeltaRecord::Counters { next_ino, next_id, inodes: f.varint("i-nodes")? }
        }
        GROUP_COUNTS => {
            let group = f.varint_u32("group")?;
            let (dirs, inodes) = (f.varint("directories")?, f.varint("i-nodes")?);
            DeltaRecord::GroupCounts { group, dirs: unzigzag(dirs), inodes: unzigzag(inodes) }
        }
        tag => return refuse(STRUCTURE, "tag", tag),
    })
}

/// Start and length: not empty, and with an end that is a number.
fn run(f: &mut Reader<'_>) -> Result<(u64, u64), FormatError> {
    let (start, len) = (f.varint("start")?, f.varint("length")?);
    if len == 0 || start.checked_add(len).is_none() {
        return refuse(STRUCTURE, "length", len);
    }
    Ok((start, len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A word of any length, so that varints of every length are met.
    fn word() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0u32..64).prop_map(|(word, shift)| word >> shift)
    }

    fn record() -> impl Strategy<Value = DeltaRecord> {
        let run = || {
            (word(), word()).prop_map(|(start, len)| {
                let start = start.min(u64::MAX - 1);
                (start, len.clamp(1, u64::MAX - start))
            })
        };
        prop_oneof![
            (word(), any::<u64>(), any::<u64>()).prop_map(|(ino, w0, w1)| DeltaRecord::ImapSet {
                ino,
                w0,
                w1
            }),
            (word(), 1..=CLEAR_MAX)
                .prop_map(|(ino, n)| DeltaRecord::ImapClear { ino: ino >> 1, n }),
            word().prop_map(|id| DeltaRecord::IdFree { id }),
            run().prop_map(|(start, len)| DeltaRecord::Alloc { start, len }),
            run().prop_map(|(start, len)| DeltaRecord::Free { start, len }),
            (word(), word(), word()).prop_map(|(next_ino, next_id, inodes)| {
                DeltaRecord::Counters { next_ino, next_id, inodes }
            }),
            (any::<u32>(), word(), word()).prop_map(|(group, dirs, inodes)| {
                DeltaRecord::GroupCounts { group, dirs: dirs as i64, inodes: inodes as i64 }
            }),
        ]
    }

    fn read(bytes: &[u8]) -> Result<Vec<DeltaRecord>, FormatError> {
        DeltaRecord::read(bytes).collect()
    }

    #[test]
    fn bytes_are_what_the_document_says() {
        let mut out = Vec::new();
        DeltaRecord::ImapSet { ino: 300, w0: 1, w1: 2 }.encode(&mut out);
        assert_eq!(out, [1, 0xac, 2, 1, 4]);
        out.clear();
        DeltaRecord::GroupCounts { group: 3, dirs: -1, inodes: 64 }.encode(&mut out);
        assert_eq!(out, [7, 3, 1, 0x80, 1]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let mut overlong = vec![3];
        overlong.extend_from_slice(&[0x80; 9]);
        overlong.push(2);
        let mut end = vec![4];
        end.extend_from_slice(&[0xff; 9]);
        end.extend_from_slice(&[1, 1]);
        let clear: &[u8] = &[2, 1, 0x81, 0x20];
        let group: &[u8] = &[7, 0x80, 0x80, 0x80, 0x80, 0x10, 0, 0];
        for bytes in
            [&[0][..], &[8], &[4, 1, 0], &[5, 1, 0], &[2, 1, 0], clear, &overlong, &end, group]
        {
            let found = read(bytes);
            assert!(matches!(found, Err(FormatError::Invalid { .. })), "{bytes:?} {found:?}");
        }
        for bytes in [&[1][..], &[1, 1, 0], &[2, 0x80], &[6, 1, 1], &[7, 0]] {
            let found = read(bytes);
            assert!(matches!(found, Err(FormatError::Truncated { .. })), "{bytes:?} {found:?}");
        }
        assert_eq!(DeltaRecord::read(&[9, 2, 1]).count(), 1);
    }

    proptest! {
        #[test]
        fn come_back(records in prop::collection::vec(record(), 0..50)) {
            let mut out = Vec::new();
            for record in &records {
                let before = out.len();
                record.encode(&mut out);
                prop_assert!(out.len() - before <= DELTA_RECORD_MAX);
            }
            prop_assert_eq!(read(&out), Ok(records));
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(0u8..10, 0..200), wild: bool) {
            let bytes: Vec<u8> = bytes
                .iter()
                .enumerate()
                .map(|(i, b)| if wild && i % 3 == 0 { b.wrapping_mul(29) } else { *b })
                .collect();
            if let Ok(records) = read(&bytes) {
                let mut out = Vec::new();
                records.iter().for_each(|record| record.encode(&mut out));
                prop_assert_eq!(read(&out), Ok(records));
            }
        }

        #[test]
        fn changed_bytes_never_panic(
            records in prop::collection::vec(record(), 1..10),
            at in any::<prop::sample::Index>(),
            with in any::<u8>(),
        ) {
            let mut out = Vec::new();
            records.iter().for_each(|record| record.encode(&mut out));
            let at = at.index(out.len());
            out[at] = with;
            prop_assert!(DeltaRecord::read(&out).count() <= out.len());
            prop_assert!(DeltaRecord::read(&out[..at]).count() <= at);
        }
    }
}
