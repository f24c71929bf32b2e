//! Finding a difference, and the shortest sequence that shows it.

use super::op::Step;
use super::rules::{self, Rule};
use super::run::{Outcome, Value};
use super::side::{Outcomes, Sides};
use std::collections::BTreeMap;

/// The first difference that no rule allows.
pub struct Difference {
    /// Which step.
    pub at: usize,
    /// From whom.
    pub other: &'static str,
    tandem: Outcome,
    theirs: Outcome,
}

/// How often each rule was needed.
pub type Uses = BTreeMap<Rule, u64>;

/// Looks for a difference.
pub fn difference(steps: &[Step], all: &Outcomes, uses: &mut Uses) -> Option<Difference> {
    for (at, (step, tandem)) in steps.iter().zip(&all.tandem).enumerate() {
        for (other, theirs) in &all.others {
            let theirs = &theirs[at];
            if tandem == theirs {
                continue;
            }
            match rules::allows(&step.op, tandem, theirs) {
                Some(rule) => *uses.entry(rule).or_default() += 1,
                None => {
                    let (tandem, theirs) = (tandem.clone(), theirs.clone());
                    return Some(Difference { at, other, tandem, theirs });
                }
            }
        }
    }
    None
}

/// Runs shorter and shorter parts of a sequence that still show a difference.
pub fn shrink(sides: &mut Sides, steps: &[Step], tmpfs: bool, first: Difference) -> String {
    let mut best: Vec<Step> = steps[..=first.at].to_vec();
    let mut found = first;
    let mut part = best.len() / 2;
    while part > 0 {
        let mut at = 0;
        let mut shorter = false;
        while at < best.len() {
            let end = (at + part).min(best.len());
            let without: Vec<Step> = [&best[..at], &best[end..]].concat();
            let outcomes = sides.run(&without, tmpfs);
            match difference(&without, &outcomes, &mut Uses::new()) {
                Some(d) => {
                    best = without[..=d.at].to_vec();
                    (found, shorter) = (d, true);
                }
                None => at = end,
            }
        }
        part = if part > 1 { part / 2 } else { usize::from(shorter) };
    }
    found.describe(&best)
}

impl Difference {
    fn describe(&self, steps: &[Step]) -> String {
        let list: Vec<String> =
            steps.iter().enumerate().map(|(i, s)| format!("{i:4}  {s:?}")).collect();
        let (tandem, theirs) = (show(&self.tandem, &self.theirs), show(&self.theirs, &self.tandem));
        format!("{}\n  tandem: {tandem}\n  {}: {theirs}", list.join("\n"), self.other)
    }
}

/// An outcome; of a survey, what is not in the other's.
fn show(one: &Outcome, other: &Outcome) -> String {
    match (&one.result, &other.result) {
        (Ok(Value::Survey(a)), Ok(Value::Survey(b))) => {
            let own: Vec<_> = a.iter().filter(|n| !b.contains(n)).take(3).collect();
            format!("{} i-nodes, of its own {own:?}", a.len())
        }
        _ => format!("{one:?}"),
    }
}
