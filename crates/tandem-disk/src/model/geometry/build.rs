//! From a layout as written to one that can be asked.

use super::{
    Geometry, Index, Layout, ModelError, Nested, NestedLayout, Skipped, Sparing, Zone, ZoneLayout,
};

/// Slots of a track.
pub(super) const MAX_TRACK: u32 = 1 << 20;
const MAX_CYLINDERS: u32 = 1 << 26;
/// Units of a zone, up to which the first sector of each is kept.
const MAX_STARTS: u64 = 1 << 20;

pub(super) fn geometry(layout: &Layout) -> Result<Geometry, ModelError> {
    if !(1..=255).contains(&layout.surfaces) {
        return Err(ModelError::new("surfaces", format!("{}, not 1 to 255", layout.surfaces)));
    }
    if !(1..=MAX_CYLINDERS).contains(&layout.cylinders) {
        let why = format!("{}, not 1 to {MAX_CYLINDERS}", layout.cylinders);
        return Err(ModelError::new("cylinders", why));
    }
    if let Some(nested) = &layout.nested {
        return runs(layout, nested);
    }
    let mut zones: Vec<Zone> = Vec::with_capacity(layout.zones.len());
    let mut sectors = 0;
    for (at, from) in layout.zones.iter().enumerate() {
        if at > 0 && from.first_cylinder <= layout.zones[at - 1].last_cylinder {
            return Err(ModelError::new(format!("zone {at}"), "begins before the last one ends"));
        }
        let named =
            |error: ModelError| ModelError::new(format!("zone {at}: {}", error.what), error.why);
        let zone = zone(layout, from, sectors).map_err(named)?;
        sectors += zone.sectors;
        zones.push(zone);
    }
    if sectors == 0 {
        return Err(ModelError::new("zones", "there are none"));
    }
    let cylinders = layout.cylinders;
    let (surfaces, mapping) = (u64::from(layout.surfaces), layout.mapping);
    let firsts = zones.iter().map(|zone| zone.first_sector).collect();
    Ok(Geometry { zones, firsts, surfaces, mapping, cylinders, sectors, nested: None })
}

fn runs(layout: &Layout, from: &NestedLayout) -> Result<Geometry, ModelError> {
    if !layout.zones.is_empty() {
        return Err(ModelError::new("zones", "there are runs within runs as well"));
    }
    let nested = Nested::new(from, layout.surfaces, layout.cylinders)?;
    Ok(Geometry {
        zones: Vec::new(),
        firsts: Vec::new(),
        surfaces: u64::from(layout.surfaces),
        mapping: layout.mapping,
        cylinders: layout.cylinders,
        sectors: nested.sectors(),
        nested: Some(nested),
    })
}

fn zone(layout: &Layout, from: &ZoneLayout, first_sector: u64) -> Result<Zone, ModelError> {
    let spt = from.sectors_per_track;
    if !(1..=MAX_TRACK).contains(&spt) {
        return Err(ModelError::new("sectors a track", format!("{spt}, not 1 to {MAX_TRACK}")));
    }
    if from.last_cylinder < from.first_cylinder || from.last_cylinder >= layout.cylinders {
        let why =
            format!("{} to {}, of {}", from.first_cylinder, from.last_cylinder, layout.cylinders);
        return Err(ModelError::new("cylinders", why));
    }
    for (what, value) in [
        ("offset", from.offset),
        ("track skew", from.track_skew),
        ("cylinder skew", from.cylinder_skew),
    ] {
        if !value.is_finite() || value.abs() > f64::from(MAX_TRACK) {
            return Err(ModelError::new(what, format!("{value} is not a number of sectors")));
        }
    }
    let cylinders = u64::from(from.last_cylinder - from.first_cylinder) + 1;
    let spt = u64::from(spt);
    let cylinder = spt * u64::from(layout.surfaces);
    let total = cylinder * cylinders;
    let slips = slips(layout.sparing, from, spt, total)?;
    let plan = units(layout, from, spt, cylinder, total, &slips)?;
    let sectors = plan.sectors.checked_sub(from.reserved).filter(|&s| s > 0).ok_or_else(|| {
        ModelError::new("spares and reserved sectors", "as many as there are sectors")
    })?;
    use Sparing::{CylinderEnd, CylinderEndSlipOn, CylinderFront, CylinderFrontSlipOn, TrackEnd};
    let turns = matches!(
        layout.sparing,
        CylinderEnd | CylinderEndSlipOn | CylinderFront | CylinderFrontSlipOn | TrackEnd
    );
    let turned_by: Vec<u64> = slips.iter().filter(|_| turns).map(|&(start, _)| start).collect();
    let mut zone = Zone {
        first_sector,
        sectors,
        first_cylinder: from.first_cylinder,
        spt,
        offset: from.offset,
        track_skew: from.track_skew,
        cylinder_skew: from.cylinder_skew,
        reserved: from.reserved,
        unit_slots: plan.unit_slots,
        unit_sectors: plan.unit_sectors,
        unit_front: plan.front,
        plain: plan.skipped.is_empty() && plan.unit_slots >= total && plan.front == 0,
        skipped: Skipped::new(&plan.skipped, total),
        turned_near: Index::new(&turned_by, total),
        turned_by,
        turn_by_track: layout.sparing == TrackEnd,
        remapped: remapped(layout.sparing, from, spt, total)?,
        starts: Vec::new(),
    };
    let units = total.div_ceil(zone.unit_slots) + 1;
    if units <= MAX_STARTS && !zone.skipped.is_empty() {
        zone.starts = (0..units).map(|unit| zone.find_start(unit)).collect();
    }
    Ok(zone)
}

