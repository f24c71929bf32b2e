//! The label on D.

use super::{Superblock, check_blocks, identity, version};
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
        Ok(DataLabel { version, uuid, volume, data_size, block_size, blocks })
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
        }
    }
}
