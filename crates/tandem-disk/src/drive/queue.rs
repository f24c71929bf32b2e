//! Requests that wait, and which of them is next.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Unit;
use crate::model::disk::HardDisk;
use crate::model::geometry::Place;
use crate::request::{Nanos, Operation, Request};

/// In which order waiting requests are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// As they came.
    #[default]
    Fcfs,
    /// By address upwards, and again from the lowest.
    Elevator,
    /// The shortest seek first.
    Sstf,
    /// The shortest access (seek and rotation) first.
    Satf,
}

/// The queue of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Requests that the drive knows at once; others wait before it, in order.
    pub depth: u32,
    /// The order.
    #[serde(default)]
    pub policy: Policy,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue { depth: 1, policy: Policy::Fcfs }
    }
}

impl Queue {
    /// Which of the waiting requests that the drive knows at `now` is served next.
    pub(super) fn choose(
        self,
        waiting: &mut VecDeque<Waiting>,
        unit: &Unit,
        now: Nanos,
        sweep: u64,
    ) -> usize {
        if waiting.len() == 1 {
            return 0;
        }
        let known = waiting.iter_mut().take(self.depth as usize).enumerate();
        let known = known.take_while(|(at, w)| *at == 0 || w.submitted <= now);
        let best = match (self.policy, unit) {
            (Policy::Elevator, _) => {
                let order = |w: &Waiting| (w.request.sector < sweep, w.request.sector);
                known.map(|(at, w)| (order(w), at)).min().map(|(_, at)| at)
            }
            (Policy::Sstf, Unit::Disk(disk)) => {
                known.map(|(at, w)| (disk.distance(w.place(disk)), at)).min().map(|(_, at)| at)
            }
            (Policy::Satf, Unit::Disk(disk)) => {
                let time = |w: &mut Waiting| {
                    let write = w.is_write();
                    disk.positioning(now, w.place(disk), write)
                };
                known.map(|(at, w)| (time(w), at)).min().map(|(_, at)| at)
            }
            (Policy::Fcfs | Policy::Sstf | Policy::Satf, _) => None,
        };
        best.unwrap_or(0)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) tag: u64,
    pub(super) request: Request,
    pub(super) submitted: Nanos,
    /// None as long as all places of the queue are taken.
    pub(super) accepted: Option<Nanos>,
    /// Where it begins, once a choice has asked for it.
    pub(super) place: Option<Place>,
}

impl Waiting {
    fn place(&mut self, disk: &HardDisk) -> &Place {
        self.place.get_or_insert_with(|| disk.geometry().locate(self.request.sector))
    }

    fn is_write(&self) -> bool {
        self.request.operation == Operation::Write
    }
}
