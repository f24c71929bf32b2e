//! Studies: what is varied, what is done, how often.

mod check;
mod level;
mod shipped;
mod source;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::{Levels, Metric};

pub use level::{level, parse_size};
pub use shipped::shipped;
pub use source::{Given, Problem, StudyError};

/// The least bound on memory, in bytes: what the agent, a worker, a file system's daemon or a guest's
/// kernel need, with some left to cache in.
pub const LEAST_MEMORY: u64 = 64 << 20;

/// A study, as its file has it (TOML; documented in `docs/lab.md`).
///
/// Factors that the lab knows: `filesystem`, `placement` (of the journal or of Tandem's metadata:
/// `same-disk`, `second-disk`, `ram`, `nvme`), `disk` (a drive's profile, `ram`), `time` (`none`,
/// `real`), `processes`, `world` (`host`, `uml`). A factor of any other name changes what its levels
/// say it changes ([`Change`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Its name, as on the command line.
    pub name: String,
    /// In a line.
    pub title: String,
    /// The question that it answers, for the report's first page.
    #[serde(default)]
    pub question: String,
    /// Whose study it repeats.
    #[serde(default)]
    pub source: Option<String>,
    /// The workload's name.
    pub workload: String,
    /// The workload's parameters, whatever the scale.
    #[serde(default)]
    pub parameters: BTreeMap<String, toml::Value>,
    /// Bound on the memory that a run may fill, caches included, in bytes or as `256M`, at least
    /// [`LEAST_MEMORY`]; without one, the machine's.
    #[serde(default)]
    pub memory: Option<String>,
    /// Factors and their levels.
    pub factors: BTreeMap<String, Vec<toml::Value>>,
    /// What a level changes: `[change.mechanism.no-prefetch] mount = "prefetch=0"`.
    #[serde(default)]
    pub change: BTreeMap<String, BTreeMap<String, Change>>,
    /// Combinations that make no sense, each with the reason: left out, and said so.
    #[serde(default)]
    pub exclude: Vec<Exclude>,
    /// The scales; `quick` and `full` in all studies that are shipped.
    pub scale: BTreeMap<String, Scale>,
    /// The level that others are compared with: `filesystem = "ext2"`.
    #[serde(default, deserialize_with = "level::levels")]
    pub baseline: Levels,
    /// What the report draws, in this order.
    #[serde(default)]
    pub figure: Vec<Figure>,
    /// Analyses of variance.
    #[serde(default)]
    pub anova: Vec<Anova>,
}

/// What a level of a factor changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Change {
    /// More arguments of mkfs.
    pub mkfs: Vec<String>,
    /// More mount options.
    pub mount: String,
    /// Parameters of the workload.
    pub parameters: BTreeMap<String, toml::Value>,
    /// Another bound on memory, as [`Study::memory`].
    pub memory: Option<String>,
    /// Another workload than the study's.
    pub workload: Option<String>,
    /// The file system whose mkfs and mount are used, for a level of `filesystem` that the lab does
    /// not know: `[change.filesystem.ext4-nojournal] base = "ext4"`.
    pub base: Option<String>,
}

/// A combination that is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exclude {
    /// Runs with these levels.
    #[serde(deserialize_with = "level::levels")]
    pub levels: Levels,
    /// Why.
    pub reason: String,
}

/// How large and how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Runs of each configuration, or the least number when `width` is given.
    pub repetitions: u32,
    /// Repeat until the 95 % interval of the first figure's metric is at most this share of its
    /// mean, 0 to 1.
    #[serde(default)]
    pub width: Option<f64>,
    /// The most repetitions then.
    #[serde(default)]
    pub most: Option<u32>,
    /// Size of the file system's device, in bytes or as `2G`.
    pub size: String,
    /// Bound on memory, as [`Study::memory`].
    #[serde(default)]
    pub memory: Option<String>,
    /// The workload's parameters.
    #[serde(default)]
    pub parameters: BTreeMap<String, toml::Value>,
    /// Levels of factors at this scale, where fewer are taken.
    #[serde(default)]
    pub factors: BTreeMap<String, Vec<toml::Value>>,
    /// What levels change at this scale besides, as [`Study::change`]: a smaller tree.
    #[serde(default)]
    pub change: BTreeMap<String, BTreeMap<String, Change>>,
    /// About how long a run takes, in seconds, where that was measured: for the estimate.
    #[serde(default)]
    pub seconds: Option<f64>,
}

/// A figure of the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its heading.
    pub title: String,
    /// What is drawn.
    pub metric: Metric,
    /// Which phases; all measured ones when empty.
    #[serde(default)]
    pub phases: Vec<String>,
    /// The factor whose levels are bars beside one another.
    #[serde(default = "filesystem")]
    pub by: String,
    /// Factors whose levels make a panel each.
    #[serde(default)]
    pub panels: Vec<String>,
    /// Are bars divided by the baseline's?
    #[serde(default)]
    pub normalized: bool,
    /// The paper's own values, as the report's file of published values calls them.
    #[serde(default)]
    pub published: Option<String>,
}

/// An analysis of variance: a full factorial design with replications.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anova {
    /// Its heading.
    pub title: String,
    /// What is explained.
    pub metric: Metric,
    /// By which factors; `phase` is one, too.
    pub factors: Vec<String>,
    /// Which phases; all measured ones when empty.
    #[serde(default)]
    pub phases: Vec<String>,
    /// The response's logarithm is taken (effects multiply).
    #[serde(default)]
    pub logarithm: bool,
}

fn filesystem() -> String {
    "filesystem".to_owned()
}

#[cfg(test)]
mod tests;
