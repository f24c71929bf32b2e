//! The same random operations on a mounted Tandem, on tmpfs and on ext4, compared call by call.
//!
//! A sequence comes from its seed alone. `TANDEM_DIFFERENTIAL=1000000` says how many operations
//! there are to be in all, `TANDEM_SEED=7` runs one sequence; a difference is printed with the
//! shortest sequence found that shows it. What may differ is listed in `rules`.

mod common;

mod differential {
    pub mod compare;
    pub mod generate;
    pub mod op;
    pub mod rules;
    pub mod run;
    pub mod side;
    pub mod survey;
}

use common::volume::skip;
use differential::compare::{Uses, difference, shrink};
use differential::generate::{Range, sequence};
use differential::side::Sides;

/// Differences after which nothing more is tried.
const ENOUGH: usize = 4;

/// Operations of one sequence.
const STEPS: usize = 2000;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|v| v.parse().unwrap_or_else(|_| panic!("{name}={v}")))
}

fn range_of(seed: u64) -> Range {
    Range { tmpfs: seed.is_multiple_of(2), survey: 250, remount: seed.is_multiple_of(5) }
}

/// Compares over these sequences.
fn compare(options: &str, seeds: std::ops::Range<u64>) {
    let (mut sides, mut uses) = (Sides::new(options), Uses::new());
    let (mut done, mut succeeded, mut failures) = (0, 0, Vec::new());
    for seed in seeds {
        let range = range_of(seed);
        let steps = sequence(seed, STEPS, range);
        let outcomes = sides.run(&steps, range.tmpfs);
        if let Some(found) = difference(&steps, &outcomes, &mut uses) {
            let shortest = shrink(&mut sides, &steps, range.tmpfs, found);
            failures.push(format!("{options} TANDEM_SEED={seed}, cut down:\n{shortest}"));
            if failures.len() == ENOUGH {
                break;
            }
        }
        done += steps.len();
        succeeded += outcomes.tandem.iter().filter(|o| o.succeeded()).count();
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    sides.finish();
    println!("{done} operations without a difference, {succeeded} of them did something");
    println!("rules used: {uses:?}");
}

#[test]
fn as_tmpfs_and_ext4() {
    if skip() {
        return;
    }
    let many = setting("TANDEM_DIFFERENTIAL").unwrap_or(20_000).div_ceil(STEPS as u64);
    compare("", setting("TANDEM_SEED").map_or(1..many + 1, |seed| seed..seed + 1));
}

#[test]
fn in_other_ways() {
    if skip() {
        return;
    }
    // The kernel's write-back cache keeps data and times that the daemon does not know of.
    for options in ["writeback", "transport=classic", "cache=8M,flush=50ms,checkpoint=100ms"] {
        compare(options, 1..4);
    }
}
