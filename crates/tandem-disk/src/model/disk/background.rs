//! What a disk does between requests: reads ahead, and writes what it has reported.

use super::{Ahead, Dirty, HardDisk};
use crate::model::cache::ReadAhead;
use crate::request::{Nanos, Request};

impl HardDisk {
    /// Has the head work on what is left to do, up to `until`.
    pub(super) fn advance(&mut self, until: Nanos) {
        self.read_ahead(until);
        if self.ahead.is_none() {
            while self.write_one(until) {}
        }
    }

    fn read_ahead(&mut self, until: Nanos) {
        while let Some(mut ahead) = self.ahead {
            if ahead.next == ahead.passed.0 {
                ahead.next = ahead.next.max(ahead.passed.1);
                self.segments.extend(ahead.segment, ahead.next);
            }
            if ahead.next >= ahead.limit {
                self.ahead = None;
                return;
            }
            self.ahead = Some(ahead);
            if until <= self.head_time {
                return;
            }
            let stop = if ahead.next < ahead.passed.0 {
                ahead.limit.min(ahead.passed.0)
            } else {
                ahead.limit
            };
            let begin = self.head_time;
            let (pass, place) =
                self.mechanics.pass(&self.geometry, ahead.next, stop - ahead.next, begin, None);
            let whole = pass.end <= until;
            let done = if whole {
                pass.sectors
            } else if until > pass.start {
                // Slipped slots are few; a sector too many is corrected by the next pass.
                let slots = (until - pass.start) * u64::from(place.slots) / self.mechanics.period();
                slots.min(pass.sectors.saturating_sub(1))
            } else {
                0
            };
            if done > 0 {
                self.mechanics.settle_on(&place);
                let slots = self.geometry.slots_of(&place, done);
                self.head_time = pass.start + self.mechanics.slots(&place, slots);
                ahead.next += done;
                self.segments.extend(ahead.segment, ahead.next);
            }
            self.ahead = Some(ahead);
            if !whole {
                return;
            }
        }
    }

    /// Stops reading ahead at `at`, up to which it has been accounted for; from then on the head
    /// is free at `head_time`.
    pub(super) fn stop_reading_ahead(&mut self, at: Nanos) {
        let Some(ahead) = self.ahead.take() else {
            self.head_time = self.head_time.max(at);
            return;
        };
        if ahead.next < ahead.least {
            self.ahead = Some(Ahead { limit: ahead.least, ..ahead });
            self.read_ahead(Nanos::MAX / 2);
            self.ahead = None;
            self.head_time = self.head_time.max(at);
            return;
        }
        let begin = self.head_time;
        if begin >= at {
            self.head_time = at;
            return;
        }
        let left = ahead.limit.saturating_sub(ahead.next).max(1);
        let (pass, place) = self.mechanics.pass(&self.geometry, ahead.next, left, begin, None);
        // A move is made to its end, a sector read to its end.
        self.mechanics.settle_on(&place);
        self.head_time = if at <= pass.landed {
            pass.landed
        } else if at > pass.start && !self.cache.stop_in_sector {
            at.max(pass.start + self.mechanics.slots(&place, 1))
        } else {
            at
        };
    }

    /// Has the drive go on behind a read.
    pub(super) fn start_reading_ahead(&mut self, segment: usize, next: u64, request: &Request) {
        let limit = self.read_ahead_limit(segment, request);
        let least = (request.end() + self.cache.min_read_ahead).min(self.geometry.sectors());
        if next < limit.max(least) {
            self.ahead = Some(Ahead {
                segment,
                next,
                limit: limit.max(least),
                least,
                passed: (u64::MAX, 0),
            });
        }
    }

    /// How far the drive reads on behind a request whose data are in a segment.
    pub(super) fn read_ahead_limit(&self, segment: usize, request: &Request) -> u64 {
        let end = request.end();
        let size = self.segments.size();
        let most = match (self.cache.max_read_ahead, self.cache.keep_requested) {
            (0, true) => size.saturating_sub(request.sectors),
            (0, false) => size,
            (most, _) => most,
        };
        let limit = match self.cache.read_ahead {
            ReadAhead::None => end,
            ReadAhead::Track => self.geometry.track_end(end.saturating_sub(1)).min(end + most),
            ReadAhead::Cylinder => {
                self.geometry.cylinder_end(end.saturating_sub(1)).min(end + most)
            }
            ReadAhead::Segment => end + most,
            ReadAhead::TwoTracks => {
                let track = (self.geometry.track_start(end), self.geometry.track_end(end));
                let back = self.segments.range(segment).0 < track.0;
                let more = if back { u64::from(self.geometry.locate(end).slots) } else { 0 };
                track.1 + more
            }
        };
        limit.min(self.geometry.sectors())
    }

