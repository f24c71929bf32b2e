//! I-nodes and links: every record, and every entry that leads to one.

use rustc_hash::FxHashSet;
use tandem_format::{Body, INO_LIMIT, Kind, name_key};

use super::super::directory::{SEQ_MAX, bad_name, text};
use super::base::{Hints, at_most};
use super::index::{Info, Role};
use super::mend::kind_of;
use super::report::RepairKind;
use super::scan::Order;
use super::survey::{EVICTED, Inode, LIMBO_ENTRY, Link, MADE, Met, Survey};
use crate::dir::rev_of;
use crate::ifile::{Home, top_of};
use crate::inode::limbo_name;
use crate::types::{FileKind, LIMBO, ROOT};

/// Bytes of M that an i-node takes at least, about.
const INODE_LEAST: u64 = 16;

/// A record, and what speaks for it when there are several of one i-node: the i-node map, and its
/// age.
type Candidate = (Inode, (bool, bool, Order));

/// What has been found in one reading.
#[derive(Default)]
struct Found {
    inodes: Vec<Inode>,
    links: Vec<Link>,
    /// Directories with something wrong in a leaf: they are built anew.
    ill: Vec<u64>,
    refused: Vec<(u64, u64)>,
    dropped: Vec<(u64, u64)>,
    removed: Vec<(u64, String)>,
    /// Entries and directories by directory.
    counts: Vec<(u64, bool)>,
    last_name: Option<(u64, u64, Vec<u8>)>,
}

