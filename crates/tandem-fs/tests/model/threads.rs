//! Several threads at once on one volume, with commits in the background.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use tandem_fs::{Cred, FallocFlags, Ino, ROOT, RenameFlags, SetAttr, Volume, WriteFlags};

use super::env::Rng;
use super::op::{Maker, Op};
use super::world::{Config, Outcome, World, told, verify, wrong};

/// Longer than any run takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs `f` in so many threads; gives up when they do not come back.
fn together<T: Send + 'static>(
    n: u64,
    make: impl Fn(u64) -> Box<dyn FnOnce() -> Outcome<T> + Send>,
) -> Outcome<Vec<T>> {
    let (send, receive) = channel();
    for i in 0..n {
        let (f, send) = (make(i), send.clone());
        std::thread::spawn(move || drop(send.send(f())));
    }
    drop(send);
    let until = Instant::now() + PATIENCE;
    let mut out = Vec::new();
    loop {
        match receive.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(value) => out.push(value?),
            Err(RecvTimeoutError::Timeout) => return wrong("threads wait for each other"),
            Err(RecvTimeoutError::Disconnected) if out.len() as u64 == n => return Ok(out),
            Err(RecvTimeoutError::Disconnected) => return wrong("a thread has panicked"),
        }
    }
}

/// Threads that work in directories of their own and in a common one, each with its own model.
pub fn neighbours(cfg: &Config, ops: &[Op]) -> Outcome {
    let mut first = World::new(cfg)?;
    first.remount_in_background()?;
    first.pair.slow();
    let threads = 2 + cfg.seed % 3;
    let common = told("mkdir", first.vol.mkdir(&Cred::root(), ROOT, b"common", 0o777, 0))?;
    let per_thread = ops.len();
    let worlds = together(threads, |i| {
        let world = first.neighbour(i, common.ino);
        let (seed, profile) = (cfg.seed, cfg.profile);
        Box::new(move || {
            let mut world = world?;
            let rng = Rng::new(seed << 8 ^ i);
            let mut maker = Maker { rng, profile, shared: true };
            for _ in 0..per_thread {
                let op = maker.next();
                world.step(&op).map_err(|e| format!("thread {i}, {}:\n{e}", world.did))?;
            }
            world.compare().map_err(|e| format!("thread {i} at the end:\n{e}"))?;
            Ok(world)
        })
    })?;
    told("shutdown", first.vol.shutdown())?;
    verify(&first.pair, &first.env)?;
    let vol = super::world::mount(&first.pair, &first.env, cfg, true)?;
    for mut world in worlds {
        world.moved_to(&vol);
        world.compare().map_err(|e| format!("after a remount:\n{e}"))?;
    }
    told("shutdown", vol.shutdown())
}

/// Threads that do everything to the same few names. Any answer will do that some order of the
/// calls could give; in the end the volume must be in order.
pub fn brawl(cfg: &Config, ops: &[Op]) -> Outcome {
    let mut world = World::new(cfg)?;
    world.remount_in_background()?;
    world.pair.slow();
    let root = Cred::root();
    let mut dirs = vec![ROOT];
    for name in [&b"x"[..], b"y"] {
        dirs.push(told("mkdir", world.vol.mkdir(&root, ROOT, name, 0o777, 0))?.ino);
    }
    let n = ops.len();
    together(4, |i| {
        let (vol, dirs) = (Arc::clone(&world.vol), dirs.clone());
        let mut rng = Rng::new(world.cfg.seed << 8 ^ i);
        Box::new(move || (0..n).try_for_each(|_| blow(&vol, &dirs, &mut rng)))
    })?;
    told("shutdown", world.vol.shutdown())?;
    verify(&world.pair, &world.env)
}

/// One operation of a brawl.
fn blow(vol: &Volume, dirs: &[Ino], rng: &mut Rng) -> Outcome {
    let root = Cred::root();
    let name = |rng: &mut Rng| format!("n{}", rng.below(6)).into_bytes();
    let (dir, to) = (rng.pick(dirs), rng.pick(dirs));
    let (a, b) = (name(rng), name(rng));
    let flags = WriteFlags::default();
    let done = match rng.below(16) {
        0..3 => vol.mknod(&root, dir, &a, 0o644, 0, 0).map(|attr| vol.forget(attr.ino, 1)),
        3 => vol.mkdir(&root, dir, &a, 0o755, 0).map(|attr| vol.forget(attr.ino, 1)),
        4 => vol.unlink(&root, dir, &a),
        5 => vol.rmdir(&root, dir, &a),
        6..9 => {
            let flags = RenameFlags::from_bits_retain(rng.pick(&[0, 0, 1, 2]));
            vol.rename(&root, dir, &a, to, &b, flags)
        }
        9 => vol.readdir(&root, dir, 0, &mut |_| true),
        10 if rng.one_in(8) => vol.sync(),
        n => vol.lookup(&root, dir, &a).and_then(|attr| {
            let ino = attr.ino;
            let off = rng.below(200_000);
            let done = match n {
                10 | 11 => vol.write(&root, ino, off, &vec![n as u8; 5000], flags).map(drop),
                12 => vol.read(ino, off, &mut vec![0; 9000]).map(drop),
                13 => vol.fsync(ino, false),
                14 => {
                    let set = SetAttr { size: Some(off), ..SetAttr::default() };
                    vol.setattr(&root, ino, &set).map(drop)
                }
                _ if rng.one_in(2) => {
                    let flags = FallocFlags::KEEP_SIZE | FallocFlags::PUNCH_HOLE;
                    vol.fallocate(&Cred::root(), ino, flags, off, 9000)
                }
                _ => vol.link(&root, ino, to, &b).map(|attr| vol.forget(attr.ino, 1)),
            };
            vol.forget(ino, 1);
            done
        }),
    };
    use libc::{EEXIST, EINVAL, EISDIR, ENOENT, ENOTDIR, ENOTEMPTY, EPERM};
    match done {
        Ok(()) => Ok(()),
        Err(e)
            if [ENOENT, EEXIST, ENOTEMPTY, EISDIR, ENOTDIR, EINVAL, EPERM].contains(&e.errno()) =>
        {
            Ok(())
        }
        Err(e) => wrong(format!("{e} ({})", e.errno())),
    }
}
