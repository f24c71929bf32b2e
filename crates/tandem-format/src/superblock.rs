//! What a volume is: the superblock on M and the label on D.

mod label;
#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod tests;

pub use label::DataLabel;

use crate::bytes::Reader;
use crate::error::FormatError;
use crate::geometry::superblock_b;
use crate::leaf::Implied;
use crate::page::{self, refuse};
use crate::units::Time;

/// Version of the format that this crate writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 4;
/// Known features that a reader or writer may ignore.
pub const COMPAT_MASK: u64 = 0;
/// Known features that a reader may ignore and a writer may not.
pub const RO_COMPAT_MASK: u64 = 0;
/// Known features that nobody may ignore.
pub const INCOMPAT_MASK: u64 = 0;

/// Byte on M of the first superblock.
pub const SUPERBLOCK_A: u64 = 0;
/// Bytes on M of the two checkpoint areas.
pub const CHECKPOINTS: [u64; 2] = [4096, 8192];
/// Byte on M where segment 0 begins.
pub const SEGMENT_AREA: u64 = 65536;
/// Byte after the start of the data label where data block 0 begins.
pub const DATA_AREA: u64 = 65536;

/// Bytes that a label may have.
pub const LABEL_MAX: usize = 64;
/// Bytes of the smallest and the largest segment.
pub const SEGMENT_SIZES: [u32; 2] = [65536, 8 << 20];
/// Bytes of the smallest and the largest data block.
pub const BLOCK_SIZES: [u32; 2] = [512, 65536];
/// Data blocks that a group may have.
pub const GROUP_BLOCKS_MAX: u32 = 1 << 27;
/// Groups that a volume may have; a mount keeps something of each in memory.
pub const GROUPS_MAX: u32 = 1 << 18;
/// Segments that a volume may have; a mount keeps something of each in memory.
pub const SEGMENTS_MAX: u64 = 1 << 22;
/// Bytes that a metadata area may have: what 48 bits of grain address reach.
pub const META_MAX: u64 = 1 << 54;

const MAGIC: [u8; 8] = *b"TandemFS";
const STRUCTURE: &str = "superblock";
/// One device alone: its data area begins at a multiple of this.
const DATA_ALIGN: u64 = 1 << 20;

/// What a volume is and how its devices are divided. Written by mkfs and never changed by a
/// mount; twice on M.
#[derive(Clone, Debug, PartialEq)]
pub struct Superblock {
    /// Version of the format.
    pub version: u32,
    /// Features that may be ignored.
    pub compat: u64,
    /// Features that may be ignored when reading only.
    pub ro_compat: u64,
    /// Features that may not be ignored.
    pub incompat: u64,
    /// The volume's name among all volumes.
    pub uuid: [u8; 16],
    /// Short form of the uuid, in every structure of the volume: [`volume_of`].
    pub volume: u64,
    /// For people; at most [`LABEL_MAX`] bytes, no NUL.
    pub label: String,
    /// When mkfs made the volume.
    pub created: Time,
    /// Bytes of the metadata area.
    pub meta_size: u64,
    /// Bytes of a segment, a power of two.
    pub segment_size: u32,
    /// Number of segments.
    pub segments: u64,
    /// Bytes of the data area that are used, data label included.
    pub data_size: u64,
    /// Byte on the only device where the data area begins; 0: D is a device of its own.
    pub data_offset: u64,
    /// Bytes of a data block, a power of two.
    pub block_size: u32,
    /// Number of data blocks.
    pub blocks: u64,
    /// Data blocks of a group; the last group may have fewer.
    pub group_blocks: u32,
    /// Number of groups.
    pub groups: u32,
    /// Key of the directory hash.
    pub hash_key: [u64; 2],
    /// Bits of the directory hash that count: 48, fewer in tests of collisions.
    pub hash_bits: u8,
}

