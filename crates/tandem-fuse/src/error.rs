//! Why a mount could not be made, served or ended, with the remedy.

use std::io;
use std::path::{Path, PathBuf};

/// An error of the door itself; errors of single operations go to the program that asked.
#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    /// There is no way to speak FUSE here.
    #[error(
        "/dev/fuse: {0}; the kernel's FUSE driver is needed (modprobe fuse), and the device file \
         must be readable and writable"
    )]
    NoDevice(#[source] io::Error),
    /// The mount point will not do.
    #[error("{}: {reason}", .dir.display())]
    MountPoint {
        /// The directory.
        dir: PathBuf,
        /// What is wrong with it and what to do.
        reason: String,
    },
    /// The kernel or fusermount3 would not mount.
    #[error("mounting on {}: {reason}", .dir.display())]
    Mount {
        /// The directory.
        dir: PathBuf,
        /// What was said, and what to do.
        reason: String,
    },
    /// Programs have files or directories of the mount open.
    #[error(
        "{} is in use; end the programs that use it (fuser -vm DIR names them), or unmount lazily",
        .0.display()
    )]
    Busy(PathBuf),
    /// Nothing of ours is mounted there.
    #[error("{}: nothing is mounted there", .0.display())]
    NotMounted(PathBuf),
    /// Unmounting failed for another reason.
    #[error("unmounting {}: {reason}", .dir.display())]
    Unmount {
        /// The directory.
        dir: PathBuf,
        /// What was said.
        reason: String,
    },
    /// The kernel is too old, or speaks another protocol.
    #[error(
        "the kernel speaks FUSE {major}.{minor}; 7.{} (Linux 5.4) or newer is needed",
        crate::abi::MINOR_OLDEST
    )]
    Protocol {
        /// Its major version.
        major: u32,
        /// Its minor version.
        minor: u32,
    },
    /// The first request was not understood.
    #[error("the kernel's first request is not INIT ({0})")]
    Handshake(String),
    /// `transport=uring`, and it is not to be had.
    #[error("transport=uring: {reason}; or take transport=auto")]
    NoUring {
        /// What is missing and how to get it.
        reason: String,
    },
    /// An option's value makes no sense.
    #[error("option {option}: {reason}")]
    Option {
        /// The option as given.
        option: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A system call failed.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

impl DoorError {
    pub(crate) fn system(what: &'static str, source: impl Into<io::Error>) -> DoorError {
        DoorError::System { what, source: source.into() }
    }

    pub(crate) fn mount_point(dir: &Path, reason: impl Into<String>) -> DoorError {
        DoorError::MountPoint { dir: dir.to_path_buf(), reason: reason.into() }
    }

    pub(crate) fn mount(dir: &Path, reason: impl Into<String>) -> DoorError {
        DoorError::Mount { dir: dir.to_path_buf(), reason: reason.into() }
    }
}

/// What the door's functions return.
pub type Result<T> = std::result::Result<T, DoorError>;
