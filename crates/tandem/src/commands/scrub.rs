//! `tandem scrub`, and `tandem check --scrub`.

use std::ops::ControlFlow;
use std::time::Duration;

use anyhow::{Result, bail};
use serde::Deserialize;
use serde_json::Value;
use tandem_fs::{MountOptions, ScrubReport, SystemEnv, Volume};

use super::stats::find;
use crate::cli::{ScrubArgs, exit};
use crate::control;
use crate::devices::Opened;
use crate::output::{self, Listing};
use crate::progress::Progress;
use crate::units::{bytes, grouped};

/// Between two looks at a scrub under way.
const INTERVAL: Duration = Duration::from_millis(200);

/// What the daemon tells; the fields that are looked at here.
#[derive(Deserialize)]
struct Status {
    running: bool,
    failure: Option<String>,
    report: Value,
}

/// Has a mounted volume read all that it has, and waits for the outcome.
pub fn run(args: &ScrubArgs) -> Result<u8> {
    let mount = find(&args.dir)?;
    let ask = |word| Ok::<_, anyhow::Error>(serde_json::from_value(control::ask(&mount, word)?)?);
    if args.stop {
        let _: Status = ask("scrub-stop")?;
        return Ok(exit::OK);
    }
    let progress = Progress::new("scrubbing");
    let mut status: Status = ask("scrub-start")?;
    while status.running {
        let number = |name| status.report.get(name).and_then(Value::as_u64).unwrap_or(0);
        progress.set("scrubbing", number("done"), number("total"));
        std::thread::sleep(INTERVAL);
        status = ask("scrub-status")?;
    }
    drop(progress);
    if let Some(failure) = status.failure {
        bail!("{}: {failure}", args.dir.display());
    }
    let report: ScrubReport = serde_json::from_value(status.report)?;
    if args.json {
        output::print_json(&report)?;
    } else {
        let mut listing = Listing::default();
        listing.heading(format!("{}: {}", args.dir.display(), verdict(&report)));
        describe(&report, &mut listing);
        output::print(&listing.render())?;
    }
    Ok(status_of(&report))
}

/// Reads all that a volume has that is not mounted.
pub fn offline(opened: &Opened) -> Result<ScrubReport> {
    let options = MountOptions { read_only: true, ..MountOptions::default() };
    let env = std::sync::Arc::new(SystemEnv);
    let volume = Volume::open(opened.meta(), opened.data(), options, env)?;
    let progress = Progress::new("scrubbing");
    let report = volume.scrub(&mut |now| {
        progress.set("scrubbing", now.done, now.total);
        ControlFlow::Continue(())
    })?;
    Ok(report)
}

/// The exit status, as fsck(8)'s.
pub fn status_of(report: &ScrubReport) -> u8 {
    match (report.bad_total, report.complete) {
        (0, true) => exit::OK,
        (0, false) => exit::FSCK_OPERATIONAL,
        _ => exit::FSCK_ERRORS,
    }
}

fn verdict(report: &ScrubReport) -> String {
    match (report.bad_total, report.complete) {
        (0, true) => "everything can be read".to_string(),
        (0, false) => "stopped; nothing bad so far".to_string(),
        (1, _) => "1 bad block".to_string(),
        (count, _) => format!("{} bad blocks", grouped(count)),
    }
}

/// What was read, and what is bad.
pub fn describe(report: &ScrubReport, listing: &mut Listing) {
    listing.row("metadata read", format!("{} blocks", grouped(report.metadata_blocks))).row(
        "contents read",
        format!("{} files, {}", grouped(report.files), bytes(report.data_bytes)),
    );
    for bad in &report.bad {
        listing.row("bad", bad.to_string());
    }
    let left = report.bad_total.saturating_sub(report.bad.len() as u64);
    if left > 0 {
        listing.row("bad", format!("and {} more", grouped(left)));
    }
}
