//! The whole volume against a reference model: random operations from a seed, on devices that can
//! lose power.
//!
//! `TANDEM_SEEDS=1000` runs so many seeds of each test instead of a few, `TANDEM_SEED=17` only that
//! one, and cuts a failing list of operations down before it prints it.

mod model {
    #![allow(dead_code, reason = "each test binary uses its own part")]
    pub mod content;
    pub mod crash;
    pub mod device;
    pub mod env;
    pub mod full;
    pub mod harness;
    pub mod history;
    pub mod op;
    pub mod threads;
    pub mod tree;
    pub mod world;
}

use model::crash::crashes;
use model::full::fill;
use model::harness::{Plan, explore};
use model::op::{Op, Profile};
use model::threads::{brawl, neighbours};
use model::world::{Config, Outcome, World};

fn plan(test: &'static str, seeds: u64, ops: u64) -> Plan {
    Plan { target: "--test model", test, seeds, ops }
}

/// Every call's answer, and the tree, on a volume that nothing happens to.
fn sequential(cfg: &Config, ops: &[Op]) -> Outcome {
    let mut world = World::new(cfg)?;
    let run = |world: &mut World| -> Outcome {
        for op in ops {
            world.step(op)?;
        }
        world.did = "at the end".into();
        world.compare()?;
        world.remount()?;
        world.compare()?;
        world.empty()?;
        world.remount()?;
        world.compare()
    };
    run(&mut world).map_err(|e| format!("operation {}, {}:\n{e}", world.op, world.did))
}

#[test]
fn mixed() {
    explore(&plan("mixed", 12, 700), |_| Profile::Mixed, Config::new, sequential);
}

#[test]
fn names() {
    explore(&plan("names", 4, 4000), |_| Profile::Names, Config::new, sequential);
}

#[test]
fn data() {
    explore(&plan("data", 12, 600), |_| Profile::Data, Config::new, sequential);
}

#[test]
fn xattrs() {
    explore(&plan("xattrs", 8, 600), |_| Profile::Xattrs, Config::new, sequential);
}

#[test]
fn pieces() {
    explore(&plan("pieces", 3, 4000), |_| Profile::Pieces, Config::new, sequential);
}

#[test]
fn crashes_mixed() {
    let plan = plan("crashes_mixed", 12, 700);
    explore(&plan, |_| Profile::Mixed, Config::new, crashes);
}

#[test]
fn crashes_names() {
    let plan = plan("crashes_names", 3, 3000);
    explore(&plan, |_| Profile::Names, Config::new, crashes);
}

#[test]
fn crashes_syncs() {
    let plan = plan("crashes_syncs", 4, 4000);
    explore(&plan, |_| Profile::Syncs, Config::new, crashes);
}

#[test]
fn crashes_data() {
    let plan = plan("crashes_data", 12, 600);
    explore(&plan, |_| Profile::Data, Config::new, crashes);
}

#[test]
fn full_data() {
    let plan = plan("full_data", 8, 2000);
    explore(&plan, |_| Profile::FillData, Config::small, fill);
}

#[test]
fn full_meta() {
    let plan = plan("full_meta", 6, 6000);
    explore(&plan, |_| Profile::FillMeta, Config::small, fill);
}

#[test]
fn crashes_full_data() {
    let plan = plan("crashes_full_data", 6, 2000);
    explore(&plan, |_| Profile::FillData, Config::small, crashes);
}

#[test]
fn crashes_full_meta() {
    let plan = plan("crashes_full_meta", 4, 6000);
    explore(&plan, |_| Profile::FillMeta, Config::small, crashes);
}

#[test]
fn threads_mixed() {
    let plan = plan("threads_mixed", 6, 800);
    explore(&plan, |_| Profile::Mixed, Config::wide, neighbours);
}

#[test]
fn threads_data() {
    let plan = plan("threads_data", 4, 600);
    explore(&plan, |_| Profile::Data, Config::wide, neighbours);
}

#[test]
fn threads_brawl() {
    let plan = plan("threads_brawl", 6, 2000);
    explore(&plan, |_| Profile::Mixed, Config::wide, brawl);
}
