//! A trace, cut into phases, and what a drive's model says of each.

mod pieces;
#[cfg(test)]
mod tests;

use std::path::Path;

use tandem_disk::replay::{self, Mode, Options, Outside};
use tandem_disk::request::{Operation, SECTOR};
use tandem_disk::trace::{self, Format, Record, TraceError};

use super::layout::{Place, Store, outer_bytes};
use super::{Executed, StageError};
use crate::peer::World;
use crate::record::{DiskTime, Flag, Phase};
use pieces::Pieces;

/// How far the kernel's and the emulated disk's counts of a phase may be apart, in sectors, before
/// the run is marked: what is under way when a phase begins is counted by one before and by the
/// other after. No phase begins with a flush of more than a megabyte under way.
const SLACK: u64 = 2048;

/// A part of the trace's time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    begin: u64,
    end: u64,
}

/// A phase's parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spans {
    /// The mount before it, if there was one.
    mount: Option<Span>,
    phase: Span,
}

/// A trace, as it is read.
type Records = Box<dyn Iterator<Item = Result<Record, TraceError>>>;

/// Cuts a disk's trace at the marks: a file for each phase in `dir`, and the disk time of each of
/// the disk's devices. `world` is where the file system ran.
pub(super) fn cut(
    store: &Store,
    marks: &str,
    trace: &Path,
    dir: &Path,
    world: World,
    done: &mut Executed,
) -> Result<(), StageError> {
    let Place::Drive(profile) = &store.place else { return Ok(()) };
    let step = || format!("cut {}", trace.display());
    let fail = |e: TraceError| StageError::failed(step(), e);
    std::fs::create_dir_all(dir).map_err(|e| StageError::failed(step(), e))?;
    let spans = spans(marks, done.phases.len()).map_err(|e| StageError::failed(step(), e))?;
    let records = trace::open(trace, trace::Options::default()).map_err(fail)?.1;
    let records: Records = match world {
        World::Host => Box::new(records),
        World::Uml => Box::new(Pieces::new(records)),
    };
    let mut records = records.peekable();
    let mut timed = |span: Span, file: &Path| {
        let sectors = split(&mut records, span, file).map_err(fail)?;
        let mut drive = profile.drive().map_err(|e| StageError::failed(step(), e))?;
        let times = time(store, &mut drive, file).map_err(|e| StageError::failed(step(), e))?;
        Ok::<_, StageError>((sectors, times))
    };
    let Executed { phases, flags, .. } = done;
    for ((at, phase), span) in phases.iter_mut().enumerate().zip(spans) {
        let name = format!("{:02}-{}-{}", at + 1, phase.name, store.parts.join("-"));
        if let Some(mount) = span.mount {
            let times = timed(mount, &dir.join(format!("{name}-mount.tdt.zst")))?.1;
            let taken: f64 = times.iter().map(|time| time.io_seconds).sum();
            *phase.values.entry("mount_io_seconds".to_owned()).or_default() += taken;
        }
        let file = dir.join(format!("{name}.tdt.zst"));
        let (sectors, times) = timed(span.phase, &file)?;
        let mut counted = 0;
        for (part, mut time) in store.parts.iter().zip(times) {
            let Some(device) = phase.devices.iter_mut().find(|device| device.name == *part) else {
                continue;
            };
            time.profile = profile.name.clone();
            counted += device.read_sectors + device.write_sectors;
            device.disk = Some(time);
            device.trace = Some(file.to_string_lossy().into_owned());
        }
        flags.extend(differ(phase, store, counted, sectors));
    }
    Ok(())
}

/// Says so when what the kernel and the emulated disk have counted is too far apart.
fn differ(phase: &Phase, store: &Store, kernel: u64, disk: u64) -> Option<Flag> {
    let text = format!(
        "the kernel counted {kernel} sectors on {}, the emulated disk {disk}",
        store.parts.join(" and ")
    );
    let rule = "counts-differ".to_owned();
    (kernel.abs_diff(disk) > SLACK).then(|| Flag { rule, phase: Some(phase.name.clone()), text })
}

