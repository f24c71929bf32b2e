use super::*;
use proptest::prelude::*;

const KINDS: [Kind; 4] = [Kind::Leaf, Kind::Delta, Kind::Map, Kind::Free];

fn entry() -> impl Strategy<Value = SummaryEntry> {
    (any::<[u64; 2]>(), any::<u32>(), 1u16..70, 0..KINDS.len(), any::<u8>()).prop_map(
        |([id, owner], crc, grains, kind, level)| SummaryEntry {
            id: id >> 16,
            owner: owner >> 16,
            crc,
            grains,
            kind: KINDS[kind],
            level,
        },
    )
}

/// A summary, and the payload that it is about.
fn partial() -> impl Strategy<Value = (Summary, Vec<u8>)> {
    let entries = prop::collection::vec(entry(), 0..40);
    (any::<[u64; 5]>(), any::<i64>(), 0u16..8, entries, any::<u8>()).prop_map(
        |([volume, crash, serial, commit, next_segment], time, flags, entries, byte)| {
            let grains: usize = entries.iter().map(|e| usize::from(e.grains)).sum();
            let len = Summary::len_for(entries.len());
            let total = (len + grains * 64).next_multiple_of(4096);
            let payload = vec![byte; total - len];
            let summary = Summary {
                volume,
                crash: crash >> 2,
                serial: serial >> 2,
                commit: commit >> 2,
                time,
                flags: SummaryFlags::from_bits_retain(flags),
                total: (total / 64) as u32,
                payload_crc: crc32c::crc32c(&payload),
                next_segment,
                entries,
            };
            (summary, payload)
        },
    )
}

fn reseal(bytes: &mut [u8]) {
    let crc = crc_without(bytes, CRC);
    bytes[CRC..CRC + 4].copy_from_slice(&crc.to_le_bytes());
}

fn sample() -> Summary {
    let entry =
        SummaryEntry { id: 10, owner: 11, crc: 13, grains: 14, kind: Kind::Extent, level: 15 };
    Summary {
        volume: 1,
        crash: 2,
        serial: 3,
        commit: 4,
        time: -5,
        flags: SummaryFlags::CONTINUES | SummaryFlags::CLEANER,
        total: 64,
        payload_crc: 7,
        next_segment: 8,
        entries: vec![entry; 2],
    }
}

#[test]
fn fields_lie_where_the_document_says() {
    let b = sample().encode();
    assert_eq!(b.len(), 192);
    assert_eq!(&b[..4], b"TdmS");
    for (at, word) in [(8, 1u64), (16, 2), (24, 3), (32, 4), (40, -5i64 as u64), (64, 8)] {
        assert_eq!(b[at..at + 8], word.to_le_bytes(), "{at}");
    }
    assert_eq!(b[48..52], [5, 0, 0, 0]);
    assert_eq!(b[52..64], [2, 0, 0, 0, 64, 0, 0, 0, 7, 0, 0, 0]);
    assert!(b[72..96].iter().all(|&b| b == 0));
    assert_eq!(b[116..128], [10, 0, 0, 0, 0, 0, 11, 0, 0, 0, 0, 0]);
    assert_eq!(b[128..136], [13, 0, 0, 0, 14, 0, Kind::Extent as u8, 15]);
    assert!(b[136..].iter().all(|&b| b == 0));
}

#[test]
fn lengths() {
    let lengths: Vec<usize> = [0, 1, 2, 4, 5, 200, 201].map(Summary::len_for).to_vec();
    assert_eq!(lengths, [128, 128, 192, 192, 256, 4096, 4160]);
    assert_eq!(Summary::len_for(usize::MAX), usize::MAX);
}

#[test]
fn what_is_missing_is_told() {
    let bytes = sample().encode();
    assert_eq!(Summary::peek(&bytes[..96]), Ok((2, 64)));
    for len in [0, 95, 96, 191] {
        let found = Summary::decode(&bytes[..len]);
        assert!(matches!(found, Err(FormatError::Truncated { .. })), "{len}: {found:?}");
    }
    assert_eq!(Summary::peek(&[0; 96]), Err(FormatError::NotTandem { structure: "summary" }));
}

#[test]
fn what_cannot_be_is_refused() {
    type Change = fn(&mut Summary);
    let changes: &[Change] = &[
        |s| s.flags = SummaryFlags::from_bits_retain(8),
        |s| s.total = 0,
        |s| s.total = 63,
        |s| s.total = PARTIAL_MAX + 64,
        |s| s.entries[1].grains = 0,
        |s| s.crash = COUNT_MAX + 1,
        |s| s.serial = u64::MAX,
        |s| s.commit = COUNT_MAX + 1,
        |s| s.entries[1].grains = 64 - 14 - 3 + 1,
    ];
    for (n, change) in changes.iter().enumerate() {
        let mut summary = sample();
        change(&mut summary);
        let found = Summary::decode(&summary.encode());
        assert!(matches!(found, Err(FormatError::Invalid { .. })), "{n}: {found:?}");
    }
    let mut summary = sample();
    summary.entries[1].grains = 64 - 14 - 3;
    assert_eq!(Summary::decode(&summary.encode()), Ok(summary));
}

proptest! {
    #[test]
    fn comes_back((summary, payload) in partial()) {
        let bytes = summary.encode();
        prop_assert_eq!(bytes.len(), summary.encoded_len());
        prop_assert!(summary.verify_payload(&payload));
        prop_assert!(!summary.verify_payload(&payload[..payload.len() - 1]));
        let all = [bytes, payload].concat();
        prop_assert_eq!(Summary::decode(&all), Ok(summary.clone()));
        let mut next = (summary.encoded_len() / 64) as u32;
        for (at, entry) in summary.blocks() {
            prop_assert_eq!(at, next);
            next += u32::from(entry.grains);
        }
        prop_assert!(next <= summary.total);
    }

    #[test]
    fn any_changed_byte_is_noticed(
        (summary, mut payload) in partial(), at in any::<prop::sample::Index>(), with in 1u8..,
    ) {
        let mut bytes = summary.encode();
        bytes[at.index(summary.encoded_len())] ^= with;
        prop_assert!(Summary::decode(&bytes).is_err());
        let at = at.index(payload.len());
        payload[at] ^= with;
        prop_assert!(!summary.verify_payload(&payload));
    }

    #[test]
    fn with_a_right_checksum_anything_is_taken_or_refused(
        (summary, _) in partial(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = summary.encode();
        for (at, with) in changes {
            bytes[at.index(summary.encoded_len())] = with;
        }
        // The checksum must go with what the changed bytes say they are.
        if let Ok((blocks, _)) = Summary::peek(&bytes) {
            bytes.resize(Summary::len_for(blocks as usize), 0);
            reseal(&mut bytes);
        }
        if let Ok(found) = Summary::decode(&bytes) {
            prop_assert!(found.blocks().all(|(at, e)| at + u32::from(e.grains) <= found.total));
            prop_assert_eq!(Summary::decode(&found.encode()), Ok(found));
        }
    }

    #[test]
    fn junk_is_an_error(mut bytes in prop::collection::vec(any::<u8>(), 0..500), magic: bool) {
        if magic && bytes.len() > 4 {
            bytes[..4].copy_from_slice(b"TdmS");
        }
        prop_assert!(Summary::decode(&bytes).is_err());
    }
}
