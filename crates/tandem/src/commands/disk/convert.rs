//! `tandem disk convert`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tandem_disk::trace::{self, Format};

use crate::cli::disk::ConvertArgs;
use crate::cli::exit;
use crate::output;
use crate::units::grouped;

/// Writes a trace in another format.
pub fn run(args: &ConvertArgs) -> Result<u8> {
    let name = args.out.to_string_lossy();
    let Some(format) = args.to.or_else(|| Format::of_name(&name)) else {
        bail!("{name}: the name says no format; give one with --to");
    };
    let same = args.out.exists()
        && std::fs::canonicalize(&args.out)? == std::fs::canonicalize(&args.trace.trace)?;
    if same {
        bail!("{name}: is the trace itself");
    }
    let part = Part::of(&args.out);
    let (count, left_out) = write(args, &part.path, format)?;
    part.keep().with_context(|| name.to_string())?;
    let (records, format) = (grouped(count), format.name());
    output::print(&match left_out {
        0 => format!("{name}: {records} records as {format}"),
        n => format!(
            "{name}: {records} records as {format}, {} flushes and discards left out",
            grouped(n)
        ),
    })?;
    Ok(exit::OK)
}

/// Writes the records; returns how many, and how many the format does not have.
fn write(args: &ConvertArgs, to: &Path, format: Format) -> Result<(u64, u64)> {
    let records = super::open(&args.trace)?;
    let mut sink = trace::create(to, format)?;
    let (mut count, mut left_out) = (0, 0);
    for record in records {
        let record = record?;
        if format.holds(record.operation) {
            sink.write(&record)?;
            count += 1;
        } else if args.leave_out {
            left_out += 1;
        } else {
            bail!(
                "{}: the trace has flushes or discards, the format {} has not: --leave-out leaves them out",
                args.trace.trace.display(),
                format.name()
            );
        }
    }
    sink.finish()?;
    Ok((count, left_out))
}

/// A file that takes its place when it is whole: what was there is not lost to a trace that cannot be
/// converted.
struct Part<'a> {
    path: PathBuf,
    place: &'a Path,
}

impl<'a> Part<'a> {
    /// For a file at `place`; what is there and no plain file (a pipe, a link) is written itself.
    fn of(place: &'a Path) -> Part<'a> {
        let plain = std::fs::symlink_metadata(place).map_or(true, |meta| meta.is_file());
        let path = match place.file_name() {
            Some(name) if plain => {
                let mut part = OsString::from(format!(".{}.", std::process::id()));
                part.push(name);
                place.with_file_name(part)
            }
            _ => place.to_owned(),
        };
        Part { path, place }
    }

    fn keep(&self) -> std::io::Result<()> {
        if self.path == self.place { Ok(()) } else { std::fs::rename(&self.path, self.place) }
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        if self.path != self.place {
            // There is none any more when it was kept.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
