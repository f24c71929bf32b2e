//! Hostile bytes: what Tandem's decoders and the whole engine must survive (`docs/fuzzing.md`).
//!
//! Each target is a function of any bytes at all that panics when something is not as it must be.
//! libFuzzer calls them by way of the package in `fuzz/`; `tests/replay.rs` calls them with the
//! corpus kept there and with bytes from a seed.
//!
//! Whoever links this crate has at most [`MEMORY_BOUND`] bytes to allocate; the process ends when
//! it asks for more.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod image;
mod request;
mod structures;
mod text;

use std::alloc::System;

use cap::Cap;

pub use image::{Outcome, image};
pub use request::request;
pub use structures::structures;
pub use text::text;

/// Most bytes that may be allocated at a time by everything in the process.
pub const MEMORY_BOUND: usize = 256 << 20;

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, MEMORY_BOUND);
