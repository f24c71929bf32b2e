//! What a run has shown: one JSON object each, the only thing that statistics and report read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Of which shape the records are; another number is refused, not guessed at.
pub const SCHEMA: u32 = 1;

/// The level of every factor: `filesystem` = `ext4`, `processes` = `4`.
pub type Levels = BTreeMap<String, String>;

/// One run of one configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Which run: the configuration's identity and the repetition, as `1f6a09c2-3`.
    pub id: String,
    /// The study's name.
    pub study: String,
    /// The scale's name: `quick`, `full`.
    pub scale: String,
    /// What was set.
    pub levels: Levels,
    /// Bound on the memory that the run could fill, in bytes; none: the machine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// From 1.
    pub repetition: u32,
    /// The place in the order in which the runs were made, from 1.
    pub order: u32,
    /// What random choices began with.
    pub seed: u64,
    /// Seconds since 1970 at the beginning.
    pub started: f64,
    /// Seconds from the beginning to the end, everything included.
    pub elapsed: f64,
    /// How it ended.
    pub status: Status,
    /// Name of the description of the machine, kernel and programs beside the records.
    pub environment: String,
    /// Every mkfs, mount and set-up command, as it was given.
    pub commands: Vec<String>,
    /// What was measured, in the order of the work.
    pub phases: Vec<Phase>,
    /// Rules of the checklist that this run breaks.
    pub flags: Vec<Flag>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status", content = "reason")]
pub enum Status {
    /// Everything was measured.
    Done,
    /// It failed, and why.
    Failed(String),
    /// It was not tried, and why: a program or a kernel's file system is missing.
    Skipped(String),
}

/// A part of the work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// As the workload calls it: `read-meta`.
    pub name: String,
    /// Were caches emptied before it (unmounted and mounted anew)?
    pub cold: bool,
    /// Is it a result, or does it only prepare one?
    pub measured: bool,
    /// The application's time, in seconds.
    pub seconds: f64,
    /// Time to flush after it (sync and unmount), in seconds, not in `seconds`.
    pub flush_seconds: f64,
    /// The workload's own results: `file_create_per_s`, `read_bytes`.
    pub values: BTreeMap<String, f64>,
    /// Processor time by program: the workload's processes, kernel threads, FUSE daemons.
    pub cpu: Vec<Cpu>,
    /// What reached each device, the flush included, as the kernel or the emulated disk counted it.
    pub devices: Vec<DeviceIo>,
    /// Largest memory of the workload's processes and of FUSE daemons together, in bytes.
    pub peak_memory: u64,
}

/// Processor time of a program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// Its name; `kworker` and the like without their numbers.
    pub name: String,
    /// `workload`, `daemon` (serves a file system), `kernel` or `lab` (the lab's own).
    pub role: String,
    /// Seconds in user mode.
    pub user: f64,
    /// Seconds in the kernel.
    pub system: f64,
}

/// What reached a device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceIo {
    /// `disk`, `journal`, `metadata`, `data`: the device's part in the run.
    pub name: String,
    /// Where it lies: a drive's profile, `ram`, or `host` for whatever is below a file.
    pub place: String,
    /// Who counted: `kernel` (`/sys/block/*/stat`) or `emulator`.
    pub counted_by: String,
    /// Read requests.
    pub reads: u64,
    /// Sectors of 512 bytes read.
    pub read_sectors: u64,
    /// Write requests.
    pub writes: u64,
    /// Sectors of 512 bytes written.
    pub write_sectors: u64,
    /// Flushes.
    pub flushes: u64,
    /// Sectors discarded.
    pub discard_sectors: u64,
    /// What the drive's model says of the trace.
    pub disk: Option<DiskTime>,
    /// The part of the trace that belongs to this phase, relative to the results' directory.
    pub trace: Option<String>,
}

/// Disk time by the drive's model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskTime {
    /// The drive's profile.
    pub profile: String,
    /// Sum over requests of finish minus start, in seconds (seed 000).
    pub io_seconds: f64,
    /// Time in which any request is under way, in seconds.
    pub busy_seconds: f64,
    /// Requests for which the arm moved.
    pub seeks: u64,
    /// Mean distance of those, in cylinders.
    pub seek_distance: f64,
    /// Share of reads and writes that begin where the one before ends, 0 to 1.
    pub sequential: f64,
}

/// A rule of the checklist that was broken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flag {
    /// A word to count by: `short-phase`, `busy-machine`, `warm`, `lost-events`, `swapped`.
    pub rule: String,
    /// The phase concerned, if one is.
    pub phase: Option<String>,
    /// What was seen, in a sentence.
    pub text: String,
}

