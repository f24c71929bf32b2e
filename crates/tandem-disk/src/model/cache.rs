//! The drive's memory: segments that hold what was read, read ahead, or written last.

mod ages;

use serde::{Deserialize, Serialize};

use ages::Ages;

/// How far a drive reads on behind a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAhead {
    /// Not at all.
    None,
    /// To the end of the track.
    Track,
    /// To the end of the cylinder.
    Cylinder,
    /// Until the segment is full.
    #[default]
    Segment,
    /// To the end of the track, and of the next one when the segment reaches back before it.
    TwoTracks,
}

/// When a drive reports a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteReporting {
    /// When it is on the medium.
    #[default]
    Medium,
    /// When its data are in a segment, if what was written before is on the medium or this goes
    /// on where that ends.
    Sequential,
    /// When its data are in memory and there is room for them; the medium follows in order of
    /// addresses.
    Memory,
}

/// What a drive does with its memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheParameters {
    /// Segments; 0 for no cache.
    pub segments: u32,
    /// Sectors of a segment.
    pub segment_sectors: u64,
    /// How far to read ahead.
    pub read_ahead: ReadAhead,
    /// Sectors to read ahead at most; 0 for what the segment holds.
    pub max_read_ahead: u64,
    /// Sectors to read ahead even when another request waits.
    pub min_read_ahead: u64,
    /// Whether what was asked for is kept when reading ahead would run over it.
    pub keep_requested: bool,
    /// Whether what was asked for leaves its segment when it has been given away.
    pub drop_requested: bool,
    /// Whether a hit on an idle segment has the drive read on behind it.
    pub read_ahead_on_idle_hit: bool,
    /// Whether sectors are kept that pass by before those asked for.
    pub read_passing: bool,
    /// Whether a read may begin in its middle when the head lands there.
    pub zero_latency: bool,
    /// Whether a write may.
    pub zero_latency_writes: bool,
    /// When writes are reported.
    pub writes: WriteReporting,
    /// Sectors that may be in memory only, for [`WriteReporting::Memory`].
    pub dirty_sectors: u64,
    /// Whether reads may hit what was written.
    pub hits_on_written: bool,
    /// Whether written data have a segment of their own, which reads cannot hit and which is not
    /// counted in `segments`.
    pub write_segment: bool,
    /// Whether a read that begins with the sector now being read ahead is a hit.
    pub hits_on_arriving: bool,
    /// Whether a full hit is served while the medium is busy for another request.
    pub hits_while_busy: bool,
    /// Whether sequential writes share a segment.
    pub combine_writes: bool,
    /// Whether reading ahead stops in mid-sector.
    pub stop_in_sector: bool,
    /// Share of a read that must be in memory before the bus is taken, 0 to 1.
    pub read_watermark: f64,
}

impl Default for CacheParameters {
    fn default() -> CacheParameters {
        CacheParameters {
            segments: 0,
            segment_sectors: 0,
            read_ahead: ReadAhead::None,
            max_read_ahead: 0,
            min_read_ahead: 0,
            keep_requested: false,
            drop_requested: false,
            read_ahead_on_idle_hit: false,
            read_passing: false,
            zero_latency: false,
            zero_latency_writes: false,
            writes: WriteReporting::Medium,
            dirty_sectors: 0,
            hits_on_written: true,
            write_segment: false,
            hits_on_arriving: false,
            hits_while_busy: false,
            combine_writes: true,
            stop_in_sector: false,
            read_watermark: 0.0,
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Segment {
    start: u64,
    end: u64,
}

/// The segments; the one used longest ago is taken first.
#[derive(Debug, Clone)]
pub struct Segments {
    list: Vec<Segment>,
    /// The first sectors of those that are not empty, rising, and which they are.
    order: Vec<(u64, usize)>,
    /// Empty ones are the oldest.
    ages: Ages,
    size: u64,
}

impl Segments {
    /// So many empty segments of so many sectors.
    pub fn new(count: u32, size: u64) -> Segments {
        let count = if size == 0 { 0 } else { count as usize };
        let list = vec![Segment::default(); count];
        Segments { list, order: Vec::new(), ages: Ages::new(count), size }
    }

    /// Sectors of a segment.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The segment that holds `sector`, with the most sectors from there on, and its end.
    pub fn find(&self, sector: u64) -> Option<(usize, u64)> {
        let behind = self.order.partition_point(|&(start, _)| start <= sector);
        // No segment reaches further than its size.
        let near = self.order[..behind].iter().rev();
        let near = near.take_while(|&&(start, _)| sector - start < self.size);
        let ends = near.map(|&(_, at)| (at, self.list[at].end));
        ends.filter(|&(_, end)| sector < end).max_by_key(|&(at, end)| (end, at))
    }

    /// Empties the segment used longest ago, an empty one first, and gives it away; not `but`.
    pub fn take(&mut self, but: Option<usize>) -> Option<usize> {
        let at = self.ages.oldest(but)?;
        self.set(at, 0, 0);
        Some(at)
    }

    /// Has a segment hold exactly this, or the last part of it that it can.
    pub fn fill(&mut self, at: usize, start: u64, end: u64) {
        self.set(at, start.max(end.saturating_sub(self.size)), end);
        self.touch(at);
    }

    /// Has a segment go on to `end`; its front goes when it is full.
    pub fn extend(&mut self, at: usize, end: u64) {
        let Segment { start, end: before } = self.list[at];
        let end = end.max(before);
        let was_empty = start >= before;
        self.set(at, start.max(end.saturating_sub(self.size)), end);
        if was_empty {
            self.touch(at);
        }
    }

    /// Has a segment hold nothing before `start`.
    pub fn drop_before(&mut self, at: usize, start: u64) {
        let Segment { start: before, end } = self.list[at];
        if before < start && before < end {
            self.set(at, start, end.max(start));
        }
    }

    /// Marks a segment as used now, unless it is empty.
    pub fn touch(&mut self, at: usize) {
        if self.list[at].start < self.list[at].end {
            self.ages.renew(at);
        }
    }

    /// What a segment holds.
    pub fn range(&self, at: usize) -> (u64, u64) {
        (self.list[at].start, self.list[at].end)
    }

    /// Empties every segment that holds any of these sectors.
    pub fn forget(&mut self, start: u64, end: u64) {
        let from = start.saturating_sub(self.size);
        let mut next = self.order.partition_point(|&(first, _)| first < from);
        while let Some(&(first, at)) = self.order.get(next).filter(|(first, _)| *first < end) {
            match first < end && start < self.list[at].end {
                true => self.set(at, 0, 0),
                false => next += 1,
            }
        }
    }

    fn set(&mut self, at: usize, start: u64, end: u64) {
        let segment = &mut self.list[at];
        let (old, held) = (segment.start, segment.start < segment.end);
        (segment.start, segment.end) = (start, end);
        let holds = start < end;
        if !holds {
            self.ages.expire(at);
        }
        if held && holds && old == start {
            return;
        }
        if held && let Ok(place) = self.order.binary_search(&(old, at)) {
            self.order.remove(place);
        }
        if holds && let Err(place) = self.order.binary_search(&(start, at)) {
            self.order.insert(place, (start, at));
        }
    }
}

#[cfg(test)]
mod tests;
