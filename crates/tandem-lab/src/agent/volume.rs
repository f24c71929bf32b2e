//! The file system under test: made, mounted, emptied of caches, unmounted.

use std::path::Path;
use std::time::{Duration, Instant};

use super::daemons::Daemons;
use crate::job::Job;
use crate::stage::{StageError, mounts, program};

/// How often an unmount is tried again that something (a desktop's indexer, say) is in the way of.
const TRIES: u32 = 50;

/// The file system of a job; unmounted at the end, whatever happens.
pub(super) struct Volume<'a> {
    job: &'a Job,
    pub mounted: Option<Daemons>,
}

impl<'a> Volume<'a> {
    pub fn new(job: &'a Job) -> Volume<'a> {
        Volume { job, mounted: None }
    }

    /// Makes it, and says which commands did.
    pub fn make(&self) -> Result<Vec<String>, StageError> {
        for command in &self.job.mkfs {
            program::run(command)?;
        }
        let commands = self.job.mkfs.iter().chain([&self.job.mount]);
        Ok(commands.map(|command| program::shown(command)).collect())
    }

    /// Mounts it, and says how long that took.
    pub fn mount(&mut self) -> Result<Duration, StageError> {
        let dir = &self.job.mount_point;
        std::fs::create_dir_all(dir)
            .map_err(|e| StageError::failed(format!("create {}", dir.display()), e))?;
        let start = Instant::now();
        program::run(&self.job.mount)?;
        let took = start.elapsed();
        self.mounted = Some(Daemons::new(&self.job.daemons));
        if !mounts::is_mounted(dir) {
            let reason = format!("nothing is mounted on {}", dir.display());
            return Err(StageError::failed(program::shown(&self.job.mount), reason));
        }
        Ok(took)
    }

    /// Brings everything to the devices.
    pub fn sync(&self) -> Result<(), StageError> {
        let dir = &self.job.mount_point;
        let synced = std::fs::File::open(dir).and_then(|file| Ok(rustix::fs::syncfs(file)?));
        synced.map_err(|e| StageError::failed(format!("sync {}", dir.display()), e))
    }

    /// Unmounts it and waits until its daemons have ended; they are given back to be asked what they
    /// have used.
    pub fn unmount(&mut self) -> Result<Option<Daemons>, StageError> {
        let Some(daemons) = self.mounted.take() else { return Ok(None) };
        let mut tries = TRIES;
        while let Err(error) = program::run(&self.job.unmount) {
            tries -= 1;
            if tries == 0 || !error.to_string().contains("busy") {
                self.mounted = Some(daemons);
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        daemons.wait()?;
        Ok(Some(daemons))
    }

    /// The directory in which workers work.
    pub fn dir(&self) -> &'a Path {
        &self.job.mount_point
    }
}

impl Drop for Volume<'_> {
    fn drop(&mut self) {
        if self.mounted.is_some() && self.unmount().is_err() {
            mounts::unmount_all(&self.job.mount_point);
        }
    }
}

/// Empties the kernel's caches. What was mounted and is no more is not in them anyway.
pub(super) fn drop_caches() -> Result<(), StageError> {
    let file = "/proc/sys/vm/drop_caches";
    std::fs::write(file, "3").map_err(|e| StageError::failed(format!("write to {file}"), e))
}
