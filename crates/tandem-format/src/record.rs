//! I-node records, as they lie in leaves in memory; on the volume their fields are packed in columns.

mod decode;
mod encode;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use decode::{content as decode_content, xattrs as decode_xattrs};

use smallvec::SmallVec;

use crate::bytes::get_u48;
use crate::error::FormatError;
use crate::units::Time;

const STRUCTURE: &str = "i-node record";

/// Bytes of a record before its optional fields: mode, flags, i-node number, generation.
const FIXED: usize = 14;
/// Bytes of a time.
const TIME: usize = 9;

const NLINK: u16 = 1;
const OWNER: u16 = 1 << 1;
const ATIME: u16 = 1 << 2;
const CTIME: u16 = 1 << 3;
const BTIME: u16 = 1 << 4;
const SIZE: u16 = 1 << 5;
const CONTENT_SHIFT: u16 = 6;
const XATTR_SHIFT: u16 = 9;
const KNOWN: u16 = (1 << 11) - 1;

pub(crate) const TYPE_MASK: u32 = 0o170000;
pub(crate) const TYPE_DIR: u32 = 0o040000;

/// Seconds of a time that is stored are at least the negative of this, and less than it.
pub(crate) const SECS: i64 = 1 << 39;

/// In a packed leaf: a directory that has blocks.
pub(crate) const CONTENT_DIR: u8 = 3;
/// In a packed leaf: a directory without blocks.
pub(crate) const CONTENT_DIR_EMPTY: u8 = 7;

/// A run of data blocks in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Extent {
    /// First block in the file.
    pub logical: u64,
    /// First data block on the device.
    pub start: u64,
    /// Number of blocks, not zero.
    pub len: u32,
    /// Allocated, but reads as zeros.
    pub unwritten: bool,
}

impl Extent {
    /// Checks an extent that follows one that ends at `end`; returns its own end.
    pub(crate) fn check(&self, structure: &'static str, end: u64) -> Result<u64, FormatError> {
        let len = u64::from(self.len);
        if len == 0 {
            return Err(FormatError::invalid(structure, "extent length", "zero"));
        }
        if self.logical < end {
            return Err(FormatError::invalid(structure, "extent", "out of order or overlapping"));
        }
        match (self.logical.checked_add(len), self.start.checked_add(len)) {
            (Some(end), Some(_)) => Ok(end),
            _ => Err(FormatError::invalid(structure, "extent", "ends beyond 64 bits")),
        }
    }
}

/// What a directory's i-node knows of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DirRoot {
    /// I-node of the parent (less than 2^48).
    pub parent: u64,
    /// Entries, `.` and `..` not counted.
    pub entries: u64,
    /// Directories among them.
    pub subdirs: u32,
    /// Block id of the only leaf, or with bit 63 set of the root table; 0 when there is neither.
    pub root: u64,
    /// Group of data blocks that is home to its files.
    pub group: u32,
}

/// What an i-node leads to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Content {
    /// Nothing.
    #[default]
    None,
    /// A few extents, sorted and not overlapping. Without any it is stored as [`Content::None`].
    Extents(SmallVec<[Extent; 2]>),
    /// A tree of extents.
    Tree {
        /// Block id of its root node.
        root: u64,
        /// Level of the root node.
        height: u8,
        /// Data blocks allocated.
        blocks: u64,
        /// Extents in the tree.
        extents: u64,
    },
    /// A directory.
    Dir(DirRoot),
    /// A symbolic link's target.
    Symlink(Box<[u8]>),
    /// A symbolic link whose target is in a block with this id; the record's size is its length.
    SymlinkBlock(u64),
    /// Device number.
    Device(u32),
}

/// Where an i-node's extended attributes are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Xattrs {
    /// It has none.
    #[default]
    None,
    /// In the record.
    Inline(Box<[u8]>),
    /// In blocks.
    Blocks {
        /// Bytes in all blocks together.
        len: u32,
        /// The blocks' ids, in order.
        ids: Vec<u64>,
    },
}

/// An i-node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// I-node number (not 0, less than 2^48).
    pub ino: u64,
    /// Tells apart the i-nodes that have had the number.
    pub generation: u32,
    /// Type and permissions, as in POSIX; 16 bits are stored.
    pub mode: u32,
    /// Links; costs nothing when 1, or a directory's 2 and one for each directory in it.
    pub nlink: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Last access.
    pub atime: Time,
    /// Last change of the contents.
    pub mtime: Time,
    /// Last change of the i-node.
    pub ctime: Time,
    /// Creation.
    pub btime: Time,
    /// Size in bytes.
    pub size: u64,
    /// What it leads to.
    pub content: Content,
    /// Extended attributes.
    pub xattrs: Xattrs,
}

impl Record {
    /// Links that need not be stored.
    pub(crate) fn usual_links(content: &Content) -> u32 {
        match content {
            Content::Dir(dir) => dir.subdirs.saturating_add(2),
            _ => 1,
        }
    }
}

/// The i-node number of an encoded record, without looking at the rest; none when there is none.
#[inline]
pub fn record_ino(record: &[u8]) -> Option<u64> {
    if record.len() < FIXED {
        return None;
    }
    Some(get_u48(record, 4)).filter(|&ino| ino != 0)
}
