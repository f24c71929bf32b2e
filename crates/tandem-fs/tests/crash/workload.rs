//! A sequence of operations run once, with everything that the devices were asked.

use std::collections::HashSet;
use std::sync::Arc;

use tandem_disk::crash;
use tandem_disk::fault::{Fault, Request, Rule};
use tandem_format::{SEGMENT_AREA, Summary};

use super::ground::Ground;
use super::letters::Letter;
use crate::model::history::History;
use crate::model::op::Op;
use crate::model::tree::Tree;
use crate::model::world::{Outcome, World, told, wrong};

/// What the volume may be while a step runs.
pub struct Legal {
    /// Requests to the devices when it had ended.
    pub end: usize,
    pub history: History,
    /// Names the promises: the letters so far.
    pub promise: u64,
}

/// What came of a sequence.
pub struct Trace {
    pub history: crash::History,
    legal: Vec<Legal>,
    /// The last operation's number.
    pub op: usize,
    pub ended: Ended,
}

/// How a sequence has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With a clean unmount; no device has failed.
    Well,
    /// With an error that a device has given.
    Failed,
}

impl Trace {
    /// Requests until the volume was mounted.
    pub fn mounted(&self) -> usize {
        self.legal.first().map_or(0, |legal| legal.end)
    }

    /// What may be found after a power failure at this point.
    pub fn legal(&self, at: usize) -> &Legal {
        let n = self.legal.partition_point(|legal| legal.end <= at);
        &self.legal[n.min(self.legal.len() - 1)]
    }

    /// Crash counts and serial numbers of the partial segments that were written.
    pub fn serials(&self) -> HashSet<(u64, u64)> {
        let summary = |event: &crash::Event| match &event.change {
            crash::Change::Write(off, bytes) if event.device == 0 && *off >= SEGMENT_AREA => {
                Summary::decode(bytes).ok().map(|summary| (summary.crash, summary.serial))
            }
            _ => None,
        };
        self.history.events.iter().filter_map(summary).collect()
    }
}

/// Nothing has changed: the same nodes.
fn same(a: &Tree, b: &Tree) -> bool {
    a.nodes.len() == b.nodes.len()
        && a.nodes.iter().zip(&b.nodes).all(|(x, y)| x.0 == y.0 && Arc::ptr_eq(x.1, y.1))
}

/// Runs letters and unmounts. None when one of them changes nothing: a shorter sequence does the
/// same.
pub fn run(
    ground: &Ground,
    letters: &[&Letter],
    promise: u64,
    faults: &[Vec<Rule>; 2],
) -> Outcome<Option<Trace>> {
    let mut history = History::default();
    history.durable(ground.op, &ground.tree);
    let mut world = ground.world(promise)?;
    let mut legal = Vec::new();
    let recorder = world.pair.recorder.clone();
    legal.push(Legal { end: recorder.len(), history: history.clone(), promise });
    for (device, rules) in faults.iter().enumerate() {
        world.pair.faults[device].set(rules.clone());
    }
    for (n, letter) in letters.iter().enumerate() {
        let before = world.tree.clone();
        let mut synced = false;
        for step in &letter.steps {
            take(&mut world, &mut history, &mut legal, step)
                .map_err(|e| format!("{}: {e}", world.did))?;
            synced |= world.synced.is_some();
        }
        if same(&before, &world.tree) && !(synced && n > 0) {
            return Ok(None);
        }
    }
    let ended = end(&mut world, &mut history, &mut legal, letters)?;
    Ok(Some(Trace { history: recorder.history(), legal, op: world.op, ended }))
}

/// Makes everything durable and unmounts, or learns that this cannot be.
fn end(
    world: &mut World,
    history: &mut History,
    legal: &mut Vec<Legal>,
    letters: &[&Letter],
) -> Outcome<Ended> {
    let last = letters.last().is_some_and(|letter| matches!(letter.steps[..], [Op::Sync]));
    let synced = if last { Ok(()) } else { take(world, history, legal, &Op::Sync) };
    let done = synced.and_then(|()| told("shutdown", world.vol.shutdown()));
    let promise = legal[0].promise ^ 1 << 63;
    let honest = world.pair.faults.iter().all(|faults| faults.happened(reports) == 0);
    if done.is_err() && !honest {
        // Whoever asks again is told again.
        if world.vol.sync().is_ok() || world.vol.shutdown().is_ok() {
            return wrong("a device has failed, but the volume goes on as if it had not");
        }
        history.record(world.op, &world.tree, world.over);
        legal.push(Legal { end: usize::MAX, history: history.clone(), promise });
        return Ok(Ended::Failed);
    }
    done?;
    if !honest {
        return wrong("a device has failed, and nobody was told");
    }
    history.durable(world.op, &world.tree.linked());
    legal.push(Legal { end: usize::MAX, history: history.clone(), promise });
    Ok(Ended::Well)
}

/// Whether a device says that it has failed.
fn reports(rule: &Rule) -> bool {
    matches!(rule.fault, Fault::Error(_) | Fault::Short(_) | Fault::Gone)
        && rule.request != Some(Request::Discard)
}

/// One step: what may be there while it runs is what might have been before, or what it makes.
fn take(world: &mut World, history: &mut History, legal: &mut Vec<Legal>, step: &Op) -> Outcome {
    world.step(step)?;
    history.record(world.op, &world.tree, world.over);
    let promise = legal[0].promise.wrapping_add(legal.len() as u64);
    let end = world.pair.recorder.len();
    legal.push(Legal { end, history: history.clone(), promise });
    match world.synced {
        Some(None) => history.durable(world.op, &world.tree),
        Some(Some(ino)) => history.fsynced(&world.tree, ino),
        None => {}
    }
    Ok(())
}
