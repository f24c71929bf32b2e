//! Layouts written as runs within runs (DiskSim's `dm_layout_g4`): a run repeats a track, or a
//! sequence of runs, at a fixed distance in addresses, cylinders and angle.

use serde::{Deserialize, Serialize};

use super::build::{MAX_TRACK, merged};
use super::{ModelError, Place, Skipped};

/// The slots of a track that have numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrackPattern {
    /// The first of them.
    pub first: u32,
    /// The last of them.
    pub last: u32,
    /// Slots of the whole track, 1 to 2^20.
    pub slots: u32,
}

/// What a run repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Repeated {
    /// A track pattern, on one surface.
    Track {
        /// Its number.
        pattern: u32,
        /// The surface.
        head: u32,
    },
    /// A sequence of runs, by its number; a lower one than that of the sequence it is in.
    Runs(u32),
}

/// A run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The first slot number in it, from 0 where its sequence begins.
    pub first: u64,
    /// Slot numbers in it.
    pub total: u64,
    /// Its first cylinder, from the one where its sequence begins.
    pub cylinder: i64,
    /// Angle of its beginning, in turns, from that of its sequence.
    pub angle: f64,
    /// Slot numbers of one repetition.
    pub slots: u64,
    /// Cylinders from one repetition to the next; negative if they go outwards.
    pub cylinder_step: i64,
    /// Turns from one repetition to the next.
    pub angle_step: f64,
    /// What is repeated.
    pub of: Repeated,
}

/// A layout of runs within runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NestedLayout {
    /// Track patterns.
    pub tracks: Vec<TrackPattern>,
    /// Sequences of runs; the last is the disk.
    pub sequences: Vec<Vec<Run>>,
    /// Runs of slots that have no address: the first one's number, and how many.
    #[serde(default)]
    pub slips: Vec<(u64, u64)>,
}

/// The same, ready to be asked.
#[derive(Debug, Clone)]
pub(super) struct Nested {
    layout: NestedLayout,
    skipped: Skipped,
    surfaces: u64,
    sectors: u64,
    mean_track: f64,
}

/// What is known of a sequence: slots, cylinders from its own beginning, mean track.
struct Extent {
    slots: u64,
    cylinders: (i64, i64),
    mean_track: f64,
}

/// Where a slot lies: on which track, and how far into it.
struct Found {
    cylinder: i64,
    head: u32,
    turns: f64,
    track: TrackPattern,
    into: u64,
    left: u64,
}

/// Addresses and cylinders beyond this are taken for mistakes.
const MOST: u64 = 1 << 48;

impl Nested {
    /// Takes a layout over.
    ///
    /// # Errors
    /// Sequences that leave addresses out, go in circles, or leave the disk.
    pub(super) fn new(
        layout: &NestedLayout,
        surfaces: u32,
        cylinders: u32,
    ) -> Result<Nested, ModelError> {
        for (at, track) in layout.tracks.iter().enumerate() {
            let fits = track.first <= track.last && track.last < track.slots;
            if !fits || track.slots > MAX_TRACK {
                return Err(ModelError::new(format!("track pattern {at}"), "is no track"));
            }
        }
        let mut extents: Vec<Extent> = Vec::with_capacity(layout.sequences.len());
        for (at, runs) in layout.sequences.iter().enumerate() {
            let found = extent(layout, runs, &extents, surfaces);
            extents.push(found.map_err(|why| ModelError::new(format!("sequence {at}"), why))?);
        }
        let Some(disk) = extents.last() else {
            return Err(ModelError::new("sequences of runs", "there are none"));
        };
        let (low, high) = disk.cylinders;
        if low < 0 || high >= i64::from(cylinders) {
            let why = format!("{low} to {high}, of {cylinders}");
            return Err(ModelError::new("cylinders", why));
        }
        let slips = merged(layout.slips.clone());
        let mut lost = 0;
        for &(start, len) in &slips {
            if len > disk.slots || start > disk.slots - len {
                return Err(ModelError::new("slips", format!("{start} is not on the disk")));
            }
            lost += len;
        }
        if lost >= disk.slots {
            return Err(ModelError::new("slips", "as many as there are slots"));
        }
        Ok(Nested {
            skipped: Skipped::new(&slips, disk.slots),
            surfaces: u64::from(surfaces),
            sectors: disk.slots - lost,
            mean_track: disk.mean_track,
            layout: layout.clone(),
        })
    }

    pub(super) fn sectors(&self) -> u64 {
        self.sectors
    }

    pub(super) fn mean_track(&self) -> f64 {
        self.mean_track
    }

    pub(super) fn longest_track(&self) -> u32 {
        self.layout.tracks.iter().map(|track| track.slots).max().unwrap_or(0)
    }

    pub(super) fn track(&self, place: &Place) -> u64 {
        u64::from(place.cylinder) * self.surfaces + u64::from(place.head)
    }

