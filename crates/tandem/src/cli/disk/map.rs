//! The command that draws.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::TraceArgs;
use crate::units::parse_size;
use tandem_disk::capture::DeviceNumber;

/// What can be drawn of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Picture {
    /// Address against time.
    Addresses,
    /// Sector of the track against the track.
    Tracks,
    /// Sector of the track against time.
    Sectors,
    /// How far the arm has to go between requests.
    Seeks,
    /// How far the first sectors of successive requests are apart.
    Steps,
    /// Throughput over time.
    Throughput,
    /// Service time over time.
    Latency,
    /// Distribution of service times.
    Services,
}

/// Arguments of `disk map`.
#[derive(Debug, Args)]
#[command(after_help = "\
Reads and writes are drawn apart, as the extents that they are. A request is sequential if it begins
where one of the last 32 runs of its kind ended, strided if it is as far from the one before as its
neighbour is, and random otherwise.

Examples:
  tandem disk map run.tdt
  tandem disk map run.tdt --out run.svg --only addresses,services
  tandem disk map sda.blktrace.0 --profile st34310a --out run.png
  tandem disk map run.tdt --range 2G-2.1G
  tandem disk map run.tdt --json")]
pub struct MapArgs {
    /// The trace.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// The picture: .svg for paper, .png for many requests [default: text on standard output].
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// What is drawn [default: everything; as text addresses, seeks and services].
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    pub only: Vec<Picture>,
    /// The drive whose tracks and cylinders are meant: a profile's name or file.
    #[arg(long, short, value_name = "PROFILE")]
    pub profile: Option<String>,
    /// Sectors that count as a track without a drive.
    #[arg(long, value_name = "N", default_value_t = 63, conflicts_with = "profile",
          value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub track: u32,
    /// The device, MAJOR:MINOR, of a trace that has several.
    #[arg(long, value_name = "DEVICE", value_parser = parse_device)]
    pub device: Option<DeviceNumber>,
    /// Only requests that lie within this range of addresses, FROM-TO.
    #[arg(long, value_name = "RANGE", value_parser = parse_range)]
    pub range: Option<(u64, u64)>,
    /// Print figures, the shares of the classes among them, as JSON.
    #[arg(long)]
    pub json: bool,
}

fn parse_device(text: &str) -> Result<DeviceNumber, String> {
    text.parse().map_err(|()| "not as 8:0".to_string())
}

fn parse_range(text: &str) -> Result<(u64, u64), String> {
    let (from, to) = text.split_once('-').ok_or("not as 2G-2.5G")?;
    let (from, to) = (parse_size(from)?, parse_size(to)?);
    if from < to { Ok((from, to)) } else { Err("ends before it begins".to_string()) }
}