/// Runs of slipped slots, in order.
fn slips(
    sparing: Sparing,
    from: &ZoneLayout,
    spt: u64,
    total: u64,
) -> Result<Vec<(u64, u64)>, ModelError> {
    let len = if sparing == Sparing::Tracks { spt } else { 1 };
    let mut slips = Vec::with_capacity(from.slips.len());
    for &slip in &from.slips {
        let start = slip.checked_mul(len).filter(|&start| start < total);
        let start =
            start.ok_or_else(|| ModelError::new("slips", format!("{slip} is not in the zone")))?;
        slips.push((start, len));
    }
    slips.sort_unstable();
    slips.dedup();
    Ok(slips)
}

fn remapped(
    sparing: Sparing,
    from: &ZoneLayout,
    spt: u64,
    total: u64,
) -> Result<Vec<(u64, u64)>, ModelError> {
    let mut out = Vec::new();
    for &(bad, spare) in from.defects.iter().filter(|(bad, spare)| bad != spare) {
        let len = if sparing == Sparing::Tracks { spt } else { 1 };
        for at in 0..len {
            let slot = |n: u64| n.checked_mul(len).and_then(|n| n.checked_add(at));
            match (slot(bad), slot(spare)) {
                (Some(bad), Some(spare)) if bad < total && spare < total => out.push((bad, spare)),
                _ => {
                    let why = format!("{bad} or {spare} is not in the zone");
                    return Err(ModelError::new("defects", why));
                }
            }
        }
    }
    out.sort_unstable();
    Ok(out)
}

/// How a zone is numbered.
struct Plan {
    unit_slots: u64,
    unit_sectors: u64,
    front: u64,
    skipped: Vec<(u64, u64)>,
    sectors: u64,
}

fn units(
    layout: &Layout,
    from: &ZoneLayout,
    spt: u64,
    cylinder: u64,
    total: u64,
    slips: &[(u64, u64)],
) -> Result<Plan, ModelError> {
    let range = cylinder * u64::from(layout.range.max(1));
    let (unit, front, slip_on) = match layout.sparing {
        Sparing::None | Sparing::Zone | Sparing::Tracks => (total, false, false),
        Sparing::DiskEnd | Sparing::ZoneSlipOn => (total, false, true),
        Sparing::CylinderEnd => (cylinder, false, false),
        Sparing::CylinderEndSlipOn => (cylinder, false, true),
        Sparing::CylinderFront => (cylinder, true, false),
        Sparing::CylinderFrontSlipOn => (cylinder, true, true),
        Sparing::TrackEnd => (spt, false, false),
        Sparing::Range => (range.min(total), false, false),
    };
    let spares = match layout.sparing {
        Sparing::None | Sparing::DiskEnd => 0,
        Sparing::Tracks => from.spares.saturating_mul(spt),
        _ => from.spares,
    };
    let unit_sectors = unit.checked_sub(spares).filter(|&s| s > 0);
    let unit_sectors = unit_sectors
        .ok_or_else(|| ModelError::new("spares", format!("{spares} of {unit} sectors")))?;
    if slip_on {
        let mut skipped = slips.to_vec();
        if unit < total && spares > 0 {
            let first = if front { 0 } else { unit_sectors };
            skipped.extend((0..total / unit).map(|at| (at * unit + first, spares)));
            skipped = merged(skipped);
        }
        let lost: u64 = skipped.iter().map(|&(_, len)| len).sum();
        let end_spares = if unit == total { spares } else { 0 };
        let sectors = total.saturating_sub(lost).saturating_sub(end_spares);
        return Ok(Plan { unit_slots: total, unit_sectors: total, front: 0, skipped, sectors });
    }
    // A range cut short by the zone's end has no spares of its own (DiskSim counts whole ranges).
    let (whole, rest) = (total / unit, total % unit);
    let lost = if layout.sparing == Sparing::None { slips.len() as u64 } else { 0 };
    Ok(Plan {
        unit_slots: unit,
        unit_sectors,
        front: if front { spares } else { 0 },
        skipped: slips.to_vec(),
        sectors: (whole * unit_sectors + rest.min(unit_sectors)).saturating_sub(lost),
    })
}

/// Runs in order, none reaching into the next.
pub(super) fn merged(mut runs: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    runs.sort_unstable();
    let mut out: Vec<(u64, u64)> = Vec::with_capacity(runs.len());
    for (start, len) in runs {
        match out.last_mut() {
            Some(last) if last.0 + last.1 >= start => {
                last.1 = last.1.max(start + len - last.0);
            }
            _ => out.push((start, len)),
        }
    }
    out
}
