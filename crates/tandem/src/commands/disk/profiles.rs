//! `tandem disk profiles`.

use anyhow::Result;
use comfy_table::{Table, presets};
use tandem_disk::drive::Medium;
use tandem_disk::profile::Profile;
use tandem_disk::request::SECTOR;

use crate::cli::disk::ProfilesArgs;
use crate::cli::exit;
use crate::output::{self, Listing};
use crate::units::bytes;

/// Lists profiles, or shows one.
pub fn run(args: &ProfilesArgs) -> Result<u8> {
    match &args.name {
        Some(name) => show(&super::profile(name)?, args.json)?,
        None => list(args.json)?,
    }
    Ok(exit::OK)
}

fn list(json: bool) -> Result<()> {
    let profiles = Profile::shipped()?;
    if json {
        return output::print_json(&profiles);
    }
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    for profile in &profiles {
        table.add_row([&profile.name, &profile.description]);
    }
    output::print(&table.to_string())
}

fn show(profile: &Profile, json: bool) -> Result<()> {
    if json {
        return output::print_json(profile);
    }
    let drive = profile.drive()?;
    let mut listing = Listing::default();
    listing
        .heading(format!("{}: {}", profile.name, profile.description))
        .row("capacity", bytes(drive.sectors() * SECTOR))
        .row("queue", format!("{}, {:?}", profile.queue.depth, profile.queue.policy));
    if let Medium::Disk(disk) = &profile.medium {
        let layout = &disk.layout;
        listing
            .row("speed", format!("{} rpm", disk.mechanics.rpm))
            .row("surfaces", layout.surfaces.to_string())
            .row("cylinders", format!("{}, {} zones", layout.cylinders, layout.zones.len()))
            .row("cache", format!("{} segments", disk.cache.segments));
    }
    for source in &profile.sources {
        listing.row("source", source);
    }
    output::print(&listing.render())
}