/// Short form of a uuid: its first eight bytes xor its last eight, little-endian.
pub fn volume_of(uuid: &[u8; 16]) -> u64 {
    let word = u128::from_le_bytes(*uuid);
    (word as u64) ^ ((word >> 64) as u64)
}

impl Superblock {
    /// What packed leaves leave out.
    pub fn implied(&self) -> Implied {
        Implied { hash_key: self.hash_key, hash_bits: self.hash_bits, block_size: self.block_size }
    }

    /// The 4096 bytes on M. A label that is too long is cut.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = page::begin(MAGIC);
        out.extend_from_slice(&self.version.to_le_bytes());
        for word in [self.compat, self.ro_compat, self.incompat] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.uuid);
        out.extend_from_slice(&self.volume.to_le_bytes());
        let mut cut = self.label.len().min(LABEL_MAX);
        while !self.label.is_char_boundary(cut) {
            cut -= 1;
        }
        out.extend_from_slice(&self.label.as_bytes()[..cut]);
        out.resize(out.len() + LABEL_MAX - cut, 0);
        out.extend_from_slice(&self.created.secs.to_le_bytes());
        out.extend_from_slice(&self.created.nanos.to_le_bytes());
        out.extend_from_slice(&self.segment_size.to_le_bytes());
        for word in [self.meta_size, self.segments, self.data_size, self.data_offset] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.block_size.to_le_bytes());
        out.extend_from_slice(&self.group_blocks.to_le_bytes());
        out.extend_from_slice(&self.blocks.to_le_bytes());
        out.extend_from_slice(&self.groups.to_le_bytes());
        out.extend_from_slice(&[self.hash_bits, 0, 0, 0]);
        out.extend_from_slice(&self.hash_key[0].to_le_bytes());
        out.extend_from_slice(&self.hash_key[1].to_le_bytes());
        page::finish(out)
    }

    /// Reads a superblock and checks that its sizes go with each other.
    ///
    /// # Errors
    /// [`FormatError::NotTandem`] when the magic is another's, [`FormatError::NewerVersion`] and
    /// [`FormatError::UnknownIncompat`] when a newer program is needed, others when the bytes are
    /// damaged.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut f = page::check(bytes, MAGIC, STRUCTURE)?;
        let version = version(&mut f, STRUCTURE)?;
        let features = "features";
        let (compat, ro_compat, incompat) = (f.u64(features)?, f.u64(features)?, f.u64(features)?);
        if incompat & !INCOMPAT_MASK != 0 {
            return Err(FormatError::UnknownIncompat { bits: incompat & !INCOMPAT_MASK });
        }
        let (uuid, volume) = identity(&mut f, STRUCTURE)?;
        let label = label(f.take("label", LABEL_MAX)?)?;
        let created = Time { secs: f.u64("created")? as i64, nanos: f.u32("created")? };
        if created.nanos >= Time::NANOS {
            return refuse(STRUCTURE, "created", created.nanos);
        }
        let segment_size = f.u32("segment size")?;
        let (meta_size, segments) = (f.u64("metadata size")?, f.u64("segments")?);
        let (data_size, data_offset) = (f.u64("data size")?, f.u64("data offset")?);
        let (block_size, group_blocks) = (f.u32("data block size")?, f.u32("group size")?);
        let (blocks, groups) = (f.u64("data blocks")?, f.u32("groups")?);
        let [hash_bits, ..] = f.u32("hash bits")?.to_le_bytes();
        let hash_key = [f.u64("hash key")?, f.u64("hash key")?];
        let superblock = Superblock {
            version,
            compat,
            ro_compat,
            incompat,
            uuid,
            volume,
            label,
            created,
            meta_size,
            segment_size,
            segments,
            data_size,
            data_offset,
            block_size,
            blocks,
            group_blocks,
            groups,
            hash_key,
            hash_bits,
        };
        superblock.check_metadata()?;
        superblock.check_data()?;
        Ok(superblock)
    }

    /// Features because of which this program may only read the volume.
    pub fn unknown_ro_compat(&self) -> u64 {
        self.ro_compat & !RO_COMPAT_MASK
    }

    fn check_metadata(&self) -> Result<(), FormatError> {
        let [min, max] = SEGMENT_SIZES;
        if !self.segment_size.is_power_of_two() || !(min..=max).contains(&self.segment_size) {
            return refuse(STRUCTURE, "segment size", self.segment_size);
        }
        if self.meta_size > META_MAX {
            return refuse(STRUCTURE, "metadata size", self.meta_size);
        }
        let end = self
            .segments
            .checked_mul(u64::from(self.segment_size))
            .and_then(|len| len.checked_add(SEGMENT_AREA));
        if !(1..=SEGMENTS_MAX).contains(&self.segments)
            || end.is_none_or(|end| end > superblock_b(self.meta_size))
        {
            return refuse(STRUCTURE, "segments", self.segments);
        }
        if !(1..=48).contains(&self.hash_bits) {
            return refuse(STRUCTURE, "hash bits", self.hash_bits);
        }
        Ok(())
    }

    fn check_data(&self) -> Result<(), FormatError> {
        check_blocks(STRUCTURE, self.data_size, self.block_size, self.blocks)?;
        let apart = self.data_offset == 0;
        if !apart
            && (!self.data_offset.is_multiple_of(DATA_ALIGN) || self.data_offset < self.meta_size)
        {
            return refuse(STRUCTURE, "data offset", self.data_offset);
        }
        let end = self.data_offset.checked_add(self.data_size);
        if end.is_none_or(|end| end > i64::MAX as u64) {
            return refuse(STRUCTURE, "data size", self.data_size);
        }
        if !(1..=GROUP_BLOCKS_MAX).contains(&self.group_blocks) {
            return refuse(STRUCTURE, "group size", self.group_blocks);
        }
        let groups = self.blocks.div_ceil(u64::from(self.group_blocks));
        if self.groups > GROUPS_MAX || groups != u64::from(self.groups) {
            return refuse(STRUCTURE, "groups", self.groups);
        }
        Ok(())
    }
}

