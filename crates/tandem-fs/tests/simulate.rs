//! Simulation from a seed: callers, the background thread, devices and time, all from one number.
//! docs/crashes.md says how and what for.
//!
//! `cargo test -p tandem-fs --features shuttle --test simulate`. `TANDEM_SEEDS=10000` runs so many
//! seeds instead of a few, `TANDEM_FIRST` says from which on; `TANDEM_SEED=17` runs only that one,
//! and cuts a failing list of operations down before it prints it.

#[allow(dead_code, reason = "the other half is used by the test target `model`")]
#[path = "model"]
mod model {
    pub mod content;
    pub mod device;
    pub mod env;
    pub mod harness;
    pub mod history;
    pub mod op;
    pub mod slow;
    pub mod tree;
    pub mod world;
}

#[path = "simulate"]
mod simulate {
    pub mod caller;
    pub mod life;
    #[cfg(feature = "planted")]
    pub mod planted;
    pub mod run;
    pub mod schedule;
}

use model::harness::{Plan, explore, search};
use simulate::run::{OPS, config, profile, simulate};

/// A run is mostly allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[test]
fn seeds() {
    let target = "--features shuttle --test simulate";
    let plan = Plan { target, test: "seeds", seeds: 60, ops: OPS };
    explore(&plan, profile, config, simulate);
}

/// Seeds that have found something.
///
/// - 324: the newer checkpoint could not be read, once; the mount wrote behind the older one, over
///   commits that the newer one led to.
/// - 478: a metadata device none of whose reads succeeded was called one without a volume, to be made
///   with mkfs.
/// - 4053: a file of which only the size was still to be brought into its record was renamed over
///   another, and had no size after a crash.
/// - 5086: i-nodes were to be freed while too much was dirty, and the background thread, which frees
///   them, waited for itself to write.
const STORIES: &[u64] = &[324, 478, 4053, 5086];

#[test]
fn stories() {
    for &seed in STORIES {
        let failure = search(seed..seed + 1, OPS, profile, config, simulate);
        assert!(failure.is_none(), "seed {seed}: {}", failure.unwrap().error);
    }
}

#[cfg(feature = "planted")]
#[test]
fn planted_faults_are_caught() {
    let missed = simulate::planted::missed();
    assert!(missed.is_empty(), "not caught: {missed:?}");
}
