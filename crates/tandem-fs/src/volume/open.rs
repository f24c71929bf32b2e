//! Opening a volume: superblock, checkpoint, roll-forward, the raised crash count; and closing it.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use tandem_device::Device;
use tandem_format::{
    Checkpoint, DATA_AREA, DataLabel, FormatError, GROUP_PER_BLOCK, Geometry, GroupEntry, Kind,
    SEG_PER_BLOCK, SUPERBLOCK_A, SegEntry, Superblock,
};

use super::{Core, Counters, Epochs, Signal, Volume, Wants};
use crate::commit::Committer;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::ifile::Root;
use crate::inode::limbo_name;
use crate::log::{LogWriter, Segments, read_checkpoint, recover};
use crate::options::MountOptions;
use crate::space::Space;
use crate::state::{Ids, Inos, State};
use crate::types::{Ino, LIMBO};

impl Volume {
    /// Opens a volume and recovers it to its last commit. `data` is `None` when the metadata
    /// device holds the data as well.
    ///
    /// # Errors
    /// When the devices are no volume of this format, do not belong together, are too small for
    /// what the superblock says, or hold a volume that needs features this version does not have.
    pub fn open(
        meta: Arc<dyn Device>,
        data: Option<Arc<dyn Device>>,
        opts: MountOptions,
        env: Arc<dyn Env>,
    ) -> Result<Arc<Volume>> {
        let sb = read_superblock(&*meta)?;
        let data = data_device(&meta, data, &sb)?;
        if sb.unknown_ro_compat() != 0 && !opts.read_only {
            return Err(volume_error(
                &*meta,
                format!(
                    "has features (read-only compatible flags {:#x}) that this version cannot write; mount it with -o ro",
                    sb.unknown_ro_compat()
                ),
            ));
        }
        if !opts.read_only && (meta.read_only() || data.read_only()) {
            let device = if meta.read_only() { &meta } else { &data };
            return Err(volume_error(
                &**device,
                "is read-only; mount the volume with -o ro".into(),
            ));
        }
        let (area, cp) = newest_checkpoint(&*meta, &sb)?;
        let core = Core::assemble(meta, data, sb, opts, env, area, cp)?;
        core.read_tables()?;
        core.start(&cp)?;
        Ok(Volume::run_background(core))
    }

    pub(crate) fn run_background(core: Core) -> Arc<Volume> {
        let core = Arc::new(core);
        let handle = (core.opts.background && !core.opts.read_only).then(|| {
            let core = Arc::clone(&core);
            std::thread::Builder::new()
                .name("tandem-commit".into())
                .spawn(move || core.background())
        });
        Arc::new(Volume { core, background: Mutex::new(handle.and_then(std::result::Result::ok)) })
    }

    /// Commits everything, writes the last checkpoint and marks the volume clean. Nothing may
    /// change afterwards.
    ///
    /// # Errors
    /// When a device fails; what was not durable before may be lost then, and the volume is not
    /// marked clean.
    pub fn shutdown(&self) -> Result<()> {
        {
            let mut signal = self.core.signal.lock();
            signal.stop = true;
            self.core.wake.notify_all();
        }
        if let Some(handle) = self.background.lock().take() {
            let _ = handle.join();
        }
        if self.core.opts.read_only {
            return Ok(());
        }
        self.core.sound()?;
        self.core.let_go_of_orphans()?;
        self.core.commit_all(false)?;
        let mut committer = self.core.commit.lock();
        committer.closing = true;
        let done = self.core.commit_locked(&mut committer, crate::commit::Contents::All, true);
        self.core.state.lock().read_only = true;
        done
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        self.core.signal.lock().stop = true;
        self.core.wake.notify_all();
        if let Some(handle) = self.background.lock().take() {
            let _ = handle.join();
        }
    }
}

fn volume_error(device: &dyn Device, detail: String) -> Error {
    Error::Volume { device: device.name().into(), detail }
}

