//! Why a device could not be opened, and what to do about it.

use std::io;
use std::path::PathBuf;

/// Why a device could not be opened or created.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// Nothing there.
    #[error("{}: no such image file or block device; check the path", path.display())]
    NotFound {
        /// What was to be opened.
        path: PathBuf,
    },
    /// The file permissions say no.
    #[error(
        "{}: permission denied; run as root, or get read and write permission on it",
        path.display()
    )]
    Permission {
        /// What was to be opened.
        path: PathBuf,
    },
    /// Somebody else is using it.
    #[error("{}: in use: {reason}", path.display())]
    InUse {
        /// What was to be opened.
        path: PathBuf,
        /// Who, as far as that can be found out, and how to end it.
        reason: String,
        /// It is another process of ours, which may be about to end.
        locked: bool,
    },
    /// A directory, a character device, a pipe, …
    #[error(
        "{}: is {what}; give a block device or an image file", path.display()
    )]
    NotADevice {
        /// What was to be opened.
        path: PathBuf,
        /// What it is, with its article.
        what: &'static str,
    },
    /// Writing was asked for and cannot be.
    #[error(
        "{}: the media or the file system that holds it is read-only; mount with -o ro, or make it \
         writable",
        path.display()
    )]
    ReadOnlyMedia {
        /// What was to be opened.
        path: PathBuf,
    },
    /// The file is there already.
    #[error("{}: exists already; remove it first, or use it as it is", path.display())]
    Exists {
        /// What was to be created.
        path: PathBuf,
    },
    /// The file system that was to hold an image has no room, or cannot hold a file that long.
    #[error(
        "{}: cannot be made {size} bytes long: {source}; choose a smaller size or another place",
        path.display()
    )]
    CannotSize {
        /// The image file.
        path: PathBuf,
        /// The size wanted, in bytes.
        size: u64,
        /// What the system said.
        source: io::Error,
    },
    /// Anything else.
    #[error("{}: {action}: {source}", path.display())]
    Io {
        /// What was to be opened.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl DeviceError {
    /// Sorts an error of `action` on `path` into its kind.
    pub(crate) fn from_io(
        path: &std::path::Path,
        action: &'static str,
        source: io::Error,
    ) -> DeviceError {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path },
            io::ErrorKind::PermissionDenied => Self::Permission { path },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnlyMedia { path },
            io::ErrorKind::AlreadyExists => Self::Exists { path },
            io::ErrorKind::ResourceBusy => Self::InUse {
                path,
                reason: "the kernel has claimed it; unmount or detach what uses it".to_string(),
                locked: false,
            },
            _ => Self::Io { path, action, source },
        }
    }

    /// The system's error number that comes nearest.
    pub fn errno(&self) -> i32 {
        use rustix::io::Errno;
        let errno = match self {
            Self::NotFound { .. } => Errno::NOENT,
            Self::Permission { .. } => Errno::ACCESS,
            Self::InUse { .. } => Errno::BUSY,
            Self::NotADevice { .. } => Errno::NOTBLK,
            Self::ReadOnlyMedia { .. } => Errno::ROFS,
            Self::Exists { .. } => Errno::EXIST,
            Self::CannotSize { source, .. } | Self::Io { source, .. } => {
                return source.raw_os_error().unwrap_or(Errno::IO.raw_os_error());
            }
        };
        errno.raw_os_error()
    }
}