impl Survey<'_> {
    /// Reads all entries and records.
    pub fn find_inodes(&mut self) {
        let mut found = Found::default();
        let used = |info: &Info| info.kind == Kind::Inode || info.role != Role::Unused;
        found.inodes.reserve(self.inodes_said());
        self.visit("reading all records", used, &mut |met| match met.info.kind {
            Kind::Leaf => self.entry(met, &mut found),
            _ => self.boxed(met, &mut found),
        });
        for (dir, subdir) in found.counts {
            if let Some(dir) = self.dirs.get_mut(&dir) {
                dir.entries += 1;
                dir.subdirs += u32::from(subdir);
            }
        }
        for (dir, detail) in found.removed {
            let what = self.name(dir);
            self.repairs.add(RepairKind::EntryRemoved, what, detail);
        }
        found.ill.sort_unstable();
        found.ill.dedup();
        for dir in found.ill {
            self.settle_dir(dir, true);
        }
        self.refused.extend(found.refused);
        self.dropped.append(&mut found.dropped);
        self.inodes = found.inodes;
        self.links = found.links;
        self.links.sort_unstable();
        self.one_of_each();
        self.made_inodes();
    }

    /// How many i-nodes there are about, for one allocation instead of many.
    fn inodes_said(&self) -> usize {
        match &self.base.hints {
            Hints::Volume(opened) => at_most(&self.base.geo, opened.cp.inodes, INODE_LEAST),
            Hints::Log { .. } => 0,
        }
    }

    /// An entry of a leaf.
    fn entry(&self, met: &Met<'_>, found: &mut Found) {
        let (dir, key) = (met.info.owner, met.entry.key);
        let sb = &self.base.sb;
        let name = met.entry.name;
        let bad = bad_name(name).is_some();
        let hash = name_key(sb.hash_key, sb.hash_bits, name);
        let misplaced = hash != rev_of(key) || key & 0x7fff > SEQ_MAX;
        let twice = found.last_name.as_ref().is_some_and(|(block, rev, last)| {
            (*block, *rev, last.as_slice()) == (met.info.id, rev_of(key), name)
        });
        found.last_name = Some((met.info.id, rev_of(key), name.to_vec()));
        if bad || misplaced || twice {
            found.ill.push(dir);
        }
        if bad {
            let detail = format!("entry {}: a name that cannot be", text(name));
            found.removed.push((dir, detail));
            found.refused.push((dir, key));
        }
        let tag = FileKind::of_tag(met.entry.kind);
        let (ino, kind) = match (&met.record, met.entry.body) {
            (Some(Ok(rec)), _) if rec.ino > 0 && rec.ino < INO_LIMIT => {
                if met.info.stale && !self.base.confirms(rec.ino, met.home()) {
                    found.refused.push((dir, key));
                    return;
                }
                let kind = kind_of(rec);
                let flags =
                    if bad { EVICTED } else { 0 } | if dir == LIMBO { LIMBO_ENTRY } else { 0 };
                let (ino, nlink, block) = (rec.ino, rec.nlink, met.info.id);
                found.inodes.push(Inode { ino, block, key, nlink, kind, flags });
                (ino, Some(kind))
            }
            (_, Body::Link(ino)) => {
                if !bad {
                    found.links.push(Link { ino, dir, key, kind: tag as u8 });
                }
                (ino, None)
            }
            _ => {
                let detail = format!("entry {}: its record is damaged, the file lost", text(name));
                found.removed.push((dir, detail));
                found.refused.push((dir, key));
                found.ill.push(dir);
                return;
            }
        };
        let unnamed = dir == LIMBO && name != limbo_name(ino);
        if kind.is_some_and(|kind| kind != tag) || unnamed {
            found.ill.push(dir);
        }
        found.counts.push((dir, kind.unwrap_or(tag) == FileKind::Directory && dir != LIMBO));
    }

    /// A record of an i-node block.
    fn boxed(&self, met: &Met<'_>, found: &mut Found) {
        let (block, key) = (met.info.id, met.entry.key);
        match &met.record {
            Some(Ok(rec))
                if rec.ino == key
                    && rec.ino > 0
                    && rec.ino < INO_LIMIT
                    && met.entry.name.is_empty()
                    && (!met.info.stale || self.base.confirms(key, met.home())) =>
            {
                let kind = kind_of(rec);
                found.inodes.push(Inode { ino: key, block, key, nlink: rec.nlink, kind, flags: 0 });
            }
            _ => found.dropped.push((block, key)),
        }
    }

    /// Of several records of one i-node, the one that the i-node map knows counts, else the newest.
    fn one_of_each(&mut self) {
        let mut inodes = std::mem::take(&mut self.inodes);
        inodes.sort_unstable_by_key(|inode| inode.ino);
        let mut at = 0;
        while at < inodes.len() {
            let same = inodes[at..].iter().take_while(|i| i.ino == inodes[at].ino).count();
            if same > 1 {
                let best = (at..at + same).max_by_key(|&n| self.rank(&inodes[n]).1).unwrap_or(at);
                inodes.swap(at, best);
                for &lost in &inodes[at + 1..at + same] {
                    self.lose(&lost);
                }
            }
            at += same;
        }
        inodes.dedup_by_key(|inode| inode.ino);
        self.inodes = inodes;
    }

    fn rank(&self, inode: &Inode) -> Candidate {
        let info = self.index.get(inode.block);
        let home = info.map(|info| match info.kind {
            Kind::Leaf => Home::Entry { dir: info.owner, top: top_of(inode.key) },
            _ => Home::Block(info.id),
        });
        let known = home.is_some() && self.base.home(inode.ino) == Some(home);
        let fresh = info.is_some_and(|info| !info.stale);
        (*inode, (known, fresh, info.map_or((0, 0), |info| info.order)))
    }

    /// One of several records of an i-node does not count.
    fn lose(&mut self, inode: &Inode) {
        let Some(info) = self.index.get(inode.block).copied() else { return };
        let what = self.name(inode.ino);
        let detail = format!("its record is there twice: the one in block {} is removed", info.id);
        self.repairs.add(RepairKind::EntryRemoved, what, detail);
        match info.kind {
            // The same entry in two leaves of one directory is entered once.
            Kind::Leaf => self.settle_dir(info.owner, true),
            _ => self.dropped.push((info.id, inode.key)),
        }
    }

    /// Adds those that get a new record: directories of which leaves are left, files of which
    /// extent blocks are left.
    fn made_inodes(&mut self) {
        let mut made: Vec<Inode> = Vec::new();
        let new = |ino, kind, flags| Inode { ino, block: 0, key: 0, nlink: 1, kind, flags };
        let mut dirs: Vec<u64> = self.dirs.keys().copied().collect();
        dirs.sort_unstable();
        let mut no_dirs = FxHashSet::default();
        for ino in dirs {
            let found = self.inode(ino).copied();
            let Some(dir) = self.dirs.get_mut(&ino) else { continue };
            match found.filter(|inode| inode.kind == FileKind::Directory) {
                Some(inode) => {
                    // Another one of its records counts: its root is not known.
                    let other = (dir.block, dir.key) != (inode.block, inode.key);
                    (dir.block, dir.key) = (inode.block, inode.key);
                    self.settle_dir(ino, other);
                }
                None if found.is_none() && dir.block == 0 => {
                    made.push(new(ino, FileKind::Directory, MADE));
                }
                None if ino == ROOT || ino == LIMBO => {
                    (dir.block, dir.key) = (0, 0);
                    self.settle_dir(ino, true);
                    self.replace_record(found);
                    made.push(new(ino, FileKind::Directory, MADE));
                }
                None => {
                    self.dirs.remove(&ino);
                    self.give_up(ino);
                    no_dirs.insert(ino);
                }
            }
        }
        self.evict(&no_dirs);
        for ino in self.index.owners(Kind::Extent) {
            let exists = self.inode(ino).is_some() || self.dirs.contains_key(&ino);
            let freed = || self.base.home(ino) == Some(None);
            let found = self.index.newest_first(ino, Kind::Extent);
            if exists || ino <= LIMBO || ino >= INO_LIMIT || !found.iter().any(|i| i.level == 0) {
                continue;
            }
            if freed() {
                let what = self.name(ino);
                self.repairs.add(
                    RepairKind::BlockGivenUp,
                    what,
                    "extent blocks of a file that does not exist any more",
                );
                continue;
            }
            let what = self.name(ino);
            self.repairs.add(RepairKind::MadeInode, what, "a file without a record gets one: what its extent blocks still have; its owner, mode, times and length are lost");
            made.push(new(ino, FileKind::Regular, MADE | super::survey::CONTENTS));
        }
        self.inodes.append(&mut made);
        self.inodes.sort_unstable_by_key(|inode| inode.ino);
        self.inodes.dedup_by_key(|inode| inode.ino);
        debug_assert!(self.inode(ROOT).is_some() && self.inode(LIMBO).is_some());
    }

    /// A record that says something else than a directory, where there must be one.
    fn replace_record(&mut self, found: Option<Inode>) {
        let Some(inode) = found else { return };
        self.inodes.retain(|other| other.ino != inode.ino);
        self.lose(&inode);
        let what = self.name(inode.ino);
        self.repairs.add(RepairKind::MadeInode, what, "a new record: its own is no directory's");
    }

    /// What lies in leaves that name a directory which is none has no entry any more.
    fn evict(&mut self, no_dirs: &FxHashSet<u64>) {
        if no_dirs.is_empty() {
            return;
        }
        let index = &self.index;
        for inode in &mut self.inodes {
            let info = index.get(inode.block).filter(|info| info.kind == Kind::Leaf);
            if info.is_some_and(|info| no_dirs.contains(&info.owner)) {
                inode.flags |= EVICTED;
            }
        }
        self.links.retain(|link| !no_dirs.contains(&link.dir));
    }

    fn give_up(&mut self, ino: u64) {
        for at in self.index.of_owner(ino).collect::<Vec<_>>() {
            if self.index.blocks[at].kind != Kind::Extent {
                self.index.blocks[at].role = Role::Unused;
            }
        }
    }
}
