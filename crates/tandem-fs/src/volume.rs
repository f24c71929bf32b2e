//! A mounted volume: the state, the devices, the commit, and how operations run.

mod devices;
mod open;
mod report;
mod stalls;
mod start;
mod superblock;
mod watched;

use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;

use tandem_device::Device;
use tandem_format::Geometry;

use crate::cache::{CrossFile, Key};
use crate::commit::{Committer, Continuity, Full};
use crate::env::Env;
use crate::error::{Error, Fault, Res, Result};
use crate::log;
use crate::options::MountOptions;
use crate::state::State;
use crate::sync::{Condvar, Mutex};

pub(crate) use superblock::{Found, read_superblock};

pub use report::{CleanerStats, DeviceCounts, Info, LogInfo, Stats};
pub use stalls::StallStats;
pub(crate) use stalls::{Stalls, Why};
pub use watched::DeviceErrors;
pub(crate) use watched::{ErrorCounters, watch};

/// Readers that are between looking up where data lies and reading it there. A commit gives freed
/// space away only after those that might still read it have gone.
#[derive(Default)]
pub(crate) struct Epochs {
    now: AtomicUsize,
    inside: [AtomicU64; 2],
}

impl Epochs {
    pub fn enter(&self) -> usize {
        let side = self.now.load(Ordering::SeqCst) & 1;
        self.inside[side].fetch_add(1, Ordering::SeqCst);
        side
    }

    pub fn leave(&self, side: usize) {
        self.inside[side & 1].fetch_sub(1, Ordering::SeqCst);
    }

    /// Waits until everyone who entered before the call has left.
    pub fn wait(&self) {
        for _ in 0..2 {
            let side = self.now.fetch_add(1, Ordering::SeqCst) & 1;
            while self.inside[side].load(Ordering::SeqCst) != 0 {
                crate::sync::thread::yield_now();
            }
        }
    }
}

/// Counters that cost nothing to keep.
#[derive(Default)]
pub(crate) struct Counters {
    pub commits: AtomicU64,
    pub checkpoints: AtomicU64,
    pub cleaner: log::CleanerCounters,
    pub stalls: Stalls,
    pub block_reads: AtomicU64,
    pub longest_freeze: AtomicU64,
    pub recovered_commits: AtomicU64,
}

/// Requests for durability, gathered so that one commit serves many.
#[derive(Default)]
pub(crate) struct Wants {
    pub seq: u64,
    pub files: Vec<crate::types::Ino>,
}

/// What the background thread is told.
#[derive(Default)]
pub(crate) struct Signal {
    pub stop: bool,
    pub pressed: bool,
}

pub(crate) struct Core {
    pub state: Mutex<State>,
    pub commit: Mutex<Committer>,
    pub wants: Mutex<Wants>,
    pub meta: Arc<dyn Device>,
    pub data: Arc<dyn Device>,
    pub meta_errors: Arc<ErrorCounters>,
    pub data_errors: Arc<ErrorCounters>,
    pub env: Arc<dyn Env>,
    pub opts: MountOptions,
    pub geo: Geometry,
    pub epochs: Epochs,
    pub counters: Counters,
    /// The background thread, while there is one.
    pub keeper: Mutex<Option<crate::sync::thread::ThreadId>>,
    pub signal: Mutex<Signal>,
    pub wake: Condvar,
    /// Less is dirty than before; goes with the state's lock.
    pub eased: Condvar,
    pub data_written: AtomicBool,
    pub cross_file: CrossFile,
    pub continuity: Continuity,
    pub failed: AtomicBool,
}

/// A mounted volume. All methods take `&self` and may be called from any thread.
pub struct Volume {
    pub(crate) core: Arc<Core>,
    background: Mutex<Option<crate::sync::thread::JoinHandle<()>>>,
}

impl Core {
    /// Runs an operation under the state's lock, removing what stops it and starting it over.
    pub fn run<T>(&self, mut f: impl FnMut(&mut State) -> Res<T>) -> Result<T> {
        let mut full = Full::default();
        let mut waited: Option<(u64, Why)> = None;
        let mut absent: Option<Key> = None;
        loop {
            let fault = {
                let mut st = self.state.lock();
                st.now = self.env.now();
                match f(&mut st) {
                    Ok(value) => {
                        self.keep_bounds(&mut st);
                        drop(st);
                        self.waited(waited);
                        return Ok(value);
                    }
                    Err(fault) => fault,
                }
            };
            match fault {
                Fault::Fail(e) => return Err(e.on(self.meta.name())),
                Fault::Miss(key) => {
                    self.counters.block_reads.fetch_add(1, Ordering::Relaxed);
                    if !log::load(self, key)? {
                        if absent == Some(key) {
                            return Err(log::lost(
                                &*self.meta,
                                key,
                                "the block map has no address for it",
                            ));
                        }
                        absent = Some(key);
                    }
                }
                Fault::Load(group) => self.load_group(group)?,
                Fault::Pressure => {
                    waited.get_or_insert((self.env.monotonic(), Why::Pressure));
                    self.relieve()?;
                }
                Fault::LogFull | Fault::DataFull => {
                    waited.get_or_insert((self.env.monotonic(), Why::Room));
                    if !self.make_room(matches!(fault, Fault::LogFull), &mut full)? {
                        self.waited(waited);
                        return Err(Error::Posix(libc::ENOSPC));
                    }
                }
            }
        }
    }

