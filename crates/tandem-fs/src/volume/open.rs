//! Opening a volume and closing it.

use std::collections::BTreeMap;
use std::sync::Arc;

use tandem_device::Device;
use tandem_format::{Checkpoint, Geometry, GroupEntry, SegEntry, Superblock};

use super::devices::{data_device, newest_checkpoint};
use super::superblock::{Found, read_superblock};
use super::{Core, Counters, Epochs, Signal, Volume, Wants, volume_error, watch};
use crate::cache::CrossFile;
use crate::commit::{Committer, Continuity};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::ifile::Root;
use crate::log::{LogWriter, Prefetch, Relocate, Segments};
use crate::options::MountOptions;
use crate::space::Space;
use crate::state::{Ids, Inos, State};
use crate::sync::{Condvar, Mutex, thread};
use crate::types::LIMBO;

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
        let Found { sb, damage } = read_superblock(&*meta)?;
        if let Some(damage) = damage {
            tracing::warn!("{}: {damage}; the second superblock serves", meta.name());
        }
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
        let (area, cp) = newest_checkpoint(&*meta, &sb, opts.read_only)?;
        let core = Core::assemble(meta, data, sb, opts, env, area, cp)?;
        core.read_tables()?;
        core.start(&cp)?;
        Ok(Volume::run_background(core))
    }

    pub(crate) fn run_background(core: Core) -> Arc<Volume> {
        let core = Arc::new(core);
        let handle = (core.opts.background && !core.opts.read_only).then(|| {
            let core = Arc::clone(&core);
            thread::Builder::new().name("tandem-commit".into()).spawn(move || {
                *core.keeper.lock() = Some(thread::current().id());
                core.background();
                *core.keeper.lock() = None;
            })
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
            implied: sb.implied(),
            crash: cp.crash,
            serial: cp.next_serial,
            segment: cp.segment,
            offset: cp.offset,
            tables: None,
            base: geo.segment_offset(0),
            segment_size: geo.segment_size,
            partials: 0,
            logged: Default::default(),
            bytes: 0,
            moved: 0,
        };
        let checkpoint_at = env.monotonic();
        let space = Space::format(geo.blocks, geo.group_blocks)
            .map_err(|e| Error::Invalid(e.to_string()))?;
        let segs = Segments::new(&geo, vec![SegEntry::default(); geo.segments as usize]);
        let mut state = fresh_state(sb, geo, space, segs, &opts, &cp, env.now());
        let one_device = Arc::ptr_eq(&meta, &data);
        let (meta, meta_errors) = watch(meta);
        let (data, data_errors) = match one_device {
            true => (Arc::clone(&meta), Arc::clone(&meta_errors)),
            false => watch(data),
        };
        let relocate = opts.relocate && opts.prefetch > 0 && !opts.read_only;
        state.relocate = Relocate::new(relocate, geo.meta_size, opts.cache, checkpoint_at);
        state.cache.ahead.tracked = relocate;
        let committer = Committer {
            log,
            served: 0,
            checkpoint: cp,
            area,
            checkpoint_at,
            checkpoint_bytes: 0,
            logged: false,
            closing: false,
            repairing: false,
        };
        Ok(Core {
            state: Mutex::new(state),
            commit: Mutex::new(committer),
            wants: Mutex::new(Wants::default()),
            meta,
            data,
            meta_errors,
            data_errors,
            env,
            opts,
            geo,
            epochs: Epochs::default(),
            counters: Counters::default(),
            keeper: Mutex::new(None),
            signal: Mutex::new(Signal::default()),
            wake: Condvar::new(),
            eased: Condvar::new(),
            data_written: false.into(),
            cross_file: CrossFile::new(geo.block_offset(0), geo.block_offset(geo.blocks)),
            continuity: Continuity::default(),
            failed: false.into(),
        })
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
        prefetch: Prefetch::new(opts.prefetch),
        relocate: Relocate::new(false, geo.meta_size, opts.cache, 0),
        group_entries: vec![GroupEntry::default(); geo.groups as usize],
        ids: Ids { next: cp.next_id.max(1), free: Vec::new(), mapped: cp.mapped },
        going: Default::default(),
        inos: Inos { next: cp.next_ino.max(LIMBO + 1), free: Vec::new(), used: cp.inodes },
        running: Default::default(),
        committing_growth: 0,
        committing_bytes: 0,
        rescued: Vec::new(),
        moving: 0,
        committing_freed: 0,
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
