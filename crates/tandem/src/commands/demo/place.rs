//! Where the demonstration works: a directory of its own, and loop devices, which all go at the
//! end, also when something fails.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tandem_device::DeviceStats;
use tempfile::TempDir;

use super::{program, text};

/// A directory that is removed at the end, unless it is to be kept.
pub struct Place {
    dir: Option<TempDir>,
    keep: bool,
}

impl Place {
    /// A new directory within `parent`, or where temporary files go.
    pub fn new(parent: Option<&Path>, keep: bool) -> Result<Place> {
        let parent = match parent {
            Some(parent) => {
                std::fs::create_dir_all(parent)
                    .with_context(|| format!("create {}", parent.display()))?;
                parent.canonicalize()?
            }
            None => std::env::temp_dir(),
        };
        let dir = tempfile::Builder::new()
            .prefix("tandem-demo-")
            .tempdir_in(&parent)
            .with_context(|| format!("{}: make a directory", parent.display()))?;
        Ok(Place { dir: Some(dir), keep })
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        self.dir.as_ref().map_or(Path::new("/nonexistent"), TempDir::path)
    }

    /// A path in the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    /// A new, empty directory in the directory.
    pub fn make_dir(&self, name: &str) -> Result<PathBuf> {
        let path = self.path(name);
        std::fs::create_dir(&path).with_context(|| format!("create {}", path.display()))?;
        Ok(path)
    }

    /// Fails unless the file system that holds the directory has room for `bytes`.
    pub fn needs(&self, bytes: u64) -> Result<()> {
        let stat = rustix::fs::statvfs(self.dir())
            .with_context(|| format!("statvfs {}", self.dir().display()))?;
        let free = stat.f_bavail.saturating_mul(stat.f_frsize);
        if free < bytes {
            bail!(
                "{}: {} free, {} needed; give another place with --dir, or a smaller tree with \
                 --tree",
                self.dir().display(),
                crate::units::bytes(free),
                crate::units::bytes(bytes)
            );
        }
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(dir) = self.dir.take() {
            if self.keep {
                let _ = dir.keep();
            } else if let Err(error) = dir.close() {
                eprintln!("demo: {error}");
            }
        }
    }
}

/// Creates a sparse file.
pub fn sparse(path: &Path, size: u64) -> Result<()> {
    let made = File::create_new(path).and_then(|file| file.set_len(size));
    made.with_context(|| format!("create {}", path.display()))
}

/// A loop device over an image file.
pub struct Loop {
    name: String,
}

impl Loop {
    /// Whether loop devices can be had: as root, where the kernel has them.
    pub fn possible() -> bool {
        rustix::process::geteuid().is_root()
            && Path::new("/dev/loop-control").exists()
            && program::find("losetup").is_some()
    }

    /// Attaches `image` to a free loop device.
    pub fn attach(image: &Path) -> Result<Loop> {
        let name = program::output("losetup", &["--find", "--show", &text(image)])?;
        Ok(Loop { name: name.trim().to_string() })
    }

    /// The device file.
    pub fn path(&self) -> &Path {
        Path::new(&self.name)
    }

    /// What the kernel has done on it since it was attached
    /// (Documentation/admin-guide/iostats.rst).
    pub fn counts(&self) -> Result<DeviceStats> {
        let name = self.path().file_name().unwrap_or_default();
        let path = Path::new("/sys/block").join(name).join("stat");
        let line =
            std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        let fields: Vec<u64> =
            line.split_whitespace().filter_map(|field| field.parse().ok()).collect();
        let field = |at: usize| fields.get(at).copied().unwrap_or(0);
        Ok(DeviceStats {
            reads: field(0),
            read_bytes: field(2) * 512,
            writes: field(4),
            write_bytes: field(6) * 512,
            discards: field(11),
            discard_bytes: field(13) * 512,
            flushes: field(15),
        })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = program::output("losetup", &["--detach", &self.name]);
    }
}

/// Something mounted, unmounted at the end of it all if that has not been done before.
pub struct Mounted<'a> {
    dir: &'a Path,
    tandem: bool,
    done: bool,
}

impl<'a> Mounted<'a> {
    /// Looks after what has just been mounted on `dir`: a Tandem volume, or another file system.
    pub fn on(dir: &'a Path, tandem: bool) -> Mounted<'a> {
        Mounted { dir, tandem, done: false }
    }

    /// It has been unmounted.
    pub fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let dir = text(self.dir);
        if !self.tandem || program::tandem(&["umount", &dir]).is_err() {
            let _ = program::output("umount", &["--lazy", &dir]);
        }
    }
}
