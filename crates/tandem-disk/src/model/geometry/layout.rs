//! A layout as it is written.

use serde::{Deserialize, Serialize};

use super::NestedLayout;

/// How tracks follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mapping {
    /// Every cylinder begins with the first surface.
    #[default]
    Cylinder,
    /// Every second cylinder of a zone is run through backwards, so that crossing cylinders needs
    /// no switch of heads.
    SerpentineZone,
    /// The same, counted from the first cylinder of the disk.
    SerpentineDisk,
}

/// Where spare sectors are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sparing {
    /// There are none.
    #[default]
    None,
    /// Whole tracks at the end of each zone; slips and defects are numbers of tracks.
    Tracks,
    /// At the end of each cylinder.
    CylinderEnd,
    /// At the end of each track.
    TrackEnd,
    /// At the end of each cylinder; slips push everything behind them on.
    CylinderEndSlipOn,
    /// At the front of each cylinder.
    CylinderFront,
    /// At the front of each cylinder; slips push everything behind them on.
    CylinderFrontSlipOn,
    /// At the end of the disk.
    DiskEnd,
    /// At the end of each range of cylinders.
    Range,
    /// At the end of each zone.
    Zone,
    /// At the end of each zone; slips push everything behind them on.
    ZoneSlipOn,
}

/// A zone: cylinders with the same number of sectors a track.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneLayout {
    /// Its first cylinder.
    pub first_cylinder: u32,
    /// Its last cylinder.
    pub last_cylinder: u32,
    /// Slots a track, spares included.
    pub sectors_per_track: u32,
    /// Angle of its first slot, in slots.
    #[serde(default)]
    pub offset: f64,
    /// How much later a track begins than the one before, in slots.
    #[serde(default)]
    pub track_skew: f64,
    /// The same where a cylinder begins, instead of the track skew.
    #[serde(default)]
    pub cylinder_skew: f64,
    /// Sectors at its front that have no address.
    #[serde(default)]
    pub reserved: u64,
    /// Spares: per track, cylinder, range or zone (tracks for [`Sparing::Tracks`]).
    #[serde(default)]
    pub spares: u64,
    /// Slipped slots (tracks for [`Sparing::Tracks`]), numbered from the zone's first.
    #[serde(default)]
    pub slips: Vec<u64>,
    /// Pairs of a bad slot and the spare slot that stands for it.
    #[serde(default)]
    pub defects: Vec<(u64, u64)>,
}

/// All of the layout.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Surfaces with data, 1 to 255.
    pub surfaces: u32,
    /// Cylinders.
    pub cylinders: u32,
    /// How tracks follow each other.
    #[serde(default)]
    pub mapping: Mapping,
    /// Where spares are.
    #[serde(default)]
    pub sparing: Sparing,
    /// Cylinders that share spares, for [`Sparing::Range`].
    #[serde(default)]
    pub range: u32,
    /// The zones, outermost first.
    #[serde(default)]
    pub zones: Vec<ZoneLayout>,
    /// Runs within runs instead of zones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nested: Option<NestedLayout>,
}
