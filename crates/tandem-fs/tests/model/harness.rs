//! Seeds to operations to failures to short failures.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::env::Rng;
use super::op::{Maker, Op, Profile};
use super::world::{Config, Outcome};

/// How much of a test there is.
pub struct Plan {
    /// The command that has the test run, and its name.
    pub target: &'static str,
    pub test: &'static str,
    /// Seeds that an ordinary run tries.
    pub seeds: u64,
    /// Operations of a seed, at most.
    pub ops: u64,
}

/// The operations of a seed.
pub fn operations(seed: u64, profile: Profile, most: u64) -> Vec<Op> {
    let mut rng = Rng::new(seed ^ 0x0b5);
    let n = rng.below(most) + 1;
    let mut maker = Maker { rng, profile, shared: false };
    (0..n).map(|_| maker.next()).collect()
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs, and makes a panic a failure.
fn attempt(run: &dyn Fn(&Config, &[Op]) -> Outcome, cfg: &Config, ops: &[Op]) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| run(cfg, ops))).unwrap_or_else(|e| {
        let text = e.downcast_ref::<String>().cloned();
        let text = text.or_else(|| e.downcast_ref::<&str>().map(|s| s.to_string()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

/// A seed that fails.
pub struct Failure {
    pub seed: u64,
    pub error: String,
    cfg: Config,
    ops: Vec<Op>,
}

/// Seeds after which a long run says how far it is.
const MANY: u64 = 500;

/// Tries seeds until one fails; a seed says what profile it has.
pub fn search(
    seeds: std::ops::Range<u64>,
    most: u64,
    profile: impl Fn(u64) -> Profile,
    config: fn(u64, Profile) -> Config,
    run: fn(&Config, &[Op]) -> Outcome,
) -> Option<Failure> {
    for seed in seeds {
        let profile = profile(seed);
        let (cfg, ops) = (config(seed, profile), operations(seed, profile, most));
        if let Err(error) = attempt(&run, &cfg, &ops) {
            return Some(Failure { seed, error, cfg, ops });
        }
        if (seed + 1).is_multiple_of(MANY) {
            eprintln!("seeds before {} are done", seed + 1);
        }
    }
    None
}

/// The same, as a test: fails with a line that replays the failure.
pub fn explore(
    plan: &Plan,
    profile: impl Fn(u64) -> Profile,
    config: fn(u64, Profile) -> Config,
    run: fn(&Config, &[Op]) -> Outcome,
) {
    let only = number("TANDEM_SEED");
    let first = only.or(number("TANDEM_FIRST")).unwrap_or(0);
    let seeds = if only.is_some() { 1 } else { number("TANDEM_SEEDS").unwrap_or(plan.seeds) };
    let found = search(first..first + seeds, plan.ops, profile, config, run);
    let Some(Failure { seed, mut error, cfg, mut ops }) = found else { return };
    if only.is_some() {
        (ops, error) = shrink(&run, &cfg, ops, error);
        for op in &ops {
            eprintln!("    Op::{op:?},");
        }
        eprintln!("{cfg:?}");
    }
    panic!(
        "seed {seed}, {} operations: {error}\nreplay: TANDEM_SEED={seed} cargo test --release \
         -p tandem-fs {} -- --exact {}",
        ops.len(),
        plan.target,
        plan.test
    );
}

/// Leaves operations out as long as the rest still fails.
fn shrink(
    run: &dyn Fn(&Config, &[Op]) -> Outcome,
    cfg: &Config,
    mut ops: Vec<Op>,
    mut error: String,
) -> (Vec<Op>, String) {
    let until = Instant::now() + Duration::from_secs(number("TANDEM_SHRINK").unwrap_or(60));
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut size = ops.len() / 2;
    while size > 0 && Instant::now() < until {
        let mut at = 0;
        let before = ops.len();
        while at < ops.len() && Instant::now() < until {
            let mut fewer = ops.clone();
            fewer.drain(at..(at + size).min(ops.len()));
            match attempt(run, cfg, &fewer) {
                Err(e) => (ops, error) = (fewer, e),
                Ok(()) => at += size,
            }
        }
        size = if size == 1 && ops.len() < before { 1 } else { size / 2 };
    }
    std::panic::set_hook(hook);
    (ops, error)
}
