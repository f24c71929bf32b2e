//! How a volume is mounted and served.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::{DoorError, Result};

/// Which transport carries requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TransportChoice {
    /// io_uring where the kernel has it switched on, else the device file.
    #[default]
    Auto,
    /// The device file.
    Classic,
    /// io_uring, or no mount.
    Uring,
}

/// Where the threads of the device-file transport run. With io_uring there is always one per CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    /// One per CPU, if there is one for each; else free.
    #[default]
    Auto,
    /// Wherever the scheduler puts them.
    Free,
    /// Thread n on the n-th CPU that the process may use, round and round.
    PerCpu,
    /// All on this CPU.
    Cpu(u32),
}

/// Flags of the mount itself, as mount(8) has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MountFlags {
    /// Set-id bits have no effect.
    pub nosuid: bool,
    /// Device files do not open devices.
    pub nodev: bool,
    /// No programs.
    pub noexec: bool,
    /// No access times.
    pub noatime: bool,
    /// No access times of directories.
    pub nodiratime: bool,
    /// Every access counts.
    pub strictatime: bool,
    /// Every write is synchronous.
    pub sync: bool,
    /// Every change of a directory is synchronous.
    pub dirsync: bool,
}

/// Options of the door. The default serves one volume well for its owner.
#[derive(Debug, Clone)]
pub struct DoorOptions {
    /// What `df` and `mount` show as the source.
    pub fsname: String,
    /// The type is `fuse.` and this.
    pub subtype: String,
    /// Mount read-only.
    pub read_only: bool,
    /// Users other than the one who mounts may enter. Root need not ask.
    pub allow_other: bool,
    /// The kernel checks permissions (and ACLs). Without, the volume does, which is only safe
    /// where no other user may enter: the kernel answers from its caches without asking. Where
    /// root mounts for root alone nothing is checked: it would cost a round trip after each
    /// change of a directory and forbid nothing.
    pub default_permissions: bool,
    /// POSIX ACLs. Where the kernel checks permissions, it then asks for each i-node's list,
    /// after each change of a directory anew, on behalf of everybody but its owner.
    pub acl: bool,
    /// Transport.
    pub transport: TransportChoice,
    /// Threads of the device-file transport. `None`: as many as CPUs, at most four (io_uring: one
    /// per CPU, always).
    pub threads: Option<usize>,
    /// Where they run.
    pub placement: Placement,
    /// Requests that each CPU's queue may have under way with io_uring; each has a buffer of a
    /// MiB, which takes memory from its first use on. `None`: 16, less on many CPUs.
    pub queue_depth: Option<u16>,
    /// Requests that the kernel may have outstanding in the background: readahead, direct I/O.
    pub max_background: u16,
    /// Keep CPUs out of deep idle states: faster wake-ups for electricity. `None`: while requests
    /// come at a thousand a second or more, where this process may.
    pub lowlatency: Option<bool>,
    /// The kernel holds written pages back and coalesces them.
    pub writeback: bool,
    /// Directories are always read with attributes, not only where the kernel guesses that they
    /// will be wanted.
    pub readdirplus: bool,
    /// How long the kernel may believe names and attributes. Nobody but the kernel changes a
    /// mounted volume, so: long.
    pub timeout: Duration,
    /// Readahead of the mount in bytes; kernel permitting.
    pub readahead: u32,
    /// Flags of the mount.
    pub flags: MountFlags,
    /// The metadata device, when it is a block device: the mount is then of type `fuseblk`, so
    /// that sync(2) and unmounting reach the daemon.
    pub fuseblk: Option<PathBuf>,
}

impl Default for DoorOptions {
    fn default() -> DoorOptions {
        DoorOptions {
            fsname: "tandem".into(),
            subtype: "tandem".into(),
            read_only: false,
            allow_other: rustix::process::geteuid().is_root(),
            default_permissions: true,
            acl: true,
            transport: TransportChoice::Auto,
            threads: None,
            placement: Placement::Auto,
            queue_depth: None,
            max_background: 64,
            lowlatency: None,
            writeback: false,
            readdirplus: true,
            timeout: Duration::from_secs(86_400),
            readahead: 1 << 20,
            flags: MountFlags::default(),
            fuseblk: None,
        }
    }
}

