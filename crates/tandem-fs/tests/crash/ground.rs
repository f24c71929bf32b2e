//! The small volumes on which sequences begin.

use std::sync::Arc;
use std::time::Duration;

use tandem_disk::crash::{Change, History, Store};
use tandem_format::SEGMENT_AREA;
use tandem_fs::Atime;

use crate::model::device::Pair;
use crate::model::env::TestEnv;
use crate::model::op::{At, Op, Profile, Set};
use crate::model::tree::Tree;
use crate::model::world::{Config, Outcome, World, mount, told, wrong};

/// Where segments begin, and their size, which is the same.
const SEGMENTS: u64 = SEGMENT_AREA;

/// A volume that is not mounted, and the model of it.
pub struct Ground {
    pub name: &'static str,
    pub cfg: Config,
    pub stores: Vec<Store>,
    pub tree: Tree,
    /// Number of the last operation that made it.
    pub op: usize,
    free: u64,
}

/// All of them.
pub fn grounds() -> Outcome<Vec<Ground>> {
    let roomy = config(1);
    // Every commit is followed by a checkpoint, and names collide.
    let busy = Config { checkpoint: Duration::ZERO, hash_bits: 1, one_device: true, ..config(2) };
    let tight = Config { small: true, block: 512, ..config(3) };
    Ok(vec![
        Ground::make("roomy", roomy, |_| Ok(()))?,
        Ground::make("busy", busy, |_| Ok(()))?,
        Ground::make("tight", tight, |world| fill(world).and_then(|()| wear(world)))?,
    ])
}

fn config(seed: u64) -> Config {
    Config {
        seed,
        profile: Profile::Mixed,
        meta: 4 << 20,
        data: 1 << 20,
        block: 1024,
        hash_bits: 48,
        cache: 2 << 20,
        atime: Atime::Never,
        checkpoint: Duration::from_secs(1000),
        flush: Duration::from_millis(20),
        nodes: 200,
        xattr_bytes: 512 << 10,
        small: false,
        one_device: false,
        cross_file: false,
        prefetch: 16,
        relocate: false,
    }
}

/// Three directories and three files; a hard link, a symbolic link, an attribute, unwritten blocks.
fn tree() -> Vec<Op> {
    let new = |dir: u32, name| At::Any(7 * dir + 1, name);
    let create = |at| Op::Mknod { at, kind: 0, mode: 0o644, hold: false };
    let mkdir = |at| Op::Mkdir { at, mode: 0o755, hold: false };
    let write = |file: u32, len| Op::Write { file: 7 * file + 1, off: 0, len, sync: false };
    vec![
        create(new(0, 0)),
        mkdir(new(0, 1)),
        mkdir(new(0, 4)),
        Op::Symlink { at: new(0, 5), len: 20 },
        create(new(1, 6)),
        create(new(1, 7)),
        write(0, 2500),
        write(1, 1500),
        write(2, 600),
        Op::Fallocate { file: 15, flags: 0, off: 1024, len: 4096 },
        Op::SetXattr { node: 6, name: 2, len: 30, mode: 0 },
        Op::Link { node: 3 + 1, at: new(1, 8) },
        Op::Sync,
    ]
}

/// Leaves a few blocks of D free, all of which others have had.
fn fill(world: &mut World) -> Outcome {
    world.step(&Op::Mknod { at: At::Any(1, 50), kind: 0, mode: 0o600, hold: false })?;
    let left = 10;
    let len = (world.vol.statfs().blocks_free - left) * u64::from(world.cfg.block);
    world.step(&Op::Fallocate { file: 22, flags: 0, off: 0, len })?;
    world.step(&Op::Sync)?;
    for round in 0..6 {
        world.step(&Op::Mknod { at: At::Any(1, 60), kind: 0, mode: 0o600, hold: false })?;
        world.step(&Op::Append { file: 29, len: 512 * (left as u32 - round) })?;
        world.step(&Op::Sync)?;
        let last = world.tree.spots().iter().position(|s| &*s.name == b"n60").unwrap_or(0);
        world.step(&Op::Unlink { at: At::Old(last as u32) })?;
        world.step(&Op::Sync)?;
    }
    Ok(())
}

/// Writes until the log's segments have been used, and the one being written to after the next
/// mount has room for one more partial segment of 4 KiB.
fn wear(world: &mut World) -> Outcome {
    for round in 0..3000u32 {
        world.step(&Op::SetAttr { node: 1 + round % 5, set: Set::Mode(0o644 ^ (round % 8)) })?;
        world.step(&Op::Sync)?;
        if round > 1200 && room_after_mount(world)? == 4096 {
            return Ok(());
        }
    }
    wrong("the log's end never lies where it should")
}

/// Bytes that are left in the active segment when the volume is unmounted and mounted again.
fn room_after_mount(world: &mut World) -> Outcome<u64> {
    world.remount()?;
    Ok(room(&world.pair.recorder.history()))
}

fn room(history: &History) -> u64 {
    let last = history.events.iter().rev().find_map(|e| match &e.change {
        Change::Write(off, bytes) if e.device == 0 && *off >= SEGMENTS => {
            Some(off + bytes.len() as u64)
        }
        _ => None,
    });
    last.map_or(0, |end| end.next_multiple_of(SEGMENTS) - end)
}

impl Ground {
    fn make(
        name: &'static str,
        cfg: Config,
        more: impl FnOnce(&mut World) -> Outcome,
    ) -> Outcome<Ground> {
        let mut world = World::new(&cfg)?;
        let run = |world: &mut World| -> Outcome {
            for op in tree() {
                world.step(&op)?;
            }
            Ok(())
        };
        run(&mut world).map_err(|e| format!("{name}: {}: {e}", world.did))?;
        more(&mut world).map_err(|e| format!("{name}: {}: {e}", world.did))?;
        told("shutdown", world.vol.shutdown())?;
        let (stores, tree) = (world.pair.recorder.now(), world.tree.clone());
        Ok(Ground { name, cfg, stores, tree, op: world.op, free: world.free_at_start })
    }

    /// What a crash has left, as something to begin with.
    pub fn after_crash(&self, stores: Vec<Store>, tree: Tree, op: usize) -> Ground {
        Ground { name: self.name, cfg: self.cfg.clone(), stores, tree, op, free: self.free }
    }

    /// A copy of the volume, mounted.
    pub fn world(&self, seed: u64) -> Outcome<World> {
        let pair = Pair::with(self.stores.clone());
        let env = Arc::new(TestEnv::new(seed));
        env.set(self.op);
        let vol = mount(&pair, &env, &self.cfg, false)?;
        let mut world = World::with(&self.cfg, pair, env, vol)?;
        world.tree = self.tree.clone();
        world.op = self.op;
        world.free_at_start = self.free;
        Ok(world)
    }
}
