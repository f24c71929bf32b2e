//! Whether a study makes sense, and where in its file it does not.

mod factors;
mod results;
mod scales;

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Problem, Source};
use super::{LEAST_MEMORY, Study, level, parse_size};
use crate::known;

/// Levels of every factor, as text.
type Factors = BTreeMap<String, Vec<String>>;

/// Everything that is wrong.
pub(super) fn check(study: &Study, source: &Source<'_>) -> Vec<Problem> {
    let mut checker = Checker { study, source, problems: Vec::new() };
    checker.head();
    let factors = checker.factors();
    checker.changes(&["change"], &study.change, &factors);
    checker.exclusions(&factors);
    checker.baseline(&factors);
    if checker.problems.is_empty() {
        // What follows plans the study, which a wrong one cannot be.
        checker.scales(&factors);
        checker.results(&factors);
    }
    checker.problems
}

struct Checker<'a> {
    study: &'a Study,
    source: &'a Source<'a>,
    problems: Vec<Problem>,
}

impl Checker<'_> {
    fn wrong(&mut self, key: &[&str], text: impl Into<String>) {
        let problem =
            Problem { line: self.source.line(key), key: key.join("."), text: text.into() };
        self.problems.push(problem);
    }

    fn head(&mut self) {
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let name = &self.study.name;
        if name.is_empty() || !name.chars().all(word) {
            self.wrong(&["name"], "a name has small letters, digits and `-` only");
        }
        if self.study.title.trim().is_empty() {
            self.wrong(&["title"], "say in a line what the study is");
        }
        let workload = &self.study.workload;
        self.workload(&["workload"], workload);
        self.memory(&[], self.study.memory.as_deref());
    }

    /// A bound on memory in the table `at`.
    fn memory(&mut self, at: &[&str], bound: Option<&str>) {
        let key = [at, &["memory"]].concat();
        match bound.map(parse_size) {
            None => {}
            Some(Err(text)) => self.wrong(&key, text),
            Some(Ok(bytes)) if bytes < LEAST_MEMORY => {
                let least = LEAST_MEMORY >> 20;
                let text = format!("too little for the programs themselves; {least}M or more");
                self.wrong(&key, text);
            }
            Some(Ok(_)) => {}
        }
    }

    fn workload(&mut self, key: &[&str], name: &str) {
        if !known::workloads().contains(&name) {
            let known = known::workloads().join(", ");
            self.wrong(key, format!("no workload {name:?}; there are {known}"));
        }
    }

    fn factors(&mut self) -> Factors {
        let study = self.study;
        if !study.factors.contains_key("filesystem") {
            self.wrong(&["factors"], "there is no factor `filesystem`; one level of it will do");
        }
        let mut factors = Factors::new();
        for (name, values) in &study.factors {
            if name == "phase" {
                let text = "`phase` is a factor of itself: the workload's phases are its levels";
                self.wrong(&["factors", name], text);
            }
            let levels = self.levels(&["factors", name], values);
            self.known_levels(name, &levels);
            factors.insert(name.clone(), levels);
        }
        factors
    }

    /// Levels as text: at least one, none twice.
    fn levels(&mut self, key: &[&str], values: &[toml::Value]) -> Vec<String> {
        let mut levels = Vec::new();
        for value in values {
            match level(value) {
                Some(level) if level.is_empty() => self.wrong(key, "a level has no name"),
                Some(level) if levels.contains(&level) => {
                    self.wrong(key, format!("level {level:?} stands there twice"));
                }
                Some(level) => levels.push(level),
                None => self.wrong(key, "a level is a text, a number, or true or false"),
            }
        }
        if values.is_empty() {
            self.wrong(key, "there is no level; give at least one, or leave the factor out");
        }
        levels
    }

    fn exclusions(&mut self, factors: &Factors) {
        for (at, exclude) in self.study.exclude.iter().enumerate() {
            let at = (at + 1).to_string();
            if exclude.levels.is_empty() {
                self.wrong(&["exclude", &at, "levels"], "without a level it leaves nothing");
            }
            if exclude.reason.trim().is_empty() {
                self.wrong(&["exclude", &at, "reason"], "say why: the report does");
            }
            for (factor, level) in &exclude.levels {
                self.level_of(&["exclude", &at, "levels", factor], factors, factor, level);
            }
        }
    }

    fn baseline(&mut self, factors: &Factors) {
        for (factor, level) in &self.study.baseline {
            self.level_of(&["baseline", factor], factors, factor, level);
        }
    }

    /// Is it a level of that factor?
    fn level_of(&mut self, key: &[&str], factors: &Factors, factor: &str, level: &str) -> bool {
        let Some(levels) = factors.get(factor) else {
            self.wrong(key, no_factor(factor, factors));
            return false;
        };
        let is = levels.iter().any(|known| known == level);
        if !is {
            let text = format!("{factor} has no level {level:?}; it has {}", levels.join(", "));
            self.wrong(key, text);
        }
        is
    }
}

fn no_factor(factor: &str, factors: &Factors) -> String {
    let names: Vec<&str> = factors.keys().map(String::as_str).collect();
    format!("no factor {factor:?}; there are {}", names.join(", "))
}

/// Names that are in none of `known`.
fn strangers<'s>(names: &'s [String], known: &BTreeSet<String>) -> Vec<&'s String> {
    names.iter().filter(|name| !known.contains(*name)).collect()
}
