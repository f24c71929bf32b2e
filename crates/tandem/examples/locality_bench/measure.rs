//! One measured piece of work: caches cold before it, everything on the devices after it.

use crate::common::fs::{Fs, Res};
use crate::common::traffic::Traffic;
use serde_json::Value;
use std::path::Path;
use std::time::Instant;

/// What a piece of work has cost.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// What mounting asked of the devices; not in `work`.
    pub mount: Traffic,
    /// What the work and the unmount after it asked.
    pub work: Traffic,
    /// Duration of the work without the unmount, in seconds.
    pub seconds: f64,
    /// Tandem's counters when the work was done, before the unmount, with those of the devices as
    /// of after it; null on other file systems.
    pub stats: Value,
}

impl Measured {
    /// A counter of Tandem's by its path, as `/log/live_bytes`; 0 when it does not exist.
    pub fn counter(&self, path: &str) -> u64 {
        self.stats.pointer(path).and_then(Value::as_u64).unwrap_or(0)
    }
}

/// Measures work on a mounted file system, which stays mounted with the given options, if there
/// are any (they count on Tandem only).
pub fn measured(
    fs: &mut Fs,
    options: Option<&str>,
    work: impl FnOnce(&Path) -> Res<()>,
) -> Res<Measured> {
    fs.umount()?;
    if let Some(options) = options {
        fs.set_options(options);
    }
    std::fs::write("/proc/sys/vm/drop_caches", "3")?;
    let unmounted = fs.traffic()?;
    fs.mount()?;
    let mounted = fs.traffic()?;
    let start = Instant::now();
    work(&fs.root())?;
    let seconds = start.elapsed().as_secs_f64();
    let mut stats = if fs.name == "tandem" { fs.stats()?["volume"].take() } else { Value::Null };
    fs.umount()?;
    let done = fs.traffic()?;
    for device in ["metadata", "data"] {
        if let Some(last) = fs.last().pointer(&format!("/devices/{device}")) {
            stats[device] = last.clone();
        }
    }
    fs.mount()?;
    Ok(Measured { mount: mounted - unmounted, work: done - mounted, seconds, stats })
}
