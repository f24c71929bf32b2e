//! The file system under test: made, mounted, emptied of caches, unmounted.

use std::fs::File;
use std::io;
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

    /// Brings everything of it to the devices, and nothing of others.
    pub fn sync(&self) -> Result<(), StageError> {
        let dir = &self.job.mount_point;
        let fail = |path: &Path| {
            let step = format!("sync {}", path.display());
            move |e: io::Error| StageError::failed(step, e)
        };
        let root = File::open(dir).map_err(fail(dir))?;
        rustix::fs::syncfs(&root).map_err(io::Error::from).map_err(fail(dir))?;
        if !daemons_alone(&root).map_err(fail(dir))? {
            return Ok(());
        }
        for device in self.job.devices.values().map(|device| &device.path) {
            File::open(device).and_then(|file| file.sync_all()).map_err(fail(device))?;
        }
        Ok(())
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

/// Does only a daemon know of the devices? (FUSE, and not `fuseblk`, which the kernel lists with a
/// device.) It writes through their page cache, which syncfs does not reach then.
fn daemons_alone(root: &File) -> io::Result<bool> {
    const FUSE: u64 = 0x6573_5546;
    let kind = rustix::fs::fstatfs(root)?.f_type;
    Ok(kind as u64 == FUSE && rustix::fs::major(rustix::fs::fstat(root)?.st_dev) == 0)
}

/// Empties the kernel's caches. What was mounted and is no more is not in them anyway.
pub(super) fn drop_caches() -> Result<(), StageError> {
    let file = "/proc/sys/vm/drop_caches";
    std::fs::write(file, "3").map_err(|e| StageError::failed(format!("write to {file}"), e))
}
