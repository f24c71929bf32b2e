//! Workloads: programs with phases.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Which workload, with which parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadSpec {
    /// Its name: `dualfs-micro`, `fdtree`, `io-bound`, `command`.
    pub name: String,
    /// Its parameters; those that are not given have their defaults, unknown ones are errors.
    pub parameters: BTreeMap<String, toml::Value>,
    /// Processes at work side by side, at least 1.
    pub processes: u32,
    /// What random choices begin with.
    pub seed: u64,
}

/// A part of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseSpec {
    /// Its name.
    pub name: String,
    /// Are caches to be emptied before it?
    pub cold: bool,
    /// Is it a result, or does it only prepare one?
    pub measured: bool,
}

/// Where a phase works.
#[derive(Debug, Clone)]
pub struct Context {
    /// The file system under test.
    pub dir: PathBuf,
    /// A directory on another file system.
    pub scratch: PathBuf,
    /// Which of the processes this is, from 0.
    pub process: u32,
    /// Of how many.
    pub processes: u32,
    /// What random choices begin with; the same for all processes of a run.
    pub seed: u64,
}

/// What a phase has shown in one process; over processes, values are added.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Results by name, with the unit at the end: `files`, `read_bytes`, `file_create_seconds`.
    pub values: BTreeMap<String, f64>,
}
