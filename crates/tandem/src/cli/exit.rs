//! Exit statuses.

/// All went well.
pub const OK: u8 = 0;
/// Something did not.
pub const FAILURE: u8 = 1;
/// Wrong usage, as clap has it.
pub const USAGE: u8 = 2;

/// fsck(8): errors were corrected.
pub const FSCK_CORRECTED: u8 = 1;
/// fsck(8): errors are left uncorrected.
pub const FSCK_ERRORS: u8 = 4;
/// fsck(8): operational error.
pub const FSCK_OPERATIONAL: u8 = 8;
/// fsck(8): usage or syntax error.
pub const FSCK_USAGE: u8 = 16;

/// fsck(8): cancelled by the user.
pub const FSCK_CANCELLED: u8 = 32;

/// mount(8): incorrect invocation or permissions.
pub const MOUNT_USAGE: u8 = 1;
/// mount(8): mount failure.
pub const MOUNT_FAILURE: u8 = 32;
