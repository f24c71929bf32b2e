//! Making a volume: labels, an empty checkpoint, then the first commit with the root directory and
//! the hidden one, by the code that makes every other.

use std::sync::Arc;

use tandem_device::Device;
use tandem_format::{
    CHECKPOINTS, Checkpoint, CheckpointRoot, Content, DATA_AREA, DataLabel, DirRoot,
    FORMAT_VERSION, Loc, Record, SEGMENT_AREA, SUPERBLOCK_A, Superblock, Xattrs, volume_of,
};

use crate::env::Env;
use crate::error::{Error, Result};
use crate::options::{MkfsOptions, MkfsReport, MountOptions};
use crate::state::ENTRY_COST;
use crate::types::{Ino, LIMBO, ROOT};
use crate::volume::{Core, Volume};

/// The least size of a metadata area.
pub const META_MIN: u64 = 4 << 20;

/// The least size of a data area.
pub const DATA_MIN: u64 = 1 << 20;

impl Volume {
    /// Makes an empty volume; everything on the devices is lost. Without `data` the metadata
    /// device holds both areas.
    ///
    /// # Errors
    /// Sizes that are too small, too large or make no sense together, and failing devices.
    pub fn mkfs(
        meta: Arc<dyn Device>,
        data: Option<Arc<dyn Device>>,
        options: &MkfsOptions,
        env: Arc<dyn Env>,
    ) -> Result<MkfsReport> {
        let sb = plan(&*meta, data.as_deref(), options, &*env)?;
        let data = data.unwrap_or_else(|| Arc::clone(&meta));
        let geo = sb.geometry();
        // The superblocks come last: an interrupted mkfs leaves no volume behind.
        for offset in [SUPERBLOCK_A, CHECKPOINTS[0], CHECKPOINTS[1], geo.superblock_b()] {
            write(&*meta, offset, &[0; 4096])?;
        }
        // Hints only: a device that cannot discard is as good.
        let _ = meta.discard(SEGMENT_AREA, geo.superblock_b() - SEGMENT_AREA);
        let _ = data.discard(sb.data_offset + DATA_AREA, sb.data_size - DATA_AREA);
        // What an earlier volume left in the first segment must not look like this one's log.
        write(&*meta, geo.segment_offset(0), &[0; 4096])?;
        let cp = first_checkpoint(&sb, &*env);
        write(&*meta, CHECKPOINTS[0], &cp.encode())?;
        let label = DataLabel {
            version: FORMAT_VERSION,
            uuid: sb.uuid,
            volume: sb.volume,
            data_size: sb.data_size,
            block_size: sb.block_size,
            blocks: sb.blocks,
        };
        write(&*data, sb.data_offset, &label.encode())?;
        flush(&*data)?;
        let opts = MountOptions { background: false, ..MountOptions::default() };
        let core =
            Core::assemble(Arc::clone(&meta), data, sb.clone(), opts, Arc::clone(&env), 0, cp)?;
        core.first_commit()?;
        write(&*meta, geo.superblock_b(), &sb.encode())?;
        flush(&*meta)?;
        write(&*meta, SUPERBLOCK_A, &sb.encode())?;
        flush(&*meta)?;
        let live = core.state.lock().segs.room_for_live();
        Ok(MkfsReport {
            uuid: uuid::Uuid::from_bytes(sb.uuid),
            metadata_size: sb.meta_size,
            segment_size: sb.segment_size,
            segments: sb.segments,
            data_size: sb.data_size,
            block_size: sb.block_size,
            blocks: sb.blocks,
            groups: sb.groups,
            files: live / ENTRY_COST,
        })
    }
}

fn invalid<T>(detail: String) -> Result<T> {
    Err(Error::Invalid(detail))
}

