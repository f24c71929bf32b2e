//! One run, ready to be executed: what the runner gives to the agent.
//!
//! Everything is decided: paths, commands, parameters. The agent needs no study and no knowledge of
//! file systems; it is the same on the host and in a User-Mode Linux guest.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::workload::WorkloadSpec;

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The run's identity, as in its record.
    pub id: String,
    /// The devices, by their part (`disk`, `journal`, `metadata`, `data`).
    pub devices: BTreeMap<String, BlockDevice>,
    /// Commands that make the file system, in order.
    pub mkfs: Vec<Vec<String>>,
    /// The command that mounts it; given again whenever caches are emptied.
    pub mount: Vec<String>,
    /// The command that unmounts it and returns when everything is on the devices.
    pub unmount: Vec<String>,
    /// Names (as in `/proc/PID/comm`) of programs that serve the file system.
    pub daemons: Vec<String>,
    /// Kernel modules to be loaded first (in a guest).
    pub modules: Vec<String>,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// A directory on another file system, for archives and lists; kept between runs.
    pub scratch: PathBuf,
    /// What is done.
    pub workload: WorkloadSpec,
    /// Where phases are announced so that traces can be cut: a line is written there before and
    /// after each.
    pub marks: Vec<PathBuf>,
    /// Processes of the lab's own beside the agent: those that serve emulated disks.
    #[serde(default)]
    pub lab: Vec<u32>,
    /// The file of a control group by which the agent joins it, if memory is bounded by one.
    #[serde(default)]
    pub group: Option<PathBuf>,
}

/// A block device of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockDevice {
    /// `/dev/loop3`, `/dev/ubdb`.
    pub path: PathBuf,
    /// A drive's profile, `ram` or `host`.
    pub place: String,
}
