//! Disks that can be looked into.
//!
//! This layer stands between a file system and the place where its bytes are kept: it makes a
//! device lose power or fail, writes down what was asked of it, and tells how long a real drive
//! would have taken. It knows nothing of what the bytes mean.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod capture;
pub mod crash;
pub mod drive;
pub mod emulate;
pub mod fault;
pub mod map;
pub mod model;
pub mod profile;
pub mod replay;
pub mod request;
pub mod trace;
pub mod validate;
