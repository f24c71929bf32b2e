//! Opening a volume as a read-only mount does, except that what a mount would refuse becomes a
//! problem wherever the rest can be looked at without it.

use std::sync::Arc;

use tandem_device::Device;
use tandem_format::{CHECKPOINTS, Checkpoint, DataLabel, SUPERBLOCK_A, Superblock};

use super::map::BlockMap;
use super::report::{Findings, ProblemKind};
use super::tables::{Tables, load_groups, load_segments};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::log::{BEHIND, goes_on, recover};
use crate::options::MountOptions;
use crate::volume::{Core, Found, read_page, read_superblock, volume_error};

/// A volume, recovered in memory.
pub(super) struct Opened {
    pub core: Core,
    pub sb: Superblock,
    pub cp: Checkpoint,
    /// Where the checkpoint is.
    pub area: usize,
    pub recovered_commits: u64,
    /// Where the log goes on: segment, byte in it, and the segment after it.
    pub end: (u64, u32, u64),
    /// Serial number of the partial segment that would come there.
    pub end_serial: u64,
    pub tables: Tables,
    pub map: BlockMap,
}

/// Opens a volume. `memory` bounds the whole check's memory, in bytes.
///
/// # Errors
/// When the devices are not those of one volume, or neither superblock or neither checkpoint is
/// good: then there is nothing to verify.
pub(super) fn open(
    meta: Arc<dyn Device>,
    data: Option<Arc<dyn Device>>,
    memory: u64,
    env: &Arc<dyn Env>,
    findings: &Findings,
) -> Result<Opened> {
    let sb = superblock(&*meta, findings)?;
    let data = data_device(&meta, data, &sb, findings)?;
    let (area, cp) = checkpoint(&*meta, &sb, findings)?;
    let geo = sb.geometry();
    let fixed = u64::from(geo.groups).saturating_mul(256) + geo.segments.saturating_mul(64);
    if fixed > memory / 2 {
        return Err(Error::Invalid(format!(
            "{}: {} groups and {} segments need {fixed} bytes of memory: allow at least twice that",
            meta.name(),
            geo.groups,
            geo.segments
        )));
    }
    let assemble = |findings: &Findings| -> Result<(Core, Tables)> {
        let opts = MountOptions {
            read_only: true,
            background: false,
            cache: (memory / 8).max(1 << 20),
            ..MountOptions::default()
        };
        let (meta, data, env) = (Arc::clone(&meta), Arc::clone(&data), Arc::clone(env));
        let core = Core::assemble(meta, data, sb.clone(), opts, env, area, cp)?;
        core.state.lock().read_only = true;
        let tables = Tables::walk(&core, memory / 8, findings)?;
        load_segments(&core, &tables);
        load_groups(&core, &tables, findings)?;
        Ok((core, tables))
    };
    let (core, tables) = assemble(findings)?;
    let (core, tables, recovered) = match recover(&core, &cp) {
        Ok(recovered) => (core, tables, Some(recovered)),
        Err(e) => {
            let what = format!("{}: roll-forward after the checkpoint", meta.name());
            findings.add(
                ProblemKind::Log,
                what,
                format!("{e}; what follows is as of the checkpoint"),
            );
            let (core, tables) = assemble(&Findings::default())?;
            (core, tables, None)
        }
    };
    if let Some(recovered) = &recovered {
        let what = format!("{}: the log after the checkpoint", meta.name());
        match goes_on(&core, &cp, recovered) {
            Ok(false) => {}
            Ok(true) => findings.add(ProblemKind::Log, what, BEHIND),
            Err(e) => findings.add(ProblemKind::Unreadable, what, e.to_string()),
        }
    }
    let end = recovered.map_or((cp.segment, cp.offset, cp.next_segment), |r| {
        (r.segment, r.offset, r.next_segment)
    });
    let end_serial = recovered.map_or(cp.next_serial, |r| r.serial);
    let recovered_commits = recovered.map_or(0, |r| r.commits);
    let map = BlockMap::new(&core, &tables, memory / 4);
    Ok(Opened { core, sb, cp, area, recovered_commits, end, end_serial, tables, map })
}

