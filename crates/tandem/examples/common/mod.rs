//! What the measuring programs share.

pub mod fs;
pub mod traffic;
