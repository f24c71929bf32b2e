//! The arm and the platters: where the head is, and when a sector is under it.

use super::ModelError;
use super::geometry::{Geometry, Place};
use super::seek::{SeekCurve, SeekTimes, signed_time, time};
use crate::request::Nanos;

/// What the mechanics of a disk are.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MechanicsParameters {
    /// Revolutions a minute, 1 to 1,000,000.
    pub rpm: f64,
    /// The seek curve.
    pub seek: SeekCurve,
    /// Switching to another head of the cylinder, in milliseconds.
    #[serde(default)]
    pub head_switch_ms: f64,
    /// What a write waits longer than a read after any move, in milliseconds; negative where
    /// measured moves hold more than a write needs.
    #[serde(default)]
    pub write_settle_ms: f64,
}

/// What the platters do to an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rotation {
    /// They turn; a sector is where it is.
    Simulated,
    /// Every access waits half a turn.
    Half,
}

/// The arm and the platters.
#[derive(Debug, Clone)]
pub struct Mechanics {
    period: Nanos,
    seek: SeekTimes,
    /// That of writes, if it is another.
    write_seek: Option<SeekTimes>,
    head_switch: Nanos,
    write_settle: i64,
    rotation: Rotation,
    cylinder: u32,
    head: u32,
}

/// Sectors on one track, read or written in one go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pass {
    /// The first of them.
    pub sector: u64,
    /// How many.
    pub sectors: u64,
    /// When the arm begins to move.
    pub begin: Nanos,
    /// When the head is on the track.
    pub landed: Nanos,
    /// When the first sector begins.
    pub start: Nanos,
    /// When the last one ends.
    pub end: Nanos,
    /// Cylinders crossed.
    pub distance: u32,
}

/// Rounding must not cost a revolution: a sector missed by less is not missed.
const SLACK: Nanos = 64;

impl Mechanics {
    /// Takes parameters over; the head stands on cylinder 0, sector 0 beneath it at time 0.
    ///
    /// # Errors
    /// Times and speeds that are none.
    pub fn new(from: &MechanicsParameters, cylinders: u32) -> Result<Mechanics, ModelError> {
        if !(1.0..=1e6).contains(&from.rpm) {
            return Err(ModelError::new("rpm", format!("{} is not 1 to 1,000,000", from.rpm)));
        }
        Ok(Mechanics {
            period: (60e9 / from.rpm).round() as Nanos,
            seek: SeekTimes::new(&from.seek, cylinders)?,
            write_seek: SeekTimes::of_writes(&from.seek)?,
            head_switch: time("head switch", from.head_switch_ms)?,
            write_settle: signed_time("write settle", from.write_settle_ms)?,
            rotation: Rotation::Simulated,
            cylinder: 0,
            head: 0,
        })
    }

    /// Has accesses wait half a turn, for a simpler model.
    pub fn set_rotation(&mut self, rotation: Rotation) {
        self.rotation = rotation;
    }

    /// Has every seek take the mean, for a simpler model.
    pub fn set_average_seek(&mut self, cylinders: u32) -> Result<(), ModelError> {
        let ms = self.seek.average(cylinders) as f64 / 1e6;
        self.seek = SeekTimes::new(&SeekCurve::Constant { ms }, cylinders)?;
        self.write_seek = None;
        Ok(())
    }

    /// A revolution.
    pub fn period(&self) -> Nanos {
        self.period
    }

    /// The cylinder under the arm.
    pub fn cylinder(&self) -> u32 {
        self.cylinder
    }

    /// Whether the head is on the track of a place.
    pub fn on_track(&self, place: &Place) -> bool {
        self.cylinder == place.cylinder && self.head == place.head
    }

    /// Time to move to a place from where the head is.
    pub fn reposition(&self, place: &Place, write: bool) -> Nanos {
        if self.on_track(place) {
            return 0;
        }
        let curve = self.write_seek.as_ref().filter(|_| write).unwrap_or(&self.seek);
        let seek = curve.time(self.cylinder.abs_diff(place.cylinder));
        let switch = if self.head == place.head { 0 } else { self.head_switch };
        let moved = seek.max(switch);
        if moved > 0 && write { moved.saturating_add_signed(self.write_settle) } else { moved }
    }

    /// Time of some slots of a track.
    pub fn slots(&self, place: &Place, slots: u64) -> Nanos {
        slots * self.period / u64::from(place.slots.max(1))
    }

    /// Time from `at` until the place comes under its head.
    pub fn latency(&self, at: Nanos, place: &Place) -> Nanos {
        let angle = self.angle(place);
        let wait = (angle + self.period - at % self.period) % self.period;
        if self.period - wait <= SLACK { 0 } else { wait }
    }

    /// The slot that begins next under the head, which is on the place's track.
    pub fn slot_under(&self, at: Nanos, place: &Place) -> u32 {
        let slots = f64::from(place.slots);
        let now = (at % self.period) as f64 / self.period as f64 * slots;
        let track_start = place.angle - f64::from(place.slot);
        ((now - track_start).rem_euclid(slots).ceil() as u32) % place.slots.max(1)
    }

    /// One pass over (at most) `sectors` of the track where `sector` lies, from `begin` on; the
    /// data of a write are there from `ready` on.
    pub fn pass(
        &self,
        geometry: &Geometry,
        sector: u64,
        sectors: u64,
        begin: Nanos,
        write: Option<Nanos>,
    ) -> (Pass, Place) {
        let place = geometry.locate(sector);
        let sectors = sectors.min(place.run);
        let moved = self.reposition(&place, write.is_some());
        let landed = begin + moved;
        let from = landed.max(write.unwrap_or(0));
        let start = from
            + match self.rotation {
                Rotation::Simulated => self.latency(from, &place),
                Rotation::Half => self.period / 2,
            };
        let end = start + self.slots(&place, geometry.slots_of(&place, sectors));
        let distance = self.cylinder.abs_diff(place.cylinder);
        (Pass { sector, sectors, begin, landed, start, end, distance }, place)
    }

    /// Puts the head on the track of a place.
    pub fn settle_on(&mut self, place: &Place) {
        self.cylinder = place.cylinder;
        self.head = place.head;
    }

    fn angle(&self, place: &Place) -> Nanos {
        let share = place.angle / f64::from(place.slots.max(1));
        ((share * self.period as f64) as Nanos).min(self.period.saturating_sub(1))
    }
}
