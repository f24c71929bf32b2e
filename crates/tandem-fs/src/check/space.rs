//! Free space: groups, their descriptors, and the runs of free blocks.

use std::sync::atomic::Ordering;

use tandem_format::{GroupEntry, Kind};

use super::pass::Pass;
use super::report::ProblemKind;

impl Pass<'_> {
    /// What messages call a group.
    fn group_name(&self, g: u32) -> String {
        format!("{}: group {g}", self.opened.core.meta.name())
    }

    /// Reads the free space of all groups. Groups in `recovered` have changed since the
    /// checkpoint.
    pub fn free_space(&self, recovered: &[u32]) {
        let core = &self.opened.core;
        for g in 0..core.geo.groups {
            let (start, size) = core.geo.group_range(g);
            if self.opened.tables.is_lost(Kind::Group, g.into()) {
                continue;
            }
            let encoded = if recovered.binary_search(&g).is_ok() {
                core.state.lock().space.encode_group(g, &[]).map(|e| (e.entry, e.bytes)).ok()
            } else {
                self.stored_group(g)
            };
            let Some((entry, bytes)) = encoded else { continue };
            let mut found = 0u64;
            let covered = if bytes.is_empty() && (entry.free == 0 || entry.free == size) {
                // All or nothing needs no bytes.
                if entry.free > 0 {
                    self.cover(start, start + u64::from(size), 0);
                }
                found = entry.free.into();
                Ok(())
            } else {
                runs(&bytes, entry.bitmap, size, core.geo.group_blocks, &mut |from, len| {
                    found += u64::from(len);
                    let from = start + u64::from(from);
                    self.cover(from, from + u64::from(len), 0);
                })
            };
            if let Err(detail) = covered {
                self.findings.add(ProblemKind::FreeSpace, self.group_name(g), detail);
            } else if found != u64::from(entry.free) {
                let detail = format!("{found} free blocks, its descriptor says {}", entry.free);
                self.findings.add(ProblemKind::Group, self.group_name(g), detail);
            }
        }
    }

    /// A group's descriptor and free space as of the checkpoint.
    fn stored_group(&self, g: u32) -> Option<(GroupEntry, Vec<u8>)> {
        let core = &self.opened.core;
        let entry = core.state.lock().group_entries.get(g as usize).copied()?;
        let per_group = core.geo.free_chunks();
        if u64::from(entry.chunks) > per_group {
            let detail = format!("free space of {} blocks, {per_group} at most", entry.chunks);
            self.findings.add(ProblemKind::Group, self.group_name(g), detail);
            return None;
        }
        let mut bytes = Vec::new();
        for chunk in 0..u64::from(entry.chunks) {
            let index = u64::from(g) * per_group + chunk;
            match core.read_table(Kind::Free, index) {
                Ok(Some(part)) => bytes.extend_from_slice(&part),
                Ok(None) => {
                    let detail = format!("block {chunk} of its free space is missing");
                    self.findings.add(ProblemKind::FreeSpace, self.group_name(g), detail);
                    return None;
                }
                // Reported where the log is read.
                Err(_) => return None,
            }
        }
        Some((entry, bytes))
    }

    /// Blocks of the free-space table that no group has.
    pub fn stray_free_blocks(&self) {
        let core = &self.opened.core;
        let per_group = core.geo.free_chunks();
        for (index, block) in self.opened.tables.lowest(Kind::Free) {
            let (g, chunk) = (index / per_group, index % per_group);
            let chunks = core.state.lock().group_entries.get(g as usize).map_or(0, |e| e.chunks);
            if chunk >= chunks.into() && !self.opened.tables.is_lost(Kind::Group, g) {
                let what = super::tables::block_name(core, block.key, block.loc);
                let detail =
                    format!("group {g} has {chunks} blocks of free space, this is one more");
                self.findings.add(ProblemKind::FreeSpace, what, detail);
            }
        }
    }

    /// Compares the directories and entries found with the descriptors.
    pub fn group_counts(&self) {
        for (g, [dirs, entries]) in (0..).zip(&self.counts.groups) {
            if self.opened.tables.is_lost(Kind::Group, g.into()) {
                continue;
            }
            let said = self.opened.core.state.lock().space.entry(g);
            let found = (dirs.load(Ordering::Relaxed), entries.load(Ordering::Relaxed));
            if found != (said.dirs.into(), said.inodes.into()) {
                let detail = format!(
                    "its descriptor counts {} directories with {} entries, there are {} with {}",
                    said.dirs, said.inodes, found.0, found.1
                );
                self.findings.conclude(ProblemKind::Group, self.group_name(g), detail);
            }
        }
    }
}

/// Gives the runs of free blocks of a group of `size` blocks to `f`; `full` is the size of all
/// groups but the last.
fn runs(
    bytes: &[u8],
    bitmap: bool,
    size: u32,
    full: u32,
    f: &mut dyn FnMut(u32, u32),
) -> Result<(), String> {
    if bitmap { bitmap_runs(bytes, size, full, f) } else { list_runs(bytes, size, f) }
}

fn list_runs(bytes: &[u8], size: u32, f: &mut dyn FnMut(u32, u32)) -> Result<(), String> {
    let word = |at: usize| match bytes.get(at..at + 4) {
        Some(&[a, b, c, d]) => Ok(u32::from_le_bytes([a, b, c, d])),
        _ => Err(format!("a list of {} bytes ends too early", bytes.len())),
    };
    let count = word(0)? as usize;
    if bytes.len() != count.saturating_mul(8).saturating_add(4) {
        return Err(format!("a list of {count} runs has {} bytes", bytes.len()));
    }
    let mut next = 0;
    for n in 0..count {
        let (start, len) = (word(4 + 8 * n)?, word(8 + 8 * n)?);
        let end = u64::from(start) + u64::from(len);
        if len == 0 || u64::from(start) < next || end > size.into() {
            return Err(format!("run {start}+{len} is empty, out of order, or not in the group"));
        }
        f(start, len);
        next = end + 1;
    }
    Ok(())
}

fn bitmap_runs(
    bytes: &[u8],
    size: u32,
    full: u32,
    f: &mut dyn FnMut(u32, u32),
) -> Result<(), String> {
    if bytes.len() != full.div_ceil(8) as usize {
        return Err(format!("a bitmap of {} bytes for {full} blocks", bytes.len()));
    }
    let (mut from, mut len) = (0u32, 0u32);
    for (n, &byte) in (0u32..).zip(bytes) {
        let mut rest = u32::from(byte);
        while rest != 0 {
            let bit = rest.trailing_zeros();
            let more = (rest >> bit).trailing_ones();
            rest &= u32::MAX << (bit + more);
            let start = n * 8 + bit;
            if start + more > size {
                return Err(format!("block {} is free, the group has {size}", start + more - 1));
            }
            if len > 0 && from + len == start {
                len += more;
                continue;
            }
            if len > 0 {
                f(from, len);
            }
            (from, len) = (start, more);
        }
    }
    if len > 0 {
        f(from, len);
    }
    Ok(())
}
