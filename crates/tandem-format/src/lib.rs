//! The bytes on a Tandem volume's devices, format version 2: little-endian, no I/O.
//!
//! Everything here turns bytes into checked values and values into bytes. Decoders take any bytes
//! at all: they say what is wrong with them, and never panic.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod bits;
mod bytes;
mod page;

pub mod block;
pub mod checkpoint;
pub mod delta;
pub mod error;
pub mod geometry;
pub mod hash;
pub mod leaf;
pub mod record;
pub mod summary;
pub mod superblock;
pub mod table;
pub mod units;

pub use block::*;
pub use checkpoint::*;
pub use delta::*;
pub use error::*;
pub use geometry::*;
pub use hash::*;
pub use leaf::*;
pub use record::*;
pub use summary::*;
pub use superblock::*;
pub use table::*;
pub use units::*;
