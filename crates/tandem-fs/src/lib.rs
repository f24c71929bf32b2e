//! The Tandem file system: all metadata a log on the metadata device M, all file contents long
//! runs on the data device D.
//!
//! [`Volume`] is the i-node level interface that every door adapts; [`fs::Fs`] a path level one
//! shaped like `std::fs`. This layer knows no FUSE, no clock and no randomness of its own
//! ([`Env`]); it may use `tandem-format` for bytes and `tandem-device` for where they are kept.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod cache;
pub mod check;
mod commit;
mod dir;
mod env;
mod error;
mod extents;
pub mod fs;
mod ifile;
mod inode;
mod log;
mod mkfs;
mod ops;
mod options;
#[cfg(feature = "planted")]
pub mod planted;
#[cfg(not(feature = "planted"))]
mod planted;
mod scrub;
mod space;
mod state;
mod sync;
mod types;
mod volume;

pub use cache::CrossFileStats;
pub use commit::ContinuityStats;
pub use env::{Env, SystemEnv};
pub use error::{Error, Result};
pub use log::{LoggedBytes, PrefetchStats, RelocationStats};
pub use options::{Atime, MkfsOptions, MkfsReport, MountOptions};
pub use scrub::{BadBlock, ScrubReport};
pub use space::AffinityStats;
pub use tandem_format::Time;
pub use types::*;
pub use volume::{
    CleanerStats, DeviceCounts, DeviceErrors, Info, LogInfo, StallStats, Stats, Volume,
};
