//! The IFile's tables.

use super::whole;
use crate::bytes::{get_u16, get_u32, get_u64};
use crate::error::FormatError;

/// Use of one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SegEntry {
    /// Bytes of live blocks.
    pub live: u32,
    /// Whether it holds, or may hold, anything that is needed.
    pub used: bool,
    /// Number of the commit that last wrote to it.
    pub stamp: u64,
}

impl SegEntry {
    /// The payload of a table block with these entries.
    pub fn encode_all(entries: &[SegEntry]) -> Vec<u8> {
        let mut out = Vec::with_capacity(entries.len() * 16);
        for e in entries {
            out.extend_from_slice(&e.live.to_le_bytes());
            out.extend_from_slice(&u32::from(e.used).to_le_bytes());
            out.extend_from_slice(&e.stamp.to_le_bytes());
        }
        out
    }

    /// Checks a payload and takes it apart.
    pub fn decode_all(payload: &[u8]) -> Result<Vec<SegEntry>, FormatError> {
        const STRUCTURE: &str = "segment usage";
        whole(STRUCTURE, payload, 16)?;
        let mut entries = Vec::with_capacity(payload.len() / 16);
        for e in payload.chunks_exact(16) {
            if e[4] > 1 {
                return Err(FormatError::invalid(STRUCTURE, "state", format!("{}", e[4])));
            }
            entries.push(SegEntry { live: get_u32(e, 0), used: e[4] == 1, stamp: get_u64(e, 8) });
        }
        Ok(entries)
    }
}

/// One group of data blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupEntry {
    /// Free data blocks.
    pub free: u32,
    /// Directories that have the group as their home.
    pub dirs: u32,
    /// I-nodes of those directories.
    pub inodes: u32,
    /// Its free space is stored as a bitmap, else as a list.
    pub bitmap: bool,
    /// Table blocks that its free space takes up.
    pub chunks: u16,
}

impl GroupEntry {
    /// The payload of a table block with these entries.
    pub fn encode_all(entries: &[GroupEntry]) -> Vec<u8> {
        let mut out = Vec::with_capacity(entries.len() * 32);
        for e in entries {
            out.extend_from_slice(&e.free.to_le_bytes());
            out.extend_from_slice(&e.dirs.to_le_bytes());
            out.extend_from_slice(&e.inodes.to_le_bytes());
            out.extend_from_slice(&u16::from(e.bitmap).to_le_bytes());
            out.extend_from_slice(&e.chunks.to_le_bytes());
            out.extend_from_slice(&[0; 16]);
        }
        out
    }

    /// Checks a payload and takes it apart.
    pub fn decode_all(payload: &[u8]) -> Result<Vec<GroupEntry>, FormatError> {
        const STRUCTURE: &str = "group table";
        whole(STRUCTURE, payload, 32)?;
        let mut entries = Vec::with_capacity(payload.len() / 32);
        for e in payload.chunks_exact(32) {
            if e[12] > 1 {
                return Err(FormatError::invalid(STRUCTURE, "form", format!("{}", e[12])));
            }
            entries.push(GroupEntry {
                free: get_u32(e, 0),
                dirs: get_u32(e, 4),
                inodes: get_u32(e, 8),
                bitmap: e[12] == 1,
                chunks: get_u16(e, 14),
            });
        }
        Ok(entries)
    }
}
