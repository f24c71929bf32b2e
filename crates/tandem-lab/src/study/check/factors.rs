//! Levels of the factors that the lab knows, and what levels of others change.

use std::collections::BTreeMap;

use tandem_disk::profile::Profile;

use super::{Checker, Factors, no_factor};
use crate::known;
use crate::study::Change;

/// Factors that decide the stage.
const OWN: [&str; 6] = ["filesystem", "placement", "disk", "time", "processes", "world"];

impl Checker<'_> {
    /// Levels of factors that the lab knows must be known; those of others must change something.
    pub(super) fn known_levels(&mut self, factor: &str, levels: &[String]) {
        for level in levels {
            let wrong = match factor {
                "filesystem" => self.unknown_filesystem(level),
                "placement" => not_in(level, known::PLACEMENTS),
                "time" => not_in(level, known::TIMES),
                "world" => not_in(level, known::WORLDS),
                "processes" => bad_processes(level),
                "disk" => bad_disk(level),
                _ => self.changes_nothing(factor, level),
            };
            if let Some(text) = wrong {
                self.wrong(&["factors", factor], text);
            }
        }
    }

    fn unknown_filesystem(&self, level: &str) -> Option<String> {
        let change = self.study.change.get("filesystem").and_then(|levels| levels.get(level));
        let based = change.is_some_and(|change| change.base.is_some());
        (!based && !known::filesystems().contains(&level)).then(|| {
            format!(
                "no file system {level:?}; there are {}; or say under \
                 [change.filesystem.{level}] of which it is a kind: base = \"ext4\"",
                known::filesystems().join(", ")
            )
        })
    }

    fn changes_nothing(&self, factor: &str, level: &str) -> Option<String> {
        let changed = |of: &BTreeMap<String, BTreeMap<String, Change>>| {
            of.get(factor).is_some_and(|levels| levels.contains_key(level))
        };
        let scales = self.study.scale.values();
        if changed(&self.study.change) || scales.clone().any(|scale| changed(&scale.change)) {
            return None;
        }
        Some(format!(
            "nothing says what level {level:?} changes; add [change.{factor}.{level}] (empty, if \
             it is what others are compared with); factors that need none are {}",
            OWN.join(", ")
        ))
    }

    /// Everything under `change`: of factors and levels that exist.
    pub(super) fn changes(
        &mut self,
        at: &[&str],
        change: &BTreeMap<String, BTreeMap<String, Change>>,
        factors: &Factors,
    ) {
        for (factor, levels) in change {
            let key = [at, &[factor]].concat();
            if !factors.contains_key(factor) {
                self.wrong(&key, no_factor(factor, factors));
                continue;
            }
            for (level, change) in levels {
                let key = [&key[..], &[level]].concat();
                if self.level_of(&key, factors, factor, level) {
                    self.base(&key, factor, change);
                    self.memory(&key, change.memory.as_deref());
                }
            }
        }
    }

    fn base(&mut self, key: &[&str], factor: &str, change: &Change) {
        if let Some(workload) = &change.workload {
            let key = [key, &["workload"]].concat();
            self.workload(&key, workload);
        }
        let Some(base) = &change.base else { return };
        let key = [key, &["base"]].concat();
        if factor != "filesystem" {
            self.wrong(&key, "only a level of `filesystem` has a base");
        } else if !known::filesystems().contains(&base.as_str()) {
            let known = known::filesystems().join(", ");
            self.wrong(&key, format!("no file system {base:?}; there are {known}"));
        }
    }
}

fn not_in(level: &str, known: &[&str]) -> Option<String> {
    (!known.contains(&level)).then(|| format!("no {level:?}; there are {}", known.join(", ")))
}

fn bad_processes(level: &str) -> Option<String> {
    let count = level.parse::<u32>().ok().filter(|count| (1..=1024).contains(count));
    count.is_none().then(|| format!("{level:?} is no number of processes, from 1 to 1024"))
}

fn bad_disk(level: &str) -> Option<String> {
    if ["ram", "host"].contains(&level) {
        return None;
    }
    Profile::find(level).err().map(|error| format!("{error}; without a model, ram and host"))
}