fn plan(
    meta: &dyn Device,
    data: Option<&dyn Device>,
    o: &MkfsOptions,
    env: &dyn Env,
) -> Result<Superblock> {
    let block_size = o.data_block_size.unwrap_or(4096);
    if !block_size.is_power_of_two() || !(512..=65536).contains(&block_size) {
        return invalid(format!(
            "data block size {block_size}: must be a power of two from 512 to 65536"
        ));
    }
    if o.label.as_ref().is_some_and(|l| l.len() > 63) {
        return invalid("the label is longer than 63 bytes".into());
    }
    let total = meta.size();
    let meta_size = match (o.metadata_size, data) {
        (Some(size), _) if size > total => {
            return invalid(format!(
                "{}: {size} bytes for metadata on a device of {total}",
                meta.name()
            ));
        }
        (Some(size), _) => size,
        (None, Some(_)) => total,
        (None, None) => (total / 10).max(META_MIN).next_multiple_of(1 << 20),
    } / 4096
        * 4096;
    if meta_size < META_MIN {
        return invalid(format!(
            "{}: too small: {meta_size} bytes for metadata, at least {META_MIN} are needed",
            meta.name()
        ));
    }
    let (data_offset, room, holder) = match data {
        Some(data) => (0, data.size(), data.name()),
        None => {
            let offset = meta_size.next_multiple_of(1 << 20);
            (offset, total.saturating_sub(offset), meta.name())
        }
    };
    let data_size = o.data_size.unwrap_or(room);
    if data_size > room {
        return invalid(format!("{holder}: {data_size} bytes for data, but only {room} are there"));
    }
    if data_size < DATA_MIN {
        return invalid(format!(
            "{holder}: too small: {data_size} bytes for data, at least {DATA_MIN} are needed"
        ));
    }
    let default_segment = match meta_size {
        0..0x200_0000 => 64 << 10,
        0x200_0000..0x800_0000 => 256 << 10,
        _ => 1 << 20,
    };
    let segment_size = o.segment_size.unwrap_or(default_segment);
    if !segment_size.is_power_of_two() || !(65536..=8 << 20).contains(&segment_size) {
        return invalid(format!(
            "segment size {segment_size}: must be a power of two from 65536 to 8388608"
        ));
    }
    let segments = (meta_size - SEGMENT_AREA - 4096) / u64::from(segment_size);
    if segments < 16 {
        return invalid(format!(
            "{}: room for {segments} segments only, at least 16 are needed: take smaller segments or more space",
            meta.name()
        ));
    }
    let blocks = (data_size - DATA_AREA) / u64::from(block_size);
    let mut group_blocks: u32 = 1 << 15;
    while blocks.div_ceil(u64::from(group_blocks)) > 65536 && group_blocks < 1 << 20 {
        group_blocks <<= 1;
    }
    let groups = blocks.div_ceil(u64::from(group_blocks));
    let Ok(groups) = u32::try_from(groups) else {
        return invalid(format!("{holder}: {data_size} bytes are more than a volume can have"));
    };
    let uuid = match o.uuid {
        Some(uuid) => *uuid.as_bytes(),
        None => {
            let bytes = [env.random().to_le_bytes(), env.random().to_le_bytes()].concat();
            let mut random = [0; 16];
            random.copy_from_slice(&bytes);
            uuid::Builder::from_random_bytes(random).into_uuid().into_bytes()
        }
    };
    Ok(Superblock {
        version: FORMAT_VERSION,
        compat: 0,
        ro_compat: 0,
        incompat: 0,
        uuid,
        volume: volume_of(&uuid),
        label: o.label.clone().unwrap_or_default(),
        created: env.now(),
        meta_size,
        segment_size,
        segments,
        data_size,
        data_offset,
        block_size,
        blocks,
        group_blocks,
        groups,
        hash_key: [env.random(), env.random()],
        hash_bits: o.hash_bits.unwrap_or(48),
    })
}

fn first_checkpoint(sb: &Superblock, env: &dyn Env) -> Checkpoint {
    Checkpoint {
        volume: sb.volume,
        crash: 1,
        serial: 0,
        commit: 0,
        clean: false,
        time: env.now(),
        segment: 0,
        offset: 0,
        next_segment: 1,
        next_serial: 1,
        roots: [CheckpointRoot { loc: Loc::NONE, height: 0 }; 5],
        next_ino: LIMBO + 1,
        next_id: 1,
        inodes: 0,
        live_bytes: 0,
        mapped: 0,
        free_blocks: sb.blocks,
    }
}

fn write(device: &dyn Device, offset: u64, bytes: &[u8]) -> Result<()> {
    device.write_at(bytes, offset).map_err(|source| Error::Io {
        device: device.name().into(),
        op: "write",
        offset,
        len: bytes.len() as u64,
        source,
    })
}

fn flush(device: &dyn Device) -> Result<()> {
    device.flush().map_err(|source| Error::Io {
        device: device.name().into(),
        op: "flush",
        offset: 0,
        len: 0,
        source,
    })
}

impl Core {
    /// The root and the hidden directory, and a checkpoint that marks the volume clean.
    fn first_commit(&self) -> Result<()> {
        self.run(|st| {
            st.segs.next = 1;
            st.segs.mark_used(0, 1);
            for g in 0..st.geo.groups {
                let (_, len) = st.geo.group_range(g);
                st.group_entries[g as usize].free = len;
            }
            for g in (0..st.geo.groups).step_by(tandem_format::GROUP_PER_BLOCK) {
                st.space.mark_entry_dirty(g);
            }
            st.imap_present(ROOT)?;
            for ino in [ROOT, LIMBO] {
                let rec = directory(ino, st.now);
                st.enter_unnamed(&rec)?;
                st.inos.used += 1;
                st.count_group(0, 1, 0);
            }
            Ok(())
        })?;
        let mut c = self.commit.lock();
        c.closing = true;
        self.commit_locked(&mut c, crate::commit::Contents::All, true)
    }
}

fn directory(ino: Ino, now: tandem_format::Time) -> Record {
    Record {
        ino,
        generation: 1,
        mode: libc::S_IFDIR | if ino == ROOT { 0o755 } else { 0o700 },
        nlink: 2,
        uid: 0,
        gid: 0,
        atime: now,
        mtime: now,
        ctime: now,
        btime: now,
        size: 0,
        content: Content::Dir(DirRoot { parent: ROOT, entries: 0, subdirs: 0, root: 0, group: 0 }),
        xattrs: Xattrs::None,
    }
}
