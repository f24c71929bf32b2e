//! The label on D.

use super::{Superblock, check_blocks, identity, refuse, version};
use crate::error::FormatError;
use crate::page;

const MAGIC: [u8; 8] = *b"TandemDa";
const STRUCTURE: &str = "data label";

/// What lies at the start of the data area, so that a device without its other half, or with
/// another's, is recognized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataLabel {
    /// Version of the format.
    pub version: u32,
    /// The volume's uuid.
    pub uuid: [u8; 16],
    /// Short form of the uuid.
    pub volume: u64,
    /// Bytes of the data area that are used, this label included.
    pub data_size: u64,
    /// Bytes of a data block.
    pub block_size: u32,
    /// Number of data blocks.
    pub blocks: u64,
    /// Bytes of M that are used.
    pub meta_size: u64,
    /// Bytes of a segment of the log.
    pub segment_size: u32,
    /// Data blocks of a group.
    pub group_blocks: u32,
    /// Key of the directory hash, and its significant bits, as in the superblock: leaves cannot be
    /// read without them.
    pub hash_key: [u64; 2],
    /// Significant bits of the directory hash.
    pub hash_bits: u8,
}

impl DataLabel {
    /// The 4096 bytes on D.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = page::begin(MAGIC);
        out.extend_from_slice(&self.version.to_le_bytes());
        out.extend_from_slice(&self.uuid);
        for word in [self.volume, self.data_size, self.blocks] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.block_size.to_le_bytes());
        out.extend_from_slice(&u32::from(self.hash_bits).to_le_bytes());
        for word in self.hash_key {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.meta_size.to_le_bytes());
        out.extend_from_slice(&self.segment_size.to_le_bytes());
        out.extend_from_slice(&self.group_blocks.to_le_bytes());
        page::finish(out)
    }

    /// Reads a data label.
    ///
    /// # Errors
    /// As [`Superblock::decode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut f = page::check(bytes, MAGIC, STRUCTURE)?;
        let version = version(&mut f, STRUCTURE)?;
        let (uuid, volume) = identity(&mut f, STRUCTURE)?;
        let (data_size, blocks) = (f.u64("data size")?, f.u64("data blocks")?);
        let block_size = f.u32("data block size")?;
        check_blocks(STRUCTURE, data_size, block_size, blocks)?;
        let bits = f.u32("hash bits")?;
        let hash_bits = match u8::try_from(bits) {
            Ok(bits @ 1..=48) => bits,
            _ => return refuse(STRUCTURE, "hash bits", bits),
        };
        let hash_key = [f.u64("hash key")?, f.u64("hash key")?];
        let meta_size = f.u64("metadata size")?;
        let (segment_size, group_blocks) = (f.u32("segment size")?, f.u32("group size")?);
        Ok(DataLabel {
            version,
            uuid,
            volume,
            data_size,
            block_size,
            blocks,
            meta_size,
            segment_size,
            group_blocks,
            hash_key,
            hash_bits,
        })
    }
}

impl From<&Superblock> for DataLabel {
    fn from(sb: &Superblock) -> DataLabel {
        DataLabel {
            version: sb.version,
            uuid: sb.uuid,
            volume: sb.volume,
            data_size: sb.data_size,
            block_size: sb.block_size,
            blocks: sb.blocks,
            meta_size: sb.meta_size,
            segment_size: sb.segment_size,
            group_blocks: sb.group_blocks,
            hash_key: sb.hash_key,
            hash_bits: sb.hash_bits,
        }
    }
}
