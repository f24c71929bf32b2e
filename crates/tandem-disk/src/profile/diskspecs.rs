//! DiskSim's parameter files (`.diskspecs`, `.parv`, `.model`, `.seek`), so that its library of
//! measured drives serves (reference manual 4.0, §3).
//!
//! [`tree`] reads the syntax; this reads what the keys mean. Keys that the model has no part for
//! are named in [`Drive::ignored`] where their values would matter.

mod nested;
mod overheads;
mod seek;
mod tree;

use std::path::Path;

use crate::model::cache::{CacheParameters, ReadAhead, WriteReporting};
use crate::model::disk::DiskParameters;
use crate::model::geometry::{Layout, Mapping, Sparing, ZoneLayout};
use crate::model::mechanics::MechanicsParameters;

pub use tree::SpecError;
use tree::{Block, Value};

/// A drive of DiskSim's library.
#[derive(Debug, Clone, PartialEq)]
pub struct Drive {
    /// Its name there.
    pub name: String,
    /// What it is.
    pub parameters: DiskParameters,
    /// Keys whose values ask for something that the model does not have.
    pub ignored: Vec<String>,
    /// What was assumed in place of what the files do not say.
    pub assumed: Vec<String>,
}

/// Reads a drive from a parameter file and the files that it names.
///
/// # Errors
/// [`SpecError`], with file, line and key.
pub fn read(path: &Path) -> Result<Drive, SpecError> {
    let blocks = tree::read(path)?;
    let disk = blocks.iter().find(|b| b.kind == "disksim_disk");
    let Some(disk) = disk else {
        let found: Vec<&str> = blocks.iter().map(|b| b.kind.as_str()).collect();
        let why = match found.is_empty() {
            true => "holds no disksim_disk block".to_string(),
            false => format!("holds no disksim_disk block, only {}", found.join(", ")),
        };
        return Err(SpecError::file(path, why));
    };
    let model = disk.block("Model")?;
    let (layout, passed_over) = layout(model)?;
    let own = disk.number_or("Bulk sector transfer time", 0.0)?;
    let mut times = bus(&blocks)?.map(|time| time.max(own));
    if times == [0.0; 2] {
        times = bus_beside(path);
    }
    let mechanics = mechanics(model)?;
    let assumed = if times == [0.0; 2] {
        times = [outermost_ms(&layout, mechanics.rpm); 2];
        let ms = times[0];
        vec![format!("no bus is described; a sector is taken to need {ms:.4} ms, as on the medium")]
    } else {
        Vec::new()
    };
    let [bus_sector_ms, write_ms] = times;
    let parameters = DiskParameters {
        mechanics,
        cache: cache(disk)?,
        overheads: overheads::overheads(disk)?,
        layout,
        bus_sector_ms,
        bus_write_sector_ms: if write_ms == bus_sector_ms { 0.0 } else { write_ms },
    };
    let ignored = [ignored(disk)?, passed_over].concat();
    Ok(Drive { name: disk.name.clone(), parameters, ignored, assumed })
}

/// What a sector takes on the fastest track.
fn outermost_ms(layout: &Layout, rpm: f64) -> f64 {
    let zones = layout.zones.iter().map(|zone| zone.sectors_per_track);
    let runs =
        layout.nested.iter().flat_map(|nested| nested.tracks.iter().map(|track| track.slots));
    let most = zones.chain(runs).max().unwrap_or(1);
    60_000.0 / rpm.max(1.0) / f64::from(most.max(1))
}

/// The time of a block on the slowest bus described, read and written.
fn bus(blocks: &[Block]) -> Result<[f64; 2], SpecError> {
    let mut slowest = [0.0f64; 2];
    for block in blocks.iter().filter(|b| b.kind == "disksim_bus") {
        let read = block.number_or("Read block transfer time", 0.0)?;
        let write = block.number_or("Write block transfer time", read)?;
        slowest = [slowest[0].max(read), slowest[1].max(write)];
    }
    Ok(slowest)
}

