//! The log without a checkpoint: every block names itself, so the newest version of each is found
//! by looking at all segments.
//!
//! Blocks are taken where a good summary lists them. Only where there is none they are looked for
//! grain by grain; then what a damaged target or attribute block may hold is passed over, since its
//! bytes were a user's and may look like a block.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use tandem_device::Device;
use tandem_format::{
    BLOCK, BlockMeta, GRAIN, Geometry, ID_LIMIT, Kind, Loc, Summary, SummaryFlags, peek,
};

use super::super::blocks::open_block;
use crate::error::Result;

/// When a block was written: crash count, then serial number of its partial segment.
pub(super) type Order = (u64, u64);

/// A good block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Version {
    pub loc: Loc,
    pub order: Order,
}

/// What is in the log.
#[derive(Default)]
pub(super) struct Scan {
    /// The newest good version of every block with an id that is wanted.
    pub blocks: FxHashMap<u64, Version>,
    /// The newest good version of the lowest blocks of the block map and the i-node map.
    pub tables: BTreeMap<(u8, u64), Version>,
    /// Blocks with changes of the IFile.
    pub deltas: Vec<Version>,
    /// The highest crash count, serial number and commit number in any summary.
    pub crash: u64,
    pub serial: u64,
    pub commit: u64,
}

/// What to look for, and where.
pub(super) struct Scanner<'a> {
    pub meta: &'a dyn Device,
    pub geo: Geometry,
    pub volume: u64,
    /// Only these blocks; all when there is none.
    pub wanted: Option<&'a FxHashSet<u64>>,
    pub progress: &'a dyn Fn(u64, u64),
}

impl Scanner<'_> {
    /// Looks at all segments, twice: commits whose end was never written are left out, as
    /// roll-forward leaves them out.
    pub fn run(&self) -> Result<Scan> {
        let mut scan = Scan::default();
        let mut partials: Vec<(Order, bool)> = Vec::new();
        self.segments(0, &mut |_, _, piece| {
            if let Piece::Partial(_, summary) = piece {
                scan.crash = scan.crash.max(summary.crash);
                scan.serial = scan.serial.max(summary.serial);
                scan.commit = scan.commit.max(summary.commit);
                let continues = summary.flags.contains(SummaryFlags::CONTINUES);
                partials.push(((summary.crash, summary.serial), continues));
            }
        })?;
        let torn = torn(partials);
        self.segments(1, &mut |base, bytes, piece| match piece {
            Piece::Partial(at, summary) => {
                let order = (summary.crash, summary.serial);
                if torn.contains(&order) {
                    return;
                }
                for (offset, entry) in summary.blocks() {
                    let from = at + offset as usize * GRAIN;
                    let to = from + usize::from(entry.grains) * GRAIN;
                    let loc = Loc::new((base + from as u64) / GRAIN as u64, entry.grains);
                    let Some(bytes) = bytes.get(from..to) else { continue };
                    if let Ok((meta, _)) = open_block(self.volume, loc, bytes) {
                        let listed = (meta.crash, meta.serial) == order && meta.id == entry.id;
                        if listed {
                            scan.enter(self.wanted, &meta, loc);
                        }
                    }
                }
            }
            Piece::Gap(from, to) => self.gap(base, bytes, from, to, &mut |meta, loc| {
                if !torn.contains(&(meta.crash, meta.serial)) {
                    scan.enter(self.wanted, meta, loc);
                }
            }),
        })?;
        scan.deltas.sort_unstable_by_key(|delta| delta.order);
        Ok(scan)
    }

    /// Reads all segments and gives their pieces to `f`: where the segment begins, its bytes, and
    /// the piece.
    fn segments(&self, round: u64, f: &mut dyn FnMut(u64, &[u8], Piece<'_>)) -> Result<()> {
        let mut bytes = vec![0; self.geo.segment_size as usize];
        for n in 0..self.geo.segments {
            (self.progress)(round * self.geo.segments + n, 2 * self.geo.segments);
            let base = self.geo.segment_offset(n);
            self.read(base, &mut bytes);
            let (mut at, mut gap) = (0, 0);
            while at < bytes.len() {
                match summary(&bytes, at, self.volume) {
                    Some(summary) => {
                        if gap < at {
                            f(base, &bytes, Piece::Gap(gap, at));
                        }
                        f(base, &bytes, Piece::Partial(at, &summary));
                        at += summary.total as usize * GRAIN;
                        gap = at;
                    }
                    None => at += BLOCK,
                }
            }
            if gap < at {
                f(base, &bytes, Piece::Gap(gap, at));
            }
        }
        Ok(())
    }

    /// Reads a segment; pages that cannot be read are zeros.
    fn read(&self, base: u64, bytes: &mut [u8]) {
        if self.meta.read_at(bytes, base).is_ok() {
            return;
        }
        for (n, page) in (0..).zip(bytes.chunks_mut(BLOCK)) {
            if self.meta.read_at(page, base + n * BLOCK as u64).is_err() {
                page.fill(0);
            }
        }
    }

    /// Looks for blocks where no summary lists any.
    fn gap(
        &self,
        base: u64,
        bytes: &[u8],
        from: usize,
        to: usize,
        f: &mut dyn FnMut(&BlockMeta, Loc),
    ) {
        let mut at = from;
        while at < to {
            let Some(claim) = bytes.get(at..at + GRAIN).and_then(peek) else {
                at += GRAIN;
                continue;
            };
            let len = usize::from(claim.grains) * GRAIN;
            let loc = Loc::new((base + at as u64) / GRAIN as u64, claim.grains);
            let good = bytes.get(at..at + len).and_then(|b| open_block(self.volume, loc, b).ok());
            at += match (&good, claim.kind) {
                (None, kind) if !matches!(kind, Kind::Symlink | Kind::Xattr) => GRAIN,
                _ => len,
            };
            if let Some((meta, _)) = good {
                f(&meta, loc);
            }
        }
    }
}

