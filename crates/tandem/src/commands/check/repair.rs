//! `tandem check --repair`.

use std::io::{BufRead, IsTerminal, Write};
use std::sync::Arc;

use anyhow::Result;
use tandem_device::Access;
use tandem_fs::SystemEnv;
use tandem_fs::check::{RepairKind, RepairReport, repair};

use super::{describe, options};
use crate::cli::{CheckArgs, exit};
use crate::devices;
use crate::output::{self, Listing};
use crate::progress::Progress;
use crate::units::grouped;

/// What somebody has said to the repairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
    /// The input has ended.
    Gone,
}

/// Verifies a volume and repairs it.
pub fn run(args: &CheckArgs) -> Result<u8> {
    let asks = !args.yes && !args.dry_run;
    if asks && !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        output::complain(
            "--repair: no terminal to ask on: say --yes to have everything repaired, or --dry-run to see what would be done",
        );
        return Ok(exit::FSCK_USAGE);
    }
    let access = if args.dry_run { Access::ReadOnly } else { Access::ReadWrite };
    let opened = devices::open(&args.devices.meta, args.devices.data.as_deref(), access)?;
    let name = args.devices.meta.display().to_string();
    let progress = Progress::new("checking");
    let show = |now: tandem_fs::check::Progress| progress.set(now.phase, now.done, now.total);
    let mut answer = Answer::Yes;
    let mut agree = |report: &RepairReport| {
        progress.hide();
        if args.dry_run {
            answer = Answer::No;
        } else if asks {
            let _ = output::print(&found(&name, report));
            answer = ask(report);
        }
        answer == Answer::Yes
    };
    let (meta, data, env) = (opened.meta(), opened.data(), Arc::new(SystemEnv));
    let report = repair(meta, data, &options(args), env, &show, &mut agree)?;
    drop(progress);
    if args.json {
        output::print_json(&report)?;
    } else {
        if !asks {
            output::print(&found(&name, &report))?;
        }
        output::print(&result(&name, &report))?;
    }
    Ok(match (report.is_sound(), report.made, answer) {
        (true, false, _) => exit::OK,
        (true, true, _) => exit::FSCK_CORRECTED,
        (false, false, Answer::Gone) => exit::FSCK_CANCELLED,
        (false, ..) => exit::FSCK_ERRORS,
    })
}

/// Asks for each sort of repair.
fn ask(report: &RepairReport) -> Answer {
    for (kind, count) in &report.repairs.counts {
        let mut stderr = std::io::stderr();
        let _ = write!(stderr, "{} ({})? [y/n] ", sentence(*kind), grouped(*count));
        let _ = stderr.flush();
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(n) if n > 0 => {
                if !matches!(line.trim(), "y" | "Y" | "yes") {
                    return Answer::No;
                }
            }
            _ => return Answer::Gone,
        }
    }
    Answer::Yes
}

/// A question with a capital letter.
fn sentence(kind: RepairKind) -> String {
    let question = kind.question();
    let mut letters = question.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// What is wrong, and what would be done.
fn found(name: &str, report: &RepairReport) -> String {
    let mut text = match (&report.before, &report.unchecked) {
        (Some(before), _) => describe(name, before).render(),
        (None, Some(why)) => {
            let mut listing = Listing::default();
            listing.heading(format!("{name}: cannot be checked")).row("error", why);
            listing.render()
        }
        (None, None) => String::new(),
    };
    if !report.repairs.counts.is_empty() {
        let mut listing = Listing::default();
        listing.heading("repairs".to_string());
        for (kind, count) in &report.repairs.counts {
            listing.row(grouped(*count), kind.question());
        }
        for repair in &report.repairs.list {
            listing.row("repair", repair.to_string());
        }
        text.push_str(&listing.render());
    }
    text
}

/// How it ended.
fn result(name: &str, report: &RepairReport) -> String {
    match &report.after {
        Some(after) => describe(&format!("{name}, repaired"), after).render(),
        None if report.is_sound() => String::new(),
        None => {
            let mut listing = Listing::default();
            listing.heading(format!("{name}: nothing was written"));
            listing.render()
        }
    }
}
