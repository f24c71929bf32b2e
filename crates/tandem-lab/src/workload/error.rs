//! What may go wrong with a workload.

use std::path::{Path, PathBuf};

use crate::tree::TreeError;

/// A workload that could not be done, or was not done as it had to be.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// There is no such workload.
    #[error("no workload {name:?}; there are {known}")]
    Unknown {
        /// As it was given.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// A parameter that it has not, or one of another type or out of its range.
    #[error("workload {workload}, parameter {name:?}: {reason}")]
    Parameter {
        /// The workload.
        workload: String,
        /// The parameter.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no such phase with these parameters.
    #[error("workload {workload} has no phase {phase:?} with these parameters")]
    Phase {
        /// The workload.
        workload: String,
        /// As it was given.
        phase: String,
    },
    /// Something is not on this machine.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// A system call failed.
    #[error("{doing} {path}: {source}")]
    Io {
        /// `create`, `read`.
        doing: String,
        /// Of what.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A tree could not be read, made or compared.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A program failed.
    #[error("{command}: {reason}")]
    Program {
        /// As it was given.
        command: String,
        /// Its exit and last words.
        reason: String,
    },
    /// It came to its end, but did not do what it had to do.
    #[error("{what}: {found} where {expected} had to be")]
    Wrong {
        /// What was counted.
        what: String,
        /// What had to come out.
        expected: u64,
        /// What came out.
        found: u64,
    },
    /// What `prepare` makes is not there or cannot be understood.
    #[error("{path}: {reason}")]
    Product {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// Something that a workload needs and the machine has not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("missing: {what}{}", .package.as_ref().map(|p| format!("; package {p} has it")).unwrap_or_default())]
pub struct Missing {
    /// A program, a file.
    pub what: String,
    /// The Debian package that brings it.
    pub package: Option<String>,
}

/// Says of an I/O error what was being done to what.
pub(crate) fn io<E: Into<std::io::Error>>(
    doing: &str,
    path: &Path,
) -> impl FnOnce(E) -> WorkloadError {
    move |source| WorkloadError::Io {
        doing: doing.to_owned(),
        path: path.to_owned(),
        source: source.into(),
    }
}

/// Complains unless as much came out as had to.
pub(crate) fn expect(what: &str, expected: u64, found: u64) -> Result<(), WorkloadError> {
    if expected == found {
        return Ok(());
    }
    Err(WorkloadError::Wrong { what: what.to_owned(), expected, found })
}
