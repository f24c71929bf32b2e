//! The pages at fixed places: superblocks and data label. They never change after mkfs, so a damaged
//! one is written again from another; with both superblocks lost, one is put together from what else
//! the devices say.

use std::sync::Arc;

use tandem_device::Device;
use tandem_format::{
    CHECKPOINTS, Checkpoint, DataLabel, FORMAT_VERSION, FormatError, SEGMENT_AREA, SUPERBLOCK_A,
    Superblock, volume_of,
};

use super::report::{RepairKind, Repairs};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::volume::{read_page, read_superblock, volume_error};

/// Distance of the places where a data area can begin.
const DATA_ALIGN: u64 = 1 << 20;

/// A superblock, and whether it was made up.
pub(super) struct FoundSuperblock {
    pub sb: Superblock,
    pub rebuilt: bool,
}

/// Finds the superblock, or puts one together.
///
/// # Errors
/// When there is none and too little else, or when a newer version of the format is in use.
pub(super) fn superblock(
    meta: &Arc<dyn Device>,
    data: Option<&Arc<dyn Device>>,
    env: &dyn Env,
    repairs: &mut Repairs,
) -> Result<FoundSuperblock> {
    let error = match read_superblock(&**meta) {
        Ok(found) => return Ok(FoundSuperblock { sb: found.sb, rebuilt: false }),
        Err(e @ (Error::Volume { .. } | Error::Io { .. })) => e,
        Err(e) => return Err(e),
    };
    let page = read_page(&**meta, SUPERBLOCK_A);
    let newer = |e: &FormatError| {
        matches!(e, FormatError::NewerVersion { .. } | FormatError::UnknownIncompat { .. })
    };
    if matches!(page.as_deref().map(Superblock::decode), Ok(Err(e)) if newer(&e)) {
        return Err(error);
    }
    let Some(sb) = made_up(meta, data, env) else {
        let label = data.and_then(|data| DataLabel::decode(&read_page(&**data, 0).ok()?).ok());
        let checkpoint = CHECKPOINTS
            .iter()
            .any(|&at| read_page(&**meta, at).is_ok_and(|page| Checkpoint::decode(&page).is_ok()));
        // A device that does not answer may do so again.
        let silent = matches!(error, Error::Io { .. });
        let lost = label.is_some() && !checkpoint && !silent;
        return Err(if lost { nothing_left(&**meta) } else { error });
    };
    let detail = "both are lost: put together from the checkpoints, the log and the data label; volume label and date are lost";
    repairs.add(RepairKind::Superblock, format!("{}: superblocks", meta.name()), detail);
    Ok(FoundSuperblock { sb, rebuilt: true })
}

/// A superblock from the checkpoints, the log and the data label.
fn made_up(
    meta: &Arc<dyn Device>,
    data: Option<&Arc<dyn Device>>,
    env: &dyn Env,
) -> Option<Superblock> {
    let cps =
        CHECKPOINTS.iter().filter_map(|&at| Checkpoint::decode(&read_page(&**meta, at).ok()?).ok());
    let cp = cps.max_by_key(Checkpoint::order).filter(|cp| cp.meta_size <= meta.size());
    let (data_offset, label) = match data {
        Some(data) => (0, DataLabel::decode(&read_page(&**data, 0).ok()?).ok()?),
        None => {
            let from = cp.map_or(DATA_ALIGN, |cp| cp.meta_size.next_multiple_of(DATA_ALIGN));
            let places = (from / DATA_ALIGN..meta.size() / DATA_ALIGN).map(|n| n * DATA_ALIGN);
            let mut labels = places.filter_map(|at| {
                let label = DataLabel::decode(&read_page(&**meta, at).ok()?).ok()?;
                cp.is_none_or(|cp| cp.volume == label.volume).then_some((at, label))
            });
            labels.next()?
        }
    };
    let volume = volume_of(&label.uuid);
    if cp.is_some_and(|cp| cp.volume != volume) {
        return None;
    }
    let DataLabel { meta_size, segment_size, group_blocks, .. } = label;
    let segments =
        meta_size.checked_sub(SEGMENT_AREA + 4096)?.checked_div(u64::from(segment_size))?;
    let groups = label.blocks.checked_div(u64::from(group_blocks))?
        + u64::from(!label.blocks.is_multiple_of(u64::from(group_blocks)));
    let sb = Superblock {
        version: FORMAT_VERSION,
        compat: 0,
        ro_compat: 0,
        incompat: 0,
        uuid: label.uuid,
        volume,
        label: String::new(),
        created: env.now(),
        meta_size,
        segment_size,
        segments,
        data_size: label.data_size,
        data_offset,
        block_size: label.block_size,
        blocks: label.blocks,
        group_blocks,
        groups: u32::try_from(groups).ok()?,
        hash_key: label.hash_key,
        hash_bits: label.hash_bits,
    };
    Superblock::decode(&sb.encode()).ok()
}

/// Pages to be written.
#[derive(Default)]
pub(super) struct Pages {
    meta: Vec<(u64, Vec<u8>)>,
    data: Vec<(u64, Vec<u8>)>,
}

impl Pages {
    /// Finds out which pages are not as they should be.
    pub fn new(
        meta: &dyn Device,
        data: &dyn Device,
        sb: &Superblock,
        repairs: &mut Repairs,
    ) -> Pages {
        let mut pages = Pages::default();
        // The second one first: one of them is always whole.
        for (at, name) in [(sb.geometry().superblock_b(), "second"), (SUPERBLOCK_A, "first")] {
            let found = read_page(meta, at).ok().and_then(|page| Superblock::decode(&page).ok());
            if found.as_ref() != Some(sb) {
                let what = format!("{}: {name} superblock at byte {at}", meta.name());
                repairs.add(RepairKind::Superblock, what, "written again");
                pages.meta.push((at, sb.encode()));
            }
        }
        let label = DataLabel::from(sb);
        let found = read_page(data, sb.data_offset).ok();
        if found.and_then(|page| DataLabel::decode(&page).ok()).as_ref() != Some(&label) {
            let what = format!("{}: data label at byte {}", data.name(), sb.data_offset);
            let detail = "written again; if this is not the device that held the volume's data, or if that was emptied, all contents of files are lost, and what is on it now is shown in their place";
            repairs.add(RepairKind::DataLabel, what, detail);
            pages.data.push((sb.data_offset, label.encode()));
        }
        pages
    }

    /// Writes them, one after another.
    pub fn write(&self, meta: &dyn Device, data: &dyn Device) -> Result<()> {
        for (device, pages) in [(data, &self.data), (meta, &self.meta)] {
            for (offset, page) in pages {
                let failed = |op, source| Error::Io {
                    device: device.name().into(),
                    op,
                    offset: *offset,
                    len: page.len() as u64,
                    source,
                };
                device.write_at(page, *offset).map_err(|e| failed("write", e))?;
                device.flush().map_err(|e| failed("flush", e))?;
            }
        }
        Ok(())
    }
}

/// What to say when there is nothing to repair from.
pub(super) fn nothing_left(meta: &dyn Device) -> Error {
    let detail = "has neither superblock nor checkpoint nor log of a volume: the names, attributes and places of all files are lost with them. A data device alone holds contents without names: only programs that look for files by their contents can bring some back";
    volume_error(meta, detail.into())
}
