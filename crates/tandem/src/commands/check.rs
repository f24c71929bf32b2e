//! `tandem check`.

mod repair;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tandem_device::Access;
use tandem_fs::check::{CheckOptions, CheckReport, check};
use tandem_fs::{Error, MountOptions, SystemEnv, Volume};

use super::scrub;
use crate::cli::{CheckArgs, exit};
use crate::devices;
use crate::output::{self, Listing};
use crate::progress::Progress;
use crate::units::{bytes, grouped, seconds};

/// Verifies a volume.
pub fn run(args: &CheckArgs) -> Result<u8> {
    if args.repair {
        return repair::run(args);
    }
    let opened = devices::open(&args.devices.meta, args.devices.data.as_deref(), Access::ReadOnly)?;
    if args.preen {
        return preen(args, &opened);
    }
    let progress = Progress::new("checking");
    let env = Arc::new(SystemEnv);
    let report = check(opened.meta(), opened.data(), &options(args), env, &|now| {
        progress.set(now.phase, now.done, now.total);
    })?;
    drop(progress);
    // What leads to contents must be right first.
    let scrubbed = match args.scrub && report.problems_total == 0 {
        true => Some(scrub::offline(&opened)?),
        false => None,
    };
    if args.json {
        let mut value = serde_json::to_value(&report)?;
        if let (Some(fields), Some(scrubbed)) = (value.as_object_mut(), &scrubbed) {
            fields.insert("scrub".to_string(), serde_json::to_value(scrubbed)?);
        }
        output::print_json(&value)?;
    } else {
        let mut listing = describe(&args.devices.meta.display().to_string(), &report);
        match &scrubbed {
            Some(scrubbed) => scrub::describe(scrubbed, &mut listing),
            None if args.scrub => drop(listing.row("scrub", "not made: repair the errors first")),
            None => {}
        }
        output::print(&listing.render())?;
    }
    Ok(match scrubbed.filter(|scrubbed| scrubbed.bad_total > 0) {
        Some(scrubbed) => scrub::status_of(&scrubbed),
        None => status(&report),
    })
}

fn options(args: &CheckArgs) -> CheckOptions {
    let mut options = CheckOptions::default();
    if let Some(memory) = args.memory {
        options.memory = memory;
    }
    options
}

fn status(report: &CheckReport) -> u8 {
    // What could not be verified may be wrong.
    if report.problems_total > 0 {
        exit::FSCK_ERRORS
    } else if report.is_sound() {
        exit::OK
    } else {
        exit::FSCK_OPERATIONAL
    }
}

/// Sees whether the volume can be mounted; a mount recovers what a crash has left.
fn preen(args: &CheckArgs, opened: &devices::Opened) -> Result<u8> {
    let opts = MountOptions { read_only: true, background: false, ..MountOptions::default() };
    match Volume::open(opened.meta(), opened.data(), opts, Arc::new(SystemEnv)) {
        Ok(_) => Ok(exit::OK),
        Err(error @ Error::Io { .. }) => Err(error.into()),
        Err(error) => {
            let name = args.devices.meta.display();
            output::complain(&format!("{error}; look closer with tandem check {name} --repair"));
            Ok(exit::FSCK_ERRORS)
        }
    }
}

fn describe(name: &str, report: &CheckReport) -> Listing {
    let verdict = match (report.problems_total, report.is_sound()) {
        (0, true) => "no errors".to_string(),
        (0, false) => "no errors found, but not everything could be verified".to_string(),
        (1, _) => "1 error".to_string(),
        (count, _) => format!("{} errors", grouped(count)),
    };
    let state = match (report.clean, report.recovered_commits) {
        (true, _) => "clean".to_string(),
        (false, commits) => {
            format!("not unmounted; the next mount recovers {} commits", grouped(commits))
        }
    };
    let mut listing = Listing::default();
    listing
        .heading(format!("{name}: {verdict}"))
        .row("state", state)
        .row(
            "i-nodes",
            format!(
                "{}, among them {} directories and {} files",
                grouped(report.inodes),
                grouped(report.directories),
                grouped(report.files)
            ),
        )
        .row("entries", grouped(report.links))
        .row(
            "extents",
            format!("{}, {} data blocks", grouped(report.extents), grouped(report.blocks_used)),
        )
        .row(
            "metadata",
            format!("{} blocks, {}", grouped(report.metadata_blocks), bytes(report.bytes_live)),
        )
        .row("took", seconds(Duration::from_secs_f64(report.seconds.max(0.0))));
    if report.orphans > 0 {
        listing.row("unlinked", format!("{}, freed by the next mount", grouped(report.orphans)));
    }
    for problem in &report.problems {
        listing.row("error", problem.to_string());
    }
    let left = report.problems_total.saturating_sub(report.problems.len() as u64);
    if left > 0 {
        listing.row("error", format!("and {} more", grouped(left)));
    }
    for what in &report.unverified {
        listing.row("not verified", what);
    }
    listing
}
