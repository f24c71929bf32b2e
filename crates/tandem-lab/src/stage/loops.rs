//! Loop devices: files as block devices of the running kernel.

use std::path::{Path, PathBuf};

use super::{StageError, program};

/// The largest request, as a FUSE file takes it in one piece (`docs/disk.md`).
const MAX_KIB: &str = "1024";

/// A loop device; detached at the end.
pub(super) struct Loop {
    path: PathBuf,
}

impl Loop {
    /// Over a file; past its page cache, unless that is where the file lies.
    pub fn attach(file: &Path, in_memory: bool) -> Result<Loop, StageError> {
        let file = file.to_string_lossy();
        let direct = if in_memory { "--direct-io=off" } else { "--direct-io=on" };
        let command = ["losetup", direct, "--find", "--show", &file];
        let path = program::run(&command.map(str::to_owned))?;
        let device = Loop { path: PathBuf::from(path.trim()) };
        let queue = device.sys().join("queue/max_sectors_kb");
        std::fs::write(&queue, MAX_KIB)
            .map_err(|e| StageError::failed(format!("write to {}", queue.display()), e))?;
        Ok(device)
    }

    /// Fails if the kernel caches what lies under the device: no bound on memory would hold for that.
    pub fn uncached(&self) -> Result<(), StageError> {
        let file = self.sys().join("loop/dio");
        match std::fs::read_to_string(&file) {
            Ok(direct) if direct.trim() == "1" => Ok(()),
            said => {
                let reason = format!(
                    "no direct I/O ({} says {said:?}), and so a cache that no bound on memory holds \
                     for; --work on another file system may help",
                    file.display()
                );
                Err(StageError::failed(self.path.display().to_string(), reason))
            }
        }
    }

    /// `/dev/loop3`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn sys(&self) -> PathBuf {
        Path::new("/sys/block").join(self.path.file_name().unwrap_or_default())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        detach(&self.path);
    }
}

/// The loop devices that lie over files in a directory.
pub(super) fn over(dir: &Path) -> Vec<PathBuf> {
    let blocks = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let devices = blocks.filter(|block| {
        let backing = std::fs::read_to_string(block.path().join("loop/backing_file"));
        backing.is_ok_and(|backing| Path::new(backing.trim_end()).starts_with(dir))
    });
    devices.map(|block| Path::new("/dev").join(block.file_name())).collect()
}

pub(super) fn detach(device: &Path) {
    let device = device.to_string_lossy();
    let _ = program::run(&["losetup", "--detach", &device].map(str::to_owned));
}
