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
    #[error("{device}: {what} at byte {offset}: {detail}")]
    Corrupt {
        /// The device's name.
        device: String,
        /// The structure.
        what: String,
        /// Byte offset on the device.
        offset: u64,
        /// What is wrong with it.
        detail: String,
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
            Error::Corrupt { .. } => libc::EUCLEAN,
            Error::Volume { .. } | Error::Invalid(_) => libc::EINVAL,
            Error::Failed(_) => libc::EROFS,
        }
    }

    /// Whether the cause deserves a line in the log: everything but plain POSIX answers.
    pub fn is_fault(&self) -> bool {
        !matches!(self, Error::Posix(_))
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

/// A structure in memory or on M contradicts another.
pub(crate) fn corrupt(what: impl Into<String>, detail: impl Into<String>) -> Fault {
    Fault::Fail(Error::Corrupt {
        device: "metadata".into(),
        what: what.into(),
        offset: 0,
        detail: detail.into(),
    })
}
