//! Blocks that are arrays: directory tables, extent nodes, and the IFile's tables.

mod ifile;
mod imap;
#[cfg(test)]
mod tests;
mod words;

pub use ifile::{GroupEntry, SegEntry};
pub use imap::ImapBlock;
pub use words::Words;

use crate::bytes::{get_u32, get_u64};
use crate::error::FormatError;
use crate::record::Extent;
use crate::units::PAYLOAD;

/// Extents in a node of level 0.
pub const EXTENTS_PER_NODE: usize = PAYLOAD / 24;
/// Children in a node of a higher level.
pub const CHILDREN_PER_NODE: usize = PAYLOAD / 16;

/// Checks that a payload is an array of `size`-byte entries that fits a block.
fn whole(structure: &'static str, payload: &[u8], size: usize) -> Result<(), FormatError> {
    if !payload.len().is_multiple_of(size) || payload.len() > PAYLOAD {
        let detail = format!("{} bytes for entries of {size}", payload.len());
        return Err(FormatError::invalid(structure, "len", detail));
    }
    Ok(())
}

/// A table of a directory's extendible hashing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Hash bits that it resolves, 1 to 8.
    pub depth: u8,
    /// 2^depth block ids in the order of reversed hashes; bit 63 set: of a table, else of a leaf.
    pub entries: Vec<u64>,
}

impl Table {
    /// Most hash bits that a table resolves.
    pub const MAX_DEPTH: u8 = 8;

    /// The payload of its block.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(8 + self.entries.len() * 8);
        out.extend_from_slice(&u64::from(self.depth).to_le_bytes());
        out.extend(self.entries.iter().flat_map(|e| e.to_le_bytes()));
        out
    }

    /// Checks a payload and takes it apart.
    pub fn decode(payload: &[u8]) -> Result<Table, FormatError> {
        const STRUCTURE: &str = "directory table";
        let Some((head, rest)) = payload.split_at_checked(8) else {
            return Err(FormatError::truncated(STRUCTURE, "depth"));
        };
        let depth = head[0];
        if depth == 0 || depth > Table::MAX_DEPTH {
            return Err(FormatError::invalid(STRUCTURE, "depth", format!("{depth}")));
        }
        if rest.len() != 8 << depth {
            let detail = format!("{} bytes for a depth of {depth}", rest.len());
            return Err(FormatError::invalid(STRUCTURE, "entries", detail));
        }
        let entries: Vec<u64> = rest.chunks_exact(8).map(|e| get_u64(e, 0)).collect();
        if entries.iter().any(|e| e << 1 == 0) {
            return Err(FormatError::invalid(STRUCTURE, "entries", "an id is zero"));
        }
        Ok(Table { depth, entries })
    }

    /// Number of entries.
    pub fn count(&self) -> u32 {
        self.entries.len() as u32
    }
}

/// A node of an extent tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExtentNode {
    /// 0: has extents; else children of one level less.
    pub level: u8,
    /// Extents by logical block, when the level is 0; at most [`EXTENTS_PER_NODE`].
    pub extents: Vec<Extent>,
    /// First logical block and block id of each child, in order, when the level is higher; at
    /// most [`CHILDREN_PER_NODE`].
    pub children: Vec<(u64, u64)>,
}

impl ExtentNode {
    /// The payload of its block.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.extents.len() * 24 + self.children.len() * 16);
        if self.level == 0 {
            for e in &self.extents {
                out.extend_from_slice(&e.logical.to_le_bytes());
                out.extend_from_slice(&e.start.to_le_bytes());
                out.extend_from_slice(&e.len.to_le_bytes());
                out.extend_from_slice(&u32::from(e.unwritten).to_le_bytes());
            }
        } else {
            for (logical, id) in &self.children {
                out.extend_from_slice(&logical.to_le_bytes());
                out.extend_from_slice(&id.to_le_bytes());
            }
        }
        out
    }

    /// Checks the payload of a block whose header has this level, and takes it apart.
    pub fn decode(payload: &[u8], level: u8) -> Result<ExtentNode, FormatError> {
        let mut node = ExtentNode { level, ..ExtentNode::default() };
        if level == 0 {
            node.extents = decode_extents(payload)?;
        } else {
            node.children = decode_children(payload)?;
        }
        Ok(node)
    }

    /// Number of extents or children.
    pub fn count(&self) -> u32 {
        if self.level == 0 { self.extents.len() as u32 } else { self.children.len() as u32 }
    }
}

const NODE: &str = "extent node";

fn decode_extents(payload: &[u8]) -> Result<Vec<Extent>, FormatError> {
    whole(NODE, payload, 24)?;
    let mut extents = Vec::with_capacity(payload.len() / 24);
    let mut end = 0;
    for e in payload.chunks_exact(24) {
        let flags = get_u32(e, 20);
        if flags > 1 {
            return Err(FormatError::invalid(NODE, "flags", format!("{flags:#x}")));
        }
        let extent = Extent {
            logical: get_u64(e, 0),
            start: get_u64(e, 8),
            len: get_u32(e, 16),
            unwritten: flags == 1,
        };
        end = extent.check(NODE, end)?;
        extents.push(extent);
    }
    Ok(extents)
}

fn decode_children(payload: &[u8]) -> Result<Vec<(u64, u64)>, FormatError> {
    whole(NODE, payload, 16)?;
    let mut children: Vec<(u64, u64)> = Vec::with_capacity(payload.len() / 16);
    for e in payload.chunks_exact(16) {
        let (logical, id) = (get_u64(e, 0), get_u64(e, 8));
        if children.last().is_some_and(|last| last.0 >= logical) {
            return Err(FormatError::invalid(NODE, "logical", "children out of order"));
        }
        if id == 0 {
            return Err(FormatError::invalid(NODE, "child", "an id is zero"));
        }
        children.push((logical, id));
    }
    Ok(children)
}
