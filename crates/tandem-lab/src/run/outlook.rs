//! What is ahead: how many runs, how long, how much space.

mod estimate;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use serde::Serialize;

use super::RunError;
use crate::plan::{Configuration, Need, Selected};
use crate::record::Record;
use crate::store::Asked;

use estimate::{Taken, estimate};

/// What is ahead.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outlook {
    /// Runs that were made before.
    pub made: u64,
    /// Bytes of disk and memory that the hungriest run may take.
    pub disk: u64,
    /// Of memory.
    pub memory: u64,
    /// Seconds for all that is to be run, if that can be told.
    pub seconds: Option<f64>,
    /// Combinations that studies leave out, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// What is run, with the seconds that its study says a run takes.
    #[serde(skip)]
    configurations: Vec<(Configuration, Option<f64>)>,
    /// Every run, with the place of its configuration in that list.
    #[serde(skip)]
    planned: HashMap<String, usize>,
}

impl Outlook {
    pub(super) fn new(
        parts: &[(&Asked, Selected<'_>)],
        records: &[Record],
        made: &HashSet<String>,
    ) -> Outlook {
        let (mut configurations, mut planned) = (Vec::new(), HashMap::new());
        let mut need = Need::default();
        let mut left_out = BTreeMap::new();
        for (asked, selected) in parts {
            for one in &selected.configurations {
                for repetition in 1..=asked.repetitions(selected) {
                    planned.insert(format!("{}-{repetition}", one.id), configurations.len());
                }
                configurations.push((one.clone(), selected.scale.seconds));
            }
            for out in &selected.left_out {
                *left_out.entry(out.reason.clone()).or_default() += 1;
            }
            let more = selected.need();
            need = Need { disk: need.disk.max(more.disk), memory: need.memory.max(more.memory) };
        }
        let before = planned.keys().filter(|id| made.contains(*id)).count() as u64;
        let Need { disk, memory } = need;
        let mut ahead = Outlook {
            made: before,
            disk,
            memory,
            seconds: None,
            left_out,
            configurations,
            planned,
        };
        ahead.seconds = ahead.left(records, made);
        ahead
    }

    /// All runs, those of before among them.
    pub fn runs(&self) -> u64 {
        self.planned.len() as u64
    }

    /// Runs that were made and are not planned: repetitions for a narrower interval.
    pub(super) fn foreign(&self, made: &HashSet<String>) -> u64 {
        made.iter().filter(|id| !self.planned.contains_key(*id)).count() as u64
    }

    /// Seconds for the runs that are not made.
    pub(super) fn left(&self, records: &[Record], made: &HashSet<String>) -> Option<f64> {
        let mut runs: HashMap<&str, Vec<&Record>> = HashMap::new();
        for record in records {
            runs.entry(configuration(&record.id)).or_default().push(record);
        }
        let own = |one: &Configuration| runs.get(one.id.as_str()).map_or(&[][..], Vec::as_slice);
        let taken: Vec<(&Configuration, Taken)> =
            self.configurations.iter().map(|(one, _)| (one, Taken::of(own(one)))).collect();
        let each: Vec<Option<f64>> =
            self.configurations.iter().map(|(one, said)| estimate(one, *said, &taken)).collect();
        let open = self.planned.iter().filter(|(id, _)| !made.contains(*id));
        open.map(|(_, &at)| each[at]).sum()
    }

    /// Is there enough of everything?
    pub(super) fn check(&self, work: &Path) -> Result<(), RunError> {
        if self.made == self.runs() {
            return Ok(());
        }
        let stat = rustix::fs::statvfs(work)
            .map_err(|e| RunError::Io { path: work.to_owned(), error: e.into() })?;
        let free = stat.f_bavail.saturating_mul(stat.f_frsize);
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        if free < self.disk {
            return Err(RunError::Short(format!(
                "images may take {} MiB, and {} has {} MiB free; nothing was begun: take a smaller \
                 scale, or --work on another file system",
                mib(self.disk),
                work.display(),
                free >> 20
            )));
        }
        let available = available().unwrap_or(u64::MAX);
        if available < self.memory {
            return Err(RunError::Short(format!(
                "a run may take {} MiB of memory, and {} MiB are free; nothing was begun: take a \
                 smaller scale, or leave out what is kept in memory (--only placement=…, disk=…)",
                mib(self.memory),
                available >> 20
            )));
        }
        Ok(())
    }
}

fn configuration(id: &str) -> &str {
    id.rsplit_once('-').map_or(id, |(configuration, _)| configuration)
}

fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    rest.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Selected;
    use crate::study::Given;

    fn of(filesystems: &[&str], records: &[Record], made: &[String]) -> Outlook {
        let given = Given::find("io-bound").unwrap();
        let level = |name: &&str| ("filesystem".to_owned(), (*name).to_owned());
        let only: Vec<_> = filesystems.iter().map(level).collect();
        let selected = Selected::new(&given.study, "quick", &only).unwrap();
        let asked = Asked {
            study: "io-bound".into(),
            scale: "quick".into(),
            only: only.clone(),
            repetitions: None,
            text: given.text.clone(),
        };
        Outlook::new(&[(&asked, selected)], records, &made.iter().cloned().collect())
    }

    fn outlook(made: &[String]) -> Outlook {
        of(&["ext2"], &[], made)
    }

    fn record(id: &str, elapsed: f64) -> Record {
        let record = serde_json::json!({
            "schema": crate::record::SCHEMA, "id": id, "study": "io-bound", "scale": "quick",
            "levels": {}, "repetition": 1, "order": 1, "seed": 1, "started": 0.0,
            "elapsed": elapsed, "status": { "status": "done" }, "environment": "",
            "commands": [], "phases": [], "flags": [],
        });
        serde_json::from_value(record).unwrap()
    }

    /// Three runs each of a file system that takes seconds and of one that takes minutes.
    #[test]
    fn runs_of_different_length_are_told_apart() {
        let both = ["ext2", "xfs"];
        assert_eq!(of(&both, &[], &[]).seconds, None);
        let all = of(&both, &[], &[]).configurations;
        let first = |name: &str| {
            let one = all.iter().find(|(one, _)| one.filesystem == name).unwrap();
            format!("{}-1", one.0.id)
        };
        let (short, long) = (record(&first("ext2"), 2.0), record(&first("xfs"), 300.0));
        let ahead = of(&both, std::slice::from_ref(&short), std::slice::from_ref(&short.id));
        assert_eq!(ahead.seconds, Some(10.0));
        let made = [short.id.clone(), long.id.clone()];
        let ahead = of(&both, &[short, long], &made);
        assert_eq!(ahead.seconds, Some(2.0 * 2.0 + 2.0 * 300.0));
    }

    #[test]
    fn what_was_made_is_counted() {
        let all = outlook(&[]);
        assert_eq!((all.runs(), all.made), (3, 0));
        let made: Vec<String> = all.planned.keys().take(2).cloned().collect();
        assert_eq!(outlook(&made).made, 2);
        let other = ["0-1".to_owned()];
        assert_eq!((outlook(&other).made, all.foreign(&other.into_iter().collect())), (0, 1));
    }

    #[test]
    fn too_little_space_is_told_before() {
        let said = |outlook: Outlook| outlook.check(Path::new("/")).unwrap_err().to_string();
        let told = said(Outlook { disk: u64::MAX, ..outlook(&[]) });
        assert!(told.contains("nothing was begun") && told.contains("--work"), "{told}");
        let told = said(Outlook { disk: 0, memory: u64::MAX, ..outlook(&[]) });
        assert!(told.contains("of memory"), "{told}");
        assert!(Outlook { disk: 0, memory: 0, ..outlook(&[]) }.check(Path::new("/")).is_ok());
    }
}
