//! What a configuration takes of disk and memory, at the worst.

use super::Configuration;
use crate::checklist::Machine;
use crate::guest;

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
/// Memory of the lab and of emulated disks, which no bound holds for.
const LAB: u64 = 256 << 20;
/// Traces and the workload's prepared files beside the images.
const BESIDE: u64 = 256 << 20;

/// What a run of it takes when the file system fills its devices.
pub fn need(configuration: &Configuration) -> Need {
    let level = |factor: &str| configuration.levels.get(factor).map(String::as_str);
    let second = SECOND.max(configuration.size / 10);
    let mut need = Need { disk: BESIDE, memory: LAB };
    match level("disk") {
        Some("ram") => need.memory = need.memory.saturating_add(configuration.size),
        _ => need.disk = need.disk.saturating_add(configuration.size),
    }
    match level("placement") {
        Some("ram") => need.memory = need.memory.saturating_add(second),
        Some("second-disk" | "nvme") => need.disk = need.disk.saturating_add(second),
        _ => {}
    }
    // What may be filled must be there, or less would be the bound.
    let filled = match level("world") {
        Some("uml") => configuration.memory.unwrap_or(guest::MEMORY),
        // Of more than the machine has, nothing is bounded.
        _ => configuration.memory.filter(|bound| *bound <= Machine::now().memory).unwrap_or(0),
    };
    need.memory = need.memory.saturating_add(filled);
    need
}
