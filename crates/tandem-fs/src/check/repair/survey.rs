//! What is on the volume: directories, i-nodes, links, and who has which data blocks.

use rustc_hash::{FxHashMap, FxHashSet};
use tandem_format::{Body, DirRoot, Entry, FormatError, Implied, Kind, Leaf, Record};

use super::super::Progress;
use super::base::{Base, Source};
use super::claims::Claims;
use super::index::{Index, Info, read_all};
use super::report::Repairs;
use crate::ifile::{Home, top_of};
use crate::space::Run;
use crate::types::FileKind;

/// The record is corrected.
pub(super) const MEND: u8 = 1;
/// The file's extents are put together anew.
pub(super) const CONTENTS: u8 = 2;
/// The entry that it lies in is not kept: it gets another in lost+found.
pub(super) const EVICTED: u8 = 4;
/// It has no record: one is made.
pub(super) const MADE: u8 = 8;
/// It lies in the hidden directory.
pub(super) const LIMBO_ENTRY: u8 = 16;
/// No directory has it: it goes to lost+found.
pub(super) const ORPHAN: u8 = 32;

/// An i-node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inode {
    pub ino: u64,
    /// Block that its record lies in, and the key there; 0 when it is to be made.
    pub block: u64,
    pub key: u64,
    /// Links as its record says; then as they are.
    pub nlink: u32,
    pub kind: FileKind,
    pub flags: u8,
}

impl Inode {
    pub fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// An entry without a record in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Link {
    pub ino: u64,
    pub dir: u64,
    pub key: u64,
    pub kind: u8,
}

/// A directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dir {
    /// As its record says.
    pub said: DirRoot,
    pub nlink: u32,
    /// Block of the record.
    pub block: u64,
    pub key: u64,
    /// Entries found in it, and directories among them.
    pub entries: u64,
    pub subdirs: u32,
    /// It is built anew.
    pub rebuild: bool,
    /// The directory that it lies in, with the entry's key; (0, 0) while there is none.
    pub up: (u64, u64),
    /// Directories above it, once it is known that they lead to the root.
    pub depth: u32,
}

/// Everything that a repair must know.
pub(super) struct Survey<'a> {
    pub source: &'a Source<'a>,
    pub base: Base,
    pub index: Index,
    pub dirs: FxHashMap<u64, Dir>,
    /// Sorted by number.
    pub inodes: Vec<Inode>,
    /// Sorted.
    pub links: Vec<Link>,
    /// Entries that are not to be entered again: directory and key.
    pub refused: FxHashSet<(u64, u64)>,
    /// Records that are to be taken out of i-node blocks: block and key.
    pub dropped: Vec<(u64, u64)>,
    /// Blocks that stay, but have to be written again elsewhere.
    pub moved: Vec<u64>,
    pub claims: Claims,
    /// Data blocks that several extents claim, and the i-node that keeps them.
    pub crossed: Vec<(Run, u64)>,
    /// Data blocks that copies need.
    pub copies: u64,
    pub repairs: Repairs,
}

/// An entry with its record, where there is one.
pub(super) struct Met<'a> {
    pub info: &'a Info,
    pub entry: Entry<'a>,
    pub record: Option<Result<Record, FormatError>>,
}

impl Met<'_> {
    /// Where the record lies.
    pub fn home(&self) -> Home {
        match self.info.kind {
            Kind::Leaf => Home::Entry { dir: self.info.owner, top: top_of(self.entry.key) },
            _ => Home::Block(self.info.id),
        }
    }
}

impl Survey<'_> {
    /// Reads all leaves and i-node blocks for which `take` holds, and gives their entries to `f`.
    pub fn visit(
        &self,
        phase: &'static str,
        take: impl Fn(&Info) -> bool,
        f: &mut dyn FnMut(&Met<'_>),
    ) {
        let blocks = self.index.places(|i| matches!(i.kind, Kind::Leaf | Kind::Inode) && take(i));
        let implied = self.base.sb.implied();
        let progress = |done, total| (self.source.progress)(Progress { phase, done, total });
        read_all(&self.base, blocks, &progress, &mut |id, _, bytes| {
            let Some(info) = self.index.get(id) else { return };
            let Some(leaf) = bytes.and_then(|bytes| leaf(bytes, &implied)) else { return };
            for slot in 0..leaf.count() as usize {
                let entry = leaf.entry(slot);
                let record = match entry.body {
                    Body::Embedded(bytes) => Some(Record::decode(bytes)),
                    Body::Link(_) => None,
                };
                f(&Met { info, entry, record });
            }
        });
    }

    /// An i-node that is there, or will be.
    pub fn inode(&self, ino: u64) -> Option<&Inode> {
        let at = self.inodes.binary_search_by_key(&ino, |inode| inode.ino).ok()?;
        Some(&self.inodes[at])
    }

    /// The same, to be changed.
    pub fn inode_mut(&mut self, ino: u64) -> Option<&mut Inode> {
        let at = self.inodes.binary_search_by_key(&ino, |inode| inode.ino).ok()?;
        Some(&mut self.inodes[at])
    }

    /// Whether the record at this place is the one that counts for its i-node.
    pub fn is_home(&self, ino: u64, block: u64, key: u64) -> bool {
        self.inode(ino).is_some_and(|inode| (inode.block, inode.key) == (block, key))
    }

    /// What messages call an i-node.
    pub fn name(&self, ino: u64) -> String {
        format!("{}: i-node {ino}", self.base.meta.name())
    }
}

/// A leaf's block, already found to be good.
pub(super) fn leaf(bytes: &[u8], implied: &Implied) -> Option<Leaf> {
    let (head, payload) = tandem_format::open(bytes).ok()?;
    Leaf::decode(payload, &head, implied).ok()
}
