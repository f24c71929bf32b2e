//! What a check has found.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

/// Problems that a report describes; the others are counted only.
const KEPT: usize = 1000;

/// How far a check has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub phase: &'static str,
    /// How much of it is done.
    pub done: u64,
    /// How much of it there is.
    pub total: u64,
}

/// What sort of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// A superblock is damaged, or the two differ.
    Superblock,
    /// The data device's label is damaged or says something else than the superblock.
    DataLabel,
    /// A checkpoint is damaged, or its numbers are wrong.
    Checkpoint,
    /// The log: a summary is missing or wrong, roll-forward fails, its end is in use.
    Log,
    /// A device cannot read a structure.
    Unreadable,
    /// A block's checksum is wrong, or it is not formed as its kind must be.
    Damaged,
    /// A block is where another one should be.
    WrongBlock,
    /// An address outside the segments, or of an impossible length.
    Address,
    /// A block that something refers to is not in the block map.
    MissingBlock,
    /// A block that nothing refers to.
    UnreferencedBlock,
    /// A block that several structures refer to.
    SharedBlock,
    /// A block is not what the structure above it says.
    WrongReference,
    /// The i-node map and the i-nodes differ.
    InodeMap,
    /// An i-node's record contradicts itself.
    Record,
    /// A name that cannot be, is entered twice, or lies under a wrong hash.
    Name,
    /// A directory's tables or leaves are ill-formed.
    Directory,
    /// A directory has not as many entries as its i-node says.
    EntryCount,
    /// A directory's parent is not the directory that it lies in.
    Parent,
    /// Directories that lead in a circle and not to the root.
    DirectoryLoop,
    /// An entry's type is not that of its i-node.
    FileType,
    /// An i-node has not as many entries as it has links.
    LinkCount,
    /// An entry leads to no i-node.
    DanglingEntry,
    /// The hidden directory holds what it should not, or not what it should.
    HiddenDirectory,
    /// An extent lies beyond the data area or the file.
    Extent,
    /// Nodes of an extent tree contradict each other or the i-node.
    ExtentTree,
    /// Data blocks that belong to several extents.
    ExtentOverlap,
    /// Data blocks that are free and in use.
    FreeInUse,
    /// Data blocks that are neither free nor in use.
    LostBlocks,
    /// A group's descriptor has wrong counts.
    Group,
    /// A group's free space is ill-formed.
    FreeSpace,
    /// A segment's live bytes are wrong.
    SegmentUsage,
    /// Extended attributes are ill-formed.
    Attribute,
    /// An access control list is none.
    Acl,
    /// A symbolic link's target has a wrong length.
    Symlink,
}

/// Something that is wrong with a volume.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// What sort of problem.
    pub kind: ProblemKind,
    /// The device and the structure on it.
    pub what: String,
    /// What is wrong.
    pub detail: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.what, self.detail)
    }
}

/// The result of a check.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct CheckReport {
    /// The volume was unmounted before.
    pub clean: bool,
    /// Commits after the last checkpoint, taken into account here and by the next mount.
    pub recovered_commits: u64,
    /// I-nodes in use.
    pub inodes: u64,
    /// Directories among them.
    pub directories: u64,
    /// Regular files among them.
    pub files: u64,
    /// Entries of directories.
    pub links: u64,
    /// Extents of files.
    pub extents: u64,
    /// Data blocks in extents.
    pub blocks_used: u64,
    /// Metadata blocks in use.
    pub metadata_blocks: u64,
    /// Bytes of them.
    pub bytes_live: u64,
    /// Unlinked i-nodes that the next mount will free. Nothing is wrong with them.
    pub orphans: u64,
    /// The first problems.
    pub problems: Vec<Problem>,
    /// How many problems there are in all.
    pub problems_total: u64,
    /// What could not be verified, and why; empty when everything was.
    pub unverified: Vec<String>,
    /// How long the check took, in seconds.
    pub seconds: f64,
}

impl CheckReport {
    /// Whether everything was verified and nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.problems_total == 0 && self.unverified.is_empty()
    }
}

/// Where problems are gathered.
#[derive(Default)]
pub(super) struct Findings {
    list: Mutex<Vec<Problem>>,
    total: AtomicU64,
    unverified: Mutex<Vec<String>>,
    /// The volume is read once more: what is found now has been found before.
    pub again: AtomicBool,
}

impl Findings {
    /// Adds a problem that is seen whenever the structure is read.
    pub fn add(&self, kind: ProblemKind, what: impl Into<String>, detail: impl Into<String>) {
        if !self.again.load(Ordering::Relaxed) {
            self.conclude(kind, what, detail);
        }
    }

    /// Adds a problem that a comparison has shown.
    pub fn conclude(&self, kind: ProblemKind, what: impl Into<String>, detail: impl Into<String>) {
        self.total.fetch_add(1, Ordering::Relaxed);
        let mut list = self.list.lock();
        if list.len() < KEPT {
            list.push(Problem { kind, what: what.into(), detail: detail.into() });
        }
    }

    /// Says that something was not looked at.
    pub fn unverified(&self, what: String) {
        let mut list = self.unverified.lock();
        if list.len() < KEPT && !list.contains(&what) {
            list.push(what);
        }
    }

    /// Whether no further problem would be described.
    pub fn is_full(&self) -> bool {
        self.list.lock().len() >= KEPT
    }

    /// Whether a problem that is seen now would be described.
    pub fn listens(&self) -> bool {
        !self.again.load(Ordering::Relaxed) && !self.is_full()
    }

    /// Moves everything into a report.
    pub fn settle(&self, report: &mut CheckReport) {
        report.problems = std::mem::take(&mut self.list.lock());
        report.problems_total = self.total.load(Ordering::Relaxed);
        report.unverified = std::mem::take(&mut self.unverified.lock());
    }
}