    fn waited(&self, since: Option<(u64, Why)>) {
        if let Some((begun, why)) = since {
            self.counters.stalls.add(why, self.env.monotonic().saturating_sub(begun));
        }
    }

    /// Keeps memory within the bound, and calls the background when much is dirty.
    fn keep_bounds(&self, st: &mut State) {
        let cache = self.opts.cache as usize;
        if st.cache.bytes() > cache / 2 {
            st.cache.shrink(cache / 2 - cache / 32);
        }
        let nodes = cache / 8 / 512;
        if st.nodes.len() > nodes {
            st.nodes.shrink(nodes - nodes / 16);
        }
        if st.space.memory() > cache / 16 {
            st.space.unload_clean(cache / 32);
        }
        if self.log_presses(st)
            || st.cache.dirty_bytes() > cache / 8
            || st.dirty_bytes > self.opts.cache / 16
        {
            self.press();
        }
    }

    /// The log needs somebody's attention: clean segments are few, or what is dirty will take up
    /// much of what is left.
    pub fn log_presses(&self, st: &State) -> bool {
        st.log_presses() || self.should_clean(st)
    }

    /// Calls the background thread.
    pub fn press(&self) {
        let mut signal = self.signal.lock();
        if !signal.pressed {
            signal.pressed = true;
            self.wake.notify_one();
        }
    }

    /// Brings a group's free space into memory.
    pub fn load_group(&self, group: u32) -> Result<()> {
        let entry = {
            let st = self.state.lock();
            if st.space.is_loaded(group) {
                return Ok(());
            }
            st.group_entries.get(group as usize).copied().unwrap_or_default()
        };
        let first = u64::from(group) * self.geo.free_chunks();
        let mut bytes = Vec::new();
        for chunk in 0..u64::from(entry.chunks) {
            bytes.extend(
                self.read_table(tandem_format::Kind::Free, first + chunk)?.unwrap_or_default(),
            );
        }
        let mut st = self.state.lock();
        if st.space.is_loaded(group) {
            return Ok(());
        }
        st.space.load(group, &bytes, entry.bitmap).map_err(|e| Error::Corrupt {
            device: self.meta.name().into(),
            what: format!("free space of group {group}"),
            offset: 0,
            detail: e.to_string(),
        })
    }

    /// Reads a table block of the IFile that the block cache does not hold.
    pub fn read_table(&self, kind: tandem_format::Kind, index: u64) -> Result<Option<Vec<u8>>> {
        let key = Key::table(kind, 0, index);
        let loc = self.run(|st| st.locate(key))?;
        if loc.is_none() {
            return Ok(None);
        }
        match log::read_table(self, key, loc)?.body {
            crate::cache::Body::Raw(bytes) => Ok(Some(bytes)),
            _ => Err(log::lost(&*self.meta, key, "not a table")),
        }
    }

    /// The volume cannot write any more: it turns read-only, with one message (invariant 6).
    pub fn fail(&self, e: &Error) {
        let mut st = self.state.lock();
        if st.failed.is_none() {
            tracing::error!(
                "{e}; the volume is read-only from now on: unmount it, see to the device, run tandem check"
            );
            st.failed = Some(e.to_string());
            self.failed.store(true, Ordering::SeqCst);
        }
    }

    /// Fails when the volume has failed.
    pub fn sound(&self) -> Result<()> {
        if !self.failed.load(Ordering::SeqCst) {
            return Ok(());
        }
        Err(Error::Lost(self.state.lock().failed.clone().unwrap_or_default()))
    }
}

pub(crate) fn volume_error(device: &dyn Device, detail: String) -> Error {
    Error::Volume { device: device.name().into(), detail }
}

/// Reads a superblock, data label or checkpoint.
pub(crate) fn read_page(device: &dyn Device, offset: u64) -> Result<Vec<u8>> {
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