fn read_at(device: &dyn Device, offset: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![0; 4096];
    device.read_at(&mut bytes, offset).map_err(|source| Error::Io {
        device: device.name().into(),
        op: "read",
        offset,
        len: 4096,
        source,
    })?;
    Ok(bytes)
}

/// Reads the superblock, from its copy at the end of the metadata area when the first is damaged.
pub(crate) fn read_superblock(meta: &dyn Device) -> Result<Superblock> {
    if meta.size() < 65536 * 2 {
        return Err(volume_error(meta, "is too small to hold a Tandem volume".into()));
    }
    let first = read_at(meta, SUPERBLOCK_A)?;
    let sb = match Superblock::decode(&first) {
        Ok(sb) => sb,
        Err(e @ (FormatError::NewerVersion { .. } | FormatError::UnknownIncompat { .. })) => {
            return Err(volume_error(meta, format!("{e}; use a newer version of tandem")));
        }
        Err(e) => match second_superblock(meta) {
            Some(sb) => {
                tracing::warn!("{}: {e}; its copy at the end of the device is used", meta.name());
                sb
            }
            None if DataLabel::decode(&first).is_ok() => {
                return Err(volume_error(
                    meta,
                    "is the data device of a Tandem volume: name its metadata device first, and this one as data".into(),
                ));
            }
            None => {
                return Err(volume_error(
                    meta,
                    format!(
                        "is not the metadata device of a Tandem volume ({e}); make one with tandem mkfs"
                    ),
                ));
            }
        },
    };
    if sb.meta_size > meta.size() {
        return Err(volume_error(
            meta,
            format!(
                "has shrunk: the volume's metadata area has {} bytes, the device {}; restore its size before anything else",
                sb.meta_size,
                meta.size()
            ),
        ));
    }
    Ok(sb)
}

fn second_superblock(meta: &dyn Device) -> Option<Superblock> {
    let end = (meta.size() / 4096).checked_sub(1)? * 4096;
    let sb = Superblock::decode(&read_at(meta, end).ok()?).ok()?;
    (sb.geometry().superblock_b() == end).then_some(sb)
}

