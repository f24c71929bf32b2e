//! `tandem info`.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tandem_device::{Access, Device, FileDevice};
use tandem_fs::{MountOptions, SystemEnv, Volume};

use super::{dump::reader::Reader, stats};
use crate::cli::{InfoArgs, exit};
use crate::output::{self, Listing};
use crate::units::{bytes, grouped, per_cent};
use crate::{control, devices, mounts};

/// Says what a volume is.
pub fn run(args: &InfoArgs) -> Result<u8> {
    let info = gather(args)?;
    if args.json {
        output::print_json(&info)?;
    } else {
        output::print(&describe(&info))?;
    }
    if info["partial"] == true {
        bail!(
            "{}: keeps its data on another device; give --data to see the rest",
            args.meta.display()
        );
    }
    Ok(exit::OK)
}

/// Asks the daemon of a mounted volume, or reads the devices of another.
fn gather(args: &InfoArgs) -> Result<Value> {
    if args.meta.is_dir() {
        return control::ask(&stats::find(&args.meta)?, "info");
    }
    if let Some(mount) = mounts::of_device(&args.meta) {
        return control::ask(&mount, "info");
    }
    let meta = devices::open_one(&args.meta, Access::ReadOnly)?;
    match &args.data {
        None if needs_data(&meta) => without_data(&meta),
        data => {
            drop(meta);
            from_devices(&args.meta, data.as_deref())
        }
    }
}

fn needs_data(meta: &FileDevice) -> bool {
    Reader::open(meta).is_ok_and(|reader| reader.superblock.data_offset == 0)
}

fn from_devices(meta: &Path, data: Option<&Path>) -> Result<Value> {
    let opened = devices::open(meta, data, Access::ReadOnly)?;
    let options = MountOptions { read_only: true, ..MountOptions::default() };
    let volume = Volume::open(opened.meta(), opened.data(), options, Arc::new(SystemEnv))?;
    Ok(json!({
        "metadata_device": opened.meta.name(),
        "data_device": opened.data.as_ref().map(|data| data.name()),
        "volume": volume.info(),
    }))
}

/// What the metadata device alone tells.
fn without_data(meta: &FileDevice) -> Result<Value> {
    let reader = Reader::open(meta)?;
    let (superblock, checkpoint) = (&reader.superblock, &reader.checkpoint);
    if superblock.meta_size > meta.size() {
        bail!(
            "{}: has shrunk: the volume's metadata area has {} bytes, the device {}; restore its \
             size before anything else",
            meta.name(),
            superblock.meta_size,
            meta.size()
        );
    }
    Ok(json!({
        "partial": true,
        "metadata_device": meta.name(),
        "volume": {
            "uuid": uuid::Uuid::from_bytes(superblock.uuid),
            "label": superblock.label,
            "version": superblock.version,
            "metadata_size": superblock.meta_size,
            "data_size": superblock.data_size,
            "one_device": false,
            "block_size": superblock.block_size,
            "blocks": superblock.blocks,
            "free_blocks": checkpoint.free_blocks,
            "groups": superblock.groups,
            "inodes": checkpoint.inodes,
            "crash_count": checkpoint.crash,
            "commit": checkpoint.commit,
            "clean": checkpoint.clean,
            "log": {
                "segments": superblock.segments,
                "segment_size": superblock.segment_size,
                "live_bytes": checkpoint.live_bytes,
            },
        },
    }))
}

/// When the cleaner works, as far as it is known.
fn cleaner_of(log: &Value) -> String {
    match (log["low_segments"].as_u64(), log["reserved_segments"].as_u64()) {
        (Some(low), Some(kept)) => format!(
            "works when fewer than {} segments are clean; {} are kept for deletion",
            grouped(low),
            grouped(kept)
        ),
        _ => "unknown".into(),
    }
}

/// How much is free, and in how many pieces.
fn free_space(volume: &Value, free: u64, block: u64) -> String {
    let size = |blocks: u64| bytes(blocks.saturating_mul(block));
    match (volume["free_runs"].as_u64(), volume["longest_free_run"].as_u64()) {
        (Some(runs), Some(longest)) => format!(
            "{} in {} pieces, {} on the mean, the longest {}",
            size(free),
            grouped(runs),
            size(free / runs.max(1)),
            size(longest)
        ),
        _ => size(free),
    }
}

fn describe(info: &Value) -> String {
    let volume = &info["volume"];
    let log = &volume["log"];
    let word = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let label = match volume["label"].as_str() {
        Some(label) if !label.is_empty() => format!(" ({label})"),
        _ => String::new(),
    };
    let place = |device: &str| match info[device].as_str() {
        Some(name) => format!(" on {name}"),
        None if device == "data_device" && volume["one_device"] == true => {
            " on the same device".to_string()
        }
        None => String::new(),
    };
    let state = match (info["mounted_on"].as_str(), volume["clean"].as_bool()) {
        (Some(dir), _) => format!("mounted on {dir}, by process {}", info["process"]),
        (None, Some(true)) => "clean".to_string(),
        _ => "was not unmounted; the next mount recovers it".to_string(),
    };
    let block = count(&volume["block_size"]);
    let (blocks, free) = (count(&volume["blocks"]), count(&volume["free_blocks"]));
    let used = blocks.saturating_sub(free);
    let files = match volume["inodes_free"].as_u64() {
        Some(free) => format!(", room for about {} more", grouped(free)),
        None => String::new(),
    };
    let live = count(&log["live_bytes"]);
    let mut listing = Listing::default();
    listing
        .heading(format!("volume {}{label}", word(&volume["uuid"])))
        .row("state", state)
        .row("format", format!("version {}", volume["version"]))
        .row(
            "metadata",
            format!("{}{}", bytes(count(&volume["metadata_size"])), place("metadata_device")),
        )
        .row("data", format!("{}{}", bytes(count(&volume["data_size"])), place("data_device")))
        .row(
            "data in use",
            format!(
                "{} of {} ({}), in blocks of {}, {} groups",
                bytes(used.saturating_mul(block)),
                bytes(blocks.saturating_mul(block)),
                per_cent(used, blocks),
                bytes(block),
                grouped(count(&volume["groups"])),
            ),
        )
        .row("data free", free_space(volume, free, block))
        .row("i-nodes", format!("{}{files}", grouped(count(&volume["inodes"]))));
    let live_of = match log["room_bytes"].as_u64() {
        Some(room) => format!("{} of {} ({})", bytes(live), bytes(room), per_cent(live, room)),
        None => bytes(live),
    };
    let clean = match log["clean_segments"].as_u64() {
        Some(clean) => format!("{} of ", grouped(clean)),
        None => String::new(),
    };
    listing
        .row("live metadata", live_of)
        .row(
            "log",
            format!(
                "{clean}{} segments of {}{}",
                grouped(count(&log["segments"])),
                bytes(count(&log["segment_size"])),
                if clean.is_empty() { "" } else { " clean" },
            ),
        )
        .row("cleaner", cleaner_of(log))
        .row("last commit", grouped(count(&volume["commit"])))
        .row("crash count", grouped(count(&volume["crash_count"])));
    listing.render()
}
