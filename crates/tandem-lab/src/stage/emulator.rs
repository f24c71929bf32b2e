//! An emulated disk: `tandem disk emulate` in a process of its own.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::layout::{METADATA, Place, Store};
use super::{StageError, mounts, program, trail};

/// How long it may take to write the rest of its trace.
const END: Duration = Duration::from_secs(120);

/// A disk that is served; unmounted and ended at the end.
pub(super) struct Emulator {
    child: Option<Child>,
    dir: PathBuf,
    trace: PathBuf,
    errors: PathBuf,
}

impl Emulator {
    /// Serves the image `image`, which is there, in the stage's directory. Disk time is computed from
    /// the trace in any case; requests take that long only if the store has it so.
    pub fn start(
        tandem: &Path,
        store: &Store,
        stage: &Path,
        image: &Path,
    ) -> Result<Emulator, StageError> {
        let step = || format!("emulated disk {}", store.place.name());
        let fail = |e: std::io::Error| StageError::failed(step(), e);
        let dir = image.with_extension("disk");
        std::fs::create_dir_all(&dir).map_err(fail)?;
        let (trace, errors) = (image.with_extension("tdt.zst"), image.with_extension("log"));
        let mut command = Command::new(tandem);
        command.args(["disk", "emulate"]).arg(image).arg("--mount").arg(&dir);
        match &store.place {
            Place::Drive(profile) if store.real_time => {
                let text = toml::to_string(profile).map_err(|e| StageError::failed(step(), e))?;
                let file = image.with_extension("profile.toml");
                std::fs::write(&file, text).map_err(fail)?;
                command.args(["--time", "real", "--profile"]).arg(file);
            }
            _ => _ = command.args(["--time", "none"]),
        }
        command.arg("--trace").arg(&trace);
        if store.parts.len() == 2 {
            command.args(["--split", &METADATA.to_string()]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(File::create(&errors).map_err(fail)?);
        let mut child = trail::mark(&mut command, stage).spawn().map_err(fail)?;
        let out = child.stdout.take();
        let emulator = Emulator { child: Some(child), dir, trace, errors };
        let mut lines =
            BufReader::new(out.ok_or_else(|| StageError::failed(step(), "no pipe"))?).lines();
        if !lines.any(|line| line.is_ok_and(|line| line.starts_with("ready"))) {
            return Err(emulator.failed("does not come up"));
        }
        Ok(emulator)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// The file that is a part of the disk.
    pub fn file(&self, store: &Store, part: usize) -> PathBuf {
        self.dir.join(match (store.parts.len(), part) {
            (2, 0) => "disk.outer",
            (2, _) => "disk.inner",
            _ => "disk",
        })
    }

    /// The file that takes marks.
    pub fn marks(&self) -> PathBuf {
        self.dir.join("disk.marks")
    }

    /// Ends it; the trace is complete then.
    pub fn end(mut self) -> Result<PathBuf, StageError> {
        let left = mounts::unmount_all(&self.dir);
        if !left.is_empty() {
            return Err(self.failed("is in use"));
        }
        let Some(mut child) = self.child.take() else { return Err(self.failed("is gone")) };
        let since = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(self.trace.clone()),
                Ok(Some(status)) => return Err(self.failed(&format!("ended: {status}"))),
                Ok(None) if since.elapsed() < END => std::thread::sleep(Duration::from_millis(5)),
                Ok(None) => break,
                Err(error) => return Err(self.failed(&error.to_string())),
            }
        }
        self.child = Some(child);
        Err(self.failed("does not end"))
    }

    fn failed(&self, reason: &str) -> StageError {
        let said = std::fs::read_to_string(&self.errors).unwrap_or_default();
        let step = format!("emulated disk on {}", self.dir.display());
        StageError::failed(step, format!("{reason} {}", program::tail(&said, 4)).trim())
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        mounts::unmount_all(&self.dir);
        let _ = child.kill();
        let _ = child.wait();
    }
}
