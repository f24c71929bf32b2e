//! Power failures: at any write to either device, during a mount too.

use super::device::Pair;
use super::env::Rng;
use super::history::History;
use super::op::Op;
use super::world::{Config, Outcome, World, mount, verify};

/// Runs operations, losing power now and then.
pub fn crashes(cfg: &Config, ops: &[Op]) -> Outcome {
    let mut world = World::new(cfg)?;
    let mut history = History::default();
    history.durable(0, &world.tree);
    let mut rng = Rng::new(cfg.seed ^ 0xdead);
    run(&mut world, &mut history, &mut rng, ops)
        .map_err(|e| format!("operation {}, {}:\n{e}", world.op, world.did))
}

fn run(world: &mut World, history: &mut History, rng: &mut Rng, ops: &[Op]) -> Outcome {
    for op in ops {
        if rng.one_in(15) {
            let most = rng.pick(&[3, 30, 300]);
            world.pair.fuse(rng.below(most) + 1);
        }
        world.step(op)?;
        history.record(world.op, &world.tree, world.over);
        let failed = world.pair.failed(rng.next());
        let failed = failed.or_else(|| rng.one_in(120).then(|| world.pair.crash(rng.next())));
        match (failed, world.synced) {
            (Some(pair), _) => recover(world, history, rng, pair)?,
            (None, Some(None)) => history.durable(world.op, &world.tree),
            (None, Some(Some(ino))) => history.fsynced(&world.tree, ino),
            (None, None) if history.len() > 250 => {
                world.pair.defuse();
                world.sync()?;
                history.durable(world.op, &world.tree);
            }
            _ => {}
        }
    }
    world.did = "at the end".into();
    world.compare()?;
    world.empty()
}

/// Mounts what the crash has left, and takes it for the new state if it is a right one.
fn recover(world: &mut World, history: &mut History, rng: &mut Rng, pair: Pair) -> Outcome {
    world.did += " and a crash";
    world.pair = pair;
    loop {
        verify(&world.pair, &world.env)?;
        if rng.one_in(4) {
            world.pair.fuse(rng.below(30) + 1);
        }
        world.vol = mount(&world.pair, &world.env, &world.cfg, false)?;
        match world.pair.failed(rng.next()) {
            Some(pair) => world.pair = pair,
            None => break,
        }
    }
    world.pair.defuse();
    let found = world.dump()?;
    history.accept(&found)?;
    world.adopt(found)?;
    world.did += ", mounted again";
    world.compare()?;
    world.remount()?;
    world.did += ", and once more";
    world.compare()?;
    history.durable(world.op, &world.tree);
    Ok(())
}
