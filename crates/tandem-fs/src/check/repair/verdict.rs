//! Who leads to whom: links, parents, and what nobody leads to.

use rustc_hash::{FxHashMap, FxHashSet};
use tandem_format::Kind;

use super::index::Role;
use super::report::RepairKind;
use super::survey::{EVICTED, LIMBO_ENTRY, Link, MADE, MEND, ORPHAN, Survey};
use crate::types::{FileKind, LIMBO, ROOT};

impl Survey<'_> {
    /// Decides about everything, once all is known that can be.
    pub fn decide(&mut self) {
        self.place_dirs();
        self.check_links();
        self.find_lost();
        self.count_links();
        self.count_entries();
    }

    /// The directory whose entry a record lies in.
    fn lies_in(&self, block: u64) -> Option<u64> {
        self.index.get(block).filter(|info| info.kind == Kind::Leaf).map(|info| info.owner)
    }

    /// Gives every directory one entry: the one with its record, else the one in the directory that
    /// it calls its parent, else the first.
    fn place_dirs(&mut self) {
        let mut places: FxHashMap<u64, (u64, u64)> = FxHashMap::default();
        for inode in self.inodes.iter().filter(|inode| inode.kind == FileKind::Directory) {
            if let Some(dir) = self.lies_in(inode.block).filter(|_| !inode.is(EVICTED)) {
                places.insert(inode.ino, (dir, inode.key));
            }
        }
        for link in &self.links {
            let Some(dir) = self.dirs.get(&link.ino) else { continue };
            let embedded = self.inode(link.ino).is_some_and(|i| self.lies_in(i.block).is_some());
            if !embedded && (link.dir == dir.said.parent || !places.contains_key(&link.ino)) {
                places.entry(link.ino).or_insert((link.dir, link.key));
                if link.dir == dir.said.parent {
                    places.insert(link.ino, (link.dir, link.key));
                }
            }
        }
        for (ino, place) in places {
            if let Some(dir) = self.dirs.get_mut(&ino).filter(|_| ino != ROOT && ino != LIMBO) {
                dir.up = place;
            }
        }
    }

    /// Refuses links that lead nowhere, or to a directory a second time; has those entered again
    /// that have a wrong type.
    fn check_links(&mut self) {
        let links = std::mem::take(&mut self.links);
        let linked: FxHashSet<u64> =
            links.iter().filter(|link| link.dir != LIMBO).map(|link| link.ino).collect();
        let mut kept = Vec::with_capacity(links.len());
        for link in links {
            let refusal = match self.inode(link.ino) {
                _ if link.ino == ROOT || link.ino == LIMBO => {
                    Some("leads to a directory that has no name")
                }
                None => Some("leads to no i-node"),
                Some(_) if link.dir == LIMBO && linked.contains(&link.ino) => {
                    Some("in the hidden directory, but it has links")
                }
                Some(inode) if inode.kind == FileKind::Directory => {
                    let here = self.dirs.get(&link.ino).map(|dir| dir.up);
                    let only = here == Some((link.dir, link.key));
                    (!only).then_some("leads to a directory that lies elsewhere")
                }
                Some(_) => None,
            };
            let wrong_type = self.inode(link.ino).is_some_and(|i| i.kind as u8 != link.kind);
            if let Some(why) = refusal {
                self.refuse(&link, why);
            } else {
                if wrong_type {
                    self.settle_dir(link.dir, true);
                }
                kept.push(link);
            }
        }
        self.links = kept;
    }

    fn refuse(&mut self, link: &Link, why: &str) {
        let what = self.name(link.dir);
        let detail = format!("an entry for i-node {}: {why}", link.ino);
        self.repairs.add(RepairKind::EntryRemoved, what, detail);
        self.refused.insert((link.dir, link.key));
        self.settle_dir(link.dir, true);
    }

    /// Finds directories from which no way leads to the root; the first of each goes to lost+found.
    fn find_lost(&mut self) {
        let mut dirs: Vec<u64> = self.dirs.keys().copied().collect();
        dirs.sort_unstable();
        let mut known: FxHashSet<u64> = [ROOT, LIMBO].into_iter().collect();
        for ino in dirs {
            let (mut way, mut at) = (Vec::new(), ino);
            let mut on_way = FxHashSet::default();
            let last = loop {
                if known.contains(&at) {
                    break None;
                }
                if !on_way.insert(at) {
                    // A circle is opened at its lowest number.
                    let from = way.iter().position(|dir| *dir == at).unwrap_or(0);
                    break way[from..].iter().copied().min();
                }
                way.push(at);
                let up = self.dirs.get(&at).map_or((0, 0), |dir| dir.up);
                if !self.dirs.contains_key(&up.0) {
                    break Some(at);
                }
                at = up.0;
            };
            if let Some(lost) = last {
                self.orphan_dir(lost);
            }
            known.extend(way);
        }
        self.measure_depths();
    }

    fn orphan_dir(&mut self, ino: u64) {
        let Some(dir) = self.dirs.get_mut(&ino) else { return };
        let (above, key) = std::mem::take(&mut dir.up);
        if above != 0 {
            self.refused.insert((above, key));
            self.settle_dir(above, true);
            self.links.retain(|link| (link.ino, link.dir, link.key) != (ino, above, key));
        }
        let what = self.name(ino);
        if let Some(inode) = self.inode_mut(ino) {
            inode.flags |= ORPHAN | if above != 0 { EVICTED } else { 0 };
        }
        self.repairs.add(
            RepairKind::Reconnect,
            what,
            "a directory that no other has: to lost+found",
        );
    }

    /// Directories above each.
    fn measure_depths(&mut self) {
        let mut dirs: Vec<u64> = self.dirs.keys().copied().collect();
        dirs.sort_unstable();
        for ino in dirs {
            let (mut way, mut at) = (Vec::new(), ino);
            while at != 0 && self.dirs.get(&at).is_some_and(|dir| dir.depth == 0 && dir.up.0 != 0) {
                way.push(at);
                at = self.dirs[&at].up.0;
            }
            let mut depth = self.dirs.get(&at).map_or(0, |dir| dir.depth);
            while let Some(dir) = way.pop().and_then(|ino| self.dirs.get_mut(&ino)) {
                depth += 1;
                dir.depth = depth;
            }
        }
    }

    /// Links of everything but directories.
    fn count_links(&mut self) {
        let mut inodes = std::mem::take(&mut self.inodes);
        let mut links = self.links.iter().peekable();
        let mut lost = Vec::new();
        for inode in &mut inodes {
            let (mut named, mut hidden) = (0, inode.is(LIMBO_ENTRY) && !inode.is(EVICTED));
            while links.next_if(|link| link.ino < inode.ino).is_some() {}
            while let Some(link) = links.next_if(|link| link.ino == inode.ino) {
                named += u32::from(link.dir != LIMBO);
                hidden |= link.dir == LIMBO;
            }
            if inode.kind == FileKind::Directory {
                continue;
            }
            let embedded = self.lies_in(inode.block).filter(|_| !inode.is(EVICTED));
            named += u32::from(embedded.is_some_and(|dir| dir != LIMBO));
            if named == 0 && !hidden {
                lost.push(inode.ino);
                inode.flags |= ORPHAN;
                named = 1;
            }
            if inode.nlink != named && !inode.is(MADE) {
                let detail = format!("{} links by its record, {named} by entries", inode.nlink);
                let what = format!("{}: i-node {}", self.base.meta.name(), inode.ino);
                self.repairs.add(RepairKind::Record, what, detail);
                inode.flags |= MEND;
            }
            inode.nlink = named;
        }
        self.inodes = inodes;
        for ino in lost {
            let what = self.name(ino);
            self.repairs.add(RepairKind::Reconnect, what, "no entry leads to it: to lost+found");
        }
    }

    /// Entries, directories and parents of directories that stay as they are.
    fn count_entries(&mut self) {
        let mut wrong: Vec<(u64, String)> = Vec::new();
        for (&ino, dir) in &self.dirs {
            let parent = if ino == ROOT || ino == LIMBO || dir.up.0 == 0 { ROOT } else { dir.up.0 };
            let said = (dir.said.entries, dir.said.subdirs, dir.said.parent);
            let hidden = dir.up.0 == LIMBO;
            let nlink = if hidden { 0 } else { dir.subdirs.saturating_add(2) };
            if !dir.rebuild && (said != (dir.entries, dir.subdirs, parent) || dir.nlink != nlink) {
                let detail = format!(
                    "{} entries, {} directories among them, parent {}, {} links by its record; {}, {}, {parent} and {nlink} found",
                    said.0, said.1, said.2, dir.nlink, dir.entries, dir.subdirs
                );
                wrong.push((ino, detail));
            }
        }
        wrong.sort_unstable();
        for (ino, detail) in wrong {
            let what = self.name(ino);
            self.repairs.add(RepairKind::Record, what, detail);
            if let Some(inode) = self.inode_mut(ino) {
                inode.flags |= MEND;
            }
        }
        let mut rebuilt: Vec<u64> =
            self.dirs.iter().filter(|(_, dir)| dir.rebuild).map(|(ino, _)| *ino).collect();
        rebuilt.sort_unstable();
        for ino in rebuilt {
            let what = self.name(ino);
            self.repairs.add(
                RepairKind::Directory,
                what,
                "built anew from the leaves that are left; entries in those that are not are lost",
            );
        }
    }

    /// Records that do not count are taken out of their i-node blocks; what is in such a block
    /// stays.
    fn drop_records(&mut self) {
        self.dropped.sort_unstable();
        self.dropped.dedup();
        for (block, key) in self.dropped.clone() {
            if self.index.get(block).is_some_and(|i| i.role == Role::Kept) {
                let what = format!("{}: block {block}", self.base.meta.name());
                let detail = format!("the record of i-node {key} there does not count: removed");
                self.repairs.add(RepairKind::Record, what, detail);
            }
        }
    }

    /// Blocks that are given up, once it is known of all what becomes of them.
    pub fn list_unused(&mut self) {
        self.drop_records();
        let unused = self
            .index
            .blocks
            .iter()
            .filter(|info| info.role == Role::Unused && info.kind != Kind::Table);
        let unused: Vec<(u64, Kind)> = unused.map(|info| (info.id, info.kind)).collect();
        for (id, kind) in unused {
            let what = format!("{}: block {id} ({kind:?})", self.base.meta.name());
            self.repairs.add(
                RepairKind::BlockGivenUp,
                what,
                "nothing refers to it, or its contents are taken over",
            );
        }
    }
}
