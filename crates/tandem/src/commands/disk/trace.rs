//! `tandem disk trace`.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;
use tandem_disk::capture::{self, Capture, Captured, Cost, DeviceNumber, Options, Requests};
use tandem_disk::request::{Operation, SECTOR};
use tandem_disk::trace::{self, Format, Record};

use crate::cli::disk::CaptureArgs;
use crate::cli::exit;
use crate::output;

/// Captures what the block layer does while a command runs.
pub fn run(args: &CaptureArgs) -> Result<u8> {
    if !rustix::process::geteuid().is_root() {
        bail!("capturing needs root; `tandem disk replay` and `convert` do not");
    }
    let devices = args.devices.iter().map(|path| disk(path)).collect::<Result<_>>()?;
    let folder = args.out.parent().filter(|dir| !dir.as_os_str().is_empty());
    let spool = folder.unwrap_or(Path::new(".")).to_path_buf();
    let format = args.format.or_else(|| Format::of_name(&args.out.to_string_lossy()));
    let format = format.unwrap_or(Format::Tandem);
    let mut sink = trace::create(&args.out, format)?;
    if args.drop_caches {
        drop_caches()?;
    }
    let buffer_kib = u32::try_from(args.buffer >> 10).unwrap_or(u32::MAX).clamp(64, 1 << 20);
    let capture = Capture::start(&Options { devices, buffer_kib, spool })?;
    let begun = Instant::now();
    let outcome = work(args);
    let took = begun.elapsed();
    let (requests, cost) = capture.finish()?;
    let counts = write(requests, sink.as_mut())?;
    sink.finish()?;
    let status = outcome?;
    report(args, &counts, &cost, took)?;
    if cost.lost > 0 {
        output::complain(&format!(
            "{} events were lost: the trace is not complete; try --buffer {}M",
            cost.lost,
            (args.buffer >> 20).max(1) * 4
        ));
        return Ok(exit::FAILURE);
    }
    Ok(status.code().map_or_else(|| 128 + status.signal().unwrap_or(0) as u8, |code| code as u8))
}

fn disk(path: &Path) -> Result<DeviceNumber> {
    DeviceNumber::of_disk(path).with_context(|| path.display().to_string())
}

fn drop_caches() -> Result<()> {
    rustix::fs::sync();
    std::fs::write("/proc/sys/vm/drop_caches", "3").context("drop the kernel's caches")
}

/// The command, and what belongs to it.
fn work(args: &CaptureArgs) -> Result<ExitStatus> {
    let Some((program, rest)) = args.command.split_first() else { bail!("no command") };
    let status = Command::new(program).args(rest).status();
    let status = status.with_context(|| program.to_string_lossy().into_owned())?;
    if args.sync {
        rustix::fs::sync();
    }
    for dir in &args.umount {
        let done = Command::new("umount").arg(dir).status().context("umount")?;
        if !done.success() {
            bail!("umount {}: {done}", dir.display());
        }
    }
    Ok(status)
}

/// What was captured.
#[derive(Debug, Default, serde::Serialize)]
struct Counts {
    reads: u64,
    writes: u64,
    flushes: u64,
    discards: u64,
    /// Commands that no trace has a place for.
    others: u64,
    sectors_read: u64,
    sectors_written: u64,
    failed: u64,
    /// Requests whose end was not seen.
    unfinished: u64,
}

fn write(requests: Requests, sink: &mut dyn trace::Sink) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut first = None;
    for request in requests {
        let request = request.context("read what was captured")?;
        let start = *first.get_or_insert(request.issued);
        counts.failed += u64::from(request.error != 0);
        counts.unfinished += u64::from(request.completed.is_none());
        // As the block layer does with a disk that has a cache: the flush is a request of its own.
        if request.preflush && request.operation != capture::Operation::Flush {
            counts.flushes += 1;
            let flush = Captured { sectors: 0, sector: 0, completed: None, ..request };
            sink.write(&record(&flush, Operation::Flush, start))?;
        }
        let (operation, count) = match request.operation {
            capture::Operation::Read => (Operation::Read, &mut counts.reads),
            capture::Operation::Write => (Operation::Write, &mut counts.writes),
            capture::Operation::Flush => (Operation::Flush, &mut counts.flushes),
            capture::Operation::Discard => (Operation::Discard, &mut counts.discards),
            capture::Operation::Other => {
                counts.others += 1;
                continue;
            }
        };
        *count += 1;
        match operation {
            Operation::Read => counts.sectors_read += u64::from(request.sectors),
            Operation::Write => counts.sectors_written += u64::from(request.sectors),
            _ => {}
        }
        sink.write(&record(&request, operation, start))?;
    }
    Ok(counts)
}

fn record(request: &Captured, operation: Operation, start: u64) -> Record {
    Record {
        time: request.issued - start,
        operation,
        offset: request.sector.saturating_mul(SECTOR),
        length: u64::from(request.sectors) * SECTOR,
        service: request.completed.map(|end| end.saturating_sub(request.issued)),
        hit: None,
        device: request.device.0,
    }
}

fn report(args: &CaptureArgs, counts: &Counts, cost: &Cost, took: Duration) -> Result<()> {
    if args.json {
        return output::print_json(&json!({
            "seconds": took.as_secs_f64(),
            "requests": counts,
            "events_lost": cost.lost,
            "event_bytes": cost.bytes,
            "capture_cpu_seconds": cost.cpu.as_secs_f64(),
        }));
    }
    eprintln!(
        "{}: {} reads ({} sectors), {} writes ({} sectors), {} flushes, {} discards in {:.3} s; \
         copying {} KiB of events took {:.1} ms of CPU time",
        args.out.display(),
        counts.reads,
        counts.sectors_read,
        counts.writes,
        counts.sectors_written,
        counts.flushes,
        counts.discards,
        took.as_secs_f64(),
        cost.bytes >> 10,
        cost.cpu.as_secs_f64() * 1e3,
    );
    Ok(())
}
