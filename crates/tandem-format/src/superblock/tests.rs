use super::samples::superblock;
use super::*;
use crate::page::crc_without;
use proptest::prelude::*;

type Change = fn(&mut Superblock);

fn reseal(page: &mut [u8]) {
    let crc = crc_without(page, 8);
    page[8..12].copy_from_slice(&crc.to_le_bytes());
}

#[test]
fn both_come_back() {
    let sb = superblock();
    let bytes = sb.encode();
    assert_eq!(bytes.len(), 4096);
    assert_eq!(Superblock::decode(&bytes), Ok(sb.clone()));
    let label = DataLabel::from(&sb);
    assert_eq!(DataLabel::decode(&label.encode()), Ok(label));
    assert_eq!(sb.volume, 0x0807_0605_0403_0201 ^ u64::from_le_bytes(*b"abcdefgh"));
}

#[test]
fn fields_lie_where_the_document_says() {
    let sb = superblock();
    let b = sb.encode();
    assert_eq!(&b[..8], b"TandemFS");
    assert_eq!(b[12..16], 4u32.to_le_bytes());
    assert_eq!(b[40..56], sb.uuid);
    assert_eq!(b[56..64], sb.volume.to_le_bytes());
    assert_eq!(&b[64..71], "Bücher".as_bytes());
    assert_eq!(b[128..136], sb.created.secs.to_le_bytes());
    assert_eq!(b[140..144], sb.segment_size.to_le_bytes());
    assert_eq!(b[144..152], sb.meta_size.to_le_bytes());
    assert_eq!(b[152..160], sb.segments.to_le_bytes());
    assert_eq!(b[160..168], sb.data_size.to_le_bytes());
    assert_eq!(b[168..176], sb.data_offset.to_le_bytes());
    assert_eq!(b[176..180], sb.block_size.to_le_bytes());
    assert_eq!(b[180..184], sb.group_blocks.to_le_bytes());
    assert_eq!(b[184..192], sb.blocks.to_le_bytes());
    assert_eq!(b[192..196], sb.groups.to_le_bytes());
    assert_eq!(b[196], 48);
    assert_eq!(b[200..208], sb.hash_key[0].to_le_bytes());
    assert!(b[216..].iter().all(|&b| b == 0));
    let d = DataLabel::from(&sb).encode();
    assert_eq!(d[16..32], sb.uuid);
    assert_eq!(d[40..48], sb.data_size.to_le_bytes());
    assert_eq!(d[48..56], sb.blocks.to_le_bytes());
    assert_eq!(d[56..60], sb.block_size.to_le_bytes());
}

#[test]
fn others_are_told_apart() {
    assert_eq!(
        Superblock::decode(&[0; 4096]),
        Err(FormatError::NotTandem { structure: "superblock" })
    );
    assert!(matches!(Superblock::decode(&[0; 4095]), Err(FormatError::Truncated { .. })));
    let mut sb = superblock();
    sb.version = FORMAT_VERSION + 1;
    assert_eq!(
        Superblock::decode(&sb.encode()),
        Err(FormatError::NewerVersion { found: FORMAT_VERSION + 1, supported: FORMAT_VERSION })
    );
    sb.version = FORMAT_VERSION - 1;
    assert_eq!(
        Superblock::decode(&sb.encode()),
        Err(FormatError::OlderVersion { found: FORMAT_VERSION - 1, supported: FORMAT_VERSION })
    );
    sb.version = FORMAT_VERSION;
    sb.incompat = 1 << 63;
    assert_eq!(
        Superblock::decode(&sb.encode()),
        Err(FormatError::UnknownIncompat { bits: 1 << 63 })
    );
    sb.incompat = 0;
    sb.ro_compat = 4;
    sb.compat = 2;
    assert_eq!(Superblock::decode(&sb.encode()).map(|sb| sb.unknown_ro_compat()), Ok(4));
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let changes: &[Change] = &[
        |sb| sb.version = 0,
        |sb| sb.volume ^= 1,
        |sb| sb.created.nanos = 1_000_000_000,
        |sb| sb.segment_size = 0,
        |sb| sb.segment_size = 32768,
        |sb| sb.segment_size = 16 << 20,
        |sb| sb.segment_size = (1 << 20) + 4096,
        |sb| sb.segments = 0,
        |sb| sb.segments = 100,
        |sb| sb.segments = u64::MAX,
        |sb| sb.meta_size = 0,
        |sb| sb.meta_size = u64::MAX,
        |sb| sb.block_size = 256,
        |sb| sb.block_size = 0,
        |sb| sb.block_size = 1 << 17,
        |sb| sb.blocks = 0,
        |sb| sb.blocks = u64::MAX,
        |sb| sb.blocks += 1,
        |sb| sb.data_size = u64::MAX,
        |sb| sb.data_offset = 4096,
        |sb| sb.data_offset += 1,
        |sb| sb.data_offset = !0 << 20,
        |sb| sb.group_blocks = 0,
        |sb| sb.group_blocks = u32::MAX,
        |sb| sb.groups += 1,
        |sb| sb.groups = 0,
        |sb| sb.hash_bits = 0,
        |sb| sb.hash_bits = 49,
    ];
    for (n, change) in changes.iter().enumerate() {
        let mut sb = superblock();
        change(&mut sb);
        let found = Superblock::decode(&sb.encode());
        assert!(matches!(found, Err(FormatError::Invalid { .. })), "{n}: {found:?}");
    }
}

