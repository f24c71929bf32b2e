//! One of several callers, each with its own part of the volume and its own model of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tandem_fs::Ino;

use crate::model::history::History;
use crate::model::op::Op;
use crate::model::world::{Outcome, World, is_device_error, told};

/// A caller syncs when so many states may be found after a crash.
const STATES: usize = 150;

/// What is promised to whom. Everything that a caller has seen done when it asks for durability is
/// durable when it is told so, whoever did it.
#[derive(Clone, Default)]
pub struct Promises(Arc<Mutex<Vec<History>>>);

impl Promises {
    pub fn add(&self, history: History) {
        self.0.lock().push(history);
    }

    /// A caller's own.
    pub fn of<T>(&self, caller: usize, f: impl FnOnce(&mut History) -> T) -> T {
        f(&mut self.0.lock()[caller])
    }

    /// What every caller has done so far.
    fn done(&self) -> Vec<usize> {
        self.0.lock().iter().map(History::last).collect()
    }

    /// A sync, or an fsync of one file, has returned that was begun when `done` was done.
    fn keep(&self, done: &[usize], caller: usize, world: &World, file: Option<Ino>) {
        for (n, (history, &upto)) in self.0.lock().iter_mut().zip(done).enumerate() {
            match file {
                None => history.synced(upto),
                Some(ino) if n == caller => history.fsynced(&world.tree, ino),
                Some(_) => history.named(upto),
            }
        }
    }
}

pub struct Caller {
    pub number: usize,
    pub world: World,
    pub promises: Promises,
    /// All callers are to stop.
    pub stop: Arc<AtomicBool>,
}

impl Caller {
    /// Runs operations until all are done, or the power has failed, or a device.
    pub fn run(mut self, ops: &[Op]) -> Outcome<Caller> {
        for op in ops {
            if self.stop.load(Ordering::SeqCst) || self.world.pair.is_dark() {
                break;
            }
            let many = self.promises.of(self.number, |history| history.len()) > STATES;
            if let Err(e) = self.step(if many { &Op::Sync } else { op }) {
                self.stop.store(true, Ordering::SeqCst);
                let (n, world) = (self.number, &self.world);
                return Err(format!("caller {n}, operation {}, {}:\n{e}", world.op, world.did));
            }
        }
        Ok(self)
    }

    fn step(&mut self, op: &Op) -> Outcome {
        // A volume that others use stays mounted.
        if matches!(op, Op::Remount) {
            return Ok(());
        }
        let done = self.promises.done();
        let world = &mut self.world;
        let file = world.changed_by(op);
        let result = world.step(op);
        let refused = world.pair.refused(|_| true) > 0;
        self.promises.of(self.number, |history| {
            history.record(world.op, &world.tree, world.over);
            if result.is_err() {
                file.into_iter().for_each(|ino| history.torn(ino));
            }
        });
        if refused && result.as_ref().is_err_and(|e| is_device_error(e)) {
            self.stop.store(true, Ordering::SeqCst);
            return Ok(());
        }
        result?;
        // What is acknowledged in the dark has not been seen by anybody.
        if let Some(file) = world.synced.filter(|_| !world.pair.is_dark()) {
            self.promises.keep(&done, self.number, world, file);
        }
        Ok(())
    }

    /// Everything done so far is durable.
    pub fn synced(&self) {
        self.promises.of(self.number, |history| history.synced(usize::MAX));
    }

    /// Takes its part of what a mount has found for the model, if it may be that.
    pub fn take_over(&mut self, from: &World) -> Outcome {
        self.world.pair = from.pair.clone();
        self.world.moved_to(&from.vol);
        let part = self.world.part(&from.tree);
        self.promises.of(self.number, |history| history.accept(&part))?;
        self.world.adopt(part)?;
        self.world.compare()?;
        let (op, tree) = (self.world.op, &self.world.tree);
        self.promises.of(self.number, |history| history.durable(op, tree));
        Ok(())
    }

    /// A caller with a directory of its own.
    pub fn new(number: usize, first: &World, common: Ino, promises: &Promises) -> Outcome<Caller> {
        let world = first.neighbour(number as u64, common)?;
        told("sync", world.vol.sync())?;
        let mut history = History::sharing(world.shared());
        history.durable(0, &world.tree);
        promises.add(history);
        Ok(Caller { number, world, promises: promises.clone(), stop: Arc::default() })
    }
}
