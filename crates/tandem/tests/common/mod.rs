//! What the integration tests share: system calls as they are, other users, image files and
//! mounts, and a runner that collects every failed assertion of a test.

// Each test binary uses its own part of this module.
#![allow(dead_code)]

pub mod program;
pub mod random;
pub mod suite;
pub mod sys;
pub mod users;
pub mod volume;
