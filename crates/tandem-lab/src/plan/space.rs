//! What a configuration takes of disk and memory, at the worst.

use super::Configuration;

/// Bytes that must be there before a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Need {
    /// Where images are kept.
    pub disk: u64,
    /// Of memory.
    pub memory: u64,
}

/// A second device for a journal or Tandem's metadata: a tenth of the disk, and enough for a log.
const SECOND: u64 = 128 << 20;
/// Memory of a User-Mode Linux guest, and of everything else.
const GUEST: u64 = 1 << 30;
/// Traces and the workload's prepared files beside the images.
const BESIDE: u64 = 256 << 20;

/// What a run of it takes when the file system fills its devices.
pub fn need(configuration: &Configuration) -> Need {
    let level = |factor: &str| configuration.levels.get(factor).map(String::as_str);
    let second = SECOND.max(configuration.size / 10);
    let mut need = Need { disk: BESIDE, memory: 256 << 20 };
    match level("disk") {
        Some("ram") => need.memory = need.memory.saturating_add(configuration.size),
        _ => need.disk = need.disk.saturating_add(configuration.size),
    }
    match level("placement") {
        Some("ram") => need.memory = need.memory.saturating_add(second),
        Some("second-disk" | "nvme") => need.disk = need.disk.saturating_add(second),
        _ => {}
    }
    if level("world") == Some("uml") {
        need.memory = need.memory.saturating_add(GUEST);
    }
    need
}
