//! An instance of tracefs.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;

use super::layout::Layout;
use super::{CaptureError, Options, Result};

const TRACEFS: &str = "/sys/kernel/tracing";
const EVENTS: [&str; 3] = ["block_rq_issue", "block_rq_complete", "block_rq_requeue"];

/// A set of ring buffers of our own, removed with its directory.
#[derive(Debug)]
pub(super) struct Instance {
    dir: PathBuf,
}

impl Instance {
    /// Makes an instance that records block events, not yet switched on.
    pub(super) fn new(options: &Options) -> Result<Instance> {
        let root = root()?;
        let events = root.join("events/block");
        if !events.join(EVENTS[0]).is_dir() {
            return Err(CaptureError::NoEvents { path: events });
        }
        let dir = own_dir(&root.join("instances"))?;
        let instance = Instance { dir };
        instance.configure(options)?;
        Ok(instance)
    }

    fn configure(&self, options: &Options) -> Result<()> {
        self.switch(false)?;
        self.write("trace_clock", "mono")?;
        self.write("buffer_size_kb", &options.buffer_kib.to_string())?;
        // When a page is full it is read, or lost; what is there is never overwritten.
        self.write("options/overwrite", "0")?;
        let devices: Vec<String> =
            options.devices.iter().map(|device| format!("dev == {}", device.0)).collect();
        for event in EVENTS {
            if !devices.is_empty() {
                self.write(&format!("events/block/{event}/filter"), &devices.join(" || "))?;
            }
            self.write(&format!("events/block/{event}/enable"), "1")?;
        }
        Ok(())
    }

    /// Starts or stops the recording.
    pub(super) fn switch(&self, on: bool) -> Result<()> {
        self.write("tracing_on", if on { "1" } else { "0" })
    }

    /// Where the fields of our events lie.
    pub(super) fn layouts(&self) -> Result<Vec<Layout>> {
        let layout = |name: &&str| {
            let path = self.dir.join(format!("events/block/{name}/format"));
            let text = read(&path)?;
            Layout::parse(name, &text).map_err(|what| CaptureError::Strange { path, what })
        };
        EVENTS.iter().map(layout).collect()
    }

    /// The directory of every CPU's buffer.
    pub(super) fn cpus(&self) -> Result<Vec<PathBuf>> {
        let dir = self.dir.join("per_cpu");
        let entries = fs::read_dir(&dir).map_err(|source| file(&dir, source))?;
        let mut cpus = Vec::new();
        for entry in entries {
            cpus.push(entry.map_err(|source| file(&dir, source))?.path());
        }
        cpus.sort();
        Ok(cpus)
    }

    /// Events that found no room.
    pub(super) fn lost(&self) -> Result<u64> {
        let mut lost = 0;
        for cpu in self.cpus()? {
            let stats = read(&cpu.join("stats"))?;
            let numbers = stats.lines().filter_map(|line| line.split_once(':'));
            lost += numbers
                .filter(|(key, _)| matches!(*key, "overrun" | "commit overrun" | "dropped events"))
                .filter_map(|(_, n)| n.trim().parse::<u64>().ok())
                .sum::<u64>();
        }
        Ok(lost)
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.dir.join(name);
        fs::write(&path, text).map_err(|source| file(&path, source))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Removing an instance is removing its directory, whatever is in it.
        let _ = fs::remove_dir(&self.dir);
    }
}

/// tracefs, mounted if it is not.
fn root() -> Result<PathBuf> {
    let dir = PathBuf::from(TRACEFS);
    if !dir.join("instances").is_dir() {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        rustix::mount::mount("tracefs", &dir, "tracefs", flags, None)
            .map_err(|e| CaptureError::NoTracefs { dir: dir.clone(), source: e.into() })?;
    }
    Ok(dir)
}

/// A new instance with a name that nobody has.
fn own_dir(instances: &Path) -> Result<PathBuf> {
    let mut n = 0;
    loop {
        let dir = instances.join(format!("tandem-{}-{n}", std::process::id()));
        match fs::create_dir(&dir) {
            Ok(()) => return Ok(dir),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => n += 1,
            Err(source) => return Err(file(&dir, source)),
        }
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|source| file(path, source))
}

fn file(path: &Path, source: std::io::Error) -> CaptureError {
    CaptureError::File { path: path.to_owned(), source }
}
