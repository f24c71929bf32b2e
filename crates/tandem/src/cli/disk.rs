//! What can be written behind `tandem disk`.

mod live;
mod map;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use tandem_disk::trace::Format;

pub use live::{CaptureArgs, EmulateArgs, Pace};
pub use map::{MapArgs, Picture};

/// Arguments of `disk`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem disk trace --device /dev/sda --out run.tdt -- tar xf linux.tar -C /mnt
  tandem disk replay run.tdt --profile hdd20t
  tandem disk map run.tdt --out run.svg
  tandem disk emulate disk.img --mount /emu --profile st34310a")]
pub struct DiskArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: DiskCommand,
}

/// What `disk` can do.
#[derive(Debug, Subcommand)]
pub enum DiskCommand {
    /// List the drives that come with the program, or show one.
    Profiles(ProfilesArgs),
    /// Replay a trace on a drive and say what it took.
    Replay(ReplayArgs),
    /// Compare a drive's model with a trace of measured times.
    Validate(ValidateArgs),
    /// Draw where and when a trace's requests are, and what patterns they have.
    Map(MapArgs),
    /// Write a trace in another format.
    Convert(ConvertArgs),
    /// Serve an image as a disk that takes a drive's time.
    Emulate(EmulateArgs),
    /// Capture what the block layer does while a command runs.
    Trace(CaptureArgs),
}

/// Arguments of `disk profiles`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem disk profiles
  tandem disk profiles hdd20t")]
pub struct ProfilesArgs {
    /// The profile to show, with the sources of its figures.
    pub name: Option<String>,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

/// How a trace is read.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// The trace; of blktrace's files one, or their common name.
    pub trace: PathBuf,
    /// Its format [default: what it looks like].
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub format: Option<Format>,
    /// Hold so many records to put them in order of time.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_window)]
    pub sort: usize,
}

/// When requests are submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReplayMode {
    /// At the times of the trace.
    Open,
    /// As fast as completions allow.
    Closed,
    /// As soon as everything is done that was done when they arrived in the trace.
    Dependent,
    /// One at a time, with the trace's pauses between them.
    Paced,
}

/// Arguments of `disk replay`.
#[derive(Debug, Args)]
#[command(after_help = "\
Formats: tandem, disksim, blkparse, blktrace, fio2, fio3, msr; compressed with zstd or gzip or not.

Examples:
  tandem disk replay run.tdt --profile hdd20t
  tandem disk replay sda.blktrace.0 --profile ssd-nvme --mode closed --depth 32 --json
  tandem disk replay run.tdt --profile st34310a --mode dependent
  tandem disk replay web.csv.gz --profile cheetah9LP.diskspecs --scale --csv times.csv")]
pub struct ReplayArgs {
    /// The trace.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// The drive: a name (see `tandem disk profiles`), a profile's file, or DiskSim's .diskspecs.
    #[arg(long, short, value_name = "PROFILE")]
    pub profile: String,
    /// When requests are submitted.
    #[arg(long, value_enum, default_value = "open")]
    pub mode: ReplayMode,
    /// Requests under way at once with --mode closed.
    #[arg(long, default_value_t = 1, value_parser = parse_depth)]
    pub depth: usize,
    /// Fit the trace's addresses to the drive, if they reach beyond its end.
    #[arg(long)]
    pub scale: bool,
    /// Write every request's times into a file.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `disk validate`.
#[derive(Debug, Args)]
#[command(after_help = "\
The demerit figure is the root mean square of the horizontal distance between the distributions of
measured and of predicted service times, as a share of the measured mean.

Examples:
  tandem disk validate cheetah9LP.trace --profile cheetah9LP.diskspecs
  tandem disk validate cheetah9LP.trace --profile st39102lw --json")]
pub struct ValidateArgs {
    /// The trace, with measured times.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// The drive: a name (see `tandem disk profiles`), a profile's file, or DiskSim's .diskspecs.
    #[arg(long, short, value_name = "PROFILE")]
    pub profile: String,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `disk convert`.
#[derive(Debug, Args)]
#[command(after_help = "\
A name that ends with .zst or .gz is compressed. Formats by name: .tdt tandem, .trace disksim,
.blkparse blkparse, .blktrace.0 blktrace, .iolog fio3, .csv msr.

Examples:
  tandem disk convert sda.blktrace.0 sda.tdt.zst
  tandem disk convert web.csv web.iolog --to fio2
  tandem disk convert sda.tdt sda.csv --leave-out")]
pub struct ConvertArgs {
    /// The trace.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// The file to write.
    pub out: PathBuf,
    /// Its format [default: what its name says].
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub to: Option<Format>,
    /// Leave out flushes and discards where the format has none, and say how many there were.
    #[arg(long)]
    pub leave_out: bool,
}

fn parse_format(text: &str) -> Result<Format, String> {
    Format::named(text).ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        format!("there are {}", names.join(", "))
    })
}

fn parse_depth(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(depth) if (1..=65_536).contains(&depth) => Ok(depth),
        _ => Err("not a number from 1 to 65536".to_string()),
    }
}

fn parse_window(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(window) if window <= 16_777_216 => Ok(window),
        _ => Err("not a number up to 16777216".to_string()),
    }
}