    pub(super) fn locate(&self, sector: u64) -> Place {
        let slot = self.skipped.slot(sector.min(self.sectors - 1));
        let found = self.find(slot);
        let slots = f64::from(found.track.slots);
        let turns = (found.turns + found.into as f64 / slots).rem_euclid(1.0);
        Place {
            cylinder: u32::try_from(found.cylinder).unwrap_or(0),
            head: found.head,
            slot: found.track.first + found.into as u32,
            slots: found.track.slots,
            run: self.sectors_between(slot, slot + found.left),
            zone: 0,
            zone_slot: slot,
            angle: if turns < 1.0 { turns * slots } else { 0.0 },
        }
    }

    pub(super) fn slots_of(&self, place: &Place, sectors: u64) -> u64 {
        if sectors <= 1 {
            return sectors;
        }
        let last = self.sector_of(place.zone_slot) + sectors - 1;
        self.skipped.slot(last) - place.zone_slot + 1
    }

    pub(super) fn track_start(&self, sector: u64) -> u64 {
        let slot = self.skipped.slot(sector.min(self.sectors - 1));
        self.sector_of(slot - self.find(slot).into)
    }

    pub(super) fn track_end(&self, sector: u64) -> u64 {
        let sector = sector.min(self.sectors - 1);
        let slot = self.skipped.slot(sector);
        sector + self.sectors_between(slot, slot + self.find(slot).left)
    }

    pub(super) fn sector_at(&self, place: &Place, slot: u32) -> u64 {
        let found = self.find(place.zone_slot);
        let into = u64::from(slot.saturating_sub(found.track.first));
        self.sector_of(place.zone_slot - found.into + into).min(self.sectors - 1)
    }

    /// How many sectors lie before a slot.
    fn sector_of(&self, slot: u64) -> u64 {
        slot - self.skipped.before(slot)
    }

    fn sectors_between(&self, slot: u64, end: u64) -> u64 {
        self.sector_of(end).min(self.sectors).saturating_sub(self.sector_of(slot)).max(1)
    }

    fn find(&self, slot: u64) -> Found {
        let (mut cylinder, mut turns) = (0, 0.0);
        let (mut number, mut left) = (slot, u64::MAX);
        let mut sequence = self.layout.sequences.len() - 1;
        loop {
            let runs = &self.layout.sequences[sequence];
            let run = &runs[runs.partition_point(|run| run.first <= number).max(1) - 1];
            let into = number - run.first;
            let (times, rest) = (into / run.slots, into % run.slots);
            cylinder += run.cylinder + run.cylinder_step * times as i64;
            turns += run.angle + run.angle_step * times as f64;
            left = left.min(run.slots - rest).min(run.total - into);
            match run.of {
                Repeated::Runs(of) => (sequence, number) = (of as usize, rest),
                Repeated::Track { pattern, head } => {
                    let track = self.layout.tracks[pattern as usize];
                    return Found { cylinder, head, turns, track, into: rest, left };
                }
            }
        }
    }
}

/// What a sequence extends over, with those of lower numbers known.
fn extent(
    layout: &NestedLayout,
    runs: &[Run],
    known: &[Extent],
    surfaces: u32,
) -> Result<Extent, String> {
    let (mut end, mut slots_seen) = (0u64, 0.0);
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    for (at, run) in runs.iter().enumerate() {
        if run.first != end {
            return Err(format!("run {at} begins at {}, the one before ends at {end}", run.first));
        }
        if run.slots == 0 || run.total == 0 || run.total > MOST - end {
            return Err(format!("run {at} has no slots, or too many"));
        }
        end += run.total;
        let (slots, cylinders, mean) = match run.of {
            Repeated::Track { pattern, head } => {
                let track = layout.tracks.get(pattern as usize);
                let track =
                    track.ok_or(format!("run {at}: there is no track pattern {pattern}"))?;
                if head >= surfaces {
                    return Err(format!("run {at}: surface {head} of {surfaces}"));
                }
                let slots = u64::from(track.last - track.first) + 1;
                (slots, (0, 0), f64::from(track.slots))
            }
            Repeated::Runs(of) => {
                let of = known.get(of as usize);
                let of =
                    of.ok_or(format!("run {at} is of a sequence that does not come before"))?;
                (of.slots, of.cylinders, of.mean_track)
            }
        };
        if slots < run.slots.min(run.total) {
            return Err(format!("run {at} is of {slots} slots, not of {}", run.slots));
        }
        let turns = [run.angle, run.angle_step];
        let far = [run.cylinder, run.cylinder_step].iter().any(|c| c.unsigned_abs() > 1 << 26);
        if far || !turns.iter().all(|turns| turns.abs() <= 1e6) {
            return Err(format!("run {at} leaves the disk"));
        }
        let times = i64::try_from((run.total - 1) / run.slots).unwrap_or(i64::MAX);
        let last = run.cylinder_step.checked_mul(times).ok_or(format!("run {at} is too long"))?;
        for moved in [run.cylinder, run.cylinder.saturating_add(last)] {
            low = low.min(moved.saturating_add(cylinders.0));
            high = high.max(moved.saturating_add(cylinders.1));
        }
        slots_seen += run.total as f64 * mean;
    }
    if end == 0 {
        return Err("is empty".to_string());
    }
    Ok(Extent { slots: end, cylinders: (low, high), mean_track: slots_seen / end as f64 })
}

#[cfg(test)]
mod tests;
