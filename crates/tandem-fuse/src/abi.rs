//! The kernel's FUSE interface, version 7.45 (`include/uapi/linux/fuse.h`): structures, operation
//! codes, flags. Nothing here decides anything.

mod flags;
mod opcode;
mod structs;

pub use flags::{FattrFlags, InitFlags, OpenFlags, WriteInFlags};
pub use opcode::Opcode;
pub use structs::*;

/// The protocol's major version.
pub const MAJOR: u32 = 7;
/// The newest minor version that this crate speaks: that of Linux 6.18.
pub const MINOR: u32 = 45;
/// The oldest minor version that it accepts: that of Linux 5.4.
pub const MINOR_OLDEST: u32 = 31;

/// The node id of the root directory.
pub const ROOT_ID: u64 = 1;

/// The smallest buffer with which the kernel lets a daemon read requests, in bytes.
pub const MIN_READ_BUFFER: usize = 8192;

/// The longest fixed structure after a request's header, in bytes; also the size of its place in
/// an io_uring request.
pub const OP_IN_MAX: usize = 128;

/// `FUSE_DEV_IOC_CLONE`, `_IOR(229, 0, u32)`: make this descriptor serve the given one's connection.
pub const DEV_IOC_CLONE: u32 = 0x8004_e500;

/// `FUSE_IO_URING_CMD_REGISTER`: hand over an entry's buffers and wait for a request.
pub const URING_CMD_REGISTER: u32 = 1;
/// `FUSE_IO_URING_CMD_COMMIT_AND_FETCH`: answer a request and wait for the next.
pub const URING_CMD_COMMIT_AND_FETCH: u32 = 2;

/// Bit of `FsyncIn::flags`: contents only (`FUSE_FSYNC_FDATASYNC`).
pub const FSYNC_DATASYNC: u32 = 1;
/// Bit of `SetxattrIn::setxattr_flags`: the ACL's setting takes the set-group bit away
/// (`FUSE_SETXATTR_ACL_KILL_SGID`).
pub const SETXATTR_ACL_KILL_SGID: u32 = 1;
