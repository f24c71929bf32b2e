//! Finding the superblock, also when the first one is damaged.

use tandem_device::Device;
use tandem_format::{
    CHECKPOINTS, Checkpoint, DATA_AREA, DataLabel, FormatError, SUPERBLOCK_A, Superblock,
    superblock_b,
};

use super::{read_page, volume_error};
use crate::error::{Error, Result};

/// What a metadata device says it is.
pub(crate) struct Found {
    pub sb: Superblock,
    /// What is wrong with the first superblock, when the second serves.
    pub damage: Option<String>,
}

/// Reads the superblock, or the second one when the first is damaged.
pub(crate) fn read_superblock(meta: &dyn Device) -> Result<Found> {
    if meta.size() < DATA_AREA * 2 {
        return Err(volume_error(meta, "is too small to hold a Tandem volume".into()));
    }
    let found = match read_page(meta, SUPERBLOCK_A) {
        Ok(first) => match Superblock::decode(&first) {
            Ok(sb) => Found { sb, damage: None },
            Err(e) if is_other(&e) => return Err(other(meta, &e)),
            Err(e) => second(meta, Ok(&first), e.to_string())?,
        },
        Err(e) => {
            let damage = e.to_string();
            second(meta, Err(e), damage)?
        }
    };
    if found.sb.meta_size > meta.size() {
        return Err(shrunk(meta, found.sb.meta_size));
    }
    Ok(found)
}

fn is_other(e: &FormatError) -> bool {
    matches!(
        e,
        FormatError::NewerVersion { .. }
            | FormatError::OlderVersion { .. }
            | FormatError::UnknownIncompat { .. }
    )
}

fn other(meta: &dyn Device, e: &FormatError) -> Error {
    let which = if matches!(e, FormatError::OlderVersion { .. }) { "an older" } else { "a newer" };
    volume_error(meta, format!("{e}; use {which} version of tandem"))
}

fn shrunk(meta: &dyn Device, meta_size: u64) -> Error {
    volume_error(
        meta,
        format!(
            "has shrunk: the volume's metadata area has {meta_size} bytes, the device {}; restore its size before anything else",
            meta.size()
        ),
    )
}

/// The second superblock; `first` are the bytes of the first, with which `damage` is wrong. Where they
/// cannot be read and nothing else tells of a volume, that is the error: a device that does not answer
/// is not one without a volume.
fn second(meta: &dyn Device, first: Result<&[u8]>, damage: String) -> Result<Found> {
    let checkpoints = checkpoints(meta);
    // A device that the volume fills has it at its end, whatever has become of the checkpoints.
    let places = checkpoints.iter().map(|cp| (cp.superblock_b(), Some(cp.volume)));
    for (at, volume) in places.chain([(superblock_b(meta.size()), None)]) {
        let Ok(page) = read_page(meta, at) else { continue };
        match Superblock::decode(&page) {
            Ok(sb) if sb.geometry().superblock_b() != at => {}
            // An earlier volume's, which mkfs has not written over.
            Ok(sb) if volume.is_some_and(|volume| volume != sb.volume) => {}
            Ok(sb) => return Ok(Found { sb, damage: Some(damage) }),
            Err(e) if is_other(&e) => return Err(other(meta, &e)),
            Err(_) => {}
        }
    }
    if let Some(cp) = checkpoints.iter().find(|cp| cp.meta_size > meta.size()) {
        return Err(shrunk(meta, cp.meta_size));
    }
    let first = first?;
    let detail = if !checkpoints.is_empty() {
        format!(
            "both superblocks of the volume are damaged ({damage}): write a copy of either back, from a backup"
        )
    } else if DataLabel::decode(first).is_ok() {
        "is the data device of a Tandem volume: name its metadata device first, and this one as data".into()
    } else {
        format!(
            "is not the metadata device of a Tandem volume ({damage}); make one with tandem mkfs"
        )
    };
    Err(volume_error(meta, detail))
}

/// The checkpoints that are whole, the newer first.
fn checkpoints(meta: &dyn Device) -> Vec<Checkpoint> {
    let mut found: Vec<Checkpoint> = CHECKPOINTS
        .iter()
        .filter_map(|&at| Checkpoint::decode(&read_page(meta, at).ok()?).ok())
        .collect();
    found.sort_by_key(|cp| std::cmp::Reverse(cp.order()));
    found
}