#[test]
fn what_a_mount_keeps_in_memory_is_bounded() {
    // A superblock whose numbers go with each other, on devices that are large enough.
    let refused = |change: Change| {
        let mut sb = superblock();
        sb.data_offset = 0;
        change(&mut sb);
        Superblock::decode(&sb.encode()).is_err()
    };
    assert!(refused(|sb| {
        sb.group_blocks = 1;
        sb.groups = sb.blocks as u32;
    }));
    assert!(!refused(|sb| {
        sb.group_blocks = 4;
        sb.groups = sb.blocks.div_ceil(4) as u32;
    }));
    for segments in [SEGMENTS_MAX, SEGMENTS_MAX + 1] {
        let mut sb = superblock();
        (sb.data_offset, sb.segment_size, sb.segments) = (0, 65536, segments);
        sb.meta_size = SEGMENT_AREA + segments * 65536 + 4096;
        assert_eq!(Superblock::decode(&sb.encode()).is_ok(), segments <= SEGMENTS_MAX);
    }
}

#[test]
fn a_long_label_is_cut_between_characters() {
    let mut sb = superblock();
    sb.label = "ü".repeat(32) + "x";
    assert_eq!(Superblock::decode(&sb.encode()).map(|sb| sb.label), Ok("ü".repeat(32)));
    sb.label = "x".to_owned() + &"ü".repeat(32);
    assert_eq!(Superblock::decode(&sb.encode()).map(|sb| sb.label.len()), Ok(63));
    let mut bytes = sb.encode();
    bytes[64] = 0xff;
    reseal(&mut bytes);
    assert!(matches!(Superblock::decode(&bytes), Err(FormatError::Invalid { .. })));
}

proptest! {
    #[test]
    fn any_changed_byte_is_noticed(at in 0usize..4096, with in 1u8..) {
        let sb = superblock();
        for mut bytes in [sb.encode(), DataLabel::from(&sb).encode()] {
            bytes[at] ^= with;
            prop_assert!(Superblock::decode(&bytes).is_err());
            prop_assert!(DataLabel::decode(&bytes).is_err());
        }
    }

    #[test]
    fn with_a_right_checksum_anything_is_taken_or_refused(
        changes in prop::collection::vec((12usize..232, any::<u8>()), 1..8),
    ) {
        let sb = superblock();
        for mut bytes in [sb.encode(), DataLabel::from(&sb).encode()] {
            for &(at, with) in &changes {
                bytes[at] = with;
            }
            reseal(&mut bytes);
            if let Ok(sb) = Superblock::decode(&bytes) {
                let geo = sb.geometry();
                prop_assert_eq!(geo.group_range(geo.groups), (geo.blocks, 0));
                prop_assert!(geo.segment_offset(geo.segments) <= geo.superblock_b());
                prop_assert_eq!(Superblock::decode(&sb.encode()), Ok(sb));
            }
            let _ = DataLabel::decode(&bytes);
        }
    }

    #[test]
    fn junk_is_an_error(bytes in prop::collection::vec(any::<u8>(), 0..5000)) {
        prop_assert!(Superblock::decode(&bytes).is_err());
        prop_assert!(DataLabel::decode(&bytes).is_err());
    }
}
