//! Where the sectors of a disk lie: zones, tracks, skews, spares, slipped and remapped sectors.
//!
//! Addresses within a zone run through *slots*, the places on its tracks in order. Spare and
//! slipped slots are passed over; what is left is numbered. That one rule serves all schemes of
//! sparing that DiskSim knows (reference manual 4.0, "Layout Model"): they differ in how much
//! of the zone is numbered by itself (a *unit*) and in whether slipping uses up a unit's spares.

mod build;
mod layout;
mod nested;
mod skipped;

use super::ModelError;

pub use layout::{Layout, Mapping, Sparing, ZoneLayout};
use nested::Nested;
pub use nested::{NestedLayout, Repeated, Run, TrackPattern};
use skipped::{Index, Skipped};

#[derive(Debug, Clone)]
struct Zone {
    first_sector: u64,
    sectors: u64,
    first_cylinder: u32,
    spt: u64,
    offset: f64,
    track_skew: f64,
    cylinder_skew: f64,
    reserved: u64,
    /// Slots of a unit, and how many of them have an address.
    unit_slots: u64,
    unit_sectors: u64,
    /// Slots at a unit's front that are spares.
    unit_front: u64,
    skipped: Skipped,
    /// Nothing is passed over, and there is one unit without spares at its front.
    plain: bool,
    /// Slipped slots, for the angle: slips push what follows round where spares are per cylinder
    /// or track.
    turned_by: Vec<u64>,
    turned_near: Index,
    turn_by_track: bool,
    remapped: Vec<(u64, u64)>,
    /// What [`Zone::find_start`] says of each unit, where looking it up is quicker.
    starts: Vec<u64>,
}

/// Where a sector lies, and what follows it there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// Its cylinder.
    pub cylinder: u32,
    /// Its surface.
    pub head: u32,
    /// Its slot on the track, from 0 where the track begins.
    pub slot: u32,
    /// Slots of the track.
    pub slots: u32,
    /// Sectors from this one to the end of the track, or to the next one that lies elsewhere.
    pub run: u64,
    zone: u32,
    zone_slot: u64,
    /// Angle of its beginning, in slots of this track, 0 to `slots`.
    pub angle: f64,
}

/// The layout, ready to be asked.
#[derive(Debug, Clone)]
pub struct Geometry {
    zones: Vec<Zone>,
    /// The zones' first sectors, which are searched more quickly than they.
    firsts: Vec<u64>,
    surfaces: u64,
    mapping: Mapping,
    cylinders: u32,
    sectors: u64,
    /// Instead of zones.
    nested: Option<Nested>,
}

impl Geometry {
    /// Takes a layout over.
    ///
    /// # Errors
    /// What no disk can have: no zones, zones that overlap, more spares than slots.
    pub fn new(layout: &Layout) -> Result<Geometry, ModelError> {
        build::geometry(layout)
    }

    /// Sectors that have an address.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Cylinders.
    pub fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// Mean number of slots a track, weighted by sectors.
    pub fn mean_track(&self) -> f64 {
        if let Some(nested) = &self.nested {
            return nested.mean_track();
        }
        let sum: f64 = self.zones.iter().map(|z| z.spt as f64 * z.sectors as f64).sum();
        sum / self.sectors.max(1) as f64
    }

    /// Slots of the longest track.
    pub fn longest_track(&self) -> u32 {
        if let Some(nested) = &self.nested {
            return nested.longest_track();
        }
        self.zones.iter().map(|z| z.spt as u32).max().unwrap_or(0)
    }

    /// The number of the track that `place` is on, in the order of addresses; in a layout of runs
    /// within runs by cylinder and surface.
    pub fn track(&self, place: &Place) -> u64 {
        if let Some(nested) = &self.nested {
            return nested.track(place);
        }
        let zone = &self.zones[place.zone as usize];
        u64::from(zone.first_cylinder) * self.surfaces + place.zone_slot / zone.spt
    }

    /// Where a sector lies; one beyond the end lies where the last one does.
    pub fn locate(&self, sector: u64) -> Place {
        if let Some(nested) = &self.nested {
            return nested.locate(sector);
        }
        let sector = sector.min(self.sectors.saturating_sub(1));
        let number = self.zone_of(sector);
        let zone = &self.zones[number];
        let within = sector - zone.first_sector;
        let slot = zone.slot(within);
        let mut track = slot / zone.spt;
        let mut run = zone.until_track_end(within, track);
        let mut real = slot;
        if !zone.remapped.is_empty() {
            let at = zone.remapped.partition_point(|&(bad, _)| bad < slot);
            match zone.remapped.get(at) {
                Some(&(bad, spare)) if bad == slot => {
                    (real, track, run) = (spare, spare / zone.spt, 1);
                }
                Some(&(bad, _)) => run = run.min(zone.sector_of(bad).saturating_sub(within).max(1)),
                None => {}
            }
        }
        self.place(number, real, track, run)
    }

    fn zone_of(&self, sector: u64) -> usize {
        self.firsts.partition_point(|&first| first <= sector).saturating_sub(1)
    }

    /// How many slots pass by while `sectors` from `place` on are read; at most its run.
    pub fn slots_of(&self, place: &Place, sectors: u64) -> u64 {
        if let Some(nested) = &self.nested {
            return nested.slots_of(place, sectors);
        }
        let zone = &self.zones[place.zone as usize];
        if sectors <= 1 || zone.skipped.is_empty() {
            return sectors;
        }
        if zone.skipped.next(place.zone_slot) - place.zone_slot >= sectors {
            return sectors;
        }
        let within = zone.sector_of(place.zone_slot);
        zone.slot(within + sectors - 1) - place.zone_slot + 1
    }

