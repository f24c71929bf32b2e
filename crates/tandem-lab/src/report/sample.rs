//! Records by configuration.

use std::collections::BTreeMap;

use super::StudyResults;
use crate::plan;
use crate::record::{Levels, Status};

impl StudyResults {
    /// Every factor with the levels that occur in runs, in the study's order, then others.
    pub fn levels(&self) -> BTreeMap<String, Vec<String>> {
        plan::levels(&self.study, self.records.iter().map(|record| &record.levels))
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
