//! Records by configuration.

use std::collections::BTreeMap;

use super::StudyResults;
use crate::record::{Levels, Status};

impl StudyResults {
    /// Every factor with the levels that occur, in the study's order, then others.
    pub fn levels(&self) -> BTreeMap<String, Vec<String>> {
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (factor, level) in self.records.iter().flat_map(|record| &record.levels) {
            let levels = all.entry(factor.clone()).or_default();
            if !levels.contains(level) {
                levels.push(level.clone());
            }
        }
        for (factor, levels) in &mut all {
            let order = self.study.factors.get(factor);
            let place = |level: &String| {
                order.and_then(|list| list.iter().position(|value| plain(value) == *level))
            };
            levels.sort_by(|a, b| {
                let key = |level: &String| (place(level).is_none(), place(level));
                key(a).cmp(&key(b)).then_with(|| a.cmp(b))
            });
        }
        all
    }

    /// Factors that have the same level in all records.
    pub fn fixed(&self) -> Levels {
        let single = |(factor, levels): (String, Vec<String>)| match levels.as_slice() {
            [one] => Some((factor, one.clone())),
            _ => None,
        };
        self.levels().into_iter().filter_map(single).collect()
    }

    /// The least and the most runs of a configuration that were done.
    pub fn repetitions(&self) -> Option<(usize, usize)> {
        let mut runs: BTreeMap<_, usize> = BTreeMap::new();
        for record in self.records.iter().filter(|record| record.status == Status::Done) {
            *runs.entry(&record.levels).or_default() += 1;
        }
        Some((*runs.values().min()?, *runs.values().max()?))
    }
}

/// A level as records have it.
fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
