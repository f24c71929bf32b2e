//! The stage of a run: devices, emulated disks, file system, agent, traces; set up, used, taken down.

use std::path::PathBuf;

use crate::record::{Flag, Levels, Phase};
use crate::workload::WorkloadSpec;

/// What a run needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// The run's identity, as in its record.
    pub id: String,
    /// The level of every factor; those that the lab knows decide the stage.
    pub levels: Levels,
    /// The file system as the lab knows it: `ext4`.
    pub filesystem: String,
    /// More arguments of mkfs.
    pub mkfs: Vec<String>,
    /// More mount options.
    pub mount: String,
    /// What is done.
    pub workload: WorkloadSpec,
    /// Size of the disk, in bytes; of Tandem's two devices together.
    pub size: u64,
    /// A directory for images, mount points and scratch files, on a file system with room for them.
    pub work: PathBuf,
    /// A directory for the traces of this run.
    pub traces: PathBuf,
}

/// What was measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Executed {
    /// Every mkfs, mount and set-up command, as it was given.
    pub commands: Vec<String>,
    /// What was measured.
    pub phases: Vec<Phase>,
    /// What was wrong with it: `warm`, `lost-events`.
    pub flags: Vec<Flag>,
}

/// A run that did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// Something is not on this machine.
    #[error("{what} is missing{}", .package.as_ref().map(|p| format!("; package {p} has it")).unwrap_or_default())]
    Missing {
        /// A program, a kernel's file system, a right.
        what: String,
        /// The Debian package that brings it.
        package: Option<String>,
    },
    /// A step failed.
    #[error("{step}: {reason}")]
    Failed {
        /// Which: a command as it was given, a phase.
        step: String,
        /// Its last words.
        reason: String,
    },
}
