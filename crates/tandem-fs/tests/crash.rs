//! Bounded exhaustive crash testing: every short sequence of operations, a power failure at every
//! write to a device, and what the devices may hold then. docs/crashes.md says how and what for.
//!
//! `TANDEM_CRASH=long` takes sequences of three operations, `TANDEM_CRASH_STATES` ends a run after
//! so many states, and `TANDEM_CRASH_ONLY` is one line of a failure, to be looked at again.

#[allow(dead_code, reason = "the other half is used by the test target `model`")]
#[path = "model"]
mod model {
    pub mod content;
    pub mod device;
    pub mod env;
    pub mod history;
    pub mod op;
    pub mod tree;
    pub mod world;
}

#[path = "crash"]
mod crash {
    pub mod errors;
    pub mod explore;
    pub mod ground;
    pub mod judge;
    pub mod letters;
    pub mod planted;
    pub mod workload;
}

use crash::explore::{Bounds, Explorer};
use crash::ground::grounds;

/// A state is mostly allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// States that a run of the tests explores at least.
const ENOUGH: u64 = 100_000;

#[test]
fn every_crash_of_every_short_sequence() {
    let grounds = grounds().unwrap();
    let explorer = Explorer::new(&grounds, Bounds::from_env());
    let result = explorer.run();
    eprintln!("{}", explorer.counts());
    if let Err(e) = result {
        panic!("{e}");
    }
    if explorer.is_whole() {
        assert!(explorer.counts().judged >= ENOUGH, "{}", explorer.counts());
    }
}

#[test]
fn planted_faults_are_caught() {
    let rows = crash::planted::search(&grounds().unwrap());
    let missed: Vec<&str> = rows.iter().filter(|r| r.symptom.is_none()).map(|r| r.name).collect();
    assert!(missed.is_empty(), "not caught: {missed:?}");
}

#[test]
fn every_error_is_told() {
    let grounds = grounds().unwrap();
    let explorer = Explorer::new(&grounds, Bounds::short());
    let failures = crash::errors::every_error(&explorer, &grounds).unwrap();
    eprintln!("{failures} requests failed; {}", explorer.counts());
    assert!(failures > 500, "{failures}");
}
