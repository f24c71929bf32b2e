//! Full devices: ENOSPC is an answer, never a loss; deleting works, and gives the space back.

use super::env::Rng;
use super::op::{At, Op};
use super::world::{Config, Outcome, World};

/// Fills tiny devices with random operations, again and again.
pub fn fill(cfg: &Config, ops: &[Op]) -> Outcome {
    let mut world = World::new(cfg)?;
    run(&mut world, ops).map_err(|e| format!("operation {}, {}:\n{e}", world.op, world.did))
}

fn run(world: &mut World, ops: &[Op]) -> Outcome {
    let mut rng = Rng::new(world.cfg.seed ^ 0xf111);
    for op in ops {
        let full = world.full;
        world.step(op)?;
        if world.full == full || !rng.one_in(40) {
            continue;
        }
        // Full: everything accepted is there, and some of it goes.
        world.compare()?;
        if rng.one_in(3) {
            world.remount()?;
            world.compare()?;
        }
        for _ in 0..rng.below(world.tree.nodes.len() as u64 + 1) {
            world.step(&Op::Unlink { at: At::Old(rng.u32()) })?;
        }
    }
    world.did = "at the end".into();
    world.sync()?;
    world.compare()?;
    world.remount()?;
    world.compare()?;
    world.empty()?;
    world.remount()?;
    eprintln!(
        "FULL {} meta {} data {} block {} ops {}",
        world.full,
        world.cfg.meta >> 20,
        world.cfg.data >> 20,
        world.cfg.block,
        ops.len()
    );
    world.fill_again()
}

impl World {
    /// After everything is gone there is room for as much as at the beginning.
    fn fill_again(&mut self) -> Outcome {
        self.did = "filling again".into();
        let full = self.full;
        for n in 0..50.min(self.free_at_start as u32 / 2) {
            self.step(&Op::Mknod { at: At::Any(1, 100 + n), kind: 0, mode: 0o600, hold: false })?;
            self.step(&Op::Append { file: 7 * n + 1, len: 4000 })?;
        }
        if self.full > full {
            return Err("no room on an empty volume".into());
        }
        self.empty()
    }
}
