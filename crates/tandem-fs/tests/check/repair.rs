//! Repair: whatever is damaged, the volume is sound afterwards, what was not damaged is as it was,
//! and a crash on the way does no harm.

#[path = "repair/rig.rs"]
pub mod rig;
#[path = "repair/tree.rs"]
pub mod tree;

use rig::Bench;

/// Repairs a damaged volume without changing it.
#[track_caller]
pub fn repairs(rig: &crate::rig::Rig) {
    Bench::new(rig).repair();
}