/// The data device, when it belongs to the volume.
fn data_device(
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
    let label = if data.size() < DATA_AREA {
        None
    } else {
        DataLabel::decode(&read_at(&*data, sb.data_offset)?).ok()
    };
    match label {
        None if Superblock::decode(&read_at(&*data, 0)?).is_ok() && sb.data_offset == 0 => {
            Err(volume_error(&*data, "is the metadata device of a Tandem volume, not a data device: the two are swapped or the same".into()))
        }
        None => Err(volume_error(&*data, "is not the data device of a Tandem volume".into())),
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

/// The newer valid checkpoint and its area.
pub(crate) fn newest_checkpoint(meta: &dyn Device, sb: &Superblock) -> Result<(usize, Checkpoint)> {
    let mut best: Option<(usize, Checkpoint)> = None;
    let mut last = None;
    for area in 0..2 {
        match read_checkpoint(meta, area) {
            Ok(cp) if cp.volume != sb.volume => {}
            Ok(cp) if best.is_none_or(|(_, b)| cp.order() > b.order()) => best = Some((area, cp)),
            Ok(_) => {}
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

impl Core {
    /// A core whose IFile is as the checkpoint has it, with nothing read yet.
    pub(crate) fn assemble(
        meta: Arc<dyn Device>,
        data: Arc<dyn Device>,
        sb: Superblock,
        opts: MountOptions,
        env: Arc<dyn Env>,
        area: usize,
        cp: Checkpoint,
    ) -> Result<Core> {
        let geo = sb.geometry();
        let log = LogWriter {
            volume: sb.volume,
            crash: cp.crash,
            serial: cp.next_serial,
            segment: cp.segment,
            offset: cp.offset,
            base: geo.segment_offset(0),
            segment_size: geo.segment_size,
            partials: 0,
            bytes: 0,
        };
        let checkpoint_at = env.monotonic();
        let space = Space::format(geo.blocks, geo.group_blocks)
            .map_err(|e| Error::Invalid(e.to_string()))?;
        let segs = Segments::new(&geo, vec![SegEntry::default(); geo.segments as usize]);
        let state = fresh_state(sb, geo, space, segs, &opts, &cp, env.now());
        let committer = Committer {
            log,
            served: 0,
            checkpoint: cp,
            area,
            checkpoint_at,
            logged: false,
            closing: false,
        };
        Ok(Core {
            state: Mutex::new(state),
            commit: Mutex::new(committer),
            wants: Mutex::new(Wants::default()),
            meta,
            data,
            env,
            opts,
            geo,
            epochs: Epochs::default(),
            counters: Counters::default(),
            signal: Mutex::new(Signal::default()),
            wake: Condvar::new(),
            data_written: false.into(),
            failed: false.into(),
        })
    }

    /// Reads the segment usage table and the group descriptors.
    fn read_tables(&self) -> Result<()> {
        let n = self.geo.segments.div_ceil(SEG_PER_BLOCK as u64);
        let mut entries: Vec<SegEntry> = Vec::with_capacity(self.geo.segments as usize);
        for index in 0..n {
            let bytes = self.read_table(Kind::Seg, index)?.unwrap_or_default();
            let bad = |e: FormatError| {
                Error::format(self.meta.name(), format!("segment usage block {index}"), 0, &e)
            };
            let part = SegEntry::decode_all(&bytes).map_err(bad)?;
            entries.extend(part.into_iter().take(SEG_PER_BLOCK));
            entries.resize(((index + 1) * SEG_PER_BLOCK as u64) as usize, SegEntry::default());
        }
        entries.truncate(self.geo.segments as usize);
        let mut segs = Segments::new(&self.geo, entries);
        let mut width = n;
        for level in 0..16 {
            for index in 0..width {
                let loc = self.run(|st| st.locate_table(Kind::Seg, level, index))?;
                segs.moved_own(tandem_format::Loc::NONE, loc);
            }
            if width == 1
                && level >= self.state.lock().roots[crate::ifile::root_of(Kind::Seg)].height
            {
                break;
            }
            width = width.div_ceil(tandem_format::FANOUT as u64);
        }
        let groups = self.geo.groups as usize;
        let mut descriptors: Vec<GroupEntry> = Vec::with_capacity(groups);
        for index in 0..groups.div_ceil(GROUP_PER_BLOCK) {
            let bytes = self.read_table(Kind::Group, index as u64)?.unwrap_or_default();
            let bad = |e: FormatError| {
                Error::format(self.meta.name(), format!("group descriptor block {index}"), 0, &e)
            };
            descriptors.extend(GroupEntry::decode_all(&bytes).map_err(bad)?);
        }
        if descriptors.len() != groups {
            return Err(volume_error(
                &*self.meta,
                format!("has {} group descriptors, not {groups}", descriptors.len()),
            ));
        }
        let space = Space::new(self.geo.blocks, self.geo.group_blocks, descriptors.clone())
            .map_err(|e| Error::Corrupt {
                device: self.meta.name().into(),
                what: "group descriptors".into(),
                offset: 0,
                detail: e.to_string(),
            })?;
        let mut st = self.state.lock();
        let (active, next, filled) = {
            let c = self.commit.lock();
            (c.log.segment, c.checkpoint.next_segment, u64::from(c.log.offset))
        };
        let _ = segs.take_dirty();
        segs.active = active;
        segs.next = next;
        segs.filled = filled;
        // Dead as of a checkpoint that is durable; roll-forward marks those used that the log went
        // on in.
        segs.release_dead();
        segs.mark_used(active, st.commit);
        st.segs = segs;
        st.space = space;
        st.group_entries = descriptors;
        Ok(())
    }

    /// Rolls forward, and makes the recovered state the volume's.
    fn start(&self, cp: &Checkpoint) -> Result<()> {
        let recovered = recover(self, cp)?;
        self.counters
            .recovered_commits
            .store(recovered.commits, std::sync::atomic::Ordering::Relaxed);
        if recovered.commits > 0 {
            tracing::info!("{}: rolled {} commits forward", self.meta.name(), recovered.commits);
        }
        {
            let mut st = self.state.lock();
            st.segs.active = recovered.segment;
            st.segs.next = recovered.next_segment;
            st.segs.filled = u64::from(recovered.offset);
            let commit = st.commit;
            st.segs.mark_used(recovered.segment, commit);
            let mut c = self.commit.lock();
            c.log.segment = recovered.segment;
            c.log.offset = recovered.offset;
            c.log.serial = recovered.serial;
        }
        self.find_orphans()?;
        if self.opts.read_only {
            self.state.lock().read_only = true;
            return Ok(());
        }
        let mut c = self.commit.lock();
        // Should this mount die before its checkpoint is durable, the next one writes under the same
        // crash count: the gap keeps their serials apart.
        c.log.crash += 1;
        c.log.serial += 1 + (self.env.random() & 0xffff_ffff);
        self.commit_locked(&mut c, crate::commit::Contents::All, true)
    }

    /// What was unlinked but in use at the crash is to be freed.
    fn find_orphans(&self) -> Result<()> {
        let mut from = 0;
        loop {
            let mut found: Vec<Ino> = Vec::new();
            let mut next = from;
            // A listing that ends early goes on behind its last entry: only then it asks for the
            // block that was missing.
            let done = self.run(|st| {
                found.clear();
                st.dir_list(LIMBO, from, &mut |_, entry, _| {
                    found.push(entry.ino);
                    next = entry.key + 1;
                    Ok(true)
                })
            })?;
            from = next;
            for &ino in &found {
                self.run(|st| {
                    let node = st.node(ino)?;
                    node.in_limbo = true;
                    node.rec.nlink = 0;
                    st.orphaned(ino);
                    let name = limbo_name(ino);
                    if st.dir_find(LIMBO, &name)?.is_none() {
                        return Err(crate::error::corrupt(
                            "hidden directory",
                            "an entry under a wrong name",
                        ));
                    }
                    Ok(())
                })?;
            }
            let mut st = self.state.lock();
            st.reclaim.extend(found);
            st.reclaim.sort_unstable();
            st.reclaim.dedup();
            if done {
                return Ok(());
            }
        }
    }

    /// At the end nobody can hold anything any more.
    fn let_go_of_orphans(&self) -> Result<()> {
        {
            let mut st = self.state.lock();
            st.holds = Default::default();
            let orphans: Vec<Ino> = st.orphans.iter().copied().collect();
            st.reclaim.extend(orphans);
        }
        self.reclaim_all()
    }
}

fn fresh_state(
    sb: Superblock,
    geo: Geometry,
    space: Space,
    segs: Segments,
    opts: &MountOptions,
    cp: &Checkpoint,
    now: tandem_format::Time,
) -> State {
    State {
        geo,
        cache: Default::default(),
        roots: cp.roots.map(|r| Root { loc: r.loc, height: r.height }),
        nodes: Default::default(),
        holds: Default::default(),
        space,
        segs,
        group_entries: vec![GroupEntry::default(); geo.groups as usize],
        ids: Ids { next: cp.next_id.max(1), free: Vec::new(), mapped: cp.mapped },
        inos: Inos { next: cp.next_ino.max(LIMBO + 1), free: Vec::new(), used: cp.inodes },
        running: Default::default(),
        committing_growth: 0,
        committing_bytes: 0,
        commit: cp.commit,
        dirty_files: Vec::new(),
        staged_files: Vec::new(),
        dirty_bytes: 0,
        reserved: 0,
        unapplied: BTreeMap::new(),
        dirty_limit: opts.cache / 4,
        dropped: Vec::new(),
        orphans: Default::default(),
        reclaim: Vec::new(),
        must_flush: Vec::new(),
        open_inode_block: 0,
        failed: None,
        read_only: false,
        affinity: opts.affinity,
        atime: opts.atime,
        now,
        sb,
    }
}
