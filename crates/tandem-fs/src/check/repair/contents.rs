//! Who has which data blocks, and what is to be done where several have the same.

use std::collections::{BTreeMap, BTreeSet};

use tandem_format::{Content, Extent, ExtentNode, Kind, Record};

use super::super::tree::{Below, misplaced};
use super::index::{Info, Role};
use super::mend::kind_of;
use super::report::RepairKind;
use super::scan::Order;
use super::survey::{CONTENTS, MADE, MEND, Survey};
use crate::extents::{end, minus};
use crate::space::Run;
use crate::types::FileKind;

/// An extent, and whether it comes from an older version of its block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub extent: Extent,
    pub stale: bool,
}

/// The extents of a file, and the nodes of its tree.
#[derive(Default)]
pub(super) struct Mapped {
    pub extents: Vec<Piece>,
    nodes: Vec<u64>,
    /// It is as its record says.
    sound: bool,
}

/// Of several that claim a data block, the greatest keeps it: not from an older version of its
/// record, written last, the lowest i-node number.
type Rank = (bool, Order, std::cmp::Reverse<u64>);

impl Survey<'_> {
    /// Looks into every record that counts: corrects it, and enters the data blocks it claims.
    pub fn find_contents(&mut self) {
        let (mut flags, mut kept, mut repairs) = (Vec::new(), Vec::new(), Vec::new());
        let mut claims = std::mem::take(&mut self.claims);
        let mut twice: Vec<Run> = Vec::new();
        self.visit("reading all extents", |_| true, &mut |met| {
            let Some(Ok(rec)) = &met.record else { return };
            if !self.is_home(rec.ino, met.info.id, met.entry.key) {
                return;
            }
            if met.info.kind == Kind::Inode {
                kept.push(met.info.id);
            }
            let mut changed = rec.clone();
            let mended = self.mend(&mut changed);
            repairs.extend(mended.wrong.iter().map(|wrong| (rec.ino, *wrong)));
            kept.extend(mended.blocks);
            // In a leaf that is its directory's affair.
            let tag = FileKind::of_tag(met.entry.kind);
            let mistagged = met.info.kind == Kind::Inode && tag != kind_of(&changed);
            if mistagged {
                let detail = "the type noted in its block is not what it holds";
                repairs.push((rec.ino, (RepairKind::Record, detail)));
            }
            if mistagged || changed != *rec {
                flags.push((rec.ino, MEND));
            }
            let mapped = self.extents_of(rec, met.info);
            if mapped.sound {
                kept.extend(mapped.nodes);
            } else {
                flags.push((rec.ino, CONTENTS));
                let detail = "not all of its extents can be read or can be: what is left of them is kept, the rest reads as zeros";
                repairs.push((rec.ino, (RepairKind::Contents, detail)));
            }
            for piece in mapped.extents {
                claims.claim(run(&piece.extent), &mut |run| twice.push(run));
            }
        });
        let made = self.inodes.iter().filter(|i| i.is(MADE) && i.kind == FileKind::Regular);
        for inode in made {
            for piece in self.salvage(inode.ino) {
                claims.claim(run(&piece.extent), &mut |run| twice.push(run));
            }
        }
        self.claims = claims;
        for id in kept {
            self.index.set(id, Role::Kept);
        }
        for (ino, flag) in flags {
            if let Some(inode) = self.inode_mut(ino) {
                inode.flags |= flag;
            }
        }
        for (ino, (kind, detail)) in repairs {
            let what = self.name(ino);
            self.repairs.add(kind, what, detail);
        }
        if !twice.is_empty() {
            self.find_crossed(twice);
        }
    }

    /// The extents of a record; when they are not as it says, what is left of them.
    pub fn extents_of(&self, rec: &Record, info: &Info) -> Mapped {
        let mut mapped = Mapped { sound: true, ..Mapped::default() };
        match &rec.content {
            Content::Extents(list) => {
                for extent in list.iter() {
                    if self.can_be(extent) {
                        mapped.extents.push(Piece { extent: *extent, stale: info.stale });
                    } else {
                        mapped.sound = false;
                    }
                }
            }
            &Content::Tree { root, height, blocks, extents } => {
                let root = Below { id: root, level: height, first: None, bound: u64::MAX };
                let sums = self.tree(rec.ino, root, &mut mapped);
                mapped.sound = sums == Some((blocks, extents));
                if !mapped.sound {
                    mapped.nodes.clear();
                    mapped.extents = self.salvage(rec.ino);
                }
            }
            _ => {}
        }
        mapped
    }

    /// Whether an extent lies within the data area and the file.
    fn can_be(&self, e: &Extent) -> bool {
        let len = u64::from(e.len);
        let most = (1 << 63) / u64::from(self.base.sb.block_size);
        len > 0
            && e.start.checked_add(len).is_some_and(|end| end <= self.base.sb.blocks)
            && e.logical.checked_add(len).is_some_and(|end| end <= most)
    }

    /// Walks an extent tree; returns its data blocks and its extents, when all of it is sound.
    fn tree(&self, ino: u64, root: Below, mapped: &mut Mapped) -> Option<(u64, u64)> {
        let (mut blocks, mut count) = (0u64, 0u64);
        let mut stack = vec![root];
        while let Some(below) = stack.pop() {
            let info = self.index.get(below.id)?;
            let ours = (info.kind, info.owner, info.level) == (Kind::Extent, ino, below.level);
            if !ours || info.stale || mapped.nodes.contains(&below.id) && mapped.nodes.len() < 64 {
                return None;
            }
            let node = self.node(info)?;
            if misplaced(&node, &below).is_some() {
                return None;
            }
            mapped.nodes.push(below.id);
            for extent in &node.extents {
                if !self.can_be(extent) {
                    return None;
                }
                blocks = blocks.checked_add(extent.len.into())?;
                count += 1;
                mapped.extents.push(Piece { extent: *extent, stale: false });
            }
            for (i, &(first, id)) in node.children.iter().enumerate().rev() {
                let bound = node.children.get(i + 1).map_or(below.bound, |next| next.0);
                let level = below.level.checked_sub(1)?;
                stack.push(Below { id, level, first: Some(first), bound });
            }
        }
        Some((blocks, count))
    }

    fn node(&self, info: &Info) -> Option<ExtentNode> {
        let (head, payload) = self.base.fetch(info.loc)?;
        ExtentNode::decode(&payload, head.level).ok()
    }

    /// What the extent blocks of a file have that are left, whatever its tree says. Where two say
    /// something of the same part of the file, the newer one counts.
    pub fn salvage(&self, ino: u64) -> Vec<Piece> {
        let mut list: BTreeMap<u64, Piece> = BTreeMap::new();
        for info in self.index.newest_first(ino, Kind::Extent) {
            let Some(node) = (info.level == 0).then(|| self.node(&info)).flatten() else {
                continue;
            };
            for extent in node.extents.into_iter().filter(|extent| self.can_be(extent)) {
                for extent in uncovered(&list, extent) {
                    list.insert(extent.logical, Piece { extent, stale: info.stale });
                }
            }
        }
        list.into_values().collect()
    }

    /// Finds out who claims data blocks that are claimed more than once, and who keeps them.
    fn find_crossed(&mut self, mut twice: Vec<Run>) {
        twice.sort_unstable_by_key(|run| run.start);
        let mut runs: Vec<Run> = Vec::new();
        for run in twice {
            match runs.last_mut() {
                Some(last) if run.start <= last.end() => {
                    last.len = last.len.max(run.end() - last.start);
                }
                _ => runs.push(run),
            }
        }
        let mut claims: Vec<(Run, Rank)> = Vec::new();
        let mut claim = |ino: u64, order: Order, piece: &Piece| {
            let whole = run(&piece.extent);
            let from = runs.partition_point(|run| run.end() <= whole.start);
            for run in runs[from..].iter().take_while(|run| run.start < whole.end()) {
                let (start, end) = (run.start.max(whole.start), run.end().min(whole.end()));
                let rank = (!piece.stale, order, std::cmp::Reverse(ino));
                claims.push((Run { start, len: end - start }, rank));
            }
        };
        self.visit("looking for crossed extents", |_| true, &mut |met| {
            let Some(Ok(rec)) = &met.record else { return };
            if self.is_home(rec.ino, met.info.id, met.entry.key) {
                let mapped = self.extents_of(rec, met.info);
                mapped.extents.iter().for_each(|piece| claim(rec.ino, met.info.order, piece));
            }
        });
        let made = self.inodes.iter().filter(|i| i.is(MADE) && i.kind == FileKind::Regular);
        for inode in made {
            self.salvage(inode.ino).iter().for_each(|piece| claim(inode.ino, (0, 0), piece));
        }
        self.share_out(&claims);
    }

    /// Sweeps over all claims, border by border.
    fn share_out(&mut self, claims: &[(Run, Rank)]) {
        let mut borders: Vec<(u64, bool, usize)> = Vec::with_capacity(claims.len() * 2);
        for (n, (run, _)) in claims.iter().enumerate() {
            borders.extend([(run.start, true, n), (run.end(), false, n)]);
        }
        borders.sort_unstable();
        let mut active: BTreeSet<(Rank, usize)> = BTreeSet::new();
        let mut losers: BTreeMap<u64, u64> = BTreeMap::new();
        let mut at = 0;
        for (block, begins, n) in borders {
            if let (true, Some(((_, _, keeper), _))) = (block > at, active.last()) {
                let len = block - at;
                let keeper = keeper.0;
                match self.crossed.last_mut() {
                    Some((run, ino)) if run.end() == at && *ino == keeper => run.len += len,
                    _ => self.crossed.push((Run { start: at, len }, keeper)),
                }
                for (rank, _) in active.iter().rev().skip(1) {
                    let copied = if rank.0 { len } else { 0 };
                    *losers.entry(rank.2.0).or_default() += copied;
                    self.copies += copied;
                }
            }
            at = block;
            let claim = (claims[n].1, n);
            if begins {
                active.insert(claim);
            } else {
                active.remove(&claim);
            }
        }
        // The keeper may lose another part, or claim the same twice: then it is among them.
        for (ino, blocks) in losers {
            let what = self.name(ino);
            let detail = format!("claims data blocks of others: {blocks} are copied for it");
            self.repairs.add(RepairKind::Copy, what, detail);
            if let Some(inode) = self.inode_mut(ino) {
                inode.flags |= CONTENTS;
            }
            for at in self.index.of_owner(ino).collect::<Vec<_>>() {
                if self.index.blocks[at].kind == Kind::Extent {
                    self.index.blocks[at].role = Role::Unused;
                }
            }
        }
    }
}

/// The data blocks of an extent.
pub(super) fn run(e: &Extent) -> Run {
    Run { start: e.start, len: e.len.into() }
}

/// The parts of an extent that no other covers.
fn uncovered(list: &BTreeMap<u64, Piece>, extent: Extent) -> Vec<Extent> {
    let mut left = vec![extent];
    let from = list.range(..extent.logical).next_back().map_or(extent.logical, |(at, _)| *at);
    for (_, other) in list.range(from..end(&extent)) {
        left = left.iter().flat_map(|part| minus(part, &other.extent)).collect();
    }
    left
}