/// The spans of the phases, from lines as `NANOSECONDS begin 0`.
fn spans(marks: &str, phases: usize) -> Result<Vec<Spans>, String> {
    let find = |what: &str, at: usize| {
        let wanted = format!("{what} {at}");
        let mut lines = marks.lines().filter_map(|line| line.split_once(' '));
        let (time, _) = lines.find(|(_, mark)| *mark == wanted)?;
        Some(time.parse::<u64>().map_err(|_| format!("{time:?} is no time")))
    };
    let time = |what: &str, at| find(what, at).ok_or_else(|| format!("no mark {what} {at}"))?;
    let spans = (0..phases).map(|at| {
        let phase = Span { begin: time("begin", at)?, end: time("end", at)? };
        let mount = find("mount", at).transpose()?;
        // What comes at the time of a mark belongs to what begins there.
        let end = phase.begin.saturating_sub(1);
        Ok(Spans { mount: mount.map(|begin| Span { begin, end }), phase })
    });
    spans.collect()
}

/// Writes what lies in the span to a file of its own, whose time begins with it; gives the sectors
/// read and written.
fn split(
    records: &mut std::iter::Peekable<Records>,
    span: Span,
    file: &Path,
) -> Result<u64, TraceError> {
    let mut sink = trace::create(file, Format::Tandem)?;
    let mut sectors = 0;
    while let Some(Ok(record)) = records.next_if(|record| match record {
        Ok(record) => record.time <= span.end,
        Err(_) => false,
    }) {
        if record.time < span.begin {
            continue;
        }
        if matches!(record.operation, Operation::Read | Operation::Write) {
            sectors += record.length / SECTOR;
        }
        sink.write(&Record { time: record.time - span.begin, ..record })?;
    }
    if let Some(Err(_)) = records.peek()
        && let Some(Err(error)) = records.next()
    {
        return Err(error);
    }
    sink.finish()?;
    Ok(sectors)
}

/// What the drive, at rest before, makes of a phase's trace: a share for each device on it. A
/// request belongs to the device in whose area it begins, flushes to the last.
fn time(
    store: &Store,
    drive: &mut tandem_disk::drive::Drive,
    file: &Path,
) -> Result<Vec<DiskTime>, replay::ReplayError> {
    let records = trace::open(file, trace::Options::default())?.1;
    let last = store.parts.len() - 1;
    let outer = if last > 0 { outer_bytes(store.size) } else { 0 };
    let mut shares = vec![Share::default(); store.parts.len()];
    let mut state = State::default();
    let options = Options { mode: Mode::Dependent, outside: Outside::Refuse };
    replay::replay(drive, records, options, &mut |done| {
        let data = matches!(done.record.operation, Operation::Read | Operation::Write);
        let inner = !data || done.record.offset >= outer;
        let share = &mut shares[if inner { last } else { 0 }];
        let (completion, service) = (&done.completion, &done.completion.service);
        share.io += completion.io_time();
        let from = completion.submitted.max(state.busy_until);
        share.busy += service.finish.saturating_sub(from);
        state.busy_until = state.busy_until.max(service.finish);
        if service.seek_distance > 0 {
            share.seeks += 1;
            share.distance += service.seek_distance;
        }
        if data {
            share.accesses += 1;
            share.sequential += u64::from(state.expected == Some(done.record.offset));
            state.expected = Some(done.record.offset.saturating_add(done.record.length));
        }
        Ok(())
    })?;
    Ok(shares.iter().map(Share::time).collect())
}

#[derive(Default)]
struct State {
    busy_until: u64,
    expected: Option<u64>,
}

#[derive(Debug, Clone, Default)]
struct Share {
    io: u64,
    busy: u64,
    seeks: u64,
    distance: u64,
    accesses: u64,
    sequential: u64,
}

impl Share {
    fn time(&self) -> DiskTime {
        let share = |part: u64, of: u64| if of == 0 { 0.0 } else { part as f64 / of as f64 };
        DiskTime {
            profile: String::new(),
            io_seconds: self.io as f64 / 1e9,
            busy_seconds: self.busy as f64 / 1e9,
            seeks: self.seeks,
            seek_distance: share(self.distance, self.seeks),
            sequential: share(self.sequential, self.accesses),
        }
    }
}
