//! Processor time and memory of processes, from `/proc`.

use std::collections::BTreeMap;
use std::time::Duration;

/// A process as `/proc/PID/stat` shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// Its name; the kernel cuts it off after 15 bytes.
    pub name: String,
    /// `R`, `S`, `D`, `Z`, …
    pub state: char,
    /// When it started, in clock ticks since boot: with the pid it names one process only.
    pub started: u64,
    /// What it has used, its threads included, its children not.
    pub used: Usage,
}

/// Processor time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// Seconds in user mode.
    pub user: f64,
    /// Seconds in the kernel.
    pub system: f64,
}

/// The parent of all of the kernel's threads.
const KTHREADD: u32 = 2;

impl Usage {
    /// From two times.
    pub fn new(user: Duration, system: Duration) -> Usage {
        Usage { user: user.as_secs_f64(), system: system.as_secs_f64() }
    }

    /// What has been added to `before`.
    pub fn since(&self, before: &Usage) -> Usage {
        let user = (self.user - before.user).max(0.0);
        Usage { user, system: (self.system - before.system).max(0.0) }
    }

    /// Both.
    pub fn total(&self) -> f64 {
        self.user + self.system
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.user += other.user;
        self.system += other.system;
    }
}

impl Process {
    /// The process of a number, if there is one.
    pub fn of(pid: u32) -> Option<Process> {
        Process::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// All there are.
    pub fn all() -> BTreeMap<u32, Process> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(|pid| Some((pid, Process::of(pid)?))).collect()
    }

    /// Is it one of the kernel's threads?
    pub fn is_kernel(&self) -> bool {
        self.pid == KTHREADD || self.parent == KTHREADD
    }

    /// Its name without what makes it one of many: `kworker`, `jbd2`, `xfsaild`.
    pub fn family(&self) -> &str {
        self.name.split(['/', ':', '-']).next().unwrap_or(&self.name)
    }

    /// Has it ended (and waits for its parent to see that)?
    pub fn ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    /// Parses proc_pid_stat(5); the name may contain spaces and parentheses.
    fn parse(stat: &str) -> Option<Process> {
        let (head, rest) = stat.rsplit_once(')')?;
        let (pid, name) = head.split_once('(')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let ticks = rustix::param::clock_ticks_per_second().max(1) as f64;
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Process {
            pid: pid.trim().parse().ok()?,
            parent: u32::try_from(number(1)?).ok()?,
            group: u32::try_from(number(2)?).ok()?,
            name: name.to_owned(),
            state: fields.first()?.chars().next()?,
            started: number(19)?,
            used: Usage { user: number(11)? as f64 / ticks, system: number(12)? as f64 / ticks },
        })
    }
}

/// The most memory that a process has had since it began or [`forget_peak`], in bytes; 0 when that
/// is not known.
pub fn peak_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0).saturating_mul(1024)
}

/// From now on the most memory counts.
pub fn forget_peak(pid: u32) {
    // Without it (in a guest, say) the peak is that since the process began.
    let _ = std::fs::write(format!("/proc/{pid}/clear_refs"), "5");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_anything_in_them() {
        let line = "42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 150 250 9 9 20 0 1 0 8877 1 2 3";
        let process = Process::parse(line).unwrap();
        assert_eq!((process.pid, process.parent, process.started), (42, 7, 8877));
        assert_eq!((process.name.as_str(), process.state), ("a) b (c", 'S'));
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        assert_eq!(process.used, Usage { user: 150.0 / ticks, system: 250.0 / ticks });
    }

    #[test]
    fn kernel_threads_have_families() {
        for (name, family) in [
            ("kworker/u4:1-flush-7:0", "kworker"),
            ("jbd2/loop0-8", "jbd2"),
            ("kswapd0", "kswapd0"),
        ] {
            let line = format!("9 ({name}) I 2 0 0 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 5 0");
            let process = Process::parse(&line).unwrap();
            assert!(process.is_kernel());
            assert_eq!(process.family(), family);
        }
    }

    #[test]
    fn this_process_is_there() {
        let own = Process::all().remove(&std::process::id()).unwrap();
        assert!(!own.is_kernel() && !own.ended());
        assert!(peak_memory(own.pid) > 0);
    }
}
