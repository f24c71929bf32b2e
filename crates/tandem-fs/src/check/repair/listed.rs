//! Blocks in use that the cleaner would not find: no summary lists them as what they are, or a
//! damaged one hides those behind it. They are written again.

use rustc_hash::FxHashMap;
use tandem_format::{BLOCK, GRAIN, Loc, Summary, SummaryEntry};

use super::super::Progress;
use super::super::blocks::open_block;
use super::super::scan::Listed;
use super::index::{Role, read_all};
use super::report::RepairKind;
use super::scan::Order;
use super::survey::Survey;

/// What the summaries of a segment list, by the grain where it begins, with when it was written.
type Entries = FxHashMap<u64, (SummaryEntry, Order)>;

impl Survey<'_> {
    /// Finds the blocks that stay, but have to be moved.
    pub fn find_unlisted(&mut self) {
        let (base, size) = (&self.base, u64::from(self.base.geo.segment_size));
        let kept = self.index.places(|info| info.role == Role::Kept);
        let progress = |done, total| {
            let phase = "comparing blocks with their summaries";
            (self.source.progress)(Progress { phase, done, total });
        };
        let mut segment: Option<(u64, Entries)> = None;
        let mut moved = Vec::new();
        read_all(base, kept, &progress, &mut |id, loc, bytes| {
            let n = loc.offset().saturating_sub(base.geo.segment_offset(0)) / size;
            if segment.as_ref().is_none_or(|(known, _)| *known != n) {
                segment = Some((n, self.listed(n)));
            }
            let entry = segment.as_ref().and_then(|(_, entries)| entries.get(&loc.grain()));
            if !entry.is_some_and(|entry| fits(base.sb.volume, id, loc, bytes, entry)) {
                moved.push(id);
            }
        });
        for &id in &moved {
            let what = format!("{}: block {id}", self.base.meta.name());
            let detail = "no summary that can be followed lists it as what it is";
            self.repairs.add(RepairKind::Moved, what, detail);
        }
        self.moved = moved;
    }

    /// What the summaries of a segment list, up to the first damaged one.
    fn listed(&self, segment: u64) -> Entries {
        let (meta, base) = (&*self.base.meta, self.base.geo.segment_offset(segment));
        let size = self.base.geo.segment_size as usize;
        let mut listed = Entries::default();
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
            let order = (summary.crash, summary.serial);
            let grain = |offset: u32| start / GRAIN as u64 + u64::from(offset);
            listed.extend(summary.blocks().map(|(at, entry)| (grain(at), (*entry, order))));
            at += len;
        }
        listed
    }
}

/// Whether a block is what a summary lists.
fn fits(
    volume: u64,
    id: u64,
    loc: Loc,
    bytes: Option<&[u8]>,
    (entry, (crash, serial)): &(SummaryEntry, Order),
) -> bool {
    let listed = Listed { entry, crash: *crash, serial: *serial };
    (entry.id, entry.grains) == (id, loc.grains())
        && bytes.is_some_and(|bytes| {
            open_block(volume, loc, bytes).is_ok_and(|(meta, _)| listed.fits(&meta, bytes))
        })
}
