//! What is to be repaired, and what was.

use std::collections::BTreeMap;

/// Repairs that a plan describes; the others are counted only.
const KEPT: usize = 1000;

/// What sort of repair. Repairs depend on one another: they are made together or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RepairKind {
    /// A superblock is written again.
    Superblock,
    /// The data device's label is written again.
    DataLabel,
    /// The checkpoint cannot be followed: what is in use is found in the log itself.
    Log,
    /// The IFile, its counts and a checkpoint are made anew from what is in use.
    Tables,
    /// An older version of a damaged block takes its place, as far as the i-node map confirms it.
    OlderBlock,
    /// A block that cannot be read, or that nothing refers to, is given up.
    BlockGivenUp,
    /// A block that no summary lists as what it is is written again.
    Moved,
    /// A directory is built anew from the entries in its leaves.
    Directory,
    /// A directory or file whose record is lost gets a new one.
    MadeInode,
    /// A record is corrected: links, counts, parent, type.
    Record,
    /// An entry that leads nowhere, or a second time to the same, is removed.
    EntryRemoved,
    /// A file's extents are put together from the extent blocks that are left.
    Contents,
    /// Data blocks that several files claim are copied for all but one.
    Copy,
    /// Attributes, or a link's target, that cannot be read are given up.
    Attributes,
    /// What no directory has any more goes to lost+found.
    Reconnect,
}

impl RepairKind {
    /// What a person is asked before repairs of this kind are made.
    pub fn question(self) -> &'static str {
        match self {
            RepairKind::Superblock => "write the superblock again",
            RepairKind::DataLabel => "write the data label again",
            RepairKind::Log => "take what is in use from the log itself",
            RepairKind::Tables => "make the maps, the counts and the free space anew",
            RepairKind::OlderBlock => "use older versions of damaged blocks",
            RepairKind::BlockGivenUp => "give up blocks that are damaged or belong to nothing",
            RepairKind::Moved => "write blocks again that the log does not list",
            RepairKind::Directory => "build directories anew from their leaves",
            RepairKind::MadeInode => "make new records for what has lost its own",
            RepairKind::Record => "correct records",
            RepairKind::EntryRemoved => "remove entries that lead nowhere or lead there twice",
            RepairKind::Contents => "put files together from the extent blocks that are left",
            RepairKind::Copy => "copy data blocks that several files claim",
            RepairKind::Attributes => "give up attributes and link targets that are damaged",
            RepairKind::Reconnect => "put what no directory has into lost+found",
        }
    }
}

/// One repair.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Repair {
    /// What sort of repair.
    pub kind: RepairKind,
    /// What is repaired.
    pub what: String,
    /// How, and what is lost with it.
    pub detail: String,
}

impl std::fmt::Display for Repair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.what, self.detail)
    }
}

/// Repairs: how many of each kind, and the first of them in words.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Repairs {
    /// How many of each kind.
    pub counts: BTreeMap<RepairKind, u64>,
    /// The first of them.
    pub list: Vec<Repair>,
}

impl Repairs {
    /// Adds one.
    pub(super) fn add(
        &mut self,
        kind: RepairKind,
        what: impl Into<String>,
        detail: impl Into<String>,
    ) {
        *self.counts.entry(kind).or_default() += 1;
        if self.list.len() < KEPT {
            self.list.push(Repair { kind, what: what.into(), detail: detail.into() });
        }
    }

    /// How many there are of a kind.
    pub fn count(&self, kind: RepairKind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or(0)
    }
}