/// A figure that a phase yields; as text `seconds`, `io_seconds`, `value:files_per_s`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Metric {
    /// The application's time, s.
    Seconds,
    /// Time to flush, s.
    FlushSeconds,
    /// Both together, s.
    TotalSeconds,
    /// Disk I/O time by the model, all devices, s.
    IoSeconds,
    /// Busy time by the model, all devices, s.
    BusySeconds,
    /// Sectors read and written, all devices.
    Sectors,
    /// Sectors read, all devices.
    SectorsRead,
    /// Sectors written, all devices.
    SectorsWritten,
    /// Requests, reads and writes, all devices.
    Requests,
    /// Flushes, all devices.
    Flushes,
    /// Seeks by the model, all devices.
    Seeks,
    /// Processor time of the workload, the kernel's threads and the daemons, s.
    CpuSeconds,
    /// Peak memory, bytes.
    Memory,
    /// A result of the workload's own.
    Value(String),
}

const NAMES: [(&str, Metric); 13] = [
    ("seconds", Metric::Seconds),
    ("flush_seconds", Metric::FlushSeconds),
    ("total_seconds", Metric::TotalSeconds),
    ("io_seconds", Metric::IoSeconds),
    ("busy_seconds", Metric::BusySeconds),
    ("sectors", Metric::Sectors),
    ("sectors_read", Metric::SectorsRead),
    ("sectors_written", Metric::SectorsWritten),
    ("requests", Metric::Requests),
    ("flushes", Metric::Flushes),
    ("seeks", Metric::Seeks),
    ("cpu_seconds", Metric::CpuSeconds),
    ("memory", Metric::Memory),
];

impl TryFrom<String> for Metric {
    type Error = String;

    fn try_from(text: String) -> Result<Metric, String> {
        if let Some(name) = text.strip_prefix("value:").filter(|name| !name.is_empty()) {
            return Ok(Metric::Value(name.to_owned()));
        }
        let known = NAMES.iter().find(|(name, _)| *name == text);
        known.map(|(_, metric)| metric.clone()).ok_or_else(|| {
            let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
            format!("no metric {text:?}; there are {} and value:NAME", names.join(", "))
        })
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> String {
        metric.to_string()
    }
}

impl std::fmt::Display for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Metric::Value(name) => write!(f, "value:{name}"),
            known => {
                let name = NAMES.iter().find(|(_, metric)| metric == known);
                f.write_str(name.map_or("", |(name, _)| name))
            }
        }
    }
}

impl Phase {
    /// The figure, if this phase has it: without a model there is no disk time.
    pub fn metric(&self, metric: &Metric) -> Option<f64> {
        let sum = |of: fn(&DeviceIo) -> u64| Some(self.devices.iter().map(of).sum::<u64>() as f64);
        let disk = |of: fn(&DiskTime) -> f64| {
            let times: Vec<f64> =
                self.devices.iter().filter_map(|device| device.disk.as_ref().map(of)).collect();
            (!times.is_empty()).then(|| times.iter().sum())
        };
        match metric {
            Metric::Seconds => Some(self.seconds),
            Metric::FlushSeconds => Some(self.flush_seconds),
            Metric::TotalSeconds => Some(self.seconds + self.flush_seconds),
            Metric::IoSeconds => disk(|disk| disk.io_seconds),
            Metric::BusySeconds => disk(|disk| disk.busy_seconds),
            Metric::Seeks => disk(|disk| disk.seeks as f64),
            Metric::Sectors => sum(|device| device.read_sectors + device.write_sectors),
            Metric::SectorsRead => sum(|device| device.read_sectors),
            Metric::SectorsWritten => sum(|device| device.write_sectors),
            Metric::Requests => sum(|device| device.reads + device.writes),
            Metric::Flushes => sum(|device| device.flushes),
            Metric::CpuSeconds => {
                let counted = self.cpu.iter().filter(|cpu| cpu.role != "lab");
                Some(counted.map(|cpu| cpu.user + cpu.system).sum())
            }
            Metric::Memory => Some(self.peak_memory as f64),
            Metric::Value(name) => self.values.get(name).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_names() {
        for (name, metric) in NAMES {
            assert_eq!(metric.to_string(), name);
            assert_eq!(Metric::try_from(name.to_owned()), Ok(metric));
        }
        let own = Metric::Value("files_per_s".into());
        assert_eq!(Metric::try_from(own.to_string()), Ok(own));
        assert!(Metric::try_from("value:".to_owned()).is_err());
    }

    #[test]
    fn no_disk_time_without_a_model() {
        let mut phase = Phase { devices: vec![DeviceIo::default()], ..Phase::default() };
        assert_eq!(phase.metric(&Metric::IoSeconds), None);
        let disk = DiskTime { io_seconds: 2.5, ..DiskTime::default() };
        phase.devices.push(DeviceIo { disk: Some(disk), ..DeviceIo::default() });
        assert_eq!(phase.metric(&Metric::IoSeconds), Some(2.5));
    }
}