/// The same, for drives of the library whose own file has no bus: from the `.parv` beside it that
/// takes it in by `source`, the one named most like it. 0 when there is none.
fn bus_beside(path: &Path) -> [f64; 2] {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return [0.0; 2] };
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    let name = name.to_string_lossy();
    let Ok(entries) = std::fs::read_dir(dir) else { return [0.0; 2] };
    let mut found: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|p| p != path && p.extension().is_some_and(|e| e == "parv"))
        .filter(|p| {
            let text = tree::read_text(p).unwrap_or_default();
            let words: Vec<&str> = text.split_whitespace().collect();
            words.windows(2).any(|pair| pair[0] == "source" && pair[1] == name)
        })
        .collect();
    let alike = |p: &Path| p.file_stem().is_some_and(|s| name.starts_with(&*s.to_string_lossy()));
    found.sort_by_key(|p| (!alike(p), p.clone()));
    let times = found.iter().filter_map(|p| bus(&tree::read(p).ok()?).ok());
    times.into_iter().next().unwrap_or_default()
}

/// Values other than these ask for what the model does not do.
const NEUTRAL: &[(&str, &[f64])] = &[
    ("Allow sneaky partial read hits", &[0.0]),
    ("Allow sneaky intermediate read hits", &[0.0]),
    ("Allow write prebuffering", &[0.0]),
    ("Preseeking level", &[0.0]),
    ("Disconnect write if seek", &[0.0]),
    ("Read directly to buffer", &[1.0]),
    ("Immed transfer partial hit", &[1.0]),
    ("Constant access time", &[0.0]),
];

fn ignored(disk: &Block) -> Result<Vec<String>, SpecError> {
    let mut out = Vec::new();
    for (key, neutral) in NEUTRAL {
        let value = disk.number_or(key, neutral[0])?;
        if !neutral.contains(&value) {
            out.push(format!("{key} = {value}"));
        }
    }
    // The model has these where writes are reported from the medium.
    if disk.integer_or("Fast write level", 0, 2, 0)? > 0 {
        for key in ["Extra write disconnect", "Minimum seek delay"] {
            let value = disk.number_or(key, 0.0)?;
            if value != 0.0 {
                out.push(format!("{key} = {value}"));
            }
        }
    }
    Ok(out)
}

fn cache(disk: &Block) -> Result<CacheParameters, SpecError> {
    let read_ahead = match disk.integer("Buffer continuous read", 0, 4)? {
        0 => ReadAhead::None,
        1 => ReadAhead::Track,
        2 => ReadAhead::Cylinder,
        3 => ReadAhead::Segment,
        _ => ReadAhead::TwoTracks,
    };
    let writes = match disk.integer_or("Fast write level", 0, 2, 0)? {
        0 => WriteReporting::Medium,
        _ => WriteReporting::Sequential,
    };
    let segments = disk.integer("Number of buffer segments", 1, 65_536)?;
    let separate = disk.flag("Use separate write segment")?;
    let caching = disk.integer_or("Enable caching in buffer", 0, 2, 1)? > 0;
    let segments = if caching { segments - u64::from(separate && segments > 1) } else { 0 };
    let size = disk.integer("Segment size (in blks)", 1, 1 << 32)?;
    let over_requested = disk.signed_or("Read-ahead over requested", -1, 1, 0)?;
    Ok(CacheParameters {
        segments: u32::try_from(segments).unwrap_or(u32::MAX),
        segment_sectors: size,
        read_ahead,
        max_read_ahead: disk.integer_or("Maximum read-ahead (blks)", 0, 1 << 32, 0)?,
        min_read_ahead: disk.integer_or("Minimum read-ahead (blks)", 0, 1 << 32, 0)?,
        keep_requested: over_requested == 0,
        drop_requested: over_requested == -1,
        read_ahead_on_idle_hit: disk.flag("Read-ahead on idle hit")?,
        read_passing: disk.flag("Read any free blocks")?,
        zero_latency: disk.integer_or("Immediate buffer read", 0, 2, 0)? > 0,
        zero_latency_writes: disk.integer_or("Immediate buffer write", 0, 2, 0)? > 0,
        writes,
        dirty_sectors: 0,
        hits_on_written: disk.flag("Allow read hits on write data")?,
        write_segment: separate,
        hits_on_arriving: disk.flag("Allow almost read hits")?,
        hits_while_busy: disk.flag("Allow sneaky full read hits")?,
        combine_writes: disk.flag("Combine seq writes")?,
        stop_in_sector: disk.flag("Stop prefetch in sector")?,
        read_watermark: watermark(disk, size)?,
    })
}

/// The watermark is a share of the request, or of the segment.
fn watermark(disk: &Block, segment: u64) -> Result<f64, SpecError> {
    let share = disk.number_or("High (read) water mark", 0.0)?;
    let of_request = disk.flag("Set watermark by reqsize")?;
    let holds = disk.flag("Hold bus entire read xfer")?;
    // Of a segment, any request of ordinary size is below it: all of it is waited for.
    let share = if of_request || share == 0.0 || segment == 0 { share } else { 1.0 };
    Ok(if holds { share.max(0.0) } else { share }.clamp(0.0, 1.0))
}

