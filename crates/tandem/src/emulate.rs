//! A device served as files, on which a loop device, a User-Mode Linux disk, QEMU or a volume can
//! lie.

mod files;

pub use files::{Admission, Area, Files};
