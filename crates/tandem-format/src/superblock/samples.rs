//! A superblock for tests.

use super::*;

/// A volume on one device whose last group is smaller than the others.
pub(crate) fn superblock() -> Superblock {
    let uuid = *b"\x01\x02\x03\x04\x05\x06\x07\x08abcdefgh";
    Superblock {
        version: FORMAT_VERSION,
        compat: 0,
        ro_compat: 0,
        incompat: 0,
        uuid,
        volume: volume_of(&uuid),
        label: "Bücher".into(),
        created: Time { secs: 1_800_000_000, nanos: 999_999_999 },
        meta_size: 100 << 20,
        segment_size: 1 << 20,
        segments: 99,
        data_size: 65536 + 1_000_000 * 4096,
        data_offset: 100 << 20,
        block_size: 4096,
        blocks: 1_000_000,
        group_blocks: 32768,
        groups: 31,
        hash_key: [0x0706_0504_0302_0100, u64::MAX],
        hash_bits: 48,
    }
}
