//! Where segments, data blocks and groups lie.

use crate::superblock::{DATA_AREA, SEGMENT_AREA, Superblock};

/// Bytes of free space that one table block carries.
pub const FREE_CHUNK: u64 = 4032;

/// Where things lie on the devices; from a superblock that has been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes of a segment.
    pub segment_size: u32,
    /// Number of segments.
    pub segments: u64,
    /// Bytes of a data block.
    pub block_size: u32,
    /// Number of data blocks.
    pub blocks: u64,
    /// Data blocks of a group; the last group may have fewer.
    pub group_blocks: u32,
    /// Number of groups.
    pub groups: u32,
    /// Byte on D where the data label lies; 0 when D is a device of its own.
    pub data_offset: u64,
    /// Bytes of the metadata area.
    pub meta_size: u64,
}

impl Geometry {
    /// Byte on M where segment `n` begins.
    pub fn segment_offset(&self, n: u64) -> u64 {
        n.saturating_mul(u64::from(self.segment_size)).saturating_add(SEGMENT_AREA)
    }

    /// Byte on D where data block `b` begins.
    pub fn block_offset(&self, b: u64) -> u64 {
        let start = self.data_offset.saturating_add(DATA_AREA);
        b.saturating_mul(u64::from(self.block_size)).saturating_add(start)
    }

    /// Group of data block `b`; the last one for blocks beyond the end.
    pub fn group_of(&self, b: u64) -> u32 {
        let last = self.groups.saturating_sub(1);
        let group = b.checked_div(u64::from(self.group_blocks)).unwrap_or(0);
        u32::try_from(group).map_or(last, |group| group.min(last))
    }

    /// First data block of group `g` and how many it has; none beyond the last group.
    pub fn group_range(&self, g: u32) -> (u64, u32) {
        let start = u64::from(g).saturating_mul(u64::from(self.group_blocks)).min(self.blocks);
        let len = (self.blocks - start).min(u64::from(self.group_blocks));
        (start, len as u32)
    }

    /// Table blocks set aside for the free space of one group. A list is written while it is not
    /// larger than the bitmap; one block more than the bitmap needs covers every rounding.
    pub fn free_chunks(&self) -> u64 {
        u64::from(self.group_blocks.div_ceil(8)).div_ceil(FREE_CHUNK) + 1
    }

    /// Byte on M where the second superblock lies.
    pub fn superblock_b(&self) -> u64 {
        superblock_b(self.meta_size)
    }
}

/// Byte of the last whole 4096 bytes of a metadata area, where the second superblock lies.
pub fn superblock_b(meta_size: u64) -> u64 {
    (meta_size / 4096).saturating_sub(1) * 4096
}

impl Superblock {
    /// Where things lie.
    pub fn geometry(&self) -> Geometry {
        Geometry {
            segment_size: self.segment_size,
            segments: self.segments,
            block_size: self.block_size,
            blocks: self.blocks,
            group_blocks: self.group_blocks,
            groups: self.groups,
            data_offset: self.data_offset,
            meta_size: self.meta_size,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::superblock::samples::superblock;

    #[test]
    fn ranges_of_groups_cover_all_blocks_once() {
        let geo = superblock().geometry();
        let mut next = 0;
        for g in 0..geo.groups {
            let (start, len) = geo.group_range(g);
            assert_eq!(start, next);
            assert!(len > 0);
            assert_eq!(geo.group_of(start), g);
            assert_eq!(geo.group_of(start + u64::from(len) - 1), g);
            next = start + u64::from(len);
        }
        assert_eq!(next, geo.blocks);
        assert_eq!(geo.group_range(geo.groups), (geo.blocks, 0));
        assert!(geo.group_range(geo.groups - 1).1 < geo.group_blocks);
    }

    #[test]
    fn the_largest_list_fits_its_chunks() {
        let mut geo = superblock().geometry();
        for blocks in [1, 8, 9, 4032 * 8 - 1, 4032 * 8, 4032 * 8 + 1, 1 << 20, (1 << 27) - 3] {
            geo.group_blocks = blocks;
            assert!(geo.free_chunks() * FREE_CHUNK >= u64::from(blocks.div_ceil(8)) + 4);
        }
    }

    #[test]
    fn offsets() {
        let geo = superblock().geometry();
        assert_eq!(geo.segment_offset(2), 65536 + 2 * u64::from(geo.segment_size));
        assert_eq!(geo.block_offset(3), geo.data_offset + 65536 + 3 * u64::from(geo.block_size));
        assert!(geo.segment_offset(geo.segments) <= geo.superblock_b());
        assert_eq!(geo.superblock_b(), geo.meta_size - 4096);
        assert_eq!(geo.segment_offset(u64::MAX), u64::MAX);
    }
}
