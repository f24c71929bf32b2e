//! The IFile's tables: where their blocks lie, and what segments and groups are said to hold.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tandem_format::{
    FANOUT, GROUP_PER_BLOCK, Geometry, GroupEntry, ID_LIMIT, IMAP_PER_BLOCK, INO_LIMIT, Kind, Loc,
    SEG_PER_BLOCK, SegEntry, Words,
};

use super::blocks::read_table_block;
use super::report::{Findings, ProblemKind};
use crate::cache::Key;
use crate::error::{Error, Result};
use crate::ifile::root_of;
use crate::log::Segments;
use crate::space::Space;
use crate::volume::Core;

/// The IFile's tables.
pub(super) const TABLES: [Kind; 5] = [Kind::Map, Kind::Imap, Kind::Seg, Kind::Group, Kind::Free];

/// A block of the IFile.
pub(super) struct TableBlock {
    pub key: Key,
    pub loc: Loc,
    /// It has been met in the log.
    pub seen: AtomicBool,
}

/// The IFile's blocks on M as of the checkpoint, by key.
#[derive(Default)]
pub(super) struct Tables {
    pub blocks: Vec<TableBlock>,
    unknown: Mutex<Vec<(Kind, Range<u64>)>>,
}

/// Numbers that a block of a level speaks of.
fn width(kind: Kind, level: u8) -> u64 {
    let lowest = match kind {
        Kind::Map => FANOUT,
        Kind::Imap => IMAP_PER_BLOCK,
        Kind::Seg => SEG_PER_BLOCK,
        Kind::Group => GROUP_PER_BLOCK,
        _ => 1,
    };
    (0..level).fold(lowest as u64, |n, _| n.saturating_mul(FANOUT as u64))
}

/// The numbers that a table can speak of are below this.
fn end(kind: Kind, geo: &Geometry) -> u64 {
    match kind {
        Kind::Map => ID_LIMIT,
        Kind::Imap => INO_LIMIT,
        Kind::Seg => geo.segments,
        Kind::Group => u64::from(geo.groups),
        _ => u64::from(geo.groups) * geo.free_chunks(),
    }
}

impl Tables {
    /// Finds all blocks of all tables; reads the nodes above the lowest level.
    ///
    /// # Errors
    /// When the blocks are so many that listing them takes more than `memory` bytes.
    pub fn walk(core: &Core, memory: u64, findings: &Findings) -> Result<Tables> {
        let mut tables = Tables::default();
        let limit = (memory as usize / size_of::<TableBlock>()).max(1024);
        for kind in TABLES {
            let root = core.state.lock().roots[root_of(kind)];
            let mut stack = vec![(root.height, 0, root.loc)];
            while let Some((level, index, loc)) = stack.pop() {
                if loc.is_none() {
                    continue;
                }
                let key = Key::table(kind, level, index);
                tables.blocks.push(TableBlock { key, loc, seen: AtomicBool::new(false) });
                if tables.blocks.len() > limit {
                    return Err(Error::Invalid(format!(
                        "{}: the volume's tables need more than {memory} bytes of memory: allow more",
                        core.meta.name()
                    )));
                }
                if level == 0 {
                    continue;
                }
                let node = read_table_block(core, key, loc)
                    .and_then(|(_, payload)| Words::decode(&payload).map_err(|e| e.to_string()));
                match node {
                    Ok(words) => {
                        let end = end(kind, &core.geo).div_ceil(width(kind, level - 1));
                        for (slot, &word) in words.0.iter().enumerate().rev() {
                            let below = index * FANOUT as u64 + slot as u64;
                            if below < end {
                                stack.push((level - 1, below, Loc::from_raw(word)));
                            } else if word != 0 {
                                let detail = format!("slot {slot} leads beyond the table's end");
                                findings.add(
                                    ProblemKind::Damaged,
                                    block_name(core, key, loc),
                                    detail,
                                );
                            }
                        }
                    }
                    Err(e) => {
                        let what = block_name(core, key, loc);
                        findings.add(ProblemKind::Damaged, what, e);
                        tables.lose(kind, level, index);
                    }
                }
            }
        }
        tables.blocks.sort_unstable_by_key(|b| b.key);
        Ok(tables)
    }

    /// A block cannot be read: what it speaks of is unknown.
    pub fn lose(&self, kind: Kind, level: u8, index: u64) {
        let width = width(kind, level);
        let from = index.saturating_mul(width);
        let range = (kind, from..from.saturating_add(width));
        let mut unknown = self.unknown.lock();
        if !unknown.contains(&range) {
            unknown.push(range);
        }
    }

    /// Whether a table's block for a number cannot be read.
    pub fn is_lost(&self, kind: Kind, number: u64) -> bool {
        self.unknown.lock().iter().any(|(k, range)| *k == kind && range.contains(&number))
    }

