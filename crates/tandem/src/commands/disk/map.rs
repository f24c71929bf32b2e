//! `tandem disk map`.

mod chart;
mod picture;
mod text;

use anyhow::{Context, Result, bail};
use tandem_disk::capture::DeviceNumber;
use tandem_disk::drive::Medium;
use tandem_disk::map::{Map, Resolution, Span, Tracks};
use tandem_disk::model::geometry::Geometry;
use tandem_disk::request::SECTOR;
use tandem_disk::trace::{Record, TraceError};

use crate::cli::disk::{MapArgs, Picture};
use crate::cli::exit;
use crate::output;
use picture::Kind;

/// Cells of a picture: two pixels each.
const FINE: Resolution = Resolution { columns: 420, rows: 150 };

/// Devices that a complaint names.
const NAMED: usize = 8;

/// Draws a trace.
pub fn run(args: &MapArgs) -> Result<u8> {
    let kind = args.out.as_deref().map(Kind::of_name).transpose()?;
    let name = args.trace.trace.display().to_string();
    let Some(span) = Span::of(records(args)?)? else { bail!("{name}: no requests to draw") };
    if span.devices.len() > 1 {
        let named = span.devices.iter().take(NAMED);
        let names =
            named.map(|(&device, count)| format!("{} ({count} requests)", DeviceNumber(device)));
        let mut names = names.collect::<Vec<_>>().join(", ");
        if span.devices.len() > NAMED {
            names += ", and others";
        }
        output::complain(&format!("{name}: several devices in one picture: {names}; see --device"));
    }
    let mut map = Map::new(span.clone(), tracks(args, &span)?, FINE);
    for record in records(args)? {
        map.add(&record?);
    }
    if let (Some(path), Some(kind)) = (&args.out, kind) {
        let drawn = picture::draw(&map, &name, &pictures(args, &map), kind)?;
        std::fs::write(path, drawn).with_context(|| path.display().to_string())?;
    }
    match (args.json, &args.out) {
        (true, _) => output::print_json(&map.summary())?,
        (false, None) => output::print(&text::draw(&map, &name, &args.only))?,
        (false, Some(_)) => output::print(&text::classes(&map, &name))?,
    }
    Ok(exit::OK)
}

/// The trace's requests, or those that were asked for.
fn records(args: &MapArgs) -> Result<impl Iterator<Item = Result<Record, TraceError>>> {
    let (device, range) = (args.device.map(|device| device.0), args.range);
    let wanted = move |record: &Record| {
        let end = record.offset.saturating_add(record.length);
        device.is_none_or(|device| record.device == device)
            && range.is_none_or(|(from, to)| from <= record.offset && end <= to)
    };
    Ok(super::open(&args.trace)?.filter(move |record| record.as_ref().map_or(true, wanted)))
}

/// What counts as a track.
fn tracks(args: &MapArgs, span: &Span) -> Result<Tracks> {
    let Some(name) = &args.profile else { return Ok(Tracks::Equal(args.track)) };
    let profile = super::profile(name)?;
    let Medium::Disk(disk) = &profile.medium else {
        bail!("{}: has no tracks; --track N takes N sectors for one", profile.name);
    };
    let geometry = Geometry::new(&disk.layout)?;
    let (end, sectors) = (span.end().div_ceil(SECTOR), geometry.sectors());
    if end > sectors {
        bail!("the trace ends at sector {end}, {} at {sectors}", profile.name);
    }
    Ok(Tracks::Drive(Box::new(geometry)))
}

/// What is drawn: what was asked for, or all that the trace tells.
fn pictures(args: &MapArgs, map: &Map) -> Vec<Picture> {
    use clap::ValueEnum;
    let told = |picture: &Picture| match picture {
        Picture::Latency | Picture::Services => map.has_services(),
        _ => true,
    };
    match args.only.is_empty() {
        true => Picture::value_variants().iter().copied().filter(told).collect(),
        false => args.only.clone(),
    }
}
