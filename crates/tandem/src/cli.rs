//! What can be written on the command line. Help, man pages and completions come from here.

pub mod disk;
pub mod exit;
pub mod helpers;
pub mod lab;
pub mod options;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::units::parse_size;

/// A file system that keeps metadata and data on two devices.
///
/// META is the metadata device, DATA the data device: a block device or an image file each.
/// Without --data one device holds both, in two areas.
#[derive(Debug, Parser)]
#[command(name = "tandem", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "\
Examples:
  tandem mkfs meta.img --data data.img --metadata-size 256M --data-size 10G
  tandem mount meta.img /mnt --data data.img
  tandem stats /mnt
  tandem umount /mnt
  tandem check meta.img --data data.img
  tandem demo")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the command line can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a volume.
    Mkfs(MkfsArgs),
    /// Mount a volume on a directory.
    Mount(MountArgs),
    /// Unmount a directory and wait until the volume is clean.
    Umount(UmountArgs),
    /// Verify a volume that is not mounted.
    Check(CheckArgs),
    /// Say what a volume is, how full, how fragmented, and how its log stands.
    Info(InfoArgs),
    /// Show structures of a volume in readable form.
    Dump(DumpArgs),
    /// Read everything on a mounted volume, to find what cannot be read.
    Scrub(ScrubArgs),
    /// Show the counters of a mounted volume.
    Stats(StatsArgs),
    /// Look into disks: drives' profiles, traces, disk time.
    Disk(disk::DiskArgs),
    /// Run studies of file systems, and judge what they have shown.
    Lab(lab::LabArgs),
    /// Make, mount, fill, compare, unmount and check a volume, and show what it did.
    Demo(DemoArgs),
    /// Write man pages into a directory.
    #[command(hide = true)]
    Man(GenerateArgs),
    /// Write shell completions into a directory.
    #[command(hide = true)]
    Completions(GenerateArgs),
}

/// The devices of a volume.
#[derive(Debug, Clone, Args)]
pub struct Devices {
    /// The metadata device: a block device or an image file.
    pub meta: PathBuf,
    /// The data device; without it META holds both.
    #[arg(long, value_name = "DATA")]
    pub data: Option<PathBuf>,
}

/// Arguments of `mkfs`.
#[derive(Debug, Args)]
#[command(after_help = "\
An image file that does not exist (or is empty) is created, sparse, with the size given. Nothing
that exists is grown or shrunk: there a size says how much of it the volume uses. On one device
alone the metadata area comes first, 10 % of it unless --metadata-size says otherwise, and an
image file is created with --metadata-size and --data-size together. The root directory belongs to
whoever makes the volume.

Examples:
  tandem mkfs /dev/nvme0n1p3 --data /dev/sda
  tandem mkfs meta.img --metadata-size 256M --data data.img --data-size 10G --label archive
  tandem mkfs /dev/sdb --metadata-size 8G          one device alone")]