fn version(f: &mut Reader<'_>, structure: &'static str) -> Result<u32, FormatError> {
    match f.u32("version")? {
        0 => refuse(structure, "version", 0u32),
        FORMAT_VERSION => Ok(FORMAT_VERSION),
        found @ ..FORMAT_VERSION => {
            Err(FormatError::OlderVersion { found, supported: FORMAT_VERSION })
        }
        found => Err(FormatError::NewerVersion { found, supported: FORMAT_VERSION }),
    }
}

fn identity(f: &mut Reader<'_>, structure: &'static str) -> Result<([u8; 16], u64), FormatError> {
    let words = [f.u64("uuid")?, f.u64("uuid")?];
    let uuid = (u128::from(words[1]) << 64 | u128::from(words[0])).to_le_bytes();
    let volume = f.u64("volume")?;
    if volume != volume_of(&uuid) {
        return refuse(structure, "volume", volume);
    }
    Ok((uuid, volume))
}

fn label(bytes: &[u8]) -> Result<String, FormatError> {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    match std::str::from_utf8(&bytes[..end]) {
        Ok(label) => Ok(label.to_owned()),
        Err(_) => Err(FormatError::invalid(STRUCTURE, "label", "not UTF-8")),
    }
}

fn check_blocks(
    structure: &'static str,
    data_size: u64,
    block_size: u32,
    blocks: u64,
) -> Result<(), FormatError> {
    let [min, max] = BLOCK_SIZES;
    if !block_size.is_power_of_two() || !(min..=max).contains(&block_size) {
        return refuse(structure, "data block size", block_size);
    }
    let end = blocks.checked_mul(u64::from(block_size)).and_then(|len| len.checked_add(DATA_AREA));
    if blocks == 0 || end.is_none_or(|end| end > data_size) {
        return refuse(structure, "data blocks", blocks);
    }
    Ok(())
}
