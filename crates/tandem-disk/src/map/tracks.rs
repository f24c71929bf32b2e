//! Tracks: a drive's, or so many sectors each.

use super::distance::difference;
use crate::model::geometry::Geometry;

/// What counts as a track.
#[derive(Debug, Clone)]
pub enum Tracks {
    /// So many sectors each, at least 1; 63 are what a BIOS made of every disk.
    Equal(u32),
    /// As they lie on a drive.
    Drive(Box<Geometry>),
}

/// Part of an extent: from the first track and sector of a track to before the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    /// Tracks, in the order of addresses.
    pub tracks: (u64, u64),
    /// Sectors of each.
    pub slots: (u64, u64),
}

impl Tracks {
    /// Sectors of the longest track.
    pub fn slots(&self) -> u32 {
        match self {
            Tracks::Equal(slots) => (*slots).max(1),
            Tracks::Drive(geometry) => geometry.longest_track(),
        }
    }

    /// What distances of the arm are counted in.
    pub fn unit(&self) -> &'static str {
        match self {
            Tracks::Equal(_) => "sectors",
            Tracks::Drive(_) => "cylinders",
        }
    }

    /// The track, the sector of the track, and how many sectors that has.
    fn place(&self, sector: u64) -> (u64, u64, u64) {
        match self {
            Tracks::Equal(slots) => {
                let slots = u64::from((*slots).max(1));
                (sector / slots, sector % slots, slots)
            }
            Tracks::Drive(geometry) => {
                let place = geometry.locate(sector);
                (geometry.track(&place), u64::from(place.slot), u64::from(place.slots))
            }
        }
    }

    /// The tracks of a range of sectors.
    pub(super) fn range(&self, from: u64, to: u64) -> (u64, u64) {
        let last = self.place(to.max(from.saturating_add(1)) - 1).0;
        (self.place(from).0, last + 1)
    }

    /// The parts of an extent: of its first track, of those between, of its last.
    pub(super) fn each(&self, from: u64, to: u64, take: &mut dyn FnMut(Spot)) {
        let ((first, low, slots), (last, high, _)) = (self.place(from), self.place(to - 1));
        if first == last {
            let slots = (low.min(high), low.max(high) + 1);
            return take(Spot { tracks: (first, first + 1), slots });
        }
        take(Spot { tracks: (first, first + 1), slots: (low, slots) });
        if last > first + 1 {
            take(Spot { tracks: (first + 1, last), slots: (0, slots) });
        }
        take(Spot { tracks: (last, last + 1), slots: (0, high + 1) });
    }

    /// How far the arm goes from the sector before `behind` to another.
    pub(super) fn seek(&self, behind: u64, sector: u64) -> i64 {
        match self {
            Tracks::Equal(_) => difference(sector, behind),
            Tracks::Drive(geometry) => {
                let cylinder = |sector| u64::from(geometry.locate(sector).cylinder);
                difference(cylinder(sector), cylinder(behind.saturating_sub(1)))
            }
        }
    }
}
