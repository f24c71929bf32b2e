//! `tandem mkfs`.

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
/// How much is wiped at either end of a device on which something else was.
const WIPE: u64 = 1 << 20;

/// Makes a volume.
pub fn run(args: &MkfsArgs) -> Result<u8> {
    let mut made = Made::default();
    let (meta, data) = open(args, &mut made)?;
    let _claims = (meta.claim()?, data.as_ref().map(FileDevice::claim).transpose()?);
    let report = make(args, Arc::new(meta), data)?;
    made.keep();
    if args.json {
        output::print_json(&report)?;
    } else {
        output::print(&describe(args, &report))?;
    }
    Ok(exit::OK)
}

/// Image files that this run has created, removed again when it fails.
#[derive(Default)]
struct Made(Vec<PathBuf>);

impl Made {
    fn keep(&mut self) {
        self.0.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Opens or creates the devices, in the sizes that the rules of `--help` say.
fn open(args: &MkfsArgs, made: &mut Made) -> Result<(FileDevice, Option<FileDevice>)> {
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
        devices::refuse_same(&meta, &other)?;
    }
    let data = open_or_create(data, data_size, args.force, made)?;
    Ok((meta, Some(data)))
}

fn open_or_create(
    path: &Path,
    size: impl FnOnce() -> Result<u64>,
    force: bool,
    made: &mut Made,
) -> Result<FileDevice> {
    let needs_size = |e: anyhow::Error| {
        anyhow!("{}: there is no such image file yet; {e:#} to have it created", path.display())
    };
    match path.metadata() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let device = FileDevice::create(path, size().map_err(needs_size)?)?;
            made.0.push(path.to_path_buf());
            Ok(device)
        }
        Ok(file) if file.is_file() && file.len() == 0 => {
            let size = size().map_err(needs_size)?;
            Ok(devices::open_one(path, Access::ReadWrite)?.grow(size)?)
        }
        _ => {
            let device = devices::open_one(path, Access::ReadWrite)?;
            let found = probe(path)?;
            if !found.is_empty() {
                refuse_or_wipe(path, &device, &found, force)?;
            }
            Ok(device)
        }
    }
}

fn refuse_or_wipe(
    path: &Path,
    device: &FileDevice,
    found: &[tandem_device::Signature],
    force: bool,
) -> Result<()> {
    if !force {
        let names: Vec<String> = found.iter().map(ToString::to_string).collect();
        bail!(
            "{} seems to hold {}; give --force to overwrite it, and lose what is there",
            path.display(),
            names.join(" and ")
        );
    }
    // What was there must not be recognized any more by others either.
    let len = WIPE.min(device.size());
    let zeros = vec![0; len as usize];
    for at in [0, device.size() - len] {
        device.write_at(&zeros, at).with_context(|| format!("{}: wipe", path.display()))?;
    }
    device.flush().with_context(|| format!("{}: flush", path.display()))
}

fn make(args: &MkfsArgs, meta: Arc<FileDevice>, data: Option<FileDevice>) -> Result<MkfsReport> {
    let options = MkfsOptions {
        metadata_size: args.metadata_size,
        data_size: args.data_size,
        data_block_size: args.data_block_size,
        segment_size: args.segment_size,
        label: args.label.clone(),
        uuid: args.uuid,
        hash_bits: args.hash_bits,
    };
    let data = data.map(|device| Arc::new(device) as Arc<dyn Device>);
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
