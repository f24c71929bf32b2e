//! The file system's error, and the fault that makes an operation start over.

use crate::cache::Key;
use tandem_format::FormatError;

/// What went wrong, in words for a person; [`Error::errno`] has the number for a program.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An answer that POSIX gives a number to and that needs no story.
    #[error("{}", std::io::Error::from_raw_os_error(*.0))]
    Posix(i32),
    /// A device failed.
    #[error("{device}: {op} of {len} bytes at {offset}: {source}")]
    Io {
        /// The device's name.
        device: String,
        /// "read", "write" or "flush".
        op: &'static str,
        /// Byte offset on the device.
        offset: u64,
        /// Bytes asked for.
        len: u64,
        /// The device's own error.
        source: std::io::Error,
    },
    /// A structure on a device is not what it must be.
    #[error("{device}: {what}{}: {detail}", at_byte(*offset))]
    Corrupt {
        /// The device's name.
        device: String,
        /// The structure.
        what: String,
        /// Byte offset on the device; 0 when the structure is known by its name only.
        offset: u64,
        /// What is wrong with it.
        detail: String,
    },
    /// Contents of a file that cannot be read.
    #[error("{device}: data block {block} (byte {offset}): {source}")]
    Unreadable {
        /// The data device's name.
        device: String,
        /// The first data block that cannot be read.
        block: u64,
        /// Its byte offset on the device.
        offset: u64,
        /// The device's own error.
        source: std::io::Error,
    },
    /// Not a volume, or one that this version cannot take.
    #[error("{device}: {detail}")]
    Volume {
        /// The device's name.
        device: String,
        /// What is wrong and what to do.
        detail: String,
    },
    /// Option values that make no sense together.
    #[error("{0}")]
    Invalid(String),
    /// The volume has turned read-only after an error.
    #[error("the volume is read-only since an earlier error: {0}")]
    Failed(String),
    /// What was to be made durable is lost: the volume has turned read-only.
    #[error("what was not durable is lost since an earlier error: {0}")]
    Lost(String),
}

fn at_byte(offset: u64) -> String {
    if offset == 0 { String::new() } else { format!(" at byte {offset}") }
}

impl Error {
    /// The errno(3) that a program gets.
    pub fn errno(&self) -> i32 {
        match self {
            Error::Posix(n) => *n,
            Error::Io { source, .. } => match source.raw_os_error() {
                Some(n @ (libc::ENOSPC | libc::ENOMEM | libc::EROFS)) => n,
                _ => libc::EIO,
            },
            Error::Unreadable { .. } | Error::Lost(_) => libc::EIO,
            Error::Corrupt { .. } => libc::EUCLEAN,
            Error::Volume { .. } | Error::Invalid(_) => libc::EINVAL,
            Error::Failed(_) => libc::EROFS,
        }
    }

    /// Whether the cause deserves a line in the log: everything but plain POSIX answers, and what
    /// follows from a failure that has had its line.
    pub fn is_fault(&self) -> bool {
        !matches!(self, Error::Posix(_) | Error::Failed(_) | Error::Lost(_))
    }

    /// Names the device that a contradiction was found on, where that is not known yet.
    pub(crate) fn on(mut self, name: &str) -> Error {
        if let Error::Corrupt { device, .. } = &mut self {
            if device.is_empty() {
                *device = name.into();
            }
        }
        self
    }

    pub(crate) fn format(
        device: &str,
        what: impl Into<String>,
        offset: u64,
        e: &FormatError,
    ) -> Error {
        Error::Corrupt { device: device.into(), what: what.into(), offset, detail: e.to_string() }
    }
}

/// What the interface returns.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation under the state's lock stopped. All but `Fail` mean: the lock is released,
/// the cause is removed, and the operation runs again from its start. So an operation looks at
/// everything that it needs before it changes anything.
#[derive(Debug)]
pub(crate) enum Fault {
    /// A metadata block is not in memory.
    Miss(Key),
    /// A group's free space is not in memory.
    Load(u32),
    /// The log has no room until a commit, a checkpoint or the cleaner has made some.
    LogFull,
    /// Too much is dirty: wait for a commit.
    Pressure,
    /// The data device has no room until a commit has freed some.
    DataFull,
    /// The operation is over.
    Fail(Error),
}

pub(crate) type Res<T> = std::result::Result<T, Fault>;

impl From<Error> for Fault {
    fn from(e: Error) -> Fault {
        Fault::Fail(e)
    }
}

/// A POSIX answer as a fault.
pub(crate) fn fail<T>(errno: i32) -> Res<T> {
    Err(Fault::Fail(Error::Posix(errno)))
}

/// A structure in memory or on M contradicts another. Who runs the operation names the device.
pub(crate) fn corrupt(what: impl Into<String>, detail: impl Into<String>) -> Fault {
    Fault::Fail(Error::Corrupt {
        device: String::new(),
        what: what.into(),
        offset: 0,
        detail: detail.into(),
    })
}
