//! How the devices are divided.

use tandem_device::Device;
use tandem_format::{
    DATA_AREA, FORMAT_VERSION, GROUP_BLOCKS_MAX, GROUPS_MAX, SEGMENT_AREA, SEGMENT_SIZES,
    SEGMENTS_MAX, Superblock, volume_of,
};

use crate::env::Env;
use crate::error::{Error, Result};
use crate::options::MkfsOptions;

/// The least size of a metadata area.
pub const META_MIN: u64 = 4 << 20;

/// The least size of a data area.
pub const DATA_MIN: u64 = 1 << 20;

fn invalid<T>(detail: String) -> Result<T> {
    Err(Error::Invalid(detail))
}

/// The superblock of a new volume.
pub(super) fn plan(
    meta: &dyn Device,
    data: Option<&dyn Device>,
    o: &MkfsOptions,
    env: &dyn Env,
) -> Result<Superblock> {
    let block_size = o.data_block_size.unwrap_or(4096);
    if !block_size.is_power_of_two() || !(512..=65536).contains(&block_size) {
        return invalid(format!(
            "data block size {block_size}: must be a power of two from 512 to 65536"
        ));
    }
    if o.label.as_ref().is_some_and(|l| l.len() > 63) {
        return invalid("the label is longer than 63 bytes".into());
    }
    let total = meta.size();
    let meta_size = match (o.metadata_size, data) {
        (Some(size), _) if size > total => {
            return invalid(format!(
                "{}: {size} bytes for metadata on a device of {total}",
                meta.name()
            ));
        }
        (Some(size), _) => size,
        (None, Some(_)) => total,
        (None, None) => (total / 10).max(META_MIN).next_multiple_of(1 << 20),
    } / 4096
        * 4096;
    if meta_size < META_MIN {
        return invalid(format!(
            "{}: too small: {meta_size} bytes for metadata, at least {META_MIN} are needed",
            meta.name()
        ));
    }
    let (data_offset, room, holder) = match data {
        Some(data) => (0, data.size(), data.name()),
        None => {
            let offset = meta_size.next_multiple_of(1 << 20);
            (offset, total.saturating_sub(offset), meta.name())
        }
    };
    let data_size = o.data_size.unwrap_or(room);
    if data_size > room {
        return invalid(format!("{holder}: {data_size} bytes for data, but only {room} are there"));
    }
    if data_size < DATA_MIN {
        return invalid(format!(
            "{holder}: too small: {data_size} bytes for data, at least {DATA_MIN} are needed"
        ));
    }
    let segment_size = o.segment_size.unwrap_or(default_segment_size(meta_size));
    if !segment_size.is_power_of_two() || !(65536..=8 << 20).contains(&segment_size) {
        return invalid(format!(
            "segment size {segment_size}: must be a power of two from 65536 to 8388608"
        ));
    }
    let segments = (meta_size - SEGMENT_AREA - 4096) / u64::from(segment_size);
    if segments < 16 {
        return invalid(format!(
            "{}: room for {segments} segments only, at least 16 are needed: take smaller segments or more space",
            meta.name()
        ));
    }
    if segments > SEGMENTS_MAX {
        return invalid(format!(
            "{}: {segments} segments are more than a volume can have ({SEGMENTS_MAX}): take larger segments (--segment-size) or less space (--metadata-size)",
            meta.name()
        ));
    }
    let blocks = (data_size - DATA_AREA) / u64::from(block_size);
    let Some((group_blocks, groups)) = groups(blocks) else {
        return invalid(format!(
            "{holder}: {blocks} data blocks are more than a volume can have: take larger ones (--data-block-size) or less space (--data-size)"
        ));
    };
    let uuid = match o.uuid {
        Some(uuid) => *uuid.as_bytes(),
        None => {
            let bytes = [env.random().to_le_bytes(), env.random().to_le_bytes()].concat();
            let mut random = [0; 16];
            random.copy_from_slice(&bytes);
            uuid::Builder::from_random_bytes(random).into_uuid().into_bytes()
        }
    };
    Ok(Superblock {
        version: FORMAT_VERSION,
        compat: 0,
        ro_compat: 0,
        incompat: 0,
        uuid,
        volume: volume_of(&uuid),
        label: o.label.clone().unwrap_or_default(),
        created: env.now(),
        meta_size,
        segment_size,
        segments,
        data_size,
        data_offset,
        block_size,
        blocks,
        group_blocks,
        groups,
        hash_key: [env.random(), env.random()],
        hash_bits: o.hash_bits.unwrap_or(48),
    })
}

/// The length of a segment in a metadata area of `meta_size` bytes, unless mkfs is told otherwise.
fn default_segment_size(meta_size: u64) -> u32 {
    match meta_size {
        0..0x200_0000 => 64 << 10,
        0x200_0000..0x800_0000 => 256 << 10,
        0x800_0000..0x400_0000_0000 => 1 << 20,
        _ => SEGMENT_SIZES[1],
    }
}

/// Data blocks of a group and the number of groups. Groups grow before there are many: something of
/// each is always in memory.
fn groups(blocks: u64) -> Option<(u32, u32)> {
    const MANY: [u32; 2] = [1 << 16, GROUPS_MAX];
    const LARGE: [u32; 2] = [1 << 20, GROUP_BLOCKS_MAX];
    let mut group_blocks: u32 = 1 << 15;
    for (many, large) in MANY.into_iter().zip(LARGE) {
        while blocks.div_ceil(group_blocks.into()) > many.into() && group_blocks < large {
            group_blocks <<= 1;
        }
    }
    let groups = u32::try_from(blocks.div_ceil(group_blocks.into())).ok()?;
    (groups <= GROUPS_MAX).then_some((group_blocks, groups))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_neither_too_many_nor_too_large() {
        assert_eq!(groups(1), Some((1 << 15, 1)));
        assert_eq!(groups(1 << 31), Some((1 << 15, 1 << 16)));
        assert_eq!(groups((1 << 31) + 1), Some((1 << 16, (1 << 15) + 1)));
        assert_eq!(groups(1 << 38), Some((1 << 20, 1 << 18)));
        assert_eq!(groups(1 << 45), Some((1 << 27, 1 << 18)));
        assert_eq!(groups((1 << 45) + 1), None);
        assert_eq!(groups(u64::MAX), None);
    }
}
