//! Devices that fail while a sequence runs: the first call that needs them must say so, so must
//! every later one that promises something, and what was promised before must hold.

use tandem_disk::fault::{Fault, Request, Rule};

use super::explore::Explorer;
use super::ground::Ground;
use super::letters::letters;
use super::workload::{self, Ended};
use crate::model::op::Op;
use crate::model::world::Outcome;

const EIO: i32 = libc::EIO;

/// What the `n`th request of a kind may do.
const FAULTS: [(Request, Fault); 3] = [
    (Request::Write, Fault::Error(EIO)),
    (Request::Write, Fault::Short(None)),
    (Request::Flush, Fault::Error(EIO)),
];

/// Runs every operation with every one of the writes and flushes after it failing. Returns how
/// many failures there were.
pub fn every_error(explorer: &Explorer<'_>, grounds: &[Ground]) -> Outcome<u64> {
    let mut failures = 0;
    // On a full volume operations commit, and which of them did what is not told.
    for ground in grounds.iter().filter(|g| !g.cfg.small) {
        for letter in letters().iter().filter(|l| !l.steps.iter().any(commits)) {
            for (device, (request, fault)) in
                (0..2).flat_map(|device| FAULTS.map(|fault| (device, fault)))
            {
                for n in 1.. {
                    let mut rules = [Vec::new(), Vec::new()];
                    rules[device].push(Rule::new(request, fault).nth(n));
                    let named = |e| {
                        format!(
                            "{}, {}, {fault:?} at {request:?} {n} of device {device}: {e}",
                            ground.name, letter.name
                        )
                    };
                    let promise = n << 8 | failures << 20;
                    let ran = workload::run(ground, &[letter], promise, &rules).map_err(named)?;
                    let Some(trace) = ran else { break };
                    if trace.ended == Ended::Well {
                        break;
                    }
                    failures += 1;
                    explorer
                        .points(ground, &trace, 0)
                        .map_err(|(at, image, e)| named(format!("{at}:{image}: {e}")))?;
                }
            }
        }
    }
    Ok(failures)
}

fn commits(op: &Op) -> bool {
    matches!(op, Op::Fsync { .. } | Op::Sync | Op::Write { sync: true, .. })
}
