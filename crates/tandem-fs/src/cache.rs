//! What is in memory: metadata blocks (`blocks`), the contents of files on their way to the
//! data device (`data`), and what was read from there ahead (`cross_file`). Touches no device: a
//! block that is missing is a [`Fault`].
//!
//! [`Fault`]: crate::error::Fault

mod ahead;
mod blocks;
mod cross_file;
mod data;

pub(crate) use ahead::{Brought, FirstUse};
pub(crate) use blocks::{Block, BlockCache, Body, Key};
pub use cross_file::CrossFileStats;
pub(crate) use cross_file::{CrossFile, Directory, FileAt, MIDDLING};
pub(crate) use data::{FileData, Layers, Piece, Staged};
