//! What a power failure has left: it must be sound, mount, and be a state that may be.

use std::sync::Arc;

use tandem_disk::crash::Store;

use super::ground::Ground;
use crate::model::device::Pair;
use crate::model::env::TestEnv;
use crate::model::history::History;
use crate::model::tree::Tree;
use crate::model::world::{Outcome, World, mount, verify};

/// A volume that has been recovered.
pub struct Recovered {
    pub world: World,
    pub tree: Tree,
}

/// Checks an image, mounts it, and compares what is there with what may be.
pub fn judge(
    ground: &Ground,
    stores: Vec<Store>,
    op: usize,
    seed: u64,
    history: &History,
) -> Outcome<Recovered> {
    let pair = Pair::with(stores);
    let env = Arc::new(TestEnv::new(seed));
    env.set(op);
    verify(&pair, &env)?;
    let vol = mount(&pair, &env, &ground.cfg, false)?;
    let world = World::with(&ground.cfg, pair, env, vol)?;
    let tree = world.dump()?;
    history.accept(&tree)?;
    Ok(Recovered { world, tree })
}
