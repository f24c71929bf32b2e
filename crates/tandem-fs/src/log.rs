//! The log on M (DualFS §2.1, after BSD-LFS): segments and their usage, partial segments, reading
//! blocks back, checkpoints, roll-forward and the cleaner.

mod checkpoint;
mod cleaner;
mod prefetch;
mod reader;
mod recovery;
mod relocate;
mod segments;
mod writer;

pub(crate) use cleaner::{CleanerCounters, Need};

pub(crate) use checkpoint::read_checkpoint;
pub(crate) use prefetch::Prefetch;
pub use prefetch::PrefetchStats;
pub(crate) use reader::{load, lost, read_block, read_table};
pub(crate) use recovery::{BEHIND, goes_on, recover};
pub use relocate::RelocationStats;
pub(crate) use relocate::{Ranks, Relocate};
pub(crate) use segments::Segments;
pub use writer::LoggedBytes;
pub(crate) use writer::{Batch, Item, LogWriter, Payload};