    /// Writes one run of dirty sectors if that can begin before `until`; whether it was also done
    /// by then.
    fn write_one(&mut self, until: Nanos) -> bool {
        let Some((start, dirty)) = self.next_dirty() else { return false };
        let begin = self.head_time.max(dirty.begin);
        if begin >= until {
            return false;
        }
        let len = dirty.end - start;
        let (pass, place) =
            self.mechanics.pass(&self.geometry, start, len, begin, Some(dirty.ready));
        if pass.end > until {
            return false;
        }
        self.mechanics.settle_on(&place);
        self.head_time = pass.end;
        self.written(start, pass.sectors);
        true
    }

    /// Has what is being written at `at` written to its end; all that is dirty with `all`.
    pub(super) fn finish_writing(&mut self, at: Nanos, all: bool) {
        let busy = self.next_dirty().is_some_and(|(_, d)| self.head_time.max(d.begin) < at);
        if busy && !all {
            self.write_next();
        }
        while all && !self.dirty.is_empty() {
            self.write_next();
        }
        self.head_time = self.head_time.max(at);
    }

    fn write_next(&mut self) {
        let Some((start, dirty)) = self.next_dirty() else { return };
        let begin = self.head_time.max(dirty.begin);
        let len = dirty.end - start;
        let (pass, place) =
            self.mechanics.pass(&self.geometry, start, len, begin, Some(dirty.ready));
        self.mechanics.settle_on(&place);
        self.head_time = pass.end;
        self.written(start, pass.sectors);
    }

    /// Has room for so many more dirty sectors, writing until there is.
    pub(super) fn make_room(&mut self, sectors: u64) {
        let most = self.cache.dirty_sectors.max(sectors);
        while self.dirty_sectors + sectors > most && !self.dirty.is_empty() {
            self.write_next();
        }
    }

    /// The next run in order of addresses, from where the head is.
    fn next_dirty(&self) -> Option<(u64, Dirty)> {
        let from = self.sweep;
        let next = self.dirty.range(from..).next().or_else(|| self.dirty.iter().next())?;
        Some((*next.0, *next.1))
    }

    fn written(&mut self, start: u64, sectors: u64) {
        if let Some(dirty) = self.dirty.remove(&start) {
            self.dirty_sectors = self.dirty_sectors.saturating_sub(sectors);
            if start + sectors < dirty.end {
                self.dirty.insert(start + sectors, Dirty { begin: 0, ready: 0, ..dirty });
            }
        }
        self.sweep = start + sectors;
    }

    /// Adds dirty sectors; older data beneath them need not be written.
    pub(super) fn add_dirty(&mut self, start: u64, dirty: Dirty) {
        self.forget_dirty(start, dirty.end);
        self.dirty_sectors += dirty.end - start;
        self.dirty.insert(start, dirty);
    }

    /// Forgets dirty sectors that are overwritten or not needed any more.
    pub(super) fn forget_dirty(&mut self, start: u64, end: u64) {
        let before = self.dirty.range(..start).next_back().map(|(&s, &d)| (s, d));
        if let Some((from, old)) = before.filter(|(_, d)| d.end > start) {
            self.dirty.insert(from, Dirty { end: start, ..old });
            self.dirty_sectors -= old.end - start;
            if old.end > end {
                self.dirty.insert(end, old);
                self.dirty_sectors += old.end - end;
            }
        }
        while let Some((from, old)) = self.dirty.range(start..end).next().map(|(&s, &d)| (s, d)) {
            self.dirty.remove(&from);
            self.dirty_sectors -= old.end - from;
            if old.end > end {
                self.dirty.insert(end, old);
                self.dirty_sectors += old.end - end;
            }
        }
    }

    /// Whether all of a request is dirty data in one run.
    pub(super) fn is_dirty(&self, request: &Request) -> bool {
        let run = self.dirty.range(..=request.sector).next_back();
        run.is_some_and(|(_, dirty)| dirty.end >= request.end())
    }
}
