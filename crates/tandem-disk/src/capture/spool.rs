//! Raw pages of the kernel's ring buffers, copied to files while the work runs.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::tracefs::Instance;
use super::{CaptureError, Cost, Result};

/// How long a buffer is left alone when it was found empty.
const REST: Duration = Duration::from_millis(20);

/// A thread for every CPU's buffer.
#[derive(Debug)]
pub(super) struct Spool {
    stop: Arc<AtomicBool>,
    copiers: Vec<(PathBuf, Copier)>,
}

type Copier = JoinHandle<io::Result<(File, Cost)>>;

impl Spool {
    pub(super) fn start(instance: &Instance, dir: &Path) -> Result<Spool> {
        let mut spool = Spool { stop: Arc::default(), copiers: Vec::new() };
        for cpu in instance.cpus()? {
            let path = cpu.join("trace_pipe_raw");
            let from = OpenOptions::new()
                .read(true)
                .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
                .open(&path)
                .map_err(|source| CaptureError::File { path: path.clone(), source })?;
            let to = tempfile::tempfile_in(dir)
                .map_err(|source| CaptureError::File { path: dir.to_owned(), source })?;
            let stop = spool.stop.clone();
            let copier = std::thread::spawn(move || copy(from, to, &stop));
            spool.copiers.push((path, copier));
        }
        Ok(spool)
    }

    /// Waits until everything has been copied.
    pub(super) fn finish(mut self) -> Result<(Vec<File>, Cost)> {
        self.stop.store(true, Ordering::Release);
        let (mut files, mut cost) = (Vec::new(), Cost::default());
        for (path, copier) in self.copiers.drain(..) {
            let copied = copier.join().unwrap_or_else(|_| Err(io::Error::other("thread died")));
            let (file, own) = copied.map_err(|source| CaptureError::File { path, source })?;
            files.push(file);
            cost.bytes += own.bytes;
            cost.cpu += own.cpu;
        }
        Ok((files, cost))
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}

/// Size of the pages that the kernel hands out, and of the records in a spool file.
pub(super) fn page_size() -> usize {
    rustix::param::page_size()
}

fn copy(mut from: File, mut to: File, stop: &AtomicBool) -> io::Result<(File, Cost)> {
    let mut page = vec![0; page_size()];
    let mut cost = Cost::default();
    loop {
        // Asked before the read: what was recorded before the stop is then read after it.
        let last = stop.load(Ordering::Acquire);
        match from.read(&mut page) {
            Ok(0) if last => break,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && last => break,
            Ok(0) => std::thread::sleep(REST),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(REST),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
            Ok(n) => {
                page[n..].fill(0);
                to.write_all(&page)?;
                cost.bytes += page.len() as u64;
            }
        }
    }
    let cpu = clock_gettime(ClockId::ThreadCPUTime);
    cost.cpu = Duration::new(cpu.tv_sec.max(0) as u64, cpu.tv_nsec.max(0) as u32);
    Ok((to, cost))
}
