//! The whole volume against a reference model: random operations from a seed, on devices that can
//! lose power.
//!
//! `TANDEM_SEEDS=1000` runs so many seeds of each test instead of a few, `TANDEM_SEED=17` only that
//! one, and cuts a failing list of operations down before it prints it.

mod model {
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
    explore(&Plan { test: "mixed", seeds: 12, ops: 700 }, Profile::Mixed, Config::new, sequential);
}

#[test]
fn names() {
    explore(&Plan { test: "names", seeds: 4, ops: 4000 }, Profile::Names, Config::new, sequential);
}

#[test]
fn data() {
    explore(&Plan { test: "data", seeds: 12, ops: 600 }, Profile::Data, Config::new, sequential);
}

#[test]
fn xattrs() {
    explore(&Plan { test: "xattrs", seeds: 8, ops: 600 }, Profile::Xattrs, Config::new, sequential);
}

#[test]
fn pieces() {
    explore(
        &Plan { test: "pieces", seeds: 3, ops: 4000 },
        Profile::Pieces,
        Config::new,
        sequential,
    );
}

#[test]
fn crashes_mixed() {
    let plan = Plan { test: "crashes_mixed", seeds: 12, ops: 700 };
    explore(&plan, Profile::Mixed, Config::new, crashes);
}

#[test]
fn crashes_names() {
    let plan = Plan { test: "crashes_names", seeds: 3, ops: 3000 };
    explore(&plan, Profile::Names, Config::new, crashes);
}

#[test]
fn crashes_syncs() {
    let plan = Plan { test: "crashes_syncs", seeds: 4, ops: 4000 };
    explore(&plan, Profile::Syncs, Config::new, crashes);
}

#[test]
fn crashes_data() {
    let plan = Plan { test: "crashes_data", seeds: 12, ops: 600 };
    explore(&plan, Profile::Data, Config::new, crashes);
}

#[test]
fn full_data() {
    let plan = Plan { test: "full_data", seeds: 8, ops: 2000 };
    explore(&plan, Profile::FillData, Config::small, fill);
}

#[test]
fn full_meta() {
    let plan = Plan { test: "full_meta", seeds: 6, ops: 6000 };
    explore(&plan, Profile::FillMeta, Config::small, fill);
}

#[test]
fn crashes_full_data() {
    let plan = Plan { test: "crashes_full_data", seeds: 6, ops: 2000 };
    explore(&plan, Profile::FillData, Config::small, crashes);
}

#[test]
fn crashes_full_meta() {
    let plan = Plan { test: "crashes_full_meta", seeds: 4, ops: 6000 };
    explore(&plan, Profile::FillMeta, Config::small, crashes);
}

#[test]
fn threads_mixed() {
    let plan = Plan { test: "threads_mixed", seeds: 6, ops: 800 };
    explore(&plan, Profile::Mixed, Config::wide, neighbours);
}

#[test]
fn threads_data() {
    let plan = Plan { test: "threads_data", seeds: 4, ops: 600 };
    explore(&plan, Profile::Data, Config::wide, neighbours);
}

#[test]
fn threads_brawl() {
    let plan = Plan { test: "threads_brawl", seeds: 6, ops: 2000 };
    explore(&plan, Profile::Mixed, Config::wide, brawl);
}
