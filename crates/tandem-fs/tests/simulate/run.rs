//! A run: from a seed to a volume, callers, and what happens to them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::Mutex;
use shuttle::{FailurePersistence, MaxSteps, Runner, thread};
use tandem_fs::{Cred, ROOT};

use super::caller::{Caller, Promises};
use super::life::{End, changes, mount_again};
use super::schedule::Seeded;
use crate::model::device::Pair;
use crate::model::env::Rng;
use crate::model::op::{Op, Profile};
use crate::model::world::{Config, Outcome, World, is_device_error, told, wrong};

/// Operations of a seed, at most.
pub const OPS: u64 = 3000;

/// What a seed's operations are about.
pub fn profile(seed: u64) -> Profile {
    Rng::new(seed ^ 0xbf0).pick(&[
        Profile::Mixed,
        Profile::Mixed,
        Profile::Data,
        Profile::Syncs,
        Profile::FillData,
        Profile::FillMeta,
    ])
}

/// What a seed's volume is like: small, and its log goes round.
pub fn config(seed: u64, profile: Profile) -> Config {
    let rng = &mut Rng::new(seed ^ 0x51);
    let cfg = match profile {
        Profile::FillData | Profile::FillMeta => Config::small(seed, profile),
        _ => Config::new(seed, profile),
    };
    Config {
        nodes: cfg.nodes.min(300),
        flush: Duration::from_secs(rng.pick(&[1, 5, 30])),
        checkpoint: Duration::from_secs(rng.pick(&[1, 10, 60])),
        ..cfg
    }
}

/// Runs the operations, dealt out to callers; everything else is the seed's.
pub fn simulate(cfg: &Config, ops: &[Op]) -> Outcome {
    let mut config = shuttle::Config::new();
    config.stack_size = 1 << 20;
    config.silence_warnings = true;
    config.max_steps = MaxSteps::None;
    config.failure_persistence = FailurePersistence::None;
    let outcome = Arc::new(Mutex::new(None));
    let (cfg, ops, told) = (cfg.clone(), ops.to_vec(), Arc::clone(&outcome));
    Runner::new(Seeded::new(cfg.seed), config).run(move || {
        let done = run(&cfg, &ops);
        *told.lock() = Some(done);
    });
    let outcome = outcome.lock().take();
    outcome.unwrap_or_else(|| wrong("the run has not ended"))
}

struct Simulation {
    /// The whole volume, as nobody in particular sees it.
    whole: World,
    callers: Vec<Caller>,
    rng: Rng,
}

fn run(cfg: &Config, ops: &[Op]) -> Outcome {
    let mut sim = Simulation::new(cfg)?;
    let mut rest = ops;
    let mut lives = 0;
    while !rest.is_empty() {
        let most = sim.rng.pick(&[30, 150, 600]);
        let (now, later) = rest.split_at(rest.len().min(most));
        lives += 1;
        sim.live(now).map_err(|e| format!("mount {lives}, {}: {e}", sim.whole.did))?;
        rest = later;
    }
    sim.whole.did = "at the end".into();
    sim.clean()?;
    told("shutdown", sim.whole.vol.shutdown())
}

impl Simulation {
    fn new(cfg: &Config) -> Outcome<Simulation> {
        let mut whole = World::new(cfg)?;
        let common = told("mkdir", whole.vol.mkdir(&Cred::root(), ROOT, b"common", 0o777, 0))?;
        let mut rng = Rng::new(cfg.seed ^ 0x51b);
        let promises = Promises::default();
        let callers = (0..1 + rng.below(3) as usize)
            .map(|n| Caller::new(n, &whole, common.ino, &promises))
            .collect::<Outcome<Vec<Caller>>>()?;
        told("shutdown", whole.vol.shutdown())?;
        let pair = whole.pair.copy();
        whole.op = 1;
        mount_again(&mut whole, &mut rng, pair)?;
        let mut sim = Simulation { whole, callers, rng };
        sim.take_over()?;
        Ok(sim)
    }

    /// From a mount to the next one.
    fn live(&mut self, ops: &[Op]) -> Outcome {
        let end = End::choose(&mut self.rng, &self.whole.pair);
        self.whole.did = format!("{end:?}");
        self.call(ops)?;
        let pair = self.whole.pair.clone();
        if let Some(image) = pair.failed(self.rng.next()) {
            return self.recover(image);
        }
        if pair.refused(changes) > 0 {
            if self.whole.vol.sync().is_ok() || self.whole.vol.shutdown().is_ok() {
                return wrong("a device has failed, but the volume goes on as if it had not");
            }
            return self.recover_failed(&pair);
        }
        if end == End::Dark {
            let image = pair.crash(self.rng.next());
            return self.recover(image);
        }
        pair.heal();
        match self.whole.vol.sync() {
            // A commit that could not read what it needed.
            Err(e) if end == End::Failing && is_device_error(&format!(" ({})", e.errno())) => {
                self.recover_failed(&pair)
            }
            Err(e) => told("sync", Err(e)),
            Ok(()) => self.clean(),
        }
    }

    /// Deals operations out and has everybody work at once.
    fn call(&mut self, ops: &[Op]) -> Outcome {
        let many = self.callers.len();
        let threads: Vec<_> = std::mem::take(&mut self.callers)
            .into_iter()
            .map(|caller| {
                caller.stop.store(false, Ordering::SeqCst);
                let own: Vec<Op> = ops.iter().skip(caller.number).step_by(many).copied().collect();
                thread::spawn(move || caller.run(&own))
            })
            .collect();
        let ended: Vec<_> = threads.into_iter().map(|t| t.join()).collect();
        for caller in ended {
            self.callers.push(caller.map_err(|_| "a caller has panicked")??);
        }
        Ok(())
    }

    /// Unmounts and mounts again: nothing is missing, and no space either.
    fn clean(&mut self) -> Outcome {
        let pair = self.whole.pair.clone();
        pair.defuse();
        told("shutdown", self.whole.vol.shutdown())?;
        self.callers.iter().for_each(Caller::synced);
        self.recover(pair.copy())?;
        self.whole.check_space()
    }

    /// What a failed device has left, with or without a power failure on top.
    fn recover_failed(&mut self, pair: &Pair) -> Outcome {
        let left = match self.rng.one_in(2) {
            true => pair.copy(),
            false => pair.crash(self.rng.next()),
        };
        self.recover(left)
    }

    fn recover(&mut self, left: Pair) -> Outcome {
        self.whole.did += ", mounted again";
        mount_again(&mut self.whole, &mut self.rng, left)?;
        self.take_over()
    }

    /// Everybody goes on with what a mount has found.
    fn take_over(&mut self) -> Outcome {
        self.whole.tree = self.whole.dump()?;
        let whole = &self.whole;
        self.callers.iter_mut().try_for_each(|caller| {
            caller.take_over(whole).map_err(|e| format!("caller {}: {e}", caller.number))
        })
    }
}
