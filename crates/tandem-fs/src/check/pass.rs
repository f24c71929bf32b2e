//! One reading of a volume.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use tandem_format::{BlockMeta, Kind, Loc};

use super::blocks::{is_named, open_block};
use super::books::{Books, Fact, NO, Subject};
use super::map::Window;
use super::names;
use super::open::Opened;
use super::report::{Findings, ProblemKind};
use super::scan::Met;
use crate::cache::Key;

/// What there is, counted while it is read.
#[derive(Default)]
pub(super) struct Counts {
    pub inodes: AtomicU64,
    pub directories: AtomicU64,
    pub files: AtomicU64,
    pub links: AtomicU64,
    pub extents: AtomicU64,
    pub blocks_used: AtomicU64,
    pub orphans: AtomicU64,
    pub highest_ino: AtomicU64,
    /// One bit each for the two directories that lie in none.
    pub roots: AtomicU64,
    /// By group: directories, and their entries.
    pub groups: Vec<[AtomicU64; 2]>,
}

impl Counts {
    pub fn new(groups: u32) -> Counts {
        let mut counts = Counts::default();
        counts.groups.resize_with(groups as usize, Default::default);
        counts
    }

    /// Adds what another thread has counted.
    pub fn add(&self, other: &Counts) {
        let get = |n: &AtomicU64| n.load(Ordering::Relaxed);
        for (to, from) in [
            (&self.inodes, &other.inodes),
            (&self.directories, &other.directories),
            (&self.files, &other.files),
            (&self.links, &other.links),
            (&self.extents, &other.extents),
            (&self.blocks_used, &other.blocks_used),
            (&self.orphans, &other.orphans),
        ] {
            add(to, get(from));
        }
        self.highest_ino.fetch_max(get(&other.highest_ino), Ordering::Relaxed);
        self.roots.fetch_or(get(&other.roots), Ordering::Relaxed);
        for (to, from) in self.groups.iter().zip(&other.groups) {
            add(&to[0], get(&from[0]));
            add(&to[1], get(&from[1]));
        }
    }
}

/// Adds to a count.
pub(super) fn add(count: &AtomicU64, n: u64) {
    count.fetch_add(n, Ordering::Relaxed);
}

/// One reading of a volume: what it reads from and where what it finds goes.
#[derive(Clone, Copy)]
pub(super) struct Pass<'a> {
    pub opened: &'a Opened,
    pub books: &'a Books,
    pub findings: &'a Findings,
    pub counts: &'a Counts,
    /// The part of the block map whose blocks are read.
    pub window: &'a Window,
    /// The window is the whole map.
    pub whole: bool,
    /// The IFile's blocks are read with this window.
    pub with_tables: bool,
    pub threads: usize,
    pub lists: &'a Lists,
}

/// What is looked at as a whole when everything has been read.
#[derive(Default)]
pub(super) struct Lists {
    /// Leaves that have a next one in their chain, and that.
    pub chains: Mutex<Vec<(u64, u64)>>,
    /// Directories and their parents.
    pub parents: Mutex<Vec<(u64, u64)>>,
    /// Most of either.
    pub limit: usize,
    /// There were more.
    pub chains_cut: AtomicBool,
    pub parents_cut: AtomicBool,
}

impl Lists {
    /// Notes that a leaf has a next one.
    pub fn chain(&self, leaf: u64, next: u64) {
        note(&self.chains, (leaf, next), self.limit, &self.chains_cut);
    }

    /// Notes the parent of a directory.
    pub fn parent(&self, dir: u64, parent: u64) {
        note(&self.parents, (dir, parent), self.limit, &self.parents_cut);
    }
}

fn note(list: &Mutex<Vec<(u64, u64)>>, pair: (u64, u64), limit: usize, cut: &AtomicBool) {
    let mut list = list.lock();
    if list.len() < limit {
        list.push(pair);
    } else {
        cut.store(true, Ordering::Relaxed);
    }
}

impl Pass<'_> {
    /// A block as messages name it.
    pub fn name_of(&self, met: &Met<'_>) -> String {
        let device = self.opened.core.meta.name();
        let at = met.loc.offset();
        match (met.key.id(), met.listed.map(|l| l.entry)) {
            (Some(id), Some(e)) if e.owner != 0 => {
                format!("{device}: block {id} ({:?} of i-node {}) at byte {at}", e.kind, e.owner)
            }
            (Some(id), Some(e)) => format!("{device}: block {id} ({:?}) at byte {at}", e.kind),
            _ => format!("{device}: {:?} at byte {at}", met.key),
        }
    }

    /// A block cannot be read, or is not what it must be: what it would say is unknown.
    pub fn bad(&self, met: &Met<'_>, kind: ProblemKind, detail: impl Into<String>) {
        self.findings.add(kind, self.name_of(met), detail);
        match (met.key.id(), met.key.ifile()) {
            (Some(id), _) => self.books.enter(Subject::Block(id), Fact::Unknown, NO, 0, id),
            (_, Some((kind, level, index))) => self.opened.tables.lose(kind, level, index),
            _ => {}
        }
    }

    /// A block that is what it says, but says something that cannot be.
    pub fn ill(&self, met: &Met<'_>, kind: ProblemKind, detail: impl Into<String>) {
        self.findings.add(kind, self.name_of(met), detail);
    }

    /// Looks at a block in use.
    pub fn block(&self, met: &Met<'_>, bytes: &[u8]) {
        let (meta, payload) = match open_block(self.opened.sb.volume, met.loc, bytes) {
            Ok(opened) => opened,
            Err(e) => return self.bad(met, ProblemKind::Damaged, e),
        };
        if !is_named(&meta, met.key) {
            return self.bad(met, ProblemKind::WrongBlock, super::blocks::misnamed(&meta));
        }
        if met.listed.is_some_and(|listed| !listed.fits(&meta, bytes)) {
            self.ill(met, ProblemKind::Log, "is not what the summary of its partial segment says");
        }
        let done = match meta.kind {
            Kind::Leaf => self.leaf(met, &meta, payload),
            Kind::Table => self.table(met, &meta, payload),
            Kind::Extent => self.extent_node(met, &meta, payload),
            Kind::Inode => self.inode_block(met, &meta, payload),
            Kind::Symlink | Kind::Xattr => self.raw(met, &meta, payload),
            _ => self.table_block(met, &meta, payload),
        };
        if let Err(e) = done {
            self.bad(met, ProblemKind::Damaged, e.to_string());
        }
    }

    /// Where a block lies; none when the block map has no address for it.
    pub fn locate(&self, id: u64) -> Option<Loc> {
        if let Some(loc) = self.window.get(id) {
            return Some(loc);
        }
        if self.whole {
            return None;
        }
        let found = self.opened.core.run(|st| st.map_get(id));
        found.ok().filter(|loc| !loc.is_none())
    }

    /// Reads a block out of order. None when it cannot be read: that is reported where it is met
    /// in the log, or where references are compared.
    pub fn fetch(&self, id: u64) -> Option<(BlockMeta, Vec<u8>)> {
        let loc = self.locate(id)?;
        let bytes = super::blocks::read(&self.opened.core, loc).ok()?;
        let (meta, payload) = open_block(self.opened.sb.volume, loc, &bytes).ok()?;
        is_named(&meta, Key::block(id)).then(|| (meta, payload.to_vec()))
    }

    /// An i-node as messages name it.
    pub fn inode_name(&self, ino: u64) -> String {
        let core = &self.opened.core;
        if self.findings.listens() { names::inode(core, ino) } else { String::new() }
    }
}
