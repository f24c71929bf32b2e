//! The programs that serve a file system.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitOptions};

use crate::measure::process::{self, Process, Usage};
use crate::stage::StageError;

/// How long a daemon may take to end after the unmount.
const END: Duration = Duration::from_secs(300);

/// Those of one mount.
pub(super) struct Daemons {
    /// Each with its name and what it had used when the phase began.
    running: BTreeMap<u32, (String, Usage)>,
}

impl Daemons {
    /// Those of the mount that has just been made: who mounted has left them to this process, which
    /// has no other children of that name then.
    pub fn new(names: &[String]) -> Daemons {
        let now = if names.is_empty() { BTreeMap::new() } else { Process::all() };
        let own = std::process::id();
        let left = now.into_values().filter(|process| {
            process.parent == own && !process.ended() && names.contains(&process.name)
        });
        let running = left.map(|process| (process.pid, (process.name, Usage::default()))).collect();
        Daemons { running }
    }

    /// Their numbers.
    pub fn pids(&self) -> impl Iterator<Item = u32> {
        self.running.keys().copied()
    }

    /// A phase begins.
    pub fn begin(&mut self) {
        for (&pid, (_, base)) in &mut self.running {
            process::forget_peak(pid);
            if let Some(process) = Process::of(pid) {
                *base = process.used;
            }
        }
    }

    /// The most memory of all of them since the phase began, in bytes.
    pub fn peak_memory(&self) -> u64 {
        self.running.keys().map(|&pid| process::peak_memory(pid)).sum()
    }

    /// What they have used since the phase began, by name.
    pub fn used(&self) -> Vec<(String, Usage)> {
        let used = self.running.iter().filter_map(|(&pid, (name, base))| {
            Some((name.clone(), Process::of(pid)?.used.since(base)))
        });
        used.collect()
    }

    /// Waits until they have ended, after the unmount. They stay to be asked what they have used
    /// until [`Daemons::reap`].
    pub fn wait(&self) -> Result<(), StageError> {
        let since = Instant::now();
        for (&pid, (name, _)) in &self.running {
            while Process::of(pid).is_some_and(|process| !process.ended()) {
                if since.elapsed() > END {
                    let reason = format!("still there {} s after the unmount", END.as_secs());
                    return Err(StageError::failed(format!("{name} ({pid})"), reason));
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    }

    /// Lets those go that have ended.
    pub fn reap(self) {
        for pid in self.running.into_keys() {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
            }
        }
    }
}
