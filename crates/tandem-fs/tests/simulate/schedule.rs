//! Who goes on: from a seed.

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

use crate::model::env::Rng;

/// One execution. A thread goes on until it waits, or for a while by chance.
pub struct Seeded {
    seed: u64,
    rng: Rng,
    data: Rng,
    /// At one in so many points another thread comes next.
    turns: u64,
    begun: bool,
}

impl Seeded {
    pub fn new(seed: u64) -> Seeded {
        let mut rng = Rng::new(seed ^ 0x5c_4ed);
        let turns = rng.pick(&[2, 8, 32, 200]);
        Seeded { seed, data: Rng::new(rng.next()), rng, turns, begun: false }
    }
}

impl Scheduler for Seeded {
    fn new_execution(&mut self) -> Option<Schedule> {
        let first = !std::mem::replace(&mut self.begun, true);
        first.then(|| Schedule::new(self.seed))
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        waits: bool,
    ) -> Option<TaskId> {
        let here = runnable.iter().position(|task| Some(task.id()) == current);
        let Some(here) = here else {
            return Some(runnable[self.rng.below(runnable.len() as u64) as usize].id());
        };
        if runnable.len() == 1 || !(waits || self.rng.one_in(self.turns)) {
            return current;
        }
        let next = here as u64 + 1 + self.rng.below(runnable.len() as u64 - 1);
        Some(runnable[next as usize % runnable.len()].id())
    }

    fn next_u64(&mut self) -> u64 {
        self.data.next()
    }
}
