//! What is in memory: metadata blocks (`blocks`), and the contents of files on their way to the
//! data device (`data`). Touches no device: a block that is missing is a [`Fault`].
//!
//! [`Fault`]: crate::error::Fault

mod blocks;
mod data;

pub(crate) use blocks::{Block, BlockCache, Body, Key};
pub(crate) use data::{FileData, Layers, Piece, Staged};
