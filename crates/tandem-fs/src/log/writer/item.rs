//! What is written to the log, block by block.

use tandem_format::{BlockMeta, FormatError, Implied, Kind};

use crate::cache::{Block, Body, Key};

/// A block on its way to the log.
pub(crate) struct Item {
    /// What to call it when it has its address; `None` for a delta, which nothing refers to.
    pub key: Option<Key>,
    pub id: u64,
    pub owner: u64,
    pub index: u64,
    pub kind: Kind,
    pub level: u8,
    pub count: u32,
    pub payload: Payload,
    /// The commit that last changed it, when that is not the one that writes it, or when it is not
    /// expected to be changed soon.
    pub stamp: Option<u64>,
    /// Whether the cleaner moves it.
    pub moved: bool,
}

/// A block's bytes: as they are, or encoded when they are written.
pub(crate) enum Payload {
    Bytes(Vec<u8>),
    Shared(std::sync::Arc<Block>),
}

impl Item {
    /// A block of the cache.
    pub fn of_block(key: Key, block: std::sync::Arc<Block>) -> Item {
        let count = match &block.body {
            Body::Leaf(leaf) => leaf.count(),
            Body::Table(t) => t.count(),
            Body::Extent(n) => n.count(),
            Body::Words(w) => w.count(),
            Body::Imap(i) => i.count(),
            Body::Raw(_) => 0,
        };
        let id = key.id().or(key.ifile().map(|(_, _, index)| index)).unwrap_or(0);
        Item {
            key: Some(key),
            id,
            owner: block.owner,
            index: block.index,
            kind: block.kind,
            level: block.level,
            count,
            payload: Payload::Shared(block),
            stamp: None,
            moved: false,
        }
    }
}

impl Item {
    /// A block that the cleaner moves as it is, out of a segment with the given stamp.
    pub fn rescued(key: Key, meta: &BlockMeta, payload: &[u8], stamp: u64) -> Item {
        Item {
            key: Some(key),
            id: meta.id,
            owner: meta.owner,
            index: meta.index,
            kind: meta.kind,
            level: meta.level,
            count: meta.count,
            payload: Payload::Bytes(payload.to_vec()),
            stamp: Some(stamp),
            moved: true,
        }
    }
}

impl Payload {
    pub(super) fn with<R>(
        &self,
        implied: &Implied,
        f: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, FormatError> {
        Ok(match self {
            Payload::Bytes(bytes) => f(bytes),
            Payload::Shared(block) => match &block.body {
                Body::Leaf(leaf) => f(&leaf.encode(block.kind, implied)?),
                Body::Raw(bytes) => f(bytes),
                Body::Table(t) => f(&t.encode()),
                Body::Extent(n) => f(&n.encode()),
                Body::Words(w) => f(&w.encode()),
                Body::Imap(i) => f(&i.encode()),
            },
        })
    }
}

/// Bytes written to the log, by what they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct LoggedBytes {
    /// Blocks that operations have changed.
    pub changed: u64,
    /// Blocks that the cleaner moves.
    pub moved: u64,
    /// Deltas: changes of the IFile.
    pub deltas: u64,
    /// The IFile's blocks, at checkpoints.
    pub tables: u64,
    /// Summaries, and padding to whole pages.
    pub framing: u64,
}

impl LoggedBytes {
    pub(super) fn count(&mut self, item: &Item, bytes: u64) {
        let class = match item.key {
            None => &mut self.deltas,
            Some(key) if key.id().is_none() => &mut self.tables,
            Some(_) if item.moved => &mut self.moved,
            Some(_) => &mut self.changed,
        };
        *class += bytes;
    }
}
