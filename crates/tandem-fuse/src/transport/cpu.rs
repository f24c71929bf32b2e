//! CPUs: which there are, which we may use, and staying on one.

use std::fs::{File, OpenOptions};
use std::io::Write;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

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
    let cpu = cpu as usize;
    if cpu >= CpuSet::MAX_CPU {
        return false;
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).is_ok()
}

/// Keeps all CPUs out of deep idle states for as long as the file is held.
pub(crate) fn hold_awake() -> std::io::Result<File> {
    let mut file = OpenOptions::new().write(true).open("/dev/cpu_dma_latency")?;
    file.write_all(&0i32.to_ne_bytes())?;
    Ok(file)
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