/// Who checks permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checks {
    Kernel,
    Volume,
    /// Only the superuser can ask.
    Nobody,
}

impl DoorOptions {
    pub(crate) fn checks(&self) -> Result<Checks> {
        let root = rustix::process::geteuid().is_root();
        match (self.allow_other, self.default_permissions) {
            (true, false) => Err(DoorError::Option {
                option: "allow_other".into(),
                reason: "needs default_permissions, or others would see what is not theirs".into(),
            }),
            (false, _) if root => Ok(Checks::Nobody),
            (_, true) => Ok(Checks::Kernel),
            (_, false) => Ok(Checks::Volume),
        }
    }

    /// Takes one `-o` option (`name` or `name=value`). False: not one of the door's; ask another
    /// layer.
    pub fn set(&mut self, option: &str) -> Result<bool> {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        if let Some(value) = value {
            return self.set_value(option, name, value);
        }
        let f = &mut self.flags;
        match name {
            "ro" => self.read_only = true,
            "rw" => self.read_only = false,
            "allow_other" => self.allow_other = true,
            "no_allow_other" => self.allow_other = false,
            "default_permissions" => self.default_permissions = true,
            "no_default_permissions" => self.default_permissions = false,
            "acl" => self.acl = true,
            "noacl" => self.acl = false,
            "lowlatency" => self.lowlatency = Some(true),
            "nolowlatency" => self.lowlatency = Some(false),
            "writeback" => self.writeback = true,
            "nosuid" => f.nosuid = true,
            "suid" => f.nosuid = false,
            "nodev" => f.nodev = true,
            "dev" => f.nodev = false,
            "noexec" => f.noexec = true,
            "exec" => f.noexec = false,
            "nodiratime" => f.nodiratime = true,
            "sync" => f.sync = true,
            "async" => f.sync = false,
            "dirsync" => f.dirsync = true,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_value(&mut self, option: &str, name: &str, value: &str) -> Result<bool> {
        let bad = |reason: &str| DoorError::Option { option: option.into(), reason: reason.into() };
        match name {
            "fsname" => self.fsname = value.into(),
            "subtype" => self.subtype = value.into(),
            "transport" => {
                self.transport = match value {
                    "auto" => TransportChoice::Auto,
                    "classic" => TransportChoice::Classic,
                    "uring" => TransportChoice::Uring,
                    _ => return Err(bad("one of auto, classic, uring")),
                }
            }
            "readdirplus" => {
                self.readdirplus = match value {
                    "always" => true,
                    "auto" => false,
                    _ => return Err(bad("one of always, auto")),
                }
            }
            "threads" => match value.parse() {
                Ok(n @ 1..=256) => self.threads = Some(n),
                _ => return Err(bad("a number from 1 to 256")),
            },
            "pin" => {
                self.placement = match value {
                    "auto" => Placement::Auto,
                    "none" => Placement::Free,
                    "cpu" => Placement::PerCpu,
                    number => Placement::Cpu(
                        number
                            .parse()
                            .map_err(|_| bad("one of auto, none, cpu, or a CPU's number"))?,
                    ),
                }
            }
            "queue_depth" => match value.parse() {
                Ok(n @ 1..=256) => self.queue_depth = Some(n),
                _ => return Err(bad("a number from 1 to 256")),
            },
            "max_background" => match value.parse() {
                Ok(n @ 1..) => self.max_background = n,
                _ => return Err(bad("a number from 1 to 65535")),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_taken_refused_or_left() {
        let mut o = DoorOptions::default();
        assert!(o.set("transport=uring").unwrap());
        assert_eq!(o.transport, TransportChoice::Uring);
        assert!(o.set("pin=1").unwrap());
        assert_eq!(o.placement, Placement::Cpu(1));
        assert!(o.set("nosuid").unwrap() && o.flags.nosuid);
        assert!(!o.set("data=/dev/sdb").unwrap());
        assert!(!o.set("strange").unwrap());
        assert!(o.set("transport=carrier-pigeon").is_err());
        assert!(o.set("threads=0").is_err());
    }
}
