//! What a leaf's entries are to its users.

use super::{EMBEDDED, LINK};

/// The entry does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the leaf is full")]
pub struct Full;

/// What an entry leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body<'a> {
    /// The i-node's record.
    Embedded(&'a [u8]),
    /// The i-node's number (less than 2^48).
    Link(u64),
}

impl Body<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Body::Embedded(bytes) => bytes.len(),
            Body::Link(_) => LINK,
        }
    }

    pub(super) fn flag(&self) -> u8 {
        match self {
            Body::Embedded(_) => EMBEDDED,
            Body::Link(_) => 0,
        }
    }

    pub(super) fn write(&self, to: &mut [u8]) {
        match self {
            Body::Embedded(bytes) => to.copy_from_slice(bytes),
            Body::Link(ino) => to.copy_from_slice(&ino.to_le_bytes()[..LINK]),
        }
    }
}

/// An entry of a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Reversed hash and sequence number, or i-node number in an i-node block.
    pub key: u64,
    /// Kind of file, 1 to 7, or 0.
    pub kind: u8,
    /// Name; empty in an i-node block.
    pub name: &'a [u8],
    /// What it leads to.
    pub body: Body<'a>,
}
