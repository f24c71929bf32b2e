//! Which records, factors, levels and phases a figure or an analysis is about.

use std::collections::BTreeSet;

use crate::record::{Levels, Record};
use crate::study::{Study, level};

/// The name under which the scale is a factor when records are of several.
pub(super) const SCALE: &str = "scale";

/// A study's records, each with the level of every factor.
pub(super) struct Selection<'a> {
    study: &'a Study,
    /// In the order in which the runs were made; the level of every factor first.
    pub(super) records: Vec<(Levels, &'a Record)>,
}

impl<'a> Selection<'a> {
    pub(super) fn of(study: &'a Study, records: &'a [Record]) -> Selection<'a> {
        let own = records.iter().filter(|record| record.study == study.name);
        let mut records: Vec<(Levels, &Record)> = own.map(|r| (r.levels.clone(), r)).collect();
        records.sort_by(|a, b| {
            (&a.1.scale, a.1.order, &a.1.id).cmp(&(&b.1.scale, b.1.order, &b.1.id))
        });
        let scales: BTreeSet<&str> = records.iter().map(|(_, r)| r.scale.as_str()).collect();
        if scales.len() > 1 {
            for (levels, record) in &mut records {
                levels.insert(SCALE.to_owned(), record.scale.clone());
            }
        }
        Selection { study, records }
    }

    /// Factors with more than one level among the records, in alphabetical order.
    pub(super) fn varying(&self) -> Vec<String> {
        let names: BTreeSet<&String> =
            self.records.iter().flat_map(|(levels, _)| levels.keys()).collect();
        names.into_iter().filter(|name| self.levels(name).len() > 1).cloned().collect()
    }

    /// Levels of a factor that occur, in the study's order; those that the study does not have last.
    pub(super) fn levels(&self, factor: &str) -> Vec<String> {
        let found: BTreeSet<&String> =
            self.records.iter().filter_map(|(levels, _)| levels.get(factor)).collect();
        let scales = self.study.scale.values().filter_map(|scale| scale.factors.get(factor));
        let given = self.study.factors.get(factor).into_iter().chain(scales).flatten();
        let mut levels: Vec<String> = Vec::new();
        for level in given.filter_map(level).filter(|level| found.contains(level)) {
            if !levels.contains(&level) {
                levels.push(level);
            }
        }
        let mut others: Vec<&String> = found.into_iter().filter(|l| !levels.contains(l)).collect();
        others.sort_by(|a, b| number(a).total_cmp(&number(b)).then_with(|| a.cmp(b)));
        levels.extend(others.into_iter().cloned());
        levels
    }

    /// Combinations of levels of the factors that occur, in the order of the levels.
    pub(super) fn combinations(&self, factors: &[String]) -> Vec<Levels> {
        let orders: Vec<Vec<String>> = factors.iter().map(|factor| self.levels(factor)).collect();
        let mut found: Vec<(Vec<usize>, Levels)> = Vec::new();
        for (levels, _) in &self.records {
            let part = restricted(levels, factors);
            if found.iter().any(|(_, other)| *other == part) {
                continue;
            }
            let place = |(factor, order): (&String, &Vec<String>)| {
                let level = part.get(factor);
                order.iter().position(|l| Some(l) == level).unwrap_or(order.len())
            };
            found.push((factors.iter().zip(&orders).map(place).collect(), part));
        }
        found.sort();
        found.into_iter().map(|(_, levels)| levels).collect()
    }

    /// The phases that were asked for, or all that are measured, in the order of the work.
    pub(super) fn phases(&self, asked: &[String]) -> Vec<String> {
        let mut phases: Vec<String> = asked.to_vec();
        if asked.is_empty() {
            let all = self.records.iter().flat_map(|(_, record)| &record.phases);
            for phase in all.filter(|phase| phase.measured) {
                if !phases.contains(&phase.name) {
                    phases.push(phase.name.clone());
                }
            }
        }
        phases
    }

    /// The records that have all of these levels.
    pub(super) fn with<'s>(&'s self, levels: &'s Levels) -> impl Iterator<Item = &'a Record> + 's {
        let matching =
            move |own: &Levels| levels.iter().all(|(f, level)| own.get(f) == Some(level));
        self.records.iter().filter(move |(own, _)| matching(own)).map(|(_, record)| *record)
    }

    /// Why the study leaves a combination out, if it does.
    pub(super) fn excluded(&self, levels: &Levels) -> Option<&'a str> {
        let applies = |rule: &&crate::study::Exclude| {
            rule.levels.iter().all(|(factor, level)| levels.get(factor) == Some(level))
        };
        self.study.exclude.iter().find(applies).map(|rule| rule.reason.as_str())
    }
}

/// Only these factors.
pub(super) fn restricted(levels: &Levels, factors: &[String]) -> Levels {
    let part = factors.iter().filter_map(|f| levels.get(f).map(|level| (f.clone(), level.clone())));
    part.collect()
}

fn number(level: &str) -> f64 {
    level.parse().unwrap_or(f64::INFINITY)
}