pub struct MkfsArgs {
    /// The devices.
    #[command(flatten)]
    pub devices: Devices,
    /// Bytes for metadata [default: all of META, or 10 % of it without --data].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub metadata_size: Option<u64>,
    /// Bytes for data [default: all of DATA, or the rest of META].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub data_size: Option<u64>,
    /// Data block size, a power of two from 512 to 64K [default: 4K].
    #[arg(long, value_name = "SIZE", value_parser = parse_block_size)]
    pub data_block_size: Option<u32>,
    /// Segment size of the metadata log, a power of two from 64K to 8M [default: 1M, or less on
    /// a small device].
    #[arg(long, value_name = "SIZE", value_parser = parse_segment_size)]
    pub segment_size: Option<u32>,
    /// A name for the volume, up to 63 bytes.
    #[arg(short = 'L', long, value_parser = parse_label)]
    pub label: Option<String>,
    /// The volume's identity [default: random].
    #[arg(short = 'U', long)]
    pub uuid: Option<uuid::Uuid>,
    /// Significant bits of the name hash, to provoke collisions in tests.
    #[arg(long, hide = true)]
    pub hash_bits: Option<u8>,
    /// Overwrite whatever the devices hold.
    #[arg(short, long)]
    pub force: bool,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `mount`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Options for -o:
  data=DATA              the data device, as --data
  ro, rw                 read-only, or not
  flush=5s               how long a change may stay in memory only
  checkpoint=60s         how much log a recovery may have to read, in time
  cache=SIZE             bound on the memory of all caches
  prefetch=16            metadata blocks to prefetch at once, 0 = off
  relocate=on|off        move metadata blocks to where they are read
  affinity=10            how much emptier a group must be to take a directory from its parent's,
                         in per cent; 0 = always the emptiest
  cross-file=on|off      read the data of neighbouring files ahead
  continuous=on|off      lay the new files of a directory down as one run
  discard, nodiscard     give freed space back to the data device, or not
  relatime, strictatime, noatime
  transport=auto|uring|classic, threads=N, lowlatency, nolowlatency, writeback, nowriteback
  allow_other, default_permissions, nosuid, nodev, noexec, sync, dirsync
and defaults, auto, noauto, user, users, _netdev, nofail, x-*, comment=, which mount(8) knows.

Examples:
  tandem mount meta.img /mnt --data data.img
  tandem mount /dev/nvme0n1p3 /srv --data /dev/sda -o noatime,cache=1G
  mount -t tandem /dev/nvme0n1p3 /srv -o data=/dev/sda

In /etc/fstab:
  /dev/nvme0n1p3  /srv  tandem  data=/dev/sda,nofail  0  2")]
pub struct MountArgs {
    /// The metadata device: a block device or an image file.
    pub meta: PathBuf,
    /// The directory to mount on.
    pub dir: PathBuf,
    /// The data device; without it META holds both.
    #[arg(long, value_name = "DATA")]
    pub data: Option<PathBuf>,
    /// Mount options, with commas between them.
    #[arg(short = 'o', long = "options", value_name = "OPTIONS")]
    pub options: Vec<String>,
    /// Stay in the foreground and log to standard error.
    #[arg(short, long)]
    pub foreground: bool,
    /// Say more in the log; twice, everything.
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Set in the process that a mount leaves in the background: standard output is the pipe on
    /// which it says that it is ready.
    #[arg(long, hide = true)]
    pub background_child: bool,
    /// Do everything but mounting (mount(8)'s -f).
    #[arg(long, hide = true)]
    pub fake: bool,
    /// Ignore mount options that are not known (mount(8)'s -s).
    #[arg(long, hide = true)]
    pub sloppy: bool,
}

/// Arguments of `umount`.
#[derive(Debug, Args)]
#[command(after_help = "\
When it returns with 0, everything is on the devices, the volume is marked clean, and its devices
are free again.

Examples:
  tandem umount /mnt
  tandem umount --lazy /mnt")]
pub struct UmountArgs {
    /// The directory that the volume is mounted on, or its metadata device.
    pub dir: PathBuf,
    /// Detach the directory now, even when it is in use; the volume becomes clean when the last
    /// user has gone.
    #[arg(short, long)]
    pub lazy: bool,
    /// Print the last counters as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is written without --repair. With it, what is wrong and what would be done about it is
shown, and each sort of repair is asked for; they depend on one another, so a no to any of them
leaves the volume as it is. Without a terminal to ask on, --yes is needed.

Exit status, as fsck(8)'s: 0 no errors, 1 errors corrected, 4 errors left uncorrected, 8 the check
could not be made, 16 wrong usage, 32 cancelled.

Examples:
  tandem check meta.img --data data.img
  tandem check /dev/nvme0n1p3 --data /dev/sda --json
  tandem check meta.img --data data.img --repair
  tandem check meta.img --data data.img --repair --dry-run")]
pub struct CheckArgs {
    /// The devices.
    #[command(flatten)]
    pub devices: Devices,
    /// Repair what is wrong.
    #[arg(long)]
    pub repair: bool,
    /// Show what --repair would do, and write nothing.
    #[arg(short = 'n', long, requires = "repair", conflicts_with = "yes")]
    pub dry_run: bool,
    /// Make all repairs without asking.
    #[arg(short, long, requires = "repair")]
    pub yes: bool,
    /// Only see whether the volume can be mounted, as fsck -a does at boot.
    #[arg(long, conflicts_with = "repair")]
    pub preen: bool,
    /// Read all contents as well, when the metadata is right.
    #[arg(long, conflicts_with_all = ["repair", "preen"])]
    pub scrub: bool,
    /// Bound on the memory that the check takes [default: 256M].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `scrub`.
#[derive(Debug, Args)]
#[command(after_help = "\
The volume's daemon reads all metadata, which its checksums verify, and all contents, which have
none: there a bad block is one that cannot be read. It yields to everybody else, pauses as long as
it works, and goes on when this command is interrupted; started again, the command watches it.

Exit status: 0 everything can be read, 4 something cannot, 8 the scrub could not be made or was
stopped. For a volume that is not mounted: tandem check --scrub.

Examples:
  tandem scrub /mnt
  tandem scrub --stop /mnt")]
pub struct ScrubArgs {
    /// The directory that the volume is mounted on.
    pub dir: PathBuf,
    /// End the scrub that is under way.
    #[arg(long)]
    pub stop: bool,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `info`.
#[derive(Debug, Args)]
#[command(after_help = "\
A mounted volume answers itself; of one that is not mounted the devices are read.

Examples:
  tandem info meta.img --data data.img
  tandem info /mnt --json")]
pub struct InfoArgs {
    /// The metadata device, or the directory that the volume is mounted on.
    pub meta: PathBuf,
    /// The data device; without it META holds both.
    #[arg(long, value_name = "DATA")]
    pub data: Option<PathBuf>,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `dump`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem dump meta.img superblock
  tandem dump meta.img segment 3
  tandem dump meta.img inode 1
  tandem dump meta.img dir /usr/include
  tandem dump meta.img block 42")]
pub struct DumpArgs {
    /// The metadata device.
    pub meta: PathBuf,
    /// The data device, for what needs both.
    #[arg(long, value_name = "DATA")]
    pub data: Option<PathBuf>,
    /// What to show.
    #[command(subcommand)]
    pub what: DumpWhat,
}

/// Structures that `dump` knows.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum DumpWhat {
    /// Both superblocks.
    Superblock,
    /// Both checkpoint areas.
    Checkpoint,
    /// The partial segments of a segment of the log.
    Segment {
        /// Its number, from 0.
        number: u64,
    },
    /// An i-node.
    Inode {
        /// Its number.
        number: u64,
    },
    /// A directory's entries.
    Dir {
        /// Its path in the volume.
        path: PathBuf,
    },
    /// A metadata block.
    Block {
        /// Its block id.
        id: u64,
    },
}

/// Arguments of `stats`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem stats /mnt
  tandem stats /mnt --watch
  tandem stats /mnt --json")]
pub struct StatsArgs {
    /// The directory that the volume is mounted on.
    pub dir: PathBuf,
    /// Print as JSON; with --watch one object a line.
    #[arg(long)]
    pub json: bool,
    /// Go on, showing what changed, until interrupted.
    #[arg(short, long)]
    pub watch: bool,
    /// Seconds between two readings of --watch.
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS", value_parser = parse_interval)]
    pub interval: f64,
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
#[command(after_help = "\
As root the image files are attached to loop devices, so that what each device did is counted by
the kernel, and the same work is done on ext4 beside it. Without /dev/fuse the volume is used
through the library.

Examples:
  tandem demo
  tandem demo --tree /usr/include --dir /var/tmp")]
pub struct DemoArgs {
    /// Where the image files go [default: a temporary directory].
    #[arg(long)]
    pub dir: Option<PathBuf>,
    /// The tree to copy in [default: the Linux source if it is installed, else /usr/include].
    #[arg(long)]
    pub tree: Option<PathBuf>,
    /// Leave the image files where they are.
    #[arg(long)]
    pub keep: bool,
    /// Do without ext4 beside it.
    #[arg(long)]
    pub no_ext4: bool,
    /// Use the library even where a volume can be mounted.
    #[arg(long)]
    pub library: bool,
    /// Print the figures as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `man` and `completions`.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// The directory to write into.
    pub dir: PathBuf,
}

fn parse_interval(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.05..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("not a number of seconds from 0.05 to 86400".to_string()),
    }
}

fn parse_power(text: &str, min: u64, max: u64, range: &str) -> Result<u32, String> {
    let size = parse_size(text)?;
    if size.is_power_of_two() && (min..=max).contains(&size) {
        u32::try_from(size).map_err(|_| "too large".to_string())
    } else {
        Err(format!("must be a power of two from {range}"))
    }
}

fn parse_block_size(text: &str) -> Result<u32, String> {
    parse_power(text, 512, 64 << 10, "512 to 64K")
}

fn parse_segment_size(text: &str) -> Result<u32, String> {
    parse_power(text, 64 << 10, 8 << 20, "64K to 8M")
}

fn parse_label(text: &str) -> Result<String, String> {
    if text.len() > 63 {
        return Err(format!("{} bytes long; a label has at most 63", text.len()));
    }
    if text.chars().any(char::is_control) {
        return Err("a label has no control characters".to_string());
    }
    Ok(text.to_string())
}

#[cfg(test)]
mod tests;
