//! Serving reads.

use super::{Ahead, HardDisk};
use crate::model::cache::WriteReporting;
use crate::model::geometry::Place;
use crate::model::mechanics::Pass;
use crate::request::{Cached, Nanos, Request, Service};

/// The bus to the host: sectors go in order, each when it is there.
struct Bus {
    sector: Nanos,
    free: Nanos,
    /// What taking it takes, once there is something to take.
    setup: Nanos,
}

impl Bus {
    /// Takes sectors of which the first is there at `first` and the last at `last`.
    fn take(&mut self, sectors: u64, first: Nanos, last: Nanos) {
        let start = self.free.max(first) + std::mem::take(&mut self.setup);
        self.free = (start + sectors * self.sector).max(last + self.sector);
    }
}

impl HardDisk {
    pub(super) fn read(&mut self, at: Nanos, request: &Request) -> Service {
        let after = usize::from(self.after_write);
        if request.sectors == 0 {
            return Service { finish: at + self.costs.read_hit[after], ..Service::default() };
        }
        let busy = self.is_busy_writing(at);
        let dirty = !self.dirty.is_empty() && self.is_dirty(request) && self.cache.hits_on_written;
        let found = match self.segments.find(request.sector) {
            None if self.cache.hits_on_arriving => self.arriving(request),
            found => found,
        };
        let hit = dirty || found.is_some_and(|(_, end)| end >= request.end());
        if busy && !(hit && self.hits_past_writes()) {
            self.finish_writing(at, self.cache.writes != WriteReporting::Memory);
        }
        let service = match found {
            _ if hit => self.read_hit(at, request, busy, found.map(|(segment, _)| segment)),
            Some((segment, end)) => self.read_partly(at, request, busy, segment, end),
            None => self.read_miss(at, request),
        };
        if self.cache.drop_requested {
            self.drop_requested(request);
        }
        service
    }

    /// Has no segment hold what the host has been given.
    fn drop_requested(&mut self, request: &Request) {
        while let Some((segment, _)) = self.segments.find(request.end() - 1) {
            self.segments.drop_before(segment, request.end());
        }
    }

    fn read_hit(
        &mut self,
        at: Nanos,
        request: &Request,
        busy: bool,
        segment: Option<usize>,
    ) -> Service {
        let after = usize::from(self.after_write);
        let waited = busy && !self.hits_past_writes();
        let ready = if waited {
            let command = at + self.costs.read_miss[after] + self.costs.read_disconnect[after];
            command.max(self.head_time) + self.costs.reselection + self.costs.preparation
        } else {
            at + self.costs.read_hit[after] + self.costs.preparation
        };
        match (segment, self.ahead) {
            (Some(segment), Some(ahead)) if ahead.segment == segment => {
                let limit = ahead.limit.max(self.read_ahead_limit(segment, request));
                self.ahead = Some(Ahead { limit, ..ahead });
            }
            (Some(segment), None) if self.cache.read_ahead_on_idle_hit && !busy => {
                let next = self.segments.range(segment).1;
                self.head_time = self.head_time.max(at + self.costs.read_hit[after]);
                self.start_reading_ahead(segment, next, request);
            }
            (Some(_), Some(_)) => self.stop_reading_ahead(at),
            _ => {}
        }
        if let Some(segment) = segment {
            self.segments.touch(segment);
        }
        let moved = request.sectors * self.costs.sector;
        let finish = ready + moved + self.costs.read_completion;
        Service { finish, cached: Cached::Hit, ..Service::default() }
    }

    /// A read whose first sectors are in memory, up to `held`.
    fn read_partly(
        &mut self,
        at: Nanos,
        request: &Request,
        busy: bool,
        segment: usize,
        held: u64,
    ) -> Service {
        let after = usize::from(self.after_write);
        let mut bus = Bus { sector: self.costs.sector, free: at, setup: 0 };
        let ready = at + self.costs.read_hit[after] + self.costs.preparation;
        let ready = if busy { ready.max(self.head_time) } else { ready };
        bus.take(held - request.sector, ready, ready);
        match self.ahead {
            Some(ahead) if ahead.segment == segment && ahead.next == held => {
                // The head is on its way there already.
                self.ahead = None;
            }
            _ => {
                self.stop_reading_ahead(at);
                let command = at + self.costs.read_miss[after];
                self.head_time = self.head_time.max(command);
            }
        }
        self.segments.touch(segment);
        let mut service = Service { cached: Cached::Partial, ..Service::default() };
        self.read_medium(held, request, Some(segment), &mut bus, &mut service);
        self.start_reading_ahead(segment, request.end(), request);
        service.finish = bus.free + self.costs.read_completion;
        service
    }

