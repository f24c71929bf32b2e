//! Making a volume: labels, an empty checkpoint, then the first commit with the root directory and
//! the hidden one, by the code that makes every other.

mod plan;

use std::sync::Arc;

use tandem_device::Device;
use tandem_format::{
    CHECKPOINTS, Checkpoint, CheckpointRoot, Content, DATA_AREA, DataLabel, DirRoot, Loc, Record,
    SEGMENT_AREA, SUPERBLOCK_A, Superblock, Xattrs,
};

use crate::env::Env;
use crate::error::{Error, Result};
use crate::options::{MkfsOptions, MkfsReport, MountOptions};
use crate::state::ENTRY_MEAN;
use crate::types::{Ino, LIMBO, ROOT};
use crate::volume::{Core, Volume};

/// Bytes at either end of a device that are zeroed where something else was.
const WIPE: u64 = 1 << 20;

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
        let sb = plan::plan(&*meta, data.as_deref(), options, &*env)?;
        let data = data.unwrap_or_else(|| Arc::clone(&meta));
        let geo = sb.geometry();
        if options.wipe {
            wipe(&*meta)?;
            wipe(&*data)?;
        }
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
        let label = DataLabel::from(&sb);
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
            files: live / ENTRY_MEAN,
        })
    }
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
        free_blocks: 0,
        meta_size: sb.meta_size,
    }
}

fn wipe(device: &dyn Device) -> Result<()> {
    let zeros = vec![0; WIPE.min(device.size()) as usize];
    write(device, 0, &zeros)?;
    write(device, device.size() - zeros.len() as u64, &zeros)
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

/// The record of a new directory without entries, that of root's parent.
pub(crate) fn directory(ino: Ino, now: tandem_format::Time) -> Record {
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
