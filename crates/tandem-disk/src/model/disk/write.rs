//! Serving writes, flushes and discards.

use super::read::account;
use super::{Ahead, Dirty, HardDisk};
use crate::model::cache::WriteReporting;
use crate::request::{Cached, Nanos, Request, Service};

/// The steps of a write that waits for the medium.
struct Phases {
    /// When the arm may move.
    seek: Nanos,
    /// When the first sector can go over the bus.
    start: Nanos,
    /// Giving the bus back after the data.
    disconnect: Nanos,
    /// Taking it again to report.
    reselection: Nanos,
}

impl HardDisk {
    pub(super) fn write(&mut self, at: Nanos, request: &Request) -> Service {
        if request.sectors == 0 {
            let after = usize::from(self.after_write);
            return Service { finish: at + self.costs.write_hit[after], ..Service::default() };
        }
        match self.cache.writes {
            WriteReporting::Medium => self.write_through(at, request),
            WriteReporting::Sequential => self.write_sequential(at, request),
            WriteReporting::Memory => self.write_memory(at, request),
        }
    }

    fn write_through(&mut self, at: Nanos, request: &Request) -> Service {
        self.stop_reading_ahead(at);
        let phases = self.phases(at, request);
        self.head_time = self.head_time.max(phases.seek) + self.idle_before(request);
        let data = phases.start + request.sectors * self.costs.write_sector;
        let ready = self.write_ready(request, data).max(self.write_least(request, phases.start));
        let mut service = Service::default();
        let mut next = request.sector;
        while next < request.end() {
            let left = request.end() - next;
            let (mut pass, place) =
                self.mechanics.pass(&self.geometry, next, left, self.head_time, Some(ready));
            self.mechanics.settle_on(&place);
            if next == request.sector && self.cache.zero_latency_writes && pass.landed >= data {
                let under = self.mechanics.slot_under(pass.landed, &place);
                if under > place.slot {
                    let landed = self.geometry.sector_at(&place, under);
                    let tail = (pass.sector + pass.sectors).saturating_sub(landed);
                    pass.end -= self.mechanics.slots(&place, tail);
                }
            }
            account(&mut service, &pass);
            self.head_time = pass.end;
            next += pass.sectors;
        }
        self.keep_written(request, false);
        let reported = self.head_time.max(data + phases.disconnect) + phases.reselection;
        service.finish = reported + self.costs.write_completion;
        service
    }

    /// When a write that waits for the medium has the bus and the arm.
    fn phases(&self, at: Nanos, request: &Request) -> Phases {
        let costs = &self.costs;
        let follows = self.stream.is_some_and(|(_, end)| end == request.sector);
        match costs.extra.filter(|_| self.after_write && !follows) {
            Some(extra) => {
                let again = at + extra.command + extra.disconnect + extra.pause;
                Phases {
                    seek: at + extra.command + extra.seek_delay,
                    start: again + costs.reselection + costs.preparation,
                    disconnect: extra.second_disconnect,
                    reselection: extra.reselection,
                }
            }
            None => {
                let command = at + costs.write_miss[usize::from(self.after_write)];
                Phases {
                    seek: command,
                    start: command + costs.preparation,
                    disconnect: costs.write_disconnect,
                    reselection: costs.reselection,
                }
            }
        }
    }

    /// What is left of the least time of a move when the move itself takes less.
    fn idle_before(&self, request: &Request) -> Nanos {
        let place = self.geometry.locate(request.sector);
        self.costs.least_write_seek.saturating_sub(self.mechanics.reposition(&place, true))
    }

    /// When drives with an extra disconnect have enough in memory to begin: DiskSim has them wait
    /// for up to 10 sectors, and for 15 of 45 and more.
    fn write_least(&self, request: &Request, start: Nanos) -> Nanos {
        let sectors = if request.sectors < 45 { request.sectors.min(10) } else { 15 };
        self.costs.extra.map_or(0, |_| start + sectors * self.costs.write_sector)
    }