    fn read_miss(&mut self, at: Nanos, request: &Request) -> Service {
        let after = usize::from(self.after_write);
        self.stop_reading_ahead(at);
        let command = at + self.costs.read_miss[after];
        self.head_time = self.head_time.max(command);
        let free = command + self.costs.read_disconnect[after];
        let setup = self.costs.reselection + self.costs.preparation;
        let mut bus = Bus { sector: self.costs.sector, free, setup };
        let mut service = Service::default();
        let segment = self.segments.take(None);
        if let Some(segment) = segment {
            self.segments.fill(segment, request.sector, request.sector);
        }
        let passed = self.read_medium(request.sector, request, segment, &mut bus, &mut service);
        if let Some(segment) = segment {
            self.start_reading_ahead(segment, request.end(), request);
            if let (Some(ahead), Some(passed)) = (&mut self.ahead, passed) {
                ahead.passed = passed;
            }
        }
        service.finish = bus.free + self.costs.read_completion;
        service
    }

    /// Reads from `next` to the request's end, with the bus beside; gives sectors behind the
    /// request that passed by before it.
    fn read_medium(
        &mut self,
        mut next: u64,
        request: &Request,
        segment: Option<usize>,
        bus: &mut Bus,
        service: &mut Service,
    ) -> Option<(u64, u64)> {
        let mut passed = None;
        let (from, mut first) = (next, None);
        let mut last = self.head_time;
        while next < request.end() {
            let left = request.end() - next;
            let (mut pass, place) =
                self.mechanics.pass(&self.geometry, next, left, self.head_time, None);
            self.mechanics.settle_on(&place);
            if next == from {
                passed = self.keep_passing(&mut pass, &place, segment, service.cached);
            }
            account(service, &pass);
            let slot = self.mechanics.slots(&place, 1);
            if self.cache.read_watermark == 0.0 {
                bus.take(pass.sectors, pass.start + slot, pass.end);
            }
            first.get_or_insert(pass.start + slot);
            last = pass.end;
            self.head_time = pass.end;
            next += pass.sectors;
            if let Some(segment) = segment {
                self.segments.extend(segment, next);
            }
        }
        if self.cache.read_watermark > 0.0 {
            let first = first.unwrap_or(last);
            let held = first + ((last - first) as f64 * self.cache.read_watermark) as Nanos;
            bus.take(next - from, held, last);
        }
        passed
    }

    /// What an access makes of sectors that pass by before its first one.
    fn keep_passing(
        &mut self,
        pass: &mut Pass,
        place: &Place,
        segment: Option<usize>,
        cached: Cached,
    ) -> Option<(u64, u64)> {
        if !self.cache.read_passing && !self.cache.zero_latency {
            return None;
        }
        let under = self.mechanics.slot_under(pass.landed, place);
        let landed_before = under < place.slot;
        let landed = self.geometry.sector_at(place, under);
        if self.cache.zero_latency && !landed_before && landed > pass.sector {
            let tail = (pass.sector + pass.sectors).saturating_sub(landed);
            // What lies behind the head comes first; only the rest is waited for.
            pass.end -= self.mechanics.slots(place, tail);
        }
        let segment = segment.filter(|_| self.cache.read_passing && cached == Cached::Miss)?;
        let end = self.geometry.track_end(pass.sector);
        if landed_before {
            self.segments.fill(segment, landed, pass.sector);
            return None;
        }
        self.segments.fill(segment, self.geometry.track_start(pass.sector), pass.sector);
        let from = landed.max(pass.sector + pass.sectors);
        (from < end).then_some((from, end))
    }

    /// A read that begins where reading ahead is now.
    fn arriving(&self, request: &Request) -> Option<(usize, u64)> {
        let ahead = self.ahead.filter(|ahead| ahead.next == request.sector)?;
        Some((ahead.segment, ahead.next))
    }

    fn hits_past_writes(&self) -> bool {
        self.cache.hits_while_busy || self.cache.writes == WriteReporting::Memory
    }

    /// Whether dirty data keep the head from other work at `at`.
    pub(super) fn is_busy_writing(&self, at: Nanos) -> bool {
        !self.dirty.is_empty()
            && (self.head_time <= at || self.cache.writes != WriteReporting::Memory)
    }
}

pub(super) fn account(service: &mut Service, pass: &Pass) {
    service.seek_distance += u64::from(pass.distance);
    service.seek += pass.landed - pass.begin;
    service.rotation += pass.start - pass.landed;
    service.transfer += pass.end - pass.start;
}