/// Reads both superblocks.
fn superblock(meta: &dyn Device, findings: &Findings) -> Result<Superblock> {
    let Found { sb, damage } = read_superblock(meta)?;
    if let Some(damage) = damage {
        let what = format!("{}: first superblock at byte {SUPERBLOCK_A}", meta.name());
        findings.add(ProblemKind::Superblock, what, format!("{damage}; its copy serves"));
    }
    let offset = sb.geometry().superblock_b();
    let what = format!("{}: second superblock at byte {offset}", meta.name());
    match read_page(meta, offset).as_deref().map(Superblock::decode) {
        Ok(Ok(copy)) if copy == sb => {}
        Ok(Ok(_)) => findings.add(ProblemKind::Superblock, what, "differs from the first"),
        Ok(Err(e)) => findings.add(ProblemKind::Superblock, what, e.to_string()),
        Err(e) => findings.add(ProblemKind::Unreadable, what, e.to_string()),
    }
    Ok(sb)
}

/// The data device, if it can be the volume's.
pub(super) fn data_device(
    meta: &Arc<dyn Device>,
    data: Option<Arc<dyn Device>>,
    sb: &Superblock,
    findings: &Findings,
) -> Result<Arc<dyn Device>> {
    let data = match (data, sb.data_offset) {
        (None, 0) => {
            let detail = "keeps its data on another device: name it with --data";
            return Err(volume_error(&**meta, detail.into()));
        }
        (Some(data), 0) => data,
        (None, _) => Arc::clone(meta),
        (Some(data), _) => {
            let detail = format!(
                "is not wanted: the volume on {} keeps its data there as well; leave --data out",
                meta.name()
            );
            return Err(volume_error(&*data, detail));
        }
    };
    let need = sb.data_offset + sb.data_size;
    if data.size() < need {
        let detail = format!(
            "has shrunk, or is another device: the volume's data needs {need} bytes, it has {}",
            data.size()
        );
        return Err(volume_error(&*data, detail));
    }
    let what = format!("{}: data label at byte {}", data.name(), sb.data_offset);
    let page = match read_page(&*data, sb.data_offset) {
        Ok(page) => page,
        Err(e) => {
            findings.add(ProblemKind::Unreadable, what, e.to_string());
            return Ok(data);
        }
    };
    match DataLabel::decode(&page) {
        Ok(label) if label == DataLabel::from(sb) => {}
        Ok(label) if label.uuid != sb.uuid => {
            let ours = uuid::Uuid::from_bytes(sb.uuid);
            let detail = format!(
                "belongs to volume {}, {} to volume {ours}: name the two devices of one volume",
                uuid::Uuid::from_bytes(label.uuid),
                meta.name()
            );
            return Err(volume_error(&*data, detail));
        }
        Ok(_) => findings.add(ProblemKind::DataLabel, what, "differs from the superblock"),
        Err(_) if sb.data_offset == 0 && Superblock::decode(&page).is_ok() => {
            let detail = "is the metadata device of a Tandem volume, not a data device: the two are swapped or the same";
            return Err(volume_error(&*data, detail.into()));
        }
        Err(e) => findings.add(ProblemKind::DataLabel, what, e.to_string()),
    }
    Ok(data)
}

/// Reads both checkpoints; returns the newer with its area.
pub(super) fn checkpoint(
    meta: &dyn Device,
    sb: &Superblock,
    findings: &Findings,
) -> Result<(usize, Checkpoint)> {
    let mut best: Option<(usize, Checkpoint)> = None;
    for (area, offset) in CHECKPOINTS.into_iter().enumerate() {
        let what = format!("{}: checkpoint area {area} at byte {offset}", meta.name());
        match read_page(meta, offset).as_deref().map(Checkpoint::decode) {
            Ok(Ok(cp)) if cp.volume != sb.volume => {
                let detail = format!("belongs to volume {:016x}", cp.volume);
                findings.add(ProblemKind::Checkpoint, what, detail);
            }
            Ok(Ok(cp)) => {
                if cp.meta_size != sb.meta_size {
                    let (is, said) = (sb.meta_size, cp.meta_size);
                    let detail = format!("{said} bytes for metadata, the superblock says {is}");
                    findings.add(ProblemKind::Checkpoint, what, detail);
                }
                if best.is_none_or(|(_, b)| cp.order() > b.order()) {
                    best = Some((area, cp));
                }
            }
            Ok(Err(e)) => findings.add(ProblemKind::Checkpoint, what, e.to_string()),
            Err(e) => findings.add(ProblemKind::Unreadable, what, e.to_string()),
        }
    }
    let Some((area, cp)) = best else {
        return Err(volume_error(meta, "has no good checkpoint".into()));
    };
    let segments = cp.segment < sb.segments && cp.next_segment < sb.segments;
    if !segments || cp.offset > sb.segment_size {
        let detail = "its newest checkpoint names a segment that does not exist";
        return Err(volume_error(meta, detail.into()));
    }
    Ok((area, cp))
}
