//! Commands that need a running kernel: emulate, trace.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::parse_format;
use crate::units::parse_size;
use tandem_disk::trace::Format;

/// How long requests take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Pace {
    /// As long as the profile's drive would.
    Real,
    /// No longer than they must.
    None,
}

/// Arguments of `disk emulate`.
#[derive(Debug, Args)]
#[command(after_help = "\
DIR/disk is the disk; DIR/disk.stats tells, as JSON, what it has done. A line written at the end of
DIR/disk.marks is read there with its time in the trace, in nanoseconds, before it. With --split there are
DIR/disk.outer and DIR/disk.inner, two areas of one disk, which share its head. A write is in the
image when it is answered, a flush makes the image durable; a hole punched is a discard. It serves
until DIR is unmounted; SIGTERM unmounts it.

Requests take the profile's time from their arrival here. The way here and back is measured once, by
requests that have nothing to do, and left out. A loop device adds some time of its own.

Examples:
  tandem disk emulate disk.img --mount /emu --profile st34310a --size 2G &
  losetup --direct-io=on --find --show /emu/disk
  tandem disk emulate disk.img --mount /emu --time none --trace run.tdt.zst
  tandem disk emulate disk.img --mount /emu --faults 'read:error,at=1m+64k; flush:lost,nth=3'
  tandem disk emulate disk.img --mount /emu --profile st34310a --split 10")]
pub struct EmulateArgs {
    /// The image file; made, sparse, if there is none.
    pub image: PathBuf,
    /// The directory on which the disk appears.
    #[arg(long, value_name = "DIR")]
    pub mount: PathBuf,
    /// The drive: a profile's name or file (`tandem disk profiles`).
    #[arg(long, value_name = "PROFILE", required_if_eq("time", "real"))]
    pub profile: Option<String>,
    /// Whether requests take the drive's time [default: real with --profile, else none].
    #[arg(long, value_name = "TIME")]
    pub time: Option<Pace>,
    /// Write every request down; the name says the format, and .zst or .gz compresses.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// What goes wrong: rules as `read:error,at=1m+64k` with semicolons between them.
    #[arg(long, value_name = "RULES")]
    pub faults: Option<String>,
    /// From which faults that come by chance are drawn.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Bytes of an image that is made [default: the drive's].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub size: Option<u64>,
    /// Serve the outer part of the disk, so many per cent, and the rest as two files.
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub split: Option<u8>,
    /// Say more in the log; twice, everything.
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

impl EmulateArgs {
    /// Whether requests take the drive's time.
    pub fn pace(&self) -> Pace {
        let natural = if self.profile.is_some() { Pace::Real } else { Pace::None };
        self.time.unwrap_or(natural)
    }
}

/// Arguments of `disk trace`.
#[derive(Debug, Args)]
#[command(after_help = "\
The trace has the requests that the driver was given, not what programs asked for. A partition's
device means its whole disk. Exit status: the command's, or 1 when events were lost.

Examples:
  tandem disk trace --device /dev/sda --out run.tdt.zst -- tar xf linux.tar -C /mnt
  tandem disk trace --device /dev/loop0 --drop-caches --out find.blkparse -- find /mnt -size +2k
  tandem disk trace --device /dev/sdb --sync --umount /mnt --out rm.tdt -- rm -rf /mnt/tree")]
pub struct CaptureArgs {
    /// The disks [default: all].
    #[arg(long = "device", value_name = "DEV")]
    pub devices: Vec<PathBuf>,
    /// The trace; the name says the format, and .zst or .gz compresses.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Its format [default: what its name says, else tandem].
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub format: Option<Format>,
    /// Write everything out and drop the kernel's caches before the command.
    #[arg(long)]
    pub drop_caches: bool,
    /// Call sync(2) after the command, within the trace.
    #[arg(long)]
    pub sync: bool,
    /// Unmount this directory after the command, within the trace.
    #[arg(long, value_name = "DIR")]
    pub umount: Vec<PathBuf>,
    /// The kernel's memory for events, for each CPU.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "16M")]
    pub buffer: u64,
    /// Print what was captured, and what it cost, as JSON.
    #[arg(long)]
    pub json: bool,
    /// What to run.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

fn parse_percent(text: &str) -> Result<u8, String> {
    match text.trim_end_matches('%').parse() {
        Ok(percent @ 1..=99) => Ok(percent),
        _ => Err("a number from 1 to 99".into()),
    }
}
