//! Blocks in use that the cleaner would not find: no summary lists them, or a damaged one hides those
//! behind it. They are written again.

use rustc_hash::FxHashSet;
use tandem_format::{BLOCK, GRAIN, Summary};

use super::index::Role;
use super::report::RepairKind;
use super::survey::Survey;

impl Survey<'_> {
    /// Finds the blocks that stay, but have to be moved.
    pub fn find_unlisted(&mut self) {
        let geo = self.base.geo;
        let size = u64::from(geo.segment_size);
        let segment = |at: u64| at.saturating_sub(geo.segment_offset(0)) / size;
        let mut kept: Vec<(u64, u64)> = self
            .index
            .places(|info| info.role == Role::Kept)
            .iter()
            .map(|(id, loc)| (loc.grain(), *id))
            .collect();
        kept.sort_unstable();
        let mut moved = Vec::new();
        for same in kept.chunk_by(|a, b| segment(a.0 * GRAIN as u64) == segment(b.0 * GRAIN as u64))
        {
            let listed = self.listed(segment(same[0].0 * GRAIN as u64));
            moved.extend(same.iter().filter(|(grain, _)| !listed.contains(grain)).map(|b| b.1));
        }
        for &id in &moved {
            let what = format!("{}: block {id}", self.base.meta.name());
            self.repairs.add(RepairKind::Moved, what, "no summary that can be followed lists it");
        }
        self.moved = moved;
    }

    /// Where the blocks begin that the summaries of a segment list, up to the first damaged one.
    fn listed(&self, segment: u64) -> FxHashSet<u64> {
        let (meta, base) = (&*self.base.meta, self.base.geo.segment_offset(segment));
        let size = self.base.geo.segment_size as usize;
        let mut listed = FxHashSet::default();
        let (mut at, mut last) = (0, None);
        let mut page = vec![0; BLOCK];
        while at + BLOCK <= size {
            page.resize(BLOCK, 0);
            let start = base + at as u64;
            let read = meta.read_at(&mut page, start).ok();
            let Some(Ok((blocks, total))) = read.map(|()| Summary::peek(&page)) else { break };
            let (head, len) = (Summary::len_for(blocks as usize), total as usize * GRAIN);
            if len == 0 || len > size - at || head > len {
                break;
            }
            if head > BLOCK {
                page.resize(head, 0);
                if meta.read_at(&mut page, start).is_err() {
                    break;
                }
            }
            let Ok(summary) = Summary::decode(&page) else { break };
            if summary.volume != self.base.sb.volume || last.is_some_and(|l| l >= summary.serial) {
                break;
            }
            last = Some(summary.serial);
            listed.extend(
                summary.blocks().map(|(offset, _)| start / GRAIN as u64 + u64::from(offset)),
            );
            at += len;
        }
        listed
    }
}