/// The layout, and what it asks for that the model does not have.
fn layout(model: &Block) -> Result<(Layout, Vec<String>), SpecError> {
    let layout = model.block("Layout Model")?;
    let surfaces = small(model.integer("Number of data surfaces", 1, 255)?);
    let cylinders = small(model.integer("Number of cylinders", 1, 1 << 26)?);
    match layout.kind.as_str() {
        "dm_layout_g1" => Ok((zones(layout, surfaces, cylinders)?, Vec::new())),
        "dm_layout_g4" => {
            let (nested, passed_over) = nested::layout(layout)?;
            let nested = Some(nested);
            Ok((Layout { surfaces, cylinders, nested, ..Layout::default() }, passed_over))
        }
        other => {
            let why = format!("is a {other}; dm_layout_g1 and dm_layout_g4 are known");
            Err(model.error("Layout Model", why))
        }
    }
}

fn zones(layout: &Block, surfaces: u32, cylinders: u32) -> Result<Layout, SpecError> {
    let mapping = match layout.integer("LBN-to-PBN mapping scheme", 0, 2)? {
        0 => Mapping::Cylinder,
        1 => Mapping::SerpentineZone,
        _ => Mapping::SerpentineDisk,
    };
    let sparing = match layout.integer("Sparing scheme used", 0, 10)? {
        0 => Sparing::None,
        1 => Sparing::Tracks,
        2 => Sparing::CylinderEnd,
        3 => Sparing::TrackEnd,
        4 => Sparing::CylinderEndSlipOn,
        5 => Sparing::CylinderFront,
        6 => Sparing::CylinderFrontSlipOn,
        7 => Sparing::DiskEnd,
        8 => Sparing::Range,
        9 => Sparing::Zone,
        _ => Sparing::ZoneSlipOn,
    };
    let mut zones = Vec::new();
    for value in layout.list("Zones")? {
        match value {
            Value::Block(block) => zones.push(zone(block)?),
            _ => return Err(layout.error("Zones", "holds something that is no zone")),
        }
    }
    // Some files of the library count the last cylinder where the number of them is meant; the
    // zones are what DiskSim goes by.
    let reached = zones.iter().map(|zone| zone.last_cylinder + 1).max().unwrap_or(0);
    let cylinders = cylinders.max(reached);
    Ok(Layout {
        surfaces,
        cylinders,
        mapping,
        sparing,
        range: small(layout.integer_or("Rangesize for sparing", 0, 1 << 26, 1)?),
        zones,
        nested: None,
    })
}

fn zone(block: &Block) -> Result<ZoneLayout, SpecError> {
    let defects = block.integers("defects")?;
    if defects.len() % 2 == 1 {
        return Err(block.error("defects", "is not a list of pairs"));
    }
    Ok(ZoneLayout {
        first_cylinder: small(block.integer("First cylinder number", 0, 1 << 26)?),
        last_cylinder: small(block.integer("Last cylinder number", 0, 1 << 26)?),
        sectors_per_track: small(block.integer("Blocks per track", 1, 1 << 20)?),
        offset: block.number_or("Offset of first block", 0.0)?,
        track_skew: block.number_or("Skew for track switch", 0.0)?,
        cylinder_skew: block.number_or("Skew for cylinder switch", 0.0)?,
        reserved: block.integer_or("Empty space at zone front", 0, 1 << 40, 0)?,
        spares: block.integer_or("Number of spares", 0, 1 << 40, 0)?,
        slips: block.integers("slips")?,
        defects: defects.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
    })
}

fn mechanics(model: &Block) -> Result<MechanicsParameters, SpecError> {
    let mechanics = model.block("Mechanical Model")?;
    if mechanics.kind != "dm_mech_g1" {
        let why = format!("is a {}; dm_mech_g1 is known", mechanics.kind);
        return Err(model.error("Mechanical Model", why));
    }
    Ok(MechanicsParameters {
        rpm: mechanics.number("Rotation speed (in rpms)")?,
        seek: seek::curve(mechanics)?,
        head_switch_ms: mechanics.number_or("Head switch time", 0.0)?,
        write_settle_ms: mechanics.number_or("Add. write settling delay", 0.0)?,
    })
}

/// The ranges asked for before are narrower.
fn small(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
