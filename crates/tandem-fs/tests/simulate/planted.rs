//! Faults planted on purpose: some seed must find each of them.

use tandem_fs::planted::{Planted, plant};

use super::run::{OPS, config, profile, simulate};
use crate::model::harness::search;

const FAULTS: [Planted; 8] = [
    Planted::NoDataFlush,
    Planted::NoCommitFlush,
    Planted::EarlyReuse,
    Planted::LiveSegment,
    Planted::NoReservation,
    Planted::LogErrorIgnored,
    Planted::SameCrashCount,
    Planted::OrphansKept,
];

/// Seeds that each fault is given.
const SEEDS: u64 = 300;

/// Looks for each of them; those that no seed has found.
pub fn missed() -> Vec<Planted> {
    let mut missed = Vec::new();
    for fault in FAULTS {
        plant(Some(fault));
        let found = search(0..SEEDS, OPS, profile, config, simulate);
        plant(None);
        match found {
            Some(found) => {
                let lines: Vec<&str> = found.error.lines().take(3).collect();
                eprintln!("{fault:?}: {} seeds: {}", found.seed + 1, lines.join(" "));
            }
            None => missed.push(fault),
        }
    }
    missed
}
