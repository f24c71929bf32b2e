//! The stage of a run: devices, emulated disks, file system, agent, traces; set up, used, taken down.
//!
//! Everything lies in the work directory of the run: images, mount points, what loop devices are
//! over. What is left of a run that was killed is found there and taken down by [`clean`].

mod cut;
mod emulator;
pub(crate) mod group;
mod layout;
mod loops;
pub(crate) mod mounts;
pub(crate) mod program;
mod run;
mod store;
pub(crate) mod trail;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::record::{Flag, Levels, Phase};
use crate::workload::WorkloadSpec;

pub use run::{execute, execute_as};

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
    /// Bound on the memory that everything but the emulated disk may fill, caches included, in bytes;
    /// none: the machine's, or [`crate::guest::MEMORY`] in a guest.
    pub memory: Option<u64>,
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
    /// Bytes of memory that could be filled, if not all of the machine's: the bound, or a guest's.
    pub memory: Option<u64>,
}

/// A run that did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// Something is not on this machine.
    #[error("missing: {what}{}", .package.as_ref().map(|p| format!("; package {p} has it")).unwrap_or_default())]
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

impl StageError {
    /// A step that failed, and why.
    pub fn failed(step: impl Into<String>, reason: impl ToString) -> StageError {
        StageError::Failed { step: step.into(), reason: reason.to_string() }
    }

    /// What became of a step when the kernel killed so many of the run's processes for want of
    /// memory; without one, what it was.
    pub(crate) fn starved(self, killed: u64) -> StageError {
        let StageError::Failed { step, reason } = self else { return self };
        if killed == 0 {
            return StageError::Failed { step, reason };
        }
        let reason = format!(
            "out of memory: the kernel killed {killed} of the run's processes; it needs more than it \
             may fill (`memory` in the study). {reason}"
        );
        StageError::Failed { step, reason }
    }
}

/// Set it, from a signal's handler say, and the run under way is ended and taken down; it stays set.
pub fn cancelled() -> &'static Arc<AtomicBool> {
    static CANCELLED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    CANCELLED.get_or_init(Arc::default)
}

fn is_cancelled() -> bool {
    cancelled().load(Ordering::Relaxed)
}

/// Takes down what a run in the work directory `work` has left: processes, its control group, mounts,
/// loop devices, images. Nothing else is touched: a process must be the one that was noted (same
/// number, same start) or in the group, a mount must lie in `work`, a loop device over a file in it.
/// What `scratch` holds stays.
///
/// # Errors
/// What cannot be taken down.
pub fn clean(work: &Path) -> Result<(), StageError> {
    trail::clean(work)
}
