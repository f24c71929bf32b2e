//! From a study to runs: configurations, what is left out, and the order.
//!
//! A configuration is one level of every factor. Its identity is a hash of the levels and of all
//! that they change: a run of before is a run of this plan if and only if it would be made in the
//! same way. Runs are made in blocks, each of one repetition of every configuration in random order
//! (Jain 1991; Traeger and Zadok 2008): what drifts in the machine meets all alike.

mod omitted;
mod select;
mod space;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;

use serde::Serialize;
use siphasher::sip::SipHasher13;

use crate::record::Levels;
use crate::study::{Change, Scale, Study, level, parse_size};
use crate::workload::WorkloadSpec;

pub use omitted::{Omitted, by_reason, levels};
pub use select::{SelectError, Selected};
pub use space::{Need, need};

/// One level of every factor, and what follows from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Configuration {
    /// Twelve hexadecimal digits that depend on everything else in here.
    pub id: String,
    /// The study's name.
    pub study: String,
    /// The scale's.
    pub scale: String,
    /// The level of every factor.
    pub levels: Levels,
    /// The file system as the lab knows it.
    pub filesystem: String,
    /// More arguments of mkfs.
    pub mkfs: Vec<String>,
    /// More mount options, with commas between.
    pub mount: String,
    /// The workload's name.
    pub workload: String,
    /// Its parameters.
    pub parameters: BTreeMap<String, toml::Value>,
    /// Processes at work side by side.
    pub processes: u32,
    /// Size of the disk, in bytes.
    pub size: u64,
    /// Bound on the memory that a run may fill, in bytes; not in the text that the identity is made
    /// of where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
}

impl Configuration {
    /// What is done, with that seed.
    pub fn workload(&self, seed: u64) -> WorkloadSpec {
        WorkloadSpec {
            name: self.workload.clone(),
            parameters: self.parameters.clone(),
            processes: self.processes,
            seed,
        }
    }

    /// Its levels in a line: `filesystem=ext4 processes=1`.
    pub fn label(&self) -> String {
        label(&self.levels)
    }
}

/// Levels in a line.
pub fn label(levels: &Levels) -> String {
    let pairs: Vec<_> = levels.iter().map(|(factor, level)| format!("{factor}={level}")).collect();
    pairs.join(" ")
}

/// The largest disk of them, in bytes.
pub fn largest(configurations: &[Configuration]) -> u64 {
    configurations.iter().map(|one| one.size).max().unwrap_or(0)
}

/// The bounds on memory that they have, in bytes, ascending; none first, if some have none.
pub fn bounds(configurations: &[Configuration]) -> BTreeSet<Option<u64>> {
    configurations.iter().map(|one| one.memory).collect()
}

/// A combination of levels that is not run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeftOut {
    /// The levels.
    pub levels: Levels,
    /// Why, as the study says.
    pub reason: String,
}

/// One run to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Run<'p> {
    /// What is run.
    pub configuration: &'p Configuration,
    /// From 1; also the block.
    pub repetition: u32,
    /// What random choices begin with; the same for all of a block.
    pub seed: u64,
}

impl Run<'_> {
    /// Its identity: `1f6a09c2d3e4-3`.
    pub fn id(&self) -> String {
        format!("{}-{}", self.configuration.id, self.repetition)
    }
}

/// The configurations of a study at a scale, and those that are left out.
pub fn configurations(
    study: &Study,
    name: &str,
    scale: &Scale,
) -> Result<(Vec<Configuration>, Vec<LeftOut>), String> {
    let mut kept = Vec::new();
    let mut out = Vec::new();
    for levels in combinations(study, scale) {
        match study.exclude.iter().find(|exclude| covers(&exclude.levels, &levels)) {
            Some(exclude) => out.push(LeftOut { levels, reason: exclude.reason.clone() }),
            None => kept.push(configuration(study, name, scale, levels)?),
        }
    }
    Ok((kept, out))
}

/// Has `levels` all that `some` asks for?
pub fn covers(some: &Levels, levels: &Levels) -> bool {
    some.iter().all(|(factor, level)| levels.get(factor) == Some(level))
}

/// The runs of one block, in the order in which they are made.
pub fn block<'p>(configurations: &[&'p Configuration], seed: u64, repetition: u32) -> Vec<Run<'p>> {
    let mixed = mix(seed, repetition);
    let mut runs: Vec<_> = configurations
        .iter()
        .map(|configuration| Run { configuration, repetition, seed: mixed })
        .collect();
    fastrand::Rng::with_seed(mixed).shuffle(&mut runs);
    runs
}

fn mix(seed: u64, repetition: u32) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(seed, 0);
    hasher.write_u32(repetition);
    // TOML, in which a job may travel, has no larger integers.
    hasher.finish() >> 1
}

fn combinations(study: &Study, scale: &Scale) -> Vec<Levels> {
    let mut all = vec![Levels::new()];
    for (factor, values) in &study.factors {
        let values = scale.factors.get(factor).unwrap_or(values);
        let taken: Vec<String> = values.iter().filter_map(level).collect();
        let with = |levels: &Levels, value: &String| {
            let mut levels = levels.clone();
            levels.insert(factor.clone(), value.clone());
            levels
        };
        all = all.iter().flat_map(|levels| taken.iter().map(move |v| with(levels, v))).collect();
    }
    all
}

fn configuration(
    study: &Study,
    name: &str,
    scale: &Scale,
    levels: Levels,
) -> Result<Configuration, String> {
    let mut parameters = study.parameters.clone();
    parameters.extend(scale.parameters.clone());
    let filesystem = levels.get("filesystem").cloned().unwrap_or_default();
    let memory = scale.memory.as_ref().or(study.memory.as_ref());
    let processes = levels.get("processes").map_or(Ok(1), |n| n.parse::<u32>());
    let mut made = Configuration {
        id: String::new(),
        study: study.name.clone(),
        scale: name.to_owned(),
        filesystem,
        mkfs: Vec::new(),
        mount: String::new(),
        workload: study.workload.clone(),
        parameters,
        processes: processes.map_err(|_| format!("at scale {name}: bad number of processes"))?,
        size: parse_size(&scale.size)?,
        memory: memory.map(|bound| parse_size(bound)).transpose()?,
        levels,
    };
    for (factor, level) in made.levels.clone() {
        for change in [&study.change, &scale.change] {
            if let Some(change) = change.get(&factor).and_then(|levels| levels.get(&level)) {
                apply(&mut made, change)?;
            }
        }
    }
    made.id = identity(&made)?;
    Ok(made)
}

fn apply(made: &mut Configuration, change: &Change) -> Result<(), String> {
    made.mkfs.extend(change.mkfs.iter().cloned());
    if !change.mount.is_empty() {
        let comma = if made.mount.is_empty() { "" } else { "," };
        made.mount = format!("{}{comma}{}", made.mount, change.mount);
    }
    made.parameters.extend(change.parameters.clone());
    if let Some(workload) = &change.workload {
        made.workload.clone_from(workload);
    }
    if let Some(base) = &change.base {
        made.filesystem.clone_from(base);
    }
    if let Some(bound) = &change.memory {
        made.memory = Some(parse_size(bound)?);
    }
    Ok(())
}

/// Of a configuration that has none yet.
fn identity(made: &Configuration) -> Result<String, String> {
    let text = serde_json::to_string(made).map_err(|error| error.to_string())?;
    let mut hasher = SipHasher13::new_with_keys(0x7461_6e64_656d, 0x006c_6162);
    hasher.write(text.as_bytes());
    Ok(format!("{:012x}", hasher.finish() >> 16))
}

#[cfg(test)]
mod tests;