/// A part of a segment.
enum Piece<'a> {
    /// A partial segment at this byte.
    Partial(usize, &'a Summary),
    /// Bytes that no good summary speaks of.
    Gap(usize, usize),
}

fn summary(bytes: &[u8], at: usize, volume: u64) -> Option<Summary> {
    let (_, total) = Summary::peek(bytes.get(at..at + BLOCK)?).ok()?;
    let len = total as usize * GRAIN;
    if len == 0 || !len.is_multiple_of(BLOCK) || len > bytes.len() - at {
        return None;
    }
    let summary = Summary::decode(&bytes[at..at + len]).ok()?;
    (summary.volume == volume).then_some(summary)
}

/// Partial segments at the end of what was written under a crash count that wait for more.
fn torn(mut partials: Vec<(Order, bool)>) -> FxHashSet<Order> {
    partials.sort_unstable();
    partials.dedup();
    let mut torn = FxHashSet::default();
    for same in partials.chunk_by(|a, b| a.0.0 == b.0.0) {
        let mut next = None;
        for &((crash, serial), continues) in same.iter().rev() {
            let follows = next.is_none_or(|next: u64| serial.checked_add(1) == Some(next));
            if !(continues && follows) {
                break;
            }
            torn.insert((crash, serial));
            next = Some(serial);
        }
    }
    torn
}

impl Scan {
    fn enter(&mut self, wanted: Option<&FxHashSet<u64>>, meta: &BlockMeta, loc: Loc) {
        let version = Version { loc, order: (meta.crash, meta.serial) };
        let newer = |old: &Version| old.order < version.order;
        match meta.kind {
            _ if meta.id >= ID_LIMIT => {}
            Kind::Delta => self.deltas.push(version),
            kind if (kind as u8) < Kind::Delta as u8 => {
                let taken = wanted.is_none_or(|wanted| wanted.contains(&meta.id));
                if taken && self.blocks.get(&meta.id).is_none_or(newer) {
                    self.blocks.insert(meta.id, version);
                }
            }
            // What a table's block speaks of must be numbers.
            kind @ (Kind::Map | Kind::Imap) if meta.level == 0 && meta.id < ID_LIMIT >> 8 => {
                let key = (kind as u8, meta.id);
                if self.tables.get(&key).is_none_or(newer) {
                    self.tables.insert(key, version);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unfinished_end_is_torn() {
        let partials = vec![
            ((1, 4), true),
            ((1, 7), false),
            ((1, 8), true),
            ((1, 9), true),
            ((2, 3), true),
            ((2, 5), true),
            ((3, 1), false),
        ];
        let mut torn: Vec<Order> = torn(partials).into_iter().collect();
        torn.sort_unstable();
        assert_eq!(torn, [(1, 8), (1, 9), (2, 5)]);
    }
}
