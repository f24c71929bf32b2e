//! The log on M (DualFS §2.1, after BSD-LFS): segments and their usage, partial segments, reading
//! blocks back, checkpoints, roll-forward and the cleaner.

mod checkpoint;
mod cleaner;
mod reader;
mod recovery;
mod segments;
mod writer;

pub(crate) use checkpoint::read_checkpoint;
pub(crate) use reader::{load, lost, read_block};
pub(crate) use recovery::recover;
pub(crate) use segments::Segments;
pub(crate) use writer::{Item, LogWriter, Payload};
