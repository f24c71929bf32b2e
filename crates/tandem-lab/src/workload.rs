//! Workloads: programs with phases.
//!
//! What each does, whose it is and where it differs: `docs/lab-workloads.md`. Every phase compares
//! what it did with what had to come out; a workload that did nothing fails.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

mod aging;
mod bonnie;
mod clock;
mod command;
mod compile;
mod dualfs_micro;
mod error;
mod fdtree;
mod fio;
mod io_bound;
mod parameter;
mod postmark;
mod product;
mod program;
mod service;
mod spad;
mod tpcc;
mod trees;
mod web;

pub use error::{Missing, WorkloadError};
pub use parameter::{Kind, Parameter};

use parameter::Arguments;

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

impl Outcome {
    fn of<const N: usize>(values: [(&str, f64); N]) -> Outcome {
        Outcome { values: values.map(|(name, value)| (name.to_owned(), value)).into() }
    }
}

/// What a workload is to the rest of the lab.
trait Workload: Sync {
    fn name(&self) -> &'static str;
    /// In a line.
    fn about(&self) -> &'static str;
    fn parameters(&self) -> Vec<Parameter>;
    /// The phases; an error when parameters contradict each other.
    fn phases(&self, args: &Arguments) -> Result<Vec<PhaseSpec>, WorkloadError>;
    /// What has to be on the machine and is not.
    fn missing(&self, args: &Arguments) -> Result<Vec<Missing>, WorkloadError>;
    /// Makes what the phases need, off the file system under test.
    fn prepare(&self, _: &Arguments, _scratch: &Path) -> Result<(), WorkloadError> {
        Ok(())
    }
    /// One process's part of a phase.
    fn run(&self, args: &Arguments, phase: &str, at: &Context) -> Result<Outcome, WorkloadError>;
}

const ALL: [&dyn Workload; 11] = [
    &dualfs_micro::DualfsMicro,
    &fdtree::Fdtree,
    &io_bound::IoBound,
    &bonnie::Bonnie,
    &postmark::Postmark,
    &spad::Spad,
    &compile::Compile,
    &web::Web,
    &tpcc::Tpcc,
    &fio::Fio,
    &command::Command,
];

/// The workloads: name and what it does, in a line.
pub fn names() -> Vec<(&'static str, &'static str)> {
    ALL.iter().map(|workload| (workload.name(), workload.about())).collect()
}

/// The parameters of a workload, in the order of the documentation.
///
/// # Errors
/// [`WorkloadError::Unknown`].
pub fn parameters(name: &str) -> Result<Vec<Parameter>, WorkloadError> {
    Ok(find(name)?.parameters())
}

/// Can this be done, as far as the specification goes? Says so of an unknown workload, an unknown
/// parameter, one of the wrong type or out of its range.
///
/// # Errors
/// [`WorkloadError::Unknown`], [`WorkloadError::Parameter`].
pub fn check(spec: &WorkloadSpec) -> Result<(), WorkloadError> {
    phases(spec).map(drop)
}

/// What this machine lacks for it.
///
/// # Errors
/// As of [`check`].
pub fn missing(spec: &WorkloadSpec) -> Result<Vec<Missing>, WorkloadError> {
    let (workload, args) = resolve(spec)?;
    workload.missing(&args)
}

/// The phases, in order.
///
/// # Errors
/// As of [`check`].
pub fn phases(spec: &WorkloadSpec) -> Result<Vec<PhaseSpec>, WorkloadError> {
    let (workload, args) = resolve(spec)?;
    workload.phases(&args)
}

/// Makes what the phases need in `scratch`, off the file system under test: archives, lists. What is
/// there already for these parameters is kept; it is there wholly or not at all.
///
/// # Errors
/// [`WorkloadError`].
pub fn prepare(spec: &WorkloadSpec, scratch: &Path) -> Result<(), WorkloadError> {
    let (workload, args) = resolve(spec)?;
    if let Some(first) = workload.missing(&args)?.into_iter().next() {
        return Err(first.into());
    }
    std::fs::create_dir_all(scratch).map_err(error::io("create", scratch))?;
    workload.prepare(&args, scratch)
}

/// One process's part of a phase. The phases before it must have been run in the same directory.
///
/// # Errors
/// [`WorkloadError`]; [`WorkloadError::Wrong`] when not everything that had to be done was done.
pub fn run(spec: &WorkloadSpec, phase: &str, at: &Context) -> Result<Outcome, WorkloadError> {
    let (workload, args) = resolve(spec)?;
    if !workload.phases(&args)?.iter().any(|known| known.name == phase) {
        return Err(WorkloadError::Phase { workload: spec.name.clone(), phase: phase.to_owned() });
    }
    workload.run(&args, phase, at)
}

fn find(name: &str) -> Result<&'static dyn Workload, WorkloadError> {
    ALL.into_iter().find(|workload| workload.name() == name).ok_or_else(|| {
        let known: Vec<_> = ALL.iter().map(|workload| workload.name()).collect();
        WorkloadError::Unknown { name: name.to_owned(), known: known.join(", ") }
    })
}

fn resolve(spec: &WorkloadSpec) -> Result<(&'static dyn Workload, Arguments), WorkloadError> {
    let workload = find(&spec.name)?;
    let args = Arguments::new(workload.name(), &workload.parameters(), spec)?;
    Ok((workload, args))
}

/// A phase that is a result, after caches were emptied.
fn cold(name: &str) -> PhaseSpec {
    PhaseSpec { name: name.to_owned(), cold: true, measured: true }
}

/// A phase that only prepares another, after caches were emptied.
fn aside(name: &str) -> PhaseSpec {
    PhaseSpec { measured: false, ..cold(name) }
}

/// A phase that is a result, with whatever is in the caches.
fn warm(name: &str) -> PhaseSpec {
    PhaseSpec { cold: false, ..cold(name) }
}