    /// The first sector of the track that a sector is on.
    pub fn track_start(&self, sector: u64) -> u64 {
        if let Some(nested) = &self.nested {
            return nested.track_start(sector);
        }
        let sector = sector.min(self.sectors.saturating_sub(1));
        let number = self.zone_of(sector);
        let zone = &self.zones[number];
        let track = zone.slot(sector - zone.first_sector) / zone.spt;
        zone.first_sector + zone.sector_of(track * zone.spt)
    }

    /// The first sector behind the track that a sector is on.
    pub fn track_end(&self, sector: u64) -> u64 {
        if let Some(nested) = &self.nested {
            return nested.track_end(sector);
        }
        let sector = sector.min(self.sectors.saturating_sub(1));
        let number = self.zone_of(sector);
        let zone = &self.zones[number];
        let within = sector - zone.first_sector;
        sector + zone.until_track_end(within, zone.slot(within) / zone.spt)
    }

    /// The first sector behind the cylinder that a sector is on.
    pub fn cylinder_end(&self, sector: u64) -> u64 {
        let cylinder = self.locate(sector).cylinder;
        let mut end = self.track_end(sector);
        while end < self.sectors && self.locate(end).cylinder == cylinder {
            end = self.track_end(end);
        }
        end
    }

    /// The sector at or behind `slot` of the track that `place` is on.
    pub fn sector_at(&self, place: &Place, slot: u32) -> u64 {
        if let Some(nested) = &self.nested {
            return nested.sector_at(place, slot);
        }
        let zone = &self.zones[place.zone as usize];
        let track = place.zone_slot / zone.spt * zone.spt;
        let within = zone.sector_of(track + u64::from(slot));
        zone.first_sector + within.min(zone.sectors.saturating_sub(1))
    }

    fn place(&self, number: usize, slot: u64, track: u64, run: u64) -> Place {
        let zone = &self.zones[number];
        let cylinder_in_zone = track / self.surfaces;
        let cylinder = zone.first_cylinder + cylinder_in_zone as u32;
        let order = track % self.surfaces;
        let backwards = match self.mapping {
            Mapping::Cylinder => false,
            Mapping::SerpentineZone => cylinder_in_zone % 2 == 1,
            Mapping::SerpentineDisk => cylinder % 2 == 1,
        };
        let head = if backwards { self.surfaces - 1 - order } else { order };
        let in_track = slot - track * zone.spt;
        let switches = order + (self.surfaces - 1) * cylinder_in_zone;
        let turned = if zone.turned_by.is_empty() {
            0
        } else {
            let tracks = if zone.turn_by_track { track } else { cylinder_in_zone * self.surfaces };
            let slot = tracks * zone.spt;
            let near = zone.turned_near.around(slot);
            near.start + zone.turned_by[near].partition_point(|&slip| slip < slot)
        };
        let angle = zone.offset
            + switches as f64 * zone.track_skew
            + cylinder_in_zone as f64 * zone.cylinder_skew
            + (turned as u64 + in_track) as f64;
        Place {
            cylinder,
            head: head as u32,
            slot: in_track as u32,
            slots: zone.spt as u32,
            run,
            zone: number as u32,
            zone_slot: slot,
            angle: within_turn(angle, zone.spt as f64),
        }
    }
}

/// The angle with whole turns left out: what `rem_euclid` gives, several times as fast.
fn within_turn(angle: f64, turn: f64) -> f64 {
    // Cutting off is quicker than rounding down, and the same for what is not negative.
    let turns = angle / turn;
    let whole = if turns >= 0.0 { turns as u64 as f64 } else { turns.floor() };
    let rest = angle - whole * turn;
    if (0.0..turn).contains(&rest) { rest } else { 0.0 }
}

/// Quotient and rest. In most zones there is one unit, for which nothing has to be divided.
fn divided(number: u64, by: u64) -> (u64, u64) {
    if number < by { (0, number) } else { (number / by, number % by) }
}

impl Zone {
    /// The slot of a sector of the zone.
    fn slot(&self, within: u64) -> u64 {
        let address = within + self.reserved;
        if self.plain {
            return address;
        }
        let (unit, rest) = divided(address, self.unit_sectors);
        self.skipped.slot(self.start(unit) + rest)
    }

    /// How many sectors of the zone lie before a slot.
    fn sector_of(&self, slot: u64) -> u64 {
        if self.plain {
            return slot.saturating_sub(self.reserved).min(self.sectors);
        }
        let (unit, _) = divided(slot, self.unit_slots);
        let before = (slot - self.skipped.before(slot)).saturating_sub(self.start(unit));
        (unit * self.unit_sectors + before.min(self.unit_sectors)).saturating_sub(self.reserved)
    }

    /// Slots not passed over before a unit's first sector. Spares at the front give way to slips.
    fn start(&self, unit: u64) -> u64 {
        let known = usize::try_from(unit).ok().and_then(|unit| self.starts.get(unit));
        known.copied().unwrap_or_else(|| self.find_start(unit))
    }

    fn find_start(&self, unit: u64) -> u64 {
        let base = unit * self.unit_slots;
        let passed = self.skipped.before(base);
        if self.unit_front == 0 {
            return base - passed;
        }
        let slipped = self.skipped.before(base + self.unit_slots) - passed;
        base - passed + self.unit_front.saturating_sub(slipped)
    }

    fn until_track_end(&self, within: u64, track: u64) -> u64 {
        let next = (track + 1) * self.spt;
        self.sector_of(next).min(self.sectors).saturating_sub(within).max(1)
    }
}

#[cfg(test)]
mod tests;
