//! What a block is, as it says itself and as what refers to it says.

use tandem_format::Kind;

use super::books::{Books, Fact, Subject};
use crate::ifile::Home;

/// What a block with an id is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub kind: Kind,
    /// I-node that it belongs to.
    pub owner: u64,
    /// Of a table: hash bits resolved above it; of an extent node: height above the extents.
    pub level: u8,
    /// Of a table: lowest hash; of a target: its length; of attributes: number among the blocks.
    pub index: u64,
}

impl Place {
    pub fn new(kind: Kind, owner: u64) -> Place {
        Place { kind, owner, level: 0, index: 0 }
    }

    /// As the words of [`Fact::Is`].
    fn words(self) -> [u64; 2] {
        [self.owner, self.index << 16 | u64::from(self.level) << 8 | self.kind as u64]
    }

    /// From the words of [`Fact::Is`], for messages.
    pub fn describe(words: [u64; 2]) -> String {
        let [owner, rest] = words;
        let (level, index) = (rest >> 8 & 0xff, rest >> 16);
        match Kind::try_from(rest as u8) {
            Ok(Kind::Leaf) => format!("a leaf of directory {owner}"),
            Ok(Kind::Table) => {
                format!("a table of directory {owner}, {level} bits down, from hash {index:#x} on")
            }
            Ok(Kind::Extent) => format!("an extent node of i-node {owner}, level {level}"),
            Ok(Kind::Symlink) => format!("the target of link {owner}, {index} bytes"),
            Ok(Kind::Xattr) => format!("attribute block {index} of i-node {owner}"),
            _ => "a block of i-node records".into(),
        }
    }
}

impl Books {
    /// Something in the block or i-node `by` refers to block `id`.
    pub fn refer(&self, id: u64, place: Place, by: u64) {
        self.enter(Subject::Block(id), Fact::Is, place.words(), 1, by);
    }

    /// Block `id` is this.
    pub fn found(&self, id: u64, place: Place) {
        self.enter(Subject::Block(id), Fact::Is, place.words(), -1, id);
    }
}

/// The words of [`Fact::Range`].
pub(super) fn range(prefix: u64, depth: u8) -> [u64; 2] {
    [prefix, u64::from(depth)]
}

/// The words of [`Fact::Home`].
pub(super) fn home_words(home: Home) -> [u64; 2] {
    match home {
        Home::Entry { dir, top } => [dir, top.into()],
        Home::Block(id) => [id, 1 << 63],
    }
}

/// From the words of [`Fact::Home`], for messages.
pub(super) fn describe_home(words: [u64; 2]) -> String {
    match words {
        [id, flag] if flag >> 63 != 0 => format!("in block {id}"),
        [dir, top] => format!("in directory {dir} under hash {top:06x}..."),
    }
}
