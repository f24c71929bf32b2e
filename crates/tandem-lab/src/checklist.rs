//! Rules for figures that stand up (Traeger and Zadok 2008; Tarasov et al. 2011; Cao et al. 2017).
//!
//! A run that breaks one is marked, in its record and in the report; nothing is hidden and nothing
//! dropped. What only the stage can see, it marks itself: cold phases that were warm, lost events,
//! a busy machine.

use std::collections::{BTreeMap, HashMap};

use crate::record::{Flag, Levels, Metric, Phase, Record, Status};

/// A phase should take at least this long, in seconds.
pub const SHORT: f64 = 60.0;
/// Less than 100 ticks of the clock by which the kernel counts processor time (100 Hz), in seconds.
pub const TICKS: f64 = 1.0;
/// Below this number of runs an interval says nothing.
pub const LEAST_RUNS: usize = 3;
/// So many runs are the custom.
pub const GOOD_RUNS: usize = 10;
/// Of fewer runs none can be told to lie outside.
const OUTLIER_RUNS: usize = 5;
/// Modified z-score beyond which a value is marked (Iglewicz and Hoaglin 1993).
const OUTLIER: f64 = 3.5;

/// The machine during a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Machine {
    /// Bytes of memory that the run could fill.
    pub memory: u64,
    /// Pages swapped in or out meanwhile.
    pub swapped: u64,
}

impl Machine {
    /// Bytes of memory, and pages swapped since the machine was started.
    pub fn now() -> Machine {
        let figure = |file: &str, name: &str| {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            let rest = text.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
            rest.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
        };
        let memory = figure("/proc/meminfo", "MemTotal:").saturating_mul(1024);
        let swapped = |name| figure("/proc/vmstat", name);
        Machine { memory, swapped: swapped("pswpin ").saturating_add(swapped("pswpout ")) }
    }

    /// Of which no more than `bound` bytes could be filled.
    pub fn with(self, bound: Option<u64>) -> Machine {
        Machine { memory: bound.map_or(self.memory, |bound| bound.min(self.memory)), ..self }
    }

    /// From then to now.
    pub fn since(before: Machine) -> Machine {
        let now = Machine::now();
        Machine { swapped: now.swapped.saturating_sub(before.swapped), ..now }
    }
}

/// Rules that a run breaks.
pub fn judge(phases: &[Phase], machine: Machine) -> Vec<Flag> {
    let mut flags = Vec::new();
    let mut written = 0_u64;
    for phase in phases {
        let mut flag = |rule: &str, text: String| {
            let phase = Some(phase.name.clone());
            flags.push(Flag { rule: rule.to_owned(), phase, text });
        };
        if phase.measured && phase.seconds < SHORT {
            let text = format!("{:.3} s; under {SHORT} s much is chance", phase.seconds);
            flag("short-phase", text);
        }
        if phase.measured && phase.seconds < TICKS {
            let text = "under 100 ticks of the kernel's clock: its processor time is rough";
            flag("few-ticks", text.to_owned());
        }
        let sectors: u64 = phase.devices.iter().map(|device| device.write_sectors).sum();
        written = written.saturating_add(sectors.saturating_mul(512));
        if phase.measured && !phase.cold && written < machine.memory {
            let mib = |bytes: u64| bytes >> 20;
            let text = format!(
                "not cold, and all that was written so far ({} MiB) fits in memory ({} MiB)",
                mib(written),
                mib(machine.memory)
            );
            flag("fits-memory", text);
        }
    }
    if machine.swapped > 0 {
        let text = format!("{} pages were swapped meanwhile", machine.swapped);
        flags.push(Flag { rule: "swapped".to_owned(), phase: None, text });
    }
    flags
}

/// Marks the runs of one study that break a rule together: too few of a configuration, or some far
/// from the others. Not a part of what is kept, since the next run can change it.
pub fn mark_sets(records: &mut [Record]) {
    let mut sets: BTreeMap<&Levels, Vec<&Record>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.status == Status::Done) {
        sets.entry(&record.levels).or_default().push(record);
    }
    let mut found: HashMap<String, Vec<Flag>> = HashMap::new();
    for runs in sets.values() {
        for (runs, flag) in few(runs).into_iter().chain(outliers(runs)) {
            for run in runs {
                found.entry(run).or_default().push(flag.clone());
            }
        }
    }
    for record in records {
        record.flags.extend(found.remove(&record.id).unwrap_or_default());
    }
}

fn few(runs: &[&Record]) -> Option<(Vec<String>, Flag)> {
    let why = match runs.len() {
        GOOD_RUNS.. => return None,
        LEAST_RUNS.. => format!("{} runs; {GOOD_RUNS} are the custom", runs.len()),
        _ => format!("{} runs; from fewer than {LEAST_RUNS} nothing follows", runs.len()),
    };
    let ids = runs.iter().map(|run| run.id.clone()).collect();
    Some((ids, Flag { rule: "few-runs".to_owned(), phase: None, text: why }))
}

fn outliers(runs: &[&Record]) -> Vec<(Vec<String>, Flag)> {
    let mut found = Vec::new();
    let names: Vec<&String> = runs
        .first()
        .map(|run| run.phases.iter().filter(|p| p.measured).map(|phase| &phase.name).collect())
        .unwrap_or_default();
    for name in names {
        for metric in [Metric::TotalSeconds, Metric::IoSeconds] {
            let value = |run: &&&Record| {
                run.phases.iter().find(|phase| phase.name == *name)?.metric(&metric)
            };
            let values: Vec<(&str, f64)> =
                runs.iter().filter_map(|run| Some((run.id.as_str(), value(&run)?))).collect();
            for (id, value, score) in far(&values) {
                let text = format!(
                    "{metric} of {value:.3} lies far from the other runs' (modified z-score \
                     {score:.1}); it is counted all the same"
                );
                let phase = Some(name.clone());
                let flag = Flag { rule: "outlier".to_owned(), phase, text };
                found.push((vec![id.to_owned()], flag));
            }
        }
    }
    found
}

/// Values whose distance from the median is too many times the median distance.
fn far<'r>(values: &[(&'r str, f64)]) -> Vec<(&'r str, f64, f64)> {
    if values.len() < OUTLIER_RUNS {
        return Vec::new();
    }
    let middle = median(values.iter().map(|(_, value)| *value).collect());
    let spread = median(values.iter().map(|(_, value)| (value - middle).abs()).collect());
    if spread <= 0.0 {
        return Vec::new();
    }
    let scored = values.iter().map(|&(id, value)| (id, value, 0.6745 * (value - middle) / spread));
    scored.filter(|(.., score)| score.abs() > OUTLIER).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { (values[half - 1] + values[half]) / 2.0 }
}

#[cfg(test)]
mod tests;
