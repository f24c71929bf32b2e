//! CPUs: which there are, which we may use, staying on one, and giving way on it.
#![allow(unsafe_code, reason = "the scheduling policy has no safe interface")]

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

/// The CPUs that this system may ever have, by number. The kernel wants an io_uring queue for
/// each of them.
pub(crate) fn possible() -> Vec<u32> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let cpus = parse_list(list.trim());
    if cpus.is_empty() { allowed() } else { cpus }
}

/// The CPUs that this process may run on now.
pub(crate) fn allowed() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(None) else { return vec![0] };
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32).collect()
}

/// Keeps the calling thread on one CPU. False: it runs where it likes.
pub(crate) fn pin(cpu: u32) -> bool {
    keep(None, &[cpu])
}

/// Keeps a thread (the caller, if `None`) on some CPUs. False: it stays as it was.
pub(crate) fn keep(thread: Option<Pid>, cpus: &[u32]) -> bool {
    let mut set = CpuSet::new();
    for &cpu in cpus.iter().filter(|&&cpu| (cpu as usize) < CpuSet::MAX_CPU) {
        set.set(cpu as usize);
    }
    set.count() > 0 && sched_setaffinity(thread, &set).is_ok()
}

/// Keeps all CPUs out of deep idle states for as long as the file is held.
pub(crate) fn hold_awake() -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).open("/dev/cpu_dma_latency")?;
    file.write_all(&0i32.to_ne_bytes())?;
    Ok(file)
}

/// Makes a thread of this process give way to every other on its CPU (SCHED_IDLE), or not.
pub(crate) fn give_way(thread: Pid, yes: bool) -> io::Result<()> {
    let policy = if yes { libc::SCHED_IDLE } else { libc::SCHED_OTHER };
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: the call reads `param` and nothing else.
    let done = unsafe { libc::sched_setscheduler(thread.as_raw_pid(), policy, &raw const param) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// How long a thread of this process was ready to run and did not, in nanoseconds, and how often
/// it ran. `None`: this kernel does not say.
pub(crate) fn waited(thread: Pid) -> Option<(u64, u64)> {
    let path = format!("/proc/self/task/{}/schedstat", thread.as_raw_pid());
    let text = std::fs::read_to_string(path).ok()?;
    let mut fields = text.split_ascii_whitespace().skip(1);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// The numbers of a list such as `0-3,8`.
fn parse_list(list: &str) -> Vec<u32> {
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) {
            cpus.extend(first..=last.min(first.saturating_add(65_536)));
        }
    }
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(parse_list("0"), [0]);
        assert_eq!(parse_list("0-2,5,7-8"), [0, 1, 2, 5, 7, 8]);
        assert_eq!(parse_list(""), [0u32; 0]);
        assert!(!possible().is_empty());
        assert!(!allowed().is_empty());
    }
}