    fn write_sequential(&mut self, at: Nanos, request: &Request) -> Service {
        let after = usize::from(self.after_write);
        let appends = self.cache.combine_writes
            && !self.dirty.is_empty()
            && self.stream.is_some_and(|(_, end)| end == request.sector)
            && self.dirty_sectors + request.sectors <= self.segments.size();
        let command = at + self.costs.write_hit[after];
        let start = if self.is_busy_writing(at) && !appends {
            self.finish_writing(at, true);
            (command + self.costs.write_disconnect).max(self.head_time)
                + self.costs.reselection
                + self.costs.preparation
        } else {
            self.stop_reading_ahead_unless(at, appends);
            command + self.costs.preparation
        };
        self.report_early(request, command, start, appends)
    }

    fn write_memory(&mut self, at: Nanos, request: &Request) -> Service {
        let command = at + self.costs.write_hit[usize::from(self.after_write)];
        self.stop_reading_ahead_unless(at, !self.dirty.is_empty());
        let full = self.dirty_sectors + request.sectors > self.cache.dirty_sectors;
        let mut start = command + self.costs.preparation;
        if full {
            self.make_room(request.sectors);
            start = start.max(self.head_time);
        }
        self.report_early(request, command, start, false)
    }

    fn report_early(
        &mut self,
        request: &Request,
        begin: Nanos,
        start: Nanos,
        appends: bool,
    ) -> Service {
        let data = start + request.sectors * self.costs.write_sector;
        let ready = self.write_ready(request, data);
        self.keep_written(request, appends);
        self.add_dirty(request.sector, Dirty { end: request.end(), begin, ready });
        let finish = data + self.costs.write_completion;
        Service { finish, cached: Cached::Hit, ..Service::default() }
    }

    /// When the medium may begin with a write whose last sector is in memory at `data`: not so
    /// early that the head overtakes the bus.
    fn write_ready(&self, request: &Request, data: Nanos) -> Nanos {
        let place = self.geometry.locate(request.sector);
        data.saturating_sub(self.mechanics.slots(&place, request.sectors - 1))
    }

    fn keep_written(&mut self, request: &Request, appends: bool) {
        if let (Some((segment, _)), true) = (self.stream, appends) {
            self.segments.extend(segment, request.end());
            self.stream = Some((segment, request.end()));
            return;
        }
        self.forget(request);
        let reading = self.ahead.map(|ahead| ahead.segment);
        let segment = if self.cache.write_segment { None } else { self.segments.take(reading) };
        if let Some(segment) = segment {
            if self.cache.hits_on_written {
                self.segments.fill(segment, request.sector, request.end());
            }
        }
        self.stream = Some((segment.unwrap_or(0), request.end()));
    }

    pub(super) fn flush(&mut self, at: Nanos) -> Service {
        let command = at + self.costs.write_hit[usize::from(self.after_write)];
        if !self.dirty.is_empty() {
            self.stop_reading_ahead(at);
            self.finish_writing(at, true);
        }
        Service { finish: self.done_writing(command), ..Service::default() }
    }

    fn done_writing(&self, command: Nanos) -> Nanos {
        if self.ahead.is_some() { command } else { command.max(self.head_time) }
    }

    /// Forgets what memory holds of a request's sectors. Reading ahead goes on, into a segment that
    /// holds nothing from before.
    fn forget(&mut self, request: &Request) {
        self.segments.forget(request.sector, request.end());
        if let Some(Ahead { segment, next, .. }) = self.ahead {
            let (start, end) = self.segments.range(segment);
            if start >= end {
                self.segments.fill(segment, next, next);
            }
        }
    }

    pub(super) fn discard(&mut self, at: Nanos, request: &Request) -> Service {
        self.forget(request);
        self.forget_dirty(request.sector, request.end());
        let finish = at + self.costs.write_hit[usize::from(self.after_write)];
        Service { finish, cached: Cached::Hit, ..Service::default() }
    }

    fn stop_reading_ahead_unless(&mut self, at: Nanos, writing: bool) {
        if !writing {
            self.stop_reading_ahead(at);
        }
    }
}
