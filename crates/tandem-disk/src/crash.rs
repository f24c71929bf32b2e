//! Disks in memory that lose power.
//!
//! A [`Recorder`] writes down what is asked of several devices, in one order, as dm-log-writes
//! does for one. From any point of that [`History`] a [`Walk`] makes *crash images*: what the
//! devices may hold when the power fails there. A device keeps everything that was written before
//! its own last flush. Of what came after, each 512-byte sector has what it had at that flush, or
//! what any later write or discard made of it: any subset, in any order, torn at sectors, on each
//! device independently of the others.

mod history;
mod image;
mod recorder;
mod store;
#[cfg(test)]
mod tests;

pub use history::{Change, Event, History, Walk};
pub use image::{Image, Images};
pub use recorder::Recorder;
pub use store::{GARBAGE, Store};

/// Bytes that a device writes wholly or not at all.
pub const SECTOR: u64 = 512;
