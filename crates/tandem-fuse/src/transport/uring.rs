//! FUSE over io_uring (Linux 6.14 and later): a queue per CPU, and on each CPU a thread that
//! serves its queue, so that a request never wakes another CPU. Forgets and interrupts keep
//! coming through the device file.

mod entries;
mod queue;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::classic::End;
use super::{Link, cpu};
use crate::error::{DoorError, Result};
use crate::stats::ThreadPlace;

/// Where the kernel says whether the administrator has it switched on.
const SWITCH: &str = "/sys/module/fuse/parameters/enable_uring";

/// Why io_uring cannot be had, with the remedy; `offered` is what INIT said.
pub(crate) fn unavailable(offered: bool) -> Option<String> {
    if offered {
        return None;
    }
    Some(match std::fs::read_to_string(SWITCH) {
        Ok(value) if value.trim() == "Y" => {
            "the kernel does not offer it for this mount".to_owned()
        }
        Ok(_) => format!("it is switched off; as root: echo Y > {SWITCH}"),
        Err(_) => "this kernel does not have it (Linux 6.14 with CONFIG_FUSE_IO_URING)".to_owned(),
    })
}

/// Which thread serves which queues.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Share {
    cpu: u32,
    queues: Vec<u32>,
}

/// One thread for each CPU that we may run on. The kernel starts only when every possible CPU
/// has a queue, so the others' queues are spread over these threads.
fn shares(possible: &[u32], allowed: &[u32]) -> Vec<Share> {
    let mut shares: Vec<Share> = allowed
        .iter()
        .filter(|cpu| possible.contains(cpu))
        .map(|&cpu| Share { cpu, queues: vec![cpu] })
        .collect();
    if shares.is_empty() {
        shares.push(Share { cpu: allowed.first().copied().unwrap_or(0), queues: vec![] });
    }
    let n = shares.len();
    let homeless = possible.iter().filter(|cpu| !allowed.contains(cpu));
    for (i, &cpu) in homeless.enumerate() {
        shares[i % n].queues.push(cpu);
    }
    shares
}

/// The threads, before or after the handshake.
pub(crate) struct Rings {
    threads: Vec<JoinHandle<End>>,
    start: Vec<Sender<()>>,
    reports: Receiver<std::io::Result<()>>,
}

impl Rings {
    /// Starts a thread with a ring for every CPU. They take requests after [`Rings::register`].
    /// An error: this process may not use io_uring as it must be used here.
    pub(crate) fn prepare(link: &Arc<Link>, device: &Arc<OwnedFd>, depth: u16) -> Result<Rings> {
        let (report, reports) = channel();
        let mut rings = Rings { threads: Vec::new(), start: Vec::new(), reports };
        for share in shares(&cpu::possible(), &cpu::allowed()) {
            let (start, started) = channel();
            let (link, device, report) = (Arc::clone(link), Arc::clone(device), report.clone());
            let thread = std::thread::Builder::new()
                .name(format!("tandem-cpu{}", share.cpu))
                .spawn(move || queue::run(&link, &device, &share, depth, &report, &started))
                .map_err(|e| DoorError::system("starting a thread", e))?;
            rings.threads.push(thread);
            rings.start.push(start);
        }
        rings.await_reports()?;
        Ok(rings)
    }

    /// After the handshake: hands all queues to the kernel. An error: it did not take them, and
    /// sends its requests to the device file.
    pub(crate) fn register(&mut self) -> Result<()> {
        for start in self.start.drain(..) {
            // A thread that is gone says so in its report, or by not sending one.
            let _ = start.send(());
        }
        self.await_reports()
    }

    /// The threads, for joining.
    pub(crate) fn into_threads(self) -> Vec<JoinHandle<End>> {
        self.threads
    }

    fn await_reports(&self) -> Result<()> {
        let mut result = Ok(());
        for _ in &self.threads {
            let report = self.reports.recv().unwrap_or_else(|e| Err(std::io::Error::other(e)));
            if let Err(e) = report {
                result = Err(DoorError::system("io_uring", e));
            }
        }
        result
    }
}

/// What the counters say of a queue's thread.
fn place(share: &Share, pinned: bool) -> ThreadPlace {
    ThreadPlace {
        name: format!("tandem-cpu{}", share.cpu),
        cpu: pinned.then_some(share.cpu),
        queues: share.queues.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_possible_cpu_has_a_queue() {
        let two = shares(&[0, 1], &[0, 1]);
        assert_eq!(two.len(), 2);
        assert_eq!(two[1], Share { cpu: 1, queues: vec![1] });

        let spread = shares(&[0, 1, 2, 3, 4], &[1, 3]);
        assert_eq!(spread.len(), 2);
        let mut all: Vec<u32> = spread.iter().flat_map(|s| s.queues.clone()).collect();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3, 4]);
        assert!(spread.iter().all(|s| s.queues[0] == s.cpu));
    }
}
