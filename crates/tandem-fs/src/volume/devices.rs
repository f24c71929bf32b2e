//! The devices of a volume: whether they belong together, and the checkpoint to start from.

use std::sync::Arc;

use tandem_device::Device;
use tandem_format::{Checkpoint, DATA_AREA, DataLabel, Superblock};

use super::{read_page, volume_error};
use crate::error::{Error, Result};
use crate::log::read_checkpoint;
use crate::planted::{Planted, planted};

/// The data device, when it belongs to the volume.
pub(super) fn data_device(
    meta: &Arc<dyn Device>,
    data: Option<Arc<dyn Device>>,
    sb: &Superblock,
) -> Result<Arc<dyn Device>> {
    let data = match (data, sb.data_offset) {
        (None, 0) => {
            return Err(volume_error(
                &**meta,
                "keeps its data on another device: name it with --data (or -o data=)".into(),
            ));
        }
        (Some(data), 0) => data,
        (None, _) => Arc::clone(meta),
        (Some(data), _) => {
            return Err(volume_error(
                &*data,
                format!(
                    "is not wanted: the volume on {} keeps its data there as well; leave --data out",
                    meta.name()
                ),
            ));
        }
    };
    let need = sb.data_offset + sb.data_size;
    if data.size() < sb.data_offset + DATA_AREA {
        let size = data.size();
        let detail = format!(
            "has shrunk, or is another device: the volume's data needs {need} bytes, the device has {size}"
        );
        return Err(volume_error(&*data, detail));
    }
    match DataLabel::decode(&read_page(&*data, sb.data_offset)?).ok() {
        None if Superblock::decode(&read_page(&*data, 0)?).is_ok() && sb.data_offset == 0 => {
            Err(volume_error(&*data, "is the metadata device of a Tandem volume, not a data device: the two are swapped or the same".into()))
        }
        None if sb.data_offset != 0 => Err(volume_error(&*data, format!(
            "its data label at byte {} is damaged; tandem check tells what else is", sb.data_offset
        ))),
        None => Err(volume_error(&*data, format!(
            "is not the data device of a Tandem volume; name the one with which the volume on {} was made",
            meta.name()
        ))),
        Some(label) if label.volume != sb.volume || label.uuid != sb.uuid => Err(volume_error(&*data, format!(
            "belongs to volume {}, {} to volume {}: name the two devices of one volume",
            uuid::Uuid::from_bytes(label.uuid), meta.name(), uuid::Uuid::from_bytes(sb.uuid)
        ))),
        Some(_) if data.size() < need => Err(volume_error(&*data, format!(
            "has shrunk: the volume's data needs {need} bytes, the device has {}; restore its size before anything else",
            data.size()
        ))),
        Some(_) => Ok(data),
    }
}

/// The newer valid checkpoint and its area. Where one cannot be read, it may be the newer: who is to
/// write behind the other would write over what it leads to.
///
/// # Errors
/// When there is none, or one cannot be read and the mount is not `read_only`.
pub(super) fn newest_checkpoint(
    meta: &dyn Device,
    sb: &Superblock,
    read_only: bool,
) -> Result<(usize, Checkpoint)> {
    let newer =
        |a: &Checkpoint, b: &Checkpoint| (a.order() > b.order()) != planted(Planted::OldCheckpoint);
    let mut best: Option<(usize, Checkpoint)> = None;
    let mut last = None;
    for area in 0..2 {
        match read_checkpoint(meta, area) {
            Ok(cp) if cp.volume != sb.volume => {}
            Ok(cp) if best.is_none_or(|(_, b)| newer(&cp, &b)) => best = Some((area, cp)),
            Ok(_) => {}
            Err(e @ Error::Io { .. }) if !read_only => {
                tracing::error!(
                    "{}: a checkpoint cannot be read, which may be the newest: mount with -o ro, or run tandem check --repair",
                    meta.name()
                );
                return Err(e);
            }
            Err(e) => last = Some(e),
        }
    }
    let sound = |cp: &Checkpoint| {
        cp.segment < sb.segments && cp.next_segment < sb.segments && cp.offset <= sb.segment_size
    };
    match (best, last) {
        (Some((area, cp)), _) if sound(&cp) => Ok((area, cp)),
        (Some(_), _) => {
            Err(volume_error(meta, "its checkpoint names a segment that does not exist".into()))
        }
        (None, Some(e)) => Err(e),
        (None, None) => Err(volume_error(meta, "both checkpoints are missing".into())),
    }
}
