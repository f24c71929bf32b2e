//! `tandem disk replay`.

use std::fs::File;
use std::io::{BufWriter, Write};

use anyhow::{Context, Result};
use tandem_disk::drive::Drive;
use tandem_disk::replay::{
    Distribution, Finished, Kind, Mode, Options, Outside, Report, fitting, replay,
};

use crate::cli::disk::{ReplayArgs, ReplayMode};
use crate::cli::exit;
use crate::output::{self, Listing};
use crate::units::{bytes, grouped, per_cent};

/// Replays a trace.
pub fn run(args: &ReplayArgs) -> Result<u8> {
    let profile = super::profile(&args.profile)?;
    let mut drive = profile.drive()?;
    let mode = match args.mode {
        ReplayMode::Open => Mode::Open,
        ReplayMode::Closed => Mode::Closed { depth: args.depth },
        ReplayMode::Dependent => Mode::Dependent,
        ReplayMode::Paced => Mode::Paced,
    };
    let outside = if args.scale { scale(args, &drive)? } else { Outside::Refuse };
    let mut csv = match &args.csv {
        Some(path) => {
            let file = File::create(path).with_context(|| path.display().to_string())?;
            let mut csv = BufWriter::new(file);
            writeln!(csv, "{COLUMNS}")?;
            Some(csv)
        }
        None => None,
    };
    let mut each = |done: &Finished| csv.as_mut().map_or(Ok(()), |csv| line(csv, done));
    let records = super::open(&args.trace)?;
    let report = replay(&mut drive, records, Options { mode, outside }, &mut each)?;
    if let Some(mut csv) = csv {
        csv.flush()?;
    }
    if args.json {
        output::print_json(&report)?;
    } else {
        output::print(&describe(&args.trace.trace.display().to_string(), &profile.name, &report))?;
    }
    Ok(exit::OK)
}

/// Reads the trace once to see how far it reaches.
fn scale(args: &ReplayArgs, drive: &Drive) -> Result<Outside> {
    let mut last = 0;
    for record in super::open(&args.trace)? {
        let record = record?;
        last = last.max(record.offset.saturating_add(record.length));
    }
    Ok(Outside::Scale(fitting(last, drive)))
}

const COLUMNS: &str = "request,operation,sector,sectors,submitted_ns,started_ns,finished_ns,\
                       cached,seek_cylinders,seek_ns,rotation_ns,transfer_ns,traced_service_ns";

fn line(csv: &mut impl Write, done: &Finished) -> std::io::Result<()> {
    let completion = &done.completion;
    let (request, service) = (&completion.request, &completion.service);
    let traced = done.record.service.map_or(String::new(), |service| service.to_string());
    writeln!(
        csv,
        "{},{:?},{},{},{},{},{},{:?},{},{},{},{},{traced}",
        done.number,
        request.operation,
        request.sector,
        request.sectors,
        completion.submitted,
        completion.started,
        service.finish,
        service.cached,
        service.seek_distance,
        service.seek,
        service.rotation,
        service.transfer,
    )
}

fn describe(trace: &str, profile: &str, report: &Report) -> String {
    let mut listing = Listing::default();
    let seconds = |s: f64| format!("{s:.3} s");
    listing
        .heading(format!("{trace} on {profile}"))
        .row("requests", format!("{}, {}", grouped(report.requests), bytes(report.bytes)))
        .row("elapsed", seconds(report.elapsed_s))
        .row(
            "I/O time",
            format!(
                "{}, from when the drive has a request to its completion",
                seconds(report.io_time_s)
            ),
        )
        .row(
            "service time",
            format!("{}, from the drive's beginning", seconds(report.service_time_s)),
        )
        .row("busy", seconds(report.busy_s))
        .row("response", distribution(&report.response_ms))
        .row("service", distribution(&report.service_ms));
    for (name, kind) in [
        ("reads", &report.reads),
        ("writes", &report.writes),
        ("flushes", &report.flushes),
        ("discards", &report.discards),
    ] {
        if kind.requests > 0 {
            listing.row(name, self::kind(kind));
        }
    }
    let distance = report.mean_seek_distance;
    listing
        .row("seeks", format!("{}, {distance:.0} cylinders each", grouped(report.seeks)))
        .row(
            "medium",
            format!(
                "seek {:.3} s, rotation {:.3} s, transfer {:.3} s",
                report.seek_s, report.rotation_s, report.transfer_s
            ),
        )
        .row("sequential", format!("{:.1} %", report.sequential * 100.0))
        .row("mean size", bytes(report.mean_bytes as u64))
        .row(
            "queue",
            format!("{:.2} before each, at most {}", report.mean_depth, report.max_depth),
        );
    if let Some(wear) = report.wear {
        let (moved, factor) = (bytes(wear.moved), wear.amplification());
        listing
            .row("reclaiming", format!("{moved} moved, {factor:.2} programmed for each written"));
    }
    for (size, count) in &report.sizes {
        listing.row(format!("up to {}", bytes(*size)), grouped(*count));
    }
    listing.render()
}

fn kind(kind: &Kind) -> String {
    let hits = per_cent(kind.hits, kind.requests);
    format!(
        "{}, {}, {hits} by the cache; {}",
        grouped(kind.requests),
        bytes(kind.bytes),
        distribution(&kind.service_ms)
    )
}

fn distribution(times: &Distribution) -> String {
    format!(
        "mean {:.3} ms, 50 % {:.3}, 90 % {:.3}, 99 % {:.3}, max {:.3}",
        times.mean, times.p50, times.p90, times.p99, times.max
    )
}
