//! The file systems that can be measured: where they run, what they need, how they are made and
//! mounted.

mod commands;
mod table;

use std::path::Path;

use serde::Serialize;

use crate::record::Levels;
use crate::stage::{StageError, mounts, program};

pub use commands::{Asked, Commands, JOURNAL_BLOCK, commands, journal_bytes};
pub use table::ALL;

/// The Debian package with User-Mode Linux.
pub const UML_PACKAGE: &str = "user-mode-linux";

/// Whose kernel serves a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum World {
    /// The running one.
    Host,
    /// A User-Mode Linux guest's.
    Uml,
}

impl World {
    /// As levels have it.
    pub fn name(self) -> &'static str {
        match self {
            World::Host => "host",
            World::Uml => "uml",
        }
    }
}

/// A program, and the Debian package that brings it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Tool {
    /// Its name.
    pub program: &'static str,
    /// The package.
    pub package: &'static str,
}

/// A file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Peer {
    /// Its name in studies.
    pub name: &'static str,
    /// Its name in texts.
    pub title: &'static str,
    /// The type under which kernels list it in `/proc/filesystems`; `fuse` if a daemon serves it.
    pub kernel: &'static str,
    /// What a guest must load for it, in this order.
    pub modules: &'static [&'static str],
    /// Programs that make and mount it.
    pub tools: &'static [Tool],
    /// Names of the programs that serve it, as `/proc/PID/comm` has them.
    pub daemons: &'static [&'static str],
    /// Can its journal (or metadata) lie on a device of its own?
    pub external_journal: bool,
    /// The guest's kernel has it.
    pub in_guest: bool,
    /// Its kernel code keeps metadata in memory that control groups may not be charged for.
    pub uncharged: bool,
    /// Why it cannot be had at all.
    pub absent: Option<&'static str>,
}

/// Something that is not on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lack {
    /// A program, a kernel's file system, a right.
    pub what: String,
    /// The Debian package that brings it.
    pub package: Option<String>,
}

impl From<Lack> for StageError {
    fn from(lack: Lack) -> StageError {
        StageError::Missing { what: lack.what, package: lack.package }
    }
}

/// The file system of a name.
pub fn find(name: &str) -> Option<&'static Peer> {
    ALL.iter().find(|peer| peer.name == name)
}

impl Peer {
    /// What is missing for it in a world; nothing if it can run there.
    pub fn lacks(&self, world: World) -> Vec<Lack> {
        if let Some(reason) = self.absent {
            return vec![Lack { what: format!("{}: {reason}; it", self.title), package: None }];
        }
        let mut lacks = match world {
            World::Host => self.host_lacks(),
            World::Uml => self.guest_lacks(),
        };
        let tools = self.tools.iter().filter(|tool| program::find(tool.program).is_none());
        lacks.extend(tools.map(|tool| lack(tool.program, Some(tool.package))));
        lacks
    }

    /// The world in which it runs: the one asked for, else the running kernel if that has it, else a
    /// guest.
    ///
    /// # Errors
    /// What is missing, when it can run in neither, or not where it was asked for.
    pub fn world(&self, levels: &Levels) -> Result<World, StageError> {
        let asked = match levels.get("world").map(String::as_str) {
            None => None,
            Some("host") => Some(World::Host),
            Some("uml") => Some(World::Uml),
            Some(other) => {
                let reason = format!("no world is called {other:?}; there are host and uml");
                return Err(StageError::Failed { step: "levels".into(), reason });
            }
        };
        let worlds = asked.map_or(vec![World::Host, World::Uml], |world| vec![world]);
        let mut first = None;
        for world in worlds {
            match self.lacks(world).into_iter().next() {
                None => return Ok(world),
                // What the running kernel lacks is of interest only where there is no guest.
                Some(lack) => {
                    let guest = world == World::Uml && self.in_guest;
                    if first.is_none() || guest {
                        first = Some(lack);
                    }
                }
            }
        }
        Err(first.unwrap_or_else(|| lack(self.title, None)).into())
    }

    fn host_lacks(&self) -> Vec<Lack> {
        let mut lacks = Vec::new();
        if !rustix::process::geteuid().is_root() {
            lacks.push(lack("root's rights", None));
        }
        if self.kernel == "fuse" {
            if !Path::new("/dev/fuse").exists() {
                lacks.push(lack("/dev/fuse", None));
            }
        } else if !kernel_has(self.kernel) {
            lacks.push(lack(&format!("{} in the running kernel", self.title), None));
        }
        if !Path::new("/dev/loop-control").exists() {
            lacks.push(lack("/dev/loop-control", None));
        }
        if program::find("losetup").is_none() {
            lacks.push(lack("losetup", Some("mount")));
        }
        lacks
    }

    fn guest_lacks(&self) -> Vec<Lack> {
        if !self.in_guest {
            return vec![lack(&format!("{} in User-Mode Linux", self.title), None)];
        }
        let mut lacks = Vec::new();
        if program::find(crate::guest::KERNEL).is_none() {
            lacks.push(lack(crate::guest::KERNEL, Some(UML_PACKAGE)));
        }
        // The guest is root in itself; the emulated disk is mounted outside of it.
        if !rustix::process::geteuid().is_root() && program::find(mounts::HELPER).is_none() {
            lacks.push(lack(mounts::HELPER, Some("fuse3")));
        }
        lacks
    }
}

fn lack(what: &str, package: Option<&str>) -> Lack {
    Lack { what: what.to_owned(), package: package.map(str::to_owned) }
}

/// Does the running kernel have it, built in or as a module?
fn kernel_has(kind: &str) -> bool {
    let listed = || {
        let list = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
        list.lines().any(|line| line.split_whitespace().last() == Some(kind))
    };
    listed() || {
        let loaded = program::find("modprobe")
            .map(|modprobe| std::process::Command::new(modprobe).args(["-q", kind]).status());
        loaded.is_some_and(|status| status.is_ok_and(|status| status.success())) && listed()
    }
}

#[cfg(test)]
mod tests;
