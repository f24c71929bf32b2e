//! What the system knows of a phase: processor time by process, what reached the devices, memory.

pub mod block;
pub mod process;

pub use block::Counts;
pub use process::{Process, Usage};