    /// Whether any of a table's blocks cannot be read.
    pub fn has_lost(&self, kind: Kind) -> bool {
        self.unknown.lock().iter().any(|(k, _)| *k == kind)
    }

    /// The block with a key.
    pub fn get(&self, key: Key) -> Option<&TableBlock> {
        let at = self.blocks.binary_search_by_key(&key, |b| b.key).ok()?;
        self.blocks.get(at)
    }

    /// The lowest blocks of a table, with their indices.
    pub fn lowest(&self, kind: Kind) -> impl Iterator<Item = (u64, &TableBlock)> {
        self.blocks.iter().filter_map(move |block| match block.key.ifile() {
            Some((k, 0, index)) if k == kind => Some((index, block)),
            _ => None,
        })
    }

    /// Forgets which blocks have been met.
    pub fn forget_seen(&self) {
        for block in &self.blocks {
            block.seen.store(false, Ordering::Relaxed);
        }
    }
}

/// What messages call a block of the IFile.
pub(super) fn block_name(core: &Core, key: Key, loc: Loc) -> String {
    format!("{}: {key:?} at byte {}", core.meta.name(), loc.offset())
}

/// Reads the segment usage table into the state. What it says of its own blocks is added, as a
/// mount does.
pub(super) fn load_segments(core: &Core, tables: &Tables) {
    let count = core.geo.segments;
    let mut entries = vec![SegEntry::default(); count as usize];
    for index in 0..count.div_ceil(SEG_PER_BLOCK as u64) {
        let from = index as usize * SEG_PER_BLOCK;
        let part = match core.read_table(Kind::Seg, index) {
            Ok(bytes) => SegEntry::decode_all(&bytes.unwrap_or_default()).ok(),
            Err(_) => None,
        };
        match part {
            Some(part) => {
                entries[from..].iter_mut().zip(part).for_each(|(entry, is)| *entry = is);
            }
            // The block is met again, and reported, when the log is read.
            None => tables.lose(Kind::Seg, 0, index),
        }
    }
    let mut segs = Segments::new(&core.geo, entries);
    for block in &tables.blocks {
        if matches!(block.key.ifile(), Some((Kind::Seg, ..))) {
            segs.moved_own(Loc::NONE, block.loc);
        }
    }
    let mut st = core.state.lock();
    let c = core.commit.lock();
    segs.active = c.log.segment;
    segs.next = c.checkpoint.next_segment;
    st.segs = segs;
}

/// Reads the group descriptors into the state.
///
/// # Errors
/// When the groups cannot be what the superblock says.
pub(super) fn load_groups(core: &Core, tables: &Tables, findings: &Findings) -> Result<()> {
    let count = core.geo.groups as usize;
    let mut entries = vec![GroupEntry::default(); count];
    for index in 0..count.div_ceil(GROUP_PER_BLOCK) {
        let from = index * GROUP_PER_BLOCK;
        let expected = (count - from).min(GROUP_PER_BLOCK);
        let what = || format!("{}: group descriptor block {index}", core.meta.name());
        let part = match core.read_table(Kind::Group, index as u64) {
            Ok(bytes) => match GroupEntry::decode_all(&bytes.unwrap_or_default()) {
                Ok(part) if part.len() == expected => Some(part),
                Ok(part) => {
                    let detail = format!("{} descriptors, not {expected}", part.len());
                    findings.add(ProblemKind::Group, what(), detail);
                    None
                }
                Err(_) => None,
            },
            Err(_) => None,
        };
        match part {
            Some(part) => entries[from..from + expected].copy_from_slice(&part),
            // As above.
            None => tables.lose(Kind::Group, 0, index as u64),
        }
    }
    for (g, entry) in (0..).zip(&mut entries) {
        let (_, size) = core.geo.group_range(g);
        if entry.free > size {
            let what = format!("{}: descriptor of group {g}", core.meta.name());
            let detail = format!("{} free blocks of {size}", entry.free);
            findings.add(ProblemKind::Group, what, detail);
            tables.unknown.lock().push((Kind::Group, g.into()..u64::from(g) + 1));
            *entry = GroupEntry::default();
        }
    }
    let said = core.commit.lock().checkpoint.free_blocks;
    let free = entries.iter().map(|entry| u64::from(entry.free)).sum::<u64>();
    if said != free && !tables.has_lost(Kind::Group) {
        let what = format!("{}: checkpoint", core.meta.name());
        let detail = format!("free data blocks: counts {said}, the group descriptors {free}");
        findings.add(ProblemKind::Checkpoint, what, detail);
    }
    let space = Space::new(core.geo.blocks, core.geo.group_blocks, entries.clone())
        .map_err(|e| Error::Invalid(format!("{}: {e}", core.meta.name())))?;
    let mut st = core.state.lock();
    st.space = space;
    st.group_entries = entries;
    Ok(())
}
