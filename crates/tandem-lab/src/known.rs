//! What there is to choose from: the names that studies may use.

use crate::{peer, workload};

/// Places of the journal, or of Tandem's metadata.
pub const PLACEMENTS: &[&str] = &["same-disk", "second-disk", "ram", "nvme"];

/// How long requests to an emulated disk take: as long as they must, or what its model says.
pub const TIMES: &[&str] = &["none", "real"];

/// Kernels.
pub const WORLDS: &[&str] = &["host", "uml"];

/// Workloads by name.
pub fn workloads() -> Vec<&'static str> {
    workload::names().into_iter().map(|(name, _)| name).collect()
}

/// File systems by name, also those that cannot be had.
pub fn filesystems() -> Vec<&'static str> {
    peer::ALL.iter().map(|peer| peer.name).collect()
}
