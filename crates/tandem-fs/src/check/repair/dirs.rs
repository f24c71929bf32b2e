//! Directories: which of them hang together as they should, and which are built anew from those of
//! their leaves that are left. A leaf names its directory, so the entries of a directory are found
//! without its tables, and without its record.

use rustc_hash::FxHashSet;
use tandem_format::{Body, Content, DirRoot, ExtentNode, ID_LIMIT, INO_LIMIT, Kind, Table, Xattrs};

use super::super::directory::SEQ_MAX;
use super::index::Role;
use super::report::RepairKind;
use super::survey::{Dir, Survey, leaf};
use crate::dir::{REV_BITS, TABLE_FLAG, rev_of};
use crate::error::Result;
use crate::ifile::Home;
use crate::types::{LIMBO, ROOT};

/// How often what was found may lead to more that is missing.
const ROUNDS: usize = 8;

impl Survey<'_> {
    /// Looks in the log for blocks that are referred to, but not in the block map.
    pub fn find_missing(&mut self) -> Result<()> {
        for _ in 0..ROUNDS {
            let wanted = self.missing();
            if wanted.is_empty()
                || !self.index.restore(self.source, &mut self.base, &wanted, &mut self.repairs)?
            {
                break;
            }
        }
        Ok(())
    }

    /// Ids of blocks that records, tables and extent nodes refer to, and that no good block has.
    fn missing(&self) -> FxHashSet<u64> {
        let mut wanted = FxHashSet::default();
        let mut refer = |slot: u64| {
            let id = slot & !TABLE_FLAG;
            if id > 0 && id < ID_LIMIT && self.index.get(id).is_none() && !self.index.is_sought(id)
            {
                wanted.insert(id);
            }
        };
        self.visit("looking for missing blocks", |_| true, &mut |met| {
            let rec = match &met.record {
                Some(Ok(rec)) => rec,
                Some(Err(_)) => return,
                None => {
                    if let Body::Link(ino) = met.entry.body {
                        if let Some(Some(Home::Block(id))) = self.base.home(ino) {
                            refer(id);
                        }
                    }
                    return;
                }
            };
            match &rec.content {
                Content::Dir(dir) => refer(dir.root),
                Content::Tree { root, .. } => refer(*root),
                Content::SymlinkBlock(id) => refer(*id),
                _ => {}
            }
            if let Xattrs::Blocks { ids, .. } = &rec.xattrs {
                ids.iter().copied().for_each(&mut refer);
            }
        });
        for info in &self.index.blocks {
            refer(if info.kind == Kind::Leaf { info.next } else { 0 });
            let upper = info.kind == Kind::Table || info.kind == Kind::Extent && info.level > 0;
            let Some((head, bytes)) = upper.then(|| self.base.fetch(info.loc)).flatten() else {
                continue;
            };
            if info.kind == Kind::Table {
                let table = Table::decode(&bytes).map(|table| table.entries).unwrap_or_default();
                table.into_iter().for_each(&mut refer);
            } else if let Ok(node) = ExtentNode::decode(&bytes, head.level) {
                node.children.iter().for_each(|(_, id)| refer(*id));
            }
        }
        wanted
    }

    /// Finds all directories, and what becomes of their blocks.
    pub fn find_dirs(&mut self) {
        self.dir_records();
        let mut dirs: Vec<u64> = self.dirs.keys().copied().collect();
        dirs.sort_unstable();
        for &dir in &dirs {
            let sound = self.walk(dir);
            self.settle_dir(dir, !sound);
        }
        let mut given_up = FxHashSet::default();
        loop {
            self.make_headless(&mut given_up);
            // A record in a leaf that nothing refers to is none.
            let unused = |dir: &Dir| {
                let info = self.index.get(dir.block);
                info.is_some_and(|i| i.kind == Kind::Leaf && i.role == Role::Unused)
            };
            let gone: FxHashSet<u64> =
                self.dirs.iter().filter(|(_, dir)| unused(dir)).map(|(ino, _)| *ino).collect();
            if gone.is_empty() {
                break;
            }
            self.dirs.retain(|ino, _| !gone.contains(ino));
        }
    }

    /// Makes directories of those of which only leaves are left, unless they are known to be gone.
    fn make_headless(&mut self, given_up: &mut FxHashSet<u64>) {
        let mut headless = self.index.owners(Kind::Leaf);
        headless.extend([ROOT, LIMBO]);
        for ino in headless {
            let known = self.dirs.contains_key(&ino) || given_up.contains(&ino);
            if known || ino == 0 || ino >= INO_LIMIT {
                continue;
            }
            let needed = ino == ROOT || ino == LIMBO;
            if !needed && self.base.home(ino) == Some(None) {
                self.give_up_leaves(ino);
                given_up.insert(ino);
                continue;
            }
            let what = self.name(ino);
            let detail = "a directory without a record gets one: its owner, mode, times and attributes are lost";
            self.repairs.add(RepairKind::MadeInode, what, detail);
            let said = DirRoot { parent: ROOT, entries: 0, subdirs: 0, root: 0, group: 0 };
            self.dirs.insert(ino, Dir::new(said, 2, 0, 0));
            self.settle_dir(ino, true);
        }
    }

    fn give_up_leaves(&mut self, ino: u64) {
        for at in self.index.of_owner(ino).collect::<Vec<_>>() {
            self.index.blocks[at].role = Role::Unused;
        }
        let what = self.name(ino);
        self.repairs.add(
            RepairKind::BlockGivenUp,
            what,
            "leaves of a directory that does not exist any more",
        );
    }

    /// Reads the records of all directories. Of several of one, the one that the i-node map knows
    /// counts, else the newest.
    fn dir_records(&mut self) {
        let mut found: Vec<(u64, Dir, (bool, bool, super::scan::Order))> = Vec::new();
        self.visit("looking for directories", |_| true, &mut |met| {
            let Some(Ok(rec)) = &met.record else { return };
            let Content::Dir(said) = rec.content else { return };
            let (ino, known) = (rec.ino, self.base.home(rec.ino) == Some(Some(met.home())));
            let boxed = met.info.kind == Kind::Inode;
            if boxed && (met.entry.key != ino || !met.entry.name.is_empty()) {
                return;
            }
            if ino == 0
                || ino >= INO_LIMIT
                || met.info.stale && !self.base.confirms(ino, met.home())
            {
                return;
            }
            let dir = Dir::new(said, rec.nlink, met.info.id, met.entry.key);
            found.push((ino, dir, (known, !met.info.stale, met.info.order)));
        });
        found.sort_unstable_by_key(|(ino, _, rank)| (*ino, *rank));
        self.dirs = found.into_iter().map(|(ino, dir, _)| (ino, dir)).collect();
    }

    /// Says what becomes of a directory's blocks.
    pub fn settle_dir(&mut self, ino: u64, rebuild: bool) {
        let Some(dir) = self.dirs.get_mut(&ino) else { return };
        dir.rebuild |= rebuild;
        if !dir.rebuild {
            return;
        }
        for at in self.index.of_owner(ino).collect::<Vec<_>>() {
            let info = &mut self.index.blocks[at];
            match info.kind {
                Kind::Leaf => info.role = Role::Source,
                Kind::Table => info.role = Role::Unused,
                _ => {}
            }
        }
    }

    /// Walks a directory from its root; whether everything is as it should be. What belongs to it
    /// is kept then, and what only says so is not.
    fn walk(&mut self, ino: u64) -> bool {
        let root = self.dirs[&ino].said.root;
        let mut met = FxHashSet::default();
        let sound = root == 0 || self.below(ino, root, 0, 0, &mut met);
        if sound {
            for id in met {
                self.index.set(id, Role::Kept);
            }
            return true;
        }
        false
    }

    /// Walks what a slot for the hashes that begin with the top `bits` of `prefix` leads to.
    fn below(&self, ino: u64, slot: u64, prefix: u64, bits: u8, met: &mut FxHashSet<u64>) -> bool {
        let id = slot & !TABLE_FLAG;
        let Some(info) = self.index.get(id).filter(|info| info.owner == ino) else { return false };
        if info.stale || info.index != prefix || info.level != bits || !met.insert(id) {
            return false;
        }
        if slot & TABLE_FLAG == 0 {
            return info.kind == Kind::Leaf && (info.next == 0 || self.chain(ino, id, met));
        }
        if info.kind != Kind::Table {
            return false;
        }
        let table = self.base.fetch(info.loc).and_then(|(_, bytes)| Table::decode(&bytes).ok());
        let Some(table) = table else { return false };
        let all = bits.saturating_add(table.depth);
        let above = u64::MAX >> (64 - REV_BITS) >> bits;
        if all > REV_BITS || prefix & above != 0 {
            return false;
        }
        let mut first = 0;
        table.entries.chunk_by(|a, b| a == b).all(|run| {
            let from = prefix | (first as u64) << (REV_BITS - all);
            let spread = run.len().trailing_zeros() as u8;
            let aligned = run.len().is_power_of_two() && first % run.len() == 0;
            first += run.len();
            let one = spread == 0 || run[0] & TABLE_FLAG == 0;
            aligned && one && self.below(ino, run[0], from, all - spread, met)
        })
    }

    /// Walks a chain of leaves, all of whose entries have one hash.
    fn chain(&self, ino: u64, head: u64, met: &mut FxHashSet<u64>) -> bool {
        let (mut rev, mut depth, mut id) = (None, None, head);
        let mut seqs = FxHashSet::default();
        let mut names: FxHashSet<Box<[u8]>> = FxHashSet::default();
        while id != 0 {
            let Some(info) = self.index.get(id) else { return false };
            let ours = info.kind == Kind::Leaf && info.owner == ino && !info.stale;
            if !ours || id != head && !met.insert(id) {
                return false;
            }
            let mut bytes = vec![0; info.loc.bytes() as usize];
            if self.base.meta.read_at(&mut bytes, info.loc.offset()).is_err() {
                return false;
            }
            let Some(leaf) = leaf(&bytes, &self.base.sb.implied()).filter(|leaf| leaf.count() > 0)
            else {
                return false;
            };
            if leaf.depth() > *depth.get_or_insert(leaf.depth()) {
                return false;
            }
            for slot in 0..leaf.count() as usize {
                let entry = leaf.entry(slot);
                let (hash, seq) = (rev_of(entry.key), entry.key & 0x7fff);
                let same = *rev.get_or_insert(hash) == hash;
                if !same || seq > SEQ_MAX || !seqs.insert(seq) || !names.insert(entry.name.into()) {
                    return false;
                }
            }
            id = leaf.next();
        }
        true
    }
}

impl Dir {
    fn new(said: DirRoot, nlink: u32, block: u64, key: u64) -> Dir {
        let (entries, subdirs, rebuild) = (0, 0, false);
        Dir { said, nlink, block, key, entries, subdirs, rebuild, up: (0, 0), depth: 0 }
    }
}
