//! `tandem mkfs`.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{getegid, geteuid};
use tandem_device::{Access, Device, FileDevice, probe};
use tandem_fs::{Cred, MkfsOptions, MkfsReport, MountOptions, ROOT, SetAttr, SystemEnv, Volume};

use crate::cli::{MkfsArgs, exit};
use crate::units::{bytes, grouped};
use crate::{devices, output};

/// Where the data area begins on a device that holds both: a multiple of this many bytes.
const DATA_ALIGN: u64 = 1 << 20;

/// Makes a volume.
pub fn run(args: &MkfsArgs) -> Result<u8> {
    let mut made = Made::default();
    let devices = open(args, &mut made)?;
    let claim = |device: &Candidate| device.device.claim();
    let _claims = (claim(&devices.0)?, devices.1.as_ref().map(claim).transpose()?);
    let report = make(args, devices.0, devices.1)?;
    made.keep();
    if args.json {
        output::print_json(&report)?;
    } else {
        output::print(&describe(args, &report))?;
    }
    Ok(exit::OK)
}

/// Image files that this run has created or filled, which are as before when it fails.
#[derive(Default)]
struct Made {
    new: Vec<PathBuf>,
    were_empty: Vec<PathBuf>,
}

impl Made {
    fn keep(&mut self) {
        self.new.clear();
        self.were_empty.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for path in &self.new {
            let _ = std::fs::remove_file(path);
        }
        for path in &self.were_empty {
            let _ = OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(0));
        }
    }
}

/// A device that may become the volume's.
struct Candidate {
    device: FileDevice,
    /// Something else is on it, which is to be overwritten.
    holds: bool,
}

/// Opens or creates the devices, in the sizes that the rules of `--help` say. Nothing that was there
/// before is touched.
fn open(args: &MkfsArgs, made: &mut Made) -> Result<(Candidate, Option<Candidate>)> {
    let meta = &args.devices.meta;
    let Some(data) = &args.devices.data else {
        let both = || {
            let sizes = args.metadata_size.zip(args.data_size);
            let (meta, data) = sizes.context("give --metadata-size and --data-size")?;
            let start = meta
                .checked_next_multiple_of(DATA_ALIGN)
                .context("--metadata-size is too large")?;
            start.checked_add(data).context("--metadata-size and --data-size are too large")
        };
        return Ok((open_or_create(meta, both, args.force, made)?, None));
    };
    let meta_size = || args.metadata_size.context("give --metadata-size");
    let data_size = || args.data_size.context("give --data-size");
    if let (Ok(a), Ok(b)) = (std::path::absolute(meta), std::path::absolute(data)) {
        if a == b {
            bail!("META and DATA are both {}; give two different devices", meta.display());
        }
    }
    let meta = open_or_create(meta, meta_size, args.force, made)?;
    // Looked at without a lock first: the same file twice would look like somebody else's.
    if let Ok(other) = FileDevice::open(data, Access::Peek) {
        devices::refuse_same(&meta.device, &other)?;
    }
    let data = open_or_create(data, data_size, args.force, made)?;
    Ok((meta, Some(data)))
}

fn open_or_create(
    path: &Path,
    size: impl FnOnce() -> Result<u64>,
    force: bool,
    made: &mut Made,
) -> Result<Candidate> {
    let needs_size =
        |e: anyhow::Error, is: &str| anyhow!("{}: {is}; {e:#} to have it made", path.display());
    let device = match path.metadata() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let device = FileDevice::create(
                path,
                size().map_err(|e| needs_size(e, "there is no such image file yet"))?,
            )?;
            made.new.push(path.to_path_buf());
            device
        }
        Ok(file) if file.is_file() && file.len() == 0 => {
            let size = size().map_err(|e| needs_size(e, "the image file is empty"))?;
            let device = devices::open_one(path, Access::ReadWrite)?;
            made.were_empty.push(path.to_path_buf());
            device.grow(size)?
        }
        _ => {
            let device = devices::open_one(path, Access::ReadWrite)?;
            let found = probe(path)?;
            if !found.is_empty() && !force {
                let names: Vec<String> = found.iter().map(ToString::to_string).collect();
                bail!(
                    "{} seems to hold {}; give --force to overwrite it, and lose what is there",
                    path.display(),
                    names.join(" and ")
                );
            }
            return Ok(Candidate { device, holds: !found.is_empty() });
        }
    };
    Ok(Candidate { device, holds: false })
}

fn make(args: &MkfsArgs, meta: Candidate, data: Option<Candidate>) -> Result<MkfsReport> {
    let options = MkfsOptions {
        metadata_size: args.metadata_size,
        data_size: args.data_size,
        data_block_size: args.data_block_size,
        segment_size: args.segment_size,
        label: args.label.clone(),
        uuid: args.uuid,
        hash_bits: args.hash_bits,
        wipe: meta.holds || data.as_ref().is_some_and(|data| data.holds),
    };
    let meta = Arc::new(meta.device);
    let data = data.map(|data| Arc::new(data.device) as Arc<dyn Device>);
    let report = Volume::mkfs(meta.clone(), data.clone(), &options, Arc::new(SystemEnv))?;
    let (uid, gid) = (geteuid(), getegid());
    if !uid.is_root() {
        // Who makes a volume may write to it.
        let volume = Volume::open(meta, data, MountOptions::default(), Arc::new(SystemEnv))?;
        let (uid, gid) = (Some(uid.as_raw()), Some(gid.as_raw()));
        volume.setattr(&Cred::root(), ROOT, &SetAttr { uid, gid, ..SetAttr::default() })?;
        volume.shutdown()?;
    }
    Ok(report)
}

fn describe(args: &MkfsArgs, report: &MkfsReport) -> String {
    let meta = args.devices.meta.display();
    let (data, option) = match &args.devices.data {
        Some(data) => (data.display().to_string(), format!(" --data {}", data.display())),
        None => (meta.to_string(), String::new()),
    };
    let label = args.label.as_ref().map(|label| format!(" ({label})")).unwrap_or_default();
    let mut listing = output::Listing::default();
    listing
        .heading(format!("volume {}{label}", report.uuid))
        .row(
            "metadata",
            format!(
                "{} on {meta}, a log of {} segments of {}",
                bytes(report.metadata_size),
                grouped(report.segments),
                bytes(report.segment_size.into())
            ),
        )
        .row("", format!("room for about {} files", grouped(report.files)))
        .row(
            "data",
            format!(
                "{} on {data}, {} blocks of {} in {} groups",
                bytes(report.data_size),
                grouped(report.blocks),
                bytes(report.block_size.into()),
                grouped(report.groups.into())
            ),
        )
        .row("mount it", format!("tandem mount {meta} DIR{option}"));
    listing.render()
}
