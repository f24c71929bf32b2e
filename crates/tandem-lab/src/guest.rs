//! User-Mode Linux: another kernel as an ordinary process, for file systems that the running one
//! does not have.
//!
//! The host's files are the guest's root, read only; the work directory can be written. Disks are
//! files of the host's. The agent is the guest's init.

mod init;
mod modules;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use crate::agent;
use crate::stage::{StageError, program};

pub use modules::load;

pub(crate) use init::{begin, end};

/// The kernel.
pub const KERNEL: &str = "linux.uml";

/// Bytes of a guest's memory where nothing bounds it: what is cached in it is not the host's.
pub const MEMORY: u64 = 1 << 30;

/// The directories of programs, for the guest's init.
const PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What is preloaded so that it starts on processors with AMX (`uml/xstate.c`).
const XSTATE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/xstate.so"));

/// How long a guest may take to come up.
const UP: Duration = Duration::from_secs(120);

/// How long a phase may take in a guest before it is taken for hung.
const PHASE: Duration = Duration::from_secs(4 * 3600);

/// A guest to be booted.
pub(crate) struct Guest {
    /// The kernel's command line.
    pub command: Vec<String>,
    since: Instant,
}

/// Processes that the kernel has killed for want of memory since it was started.
pub(crate) fn killed() -> u64 {
    let text = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// The name of a disk in the guest.
pub(crate) fn device(at: usize) -> String {
    format!("/dev/ubd{}", char::from(b'a' + (at as u8 & 15)))
}

impl Guest {
    /// With `memory` bytes, and the program `tandem` as its init, which is to execute `job`; the files
    /// `disks` are its disks; its own files go to `dir`.
    pub fn new(
        tandem: &Path,
        dir: &Path,
        memory: u64,
        disks: &[&Path],
        job: &Path,
        out: &Path,
    ) -> Result<Guest, StageError> {
        let kernel = program::find(KERNEL).ok_or_else(|| StageError::Missing {
            what: KERNEL.into(),
            package: Some(crate::peer::UML_PACKAGE.into()),
        })?;
        let shared = dir.join("xstate.so");
        std::fs::write(&shared, XSTATE).map_err(|e| StageError::failed("guest", e))?;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut command =
            vec!["env".to_owned(), format!("LD_PRELOAD={}", text(&shared)), text(&kernel)];
        command.push(format!("mem={}K", memory >> 10));
        let disks = disks.iter().enumerate();
        command.extend(disks.map(|(at, disk)| format!("ubd{at}={}", text(disk))));
        let fixed = [
            // Named, lest it be appended, behind the arguments of init.
            "console=tty0",
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            "con=null",
            "con0=null,fd:1",
            "ssl=null",
            "umid=lab",
            PATH,
        ];
        command.extend(fixed.map(str::to_owned));
        // The host's directory for temporary files is read only there.
        command.push(format!("TMPDIR={}", text(dir)));
        command.push(format!("uml_dir={}", text(&dir.join("uml"))));
        command.push(format!("init={}", text(tandem)));
        command.extend(["--", "lab", "agent"].map(str::to_owned));
        command.extend([text(job), text(out)]);
        Ok(Guest { command, since: Instant::now() })
    }

    /// The command that boots it.
    pub fn boot(&self) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        command
    }

    /// Fails when it does not come up, or a phase takes for ever.
    pub fn alive(&self, out: &Path) -> Result<(), StageError> {
        let told = std::fs::metadata(agent::progress_file(out)).and_then(|meta| meta.modified());
        let hung = match told {
            Err(_) => {
                (self.since.elapsed() > UP).then(|| format!("not up after {} s", UP.as_secs()))
            }
            Ok(told) => {
                let still = SystemTime::now().duration_since(told).unwrap_or_default();
                (still > PHASE).then(|| format!("nothing has happened for {} s", still.as_secs()))
            }
        };
        hung.map_or(Ok(()), |reason| Err(StageError::failed("guest", reason)))
    }

    /// What a guest's console says of its end.
    pub fn last_words(console: &str) -> String {
        let telling = |line: &&str| {
            ["Kernel panic", "Out of memory", "BUG", "Oops", "agent:", "error:"]
                .iter()
                .any(|word| line.contains(word))
        };
        let lines: Vec<&str> = console.lines().filter(telling).collect();
        if lines.is_empty() { program::tail(console, 6) } else { lines.join("; ") }
    }
}
