//! What came of the runs: done, failed, skipped, flagged.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::record::{Flag, Levels, Record, Status};

/// What came of a number of runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Runs {
    /// Runs that came to their end.
    pub done: usize,
    /// Number of those that failed.
    pub failed: usize,
    /// Number of those that were not tried.
    pub skipped: usize,
    /// Those that failed, by configuration and reason.
    pub failures: Vec<Missing>,
    /// Those that were not tried, by configuration and reason.
    pub skips: Vec<Missing>,
    /// Rules of the checklist that runs break.
    pub flags: Vec<FlagCount>,
}

/// Runs of one configuration that have no result, for one reason.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Missing {
    /// The configuration.
    pub levels: Levels,
    /// Why.
    pub reason: String,
    /// Identities of the runs.
    pub ids: Vec<String>,
}

/// How often a rule of the checklist was broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FlagCount {
    /// The rule: `short-phase`.
    pub rule: String,
    /// In how many runs.
    pub runs: usize,
    /// What was seen, in the first of them.
    pub text: String,
}

impl Runs {
    /// Counts records.
    pub fn of<'a>(records: impl Iterator<Item = &'a Record>) -> Runs {
        let mut runs = Runs::default();
        let (mut failures, mut skips) = (BTreeMap::new(), BTreeMap::new());
        let mut flags = BTreeMap::new();
        for record in records {
            match &record.status {
                Status::Done => runs.done += 1,
                Status::Failed(reason) => {
                    runs.failed += 1;
                    enter(&mut failures, record, reason);
                }
                Status::Skipped(reason) => {
                    runs.skipped += 1;
                    enter(&mut skips, record, reason);
                }
            }
            count_flags(&mut flags, record, |_| true);
        }
        runs.failures = failures.into_values().collect();
        runs.skips = skips.into_values().collect();
        runs.flags = flags.into_values().collect();
        runs
    }
}

fn enter(to: &mut BTreeMap<(Levels, String), Missing>, record: &Record, reason: &str) {
    let key = (record.levels.clone(), reason.to_owned());
    let missing = to.entry(key).or_insert_with(|| Missing {
        levels: record.levels.clone(),
        reason: reason.to_owned(),
        ids: Vec::new(),
    });
    missing.ids.push(record.id.clone());
}

/// Counts a run's flags, each rule once.
pub(super) fn count_flags(
    to: &mut BTreeMap<String, FlagCount>,
    record: &Record,
    concerns: impl Fn(&Flag) -> bool,
) {
    let mut seen = Vec::new();
    for flag in record.flags.iter().filter(|flag| concerns(flag)) {
        if seen.contains(&&flag.rule) {
            continue;
        }
        seen.push(&flag.rule);
        let count = to.entry(flag.rule.clone()).or_insert_with(|| FlagCount {
            rule: flag.rule.clone(),
            runs: 0,
            text: flag.text.clone(),
        });
        count.runs += 1;
    }
}
