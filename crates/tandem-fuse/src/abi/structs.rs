//! Structures, field for field as the kernel has them; comments only where a unit or meaning is
//! not in the name.
#![allow(missing_docs, reason = "the fields are the kernel's own")]

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

macro_rules! abi {
    ($($(#[$meta:meta])* $name:ident { $($(#[$fmeta:meta])* $field:ident: $ty:ty,)* })*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(C)]
        pub struct $name { $($(#[$fmeta])* pub $field: $ty,)* }

        impl Default for $name {
            fn default() -> Self {
                <$name as zerocopy::FromZeros>::new_zeroed()
            }
        }
    )*};
}

abi! {
    /// `fuse_in_header`
    InHeader {
        len: u32, opcode: u32, unique: u64, nodeid: u64, uid: u32, gid: u32, pid: u32,
        /// Extensions at the end, in units of 8 bytes.
        total_extlen: u16, padding: u16,
    }
    /// `fuse_out_header`
    OutHeader { len: u32, error: i32, unique: u64, }
    /// `fuse_attr`; times in seconds and nanoseconds, `blocks` in units of 512 bytes
    FuseAttr {
        ino: u64, size: u64, blocks: u64, atime: u64, mtime: u64, ctime: u64,
        atimensec: u32, mtimensec: u32, ctimensec: u32, mode: u32, nlink: u32, uid: u32, gid: u32,
        rdev: u32, blksize: u32, flags: u32,
    }
    /// `fuse_entry_out`; validities in seconds and nanoseconds
    EntryOut {
        nodeid: u64, generation: u64, entry_valid: u64, attr_valid: u64,
        entry_valid_nsec: u32, attr_valid_nsec: u32, attr: FuseAttr,
    }
    /// `fuse_attr_out`
    AttrOut { attr_valid: u64, attr_valid_nsec: u32, dummy: u32, attr: FuseAttr, }
    /// `fuse_sx_time`
    SxTime { tv_sec: i64, tv_nsec: u32, reserved: i32, }
    /// `fuse_statx`
    Statx {
        mask: u32, blksize: u32, attributes: u64, nlink: u32, uid: u32, gid: u32,
        mode: u16, spare0: u16, ino: u64, size: u64, blocks: u64, attributes_mask: u64,
        atime: SxTime, btime: SxTime, ctime: SxTime, mtime: SxTime,
        rdev_major: u32, rdev_minor: u32, dev_major: u32, dev_minor: u32, spare2: [u64; 14],
    }
    /// `fuse_statx_in`
    StatxIn { getattr_flags: u32, reserved: u32, fh: u64, sx_flags: u32, sx_mask: u32, }
    /// `fuse_statx_out`
    StatxOut { attr_valid: u64, attr_valid_nsec: u32, flags: u32, spare: [u64; 2], stat: Statx, }
    /// `fuse_kstatfs`
    Kstatfs {
        blocks: u64, bfree: u64, bavail: u64, files: u64, ffree: u64,
        bsize: u32, namelen: u32, frsize: u32, padding: u32, spare: [u32; 6],
    }
    /// `fuse_forget_in`
    ForgetIn { nlookup: u64, }
    /// `fuse_forget_one`
    ForgetOne { nodeid: u64, nlookup: u64, }
    /// `fuse_batch_forget_in`
    BatchForgetIn { count: u32, dummy: u32, }
    /// `fuse_mknod_in`
    MknodIn { mode: u32, rdev: u32, umask: u32, padding: u32, }
    /// `fuse_mkdir_in`
    MkdirIn { mode: u32, umask: u32, }
    /// `fuse_rename_in`
    RenameIn { newdir: u64, }
    /// `fuse_rename2_in`
    Rename2In { newdir: u64, flags: u32, padding: u32, }
    /// `fuse_link_in`
    LinkIn { oldnodeid: u64, }
    /// `fuse_setattr_in`
    SetattrIn {
        valid: u32, padding: u32, fh: u64, size: u64, lock_owner: u64,
        atime: u64, mtime: u64, ctime: u64, atimensec: u32, mtimensec: u32, ctimensec: u32,
        mode: u32, unused4: u32, uid: u32, gid: u32, unused5: u32,
    }
    /// `fuse_create_in`, also of TMPFILE
    CreateIn { flags: u32, mode: u32, umask: u32, open_flags: u32, }
    /// `fuse_open_out`
    OpenOut { fh: u64, open_flags: u32, backing_id: i32, }
    /// `fuse_read_in`, also of READDIR and READDIRPLUS
    ReadIn {
        fh: u64, offset: u64, size: u32, read_flags: u32, lock_owner: u64, flags: u32, padding: u32,
    }
    /// `fuse_write_in`
    WriteIn {
        fh: u64, offset: u64, size: u32, write_flags: u32, lock_owner: u64,
        /// The file's open flags, with O_SYNC and O_DSYNC as they hold for this write.
        flags: u32, padding: u32,
    }
    /// `fuse_write_out`
    WriteOut { size: u32, padding: u32, }
    /// `fuse_fsync_in`
    FsyncIn { fh: u64, fsync_flags: u32, padding: u32, }
    /// `fuse_setxattr_in`, long form
    SetxattrIn { size: u32, flags: u32, setxattr_flags: u32, padding: u32, }
    /// `fuse_getxattr_in`, also of LISTXATTR
    GetxattrIn { size: u32, padding: u32, }
    /// `fuse_getxattr_out`
    GetxattrOut { size: u32, padding: u32, }
    /// The part of `fuse_init_in` that all kernels send
    InitIn { major: u32, minor: u32, max_readahead: u32, flags: u32, }
    /// `fuse_init_out`
    InitOut {
        major: u32, minor: u32, max_readahead: u32, flags: u32,
        max_background: u16, congestion_threshold: u16, max_write: u32,
        /// Granularity of times in nanoseconds.
        time_gran: u32,
        max_pages: u16, map_alignment: u16, flags2: u32, max_stack_depth: u32,
        request_timeout: u16, unused: [u16; 11],
    }
    /// `fuse_interrupt_in`
    InterruptIn { unique: u64, }
    /// `fuse_ioctl_in`
    IoctlIn { fh: u64, flags: u32, cmd: u32, arg: u64, in_size: u32, out_size: u32, }
    /// `fuse_fallocate_in`
    FallocateIn { fh: u64, offset: u64, length: u64, mode: u32, padding: u32, }
    /// `fuse_lseek_in`
    LseekIn { fh: u64, offset: u64, whence: u32, padding: u32, }
    /// `fuse_lseek_out`
    LseekOut { offset: u64, }
    /// `fuse_copy_file_range_in`
    CopyFileRangeIn {
        fh_in: u64, off_in: u64, nodeid_out: u64, fh_out: u64, off_out: u64, len: u64, flags: u64,
    }
    /// `fuse_copy_file_range_out`
    CopyFileRangeOut { bytes_copied: u64, }
    /// `fuse_dirent` without the name
    Dirent { ino: u64, off: u64, namelen: u32, kind: u32, }
    /// `fuse_uring_ent_in_out`
    UringEntInOut { flags: u64, commit_id: u64, payload_sz: u32, padding: u32, reserved: u64, }
    /// `fuse_uring_cmd_req`
    UringCmdReq { flags: u64, commit_id: u64, qid: u16, padding: [u8; 6], }
}

/// `fuse_uring_req_header`: what an io_uring entry's first buffer holds.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct UringReqHeader {
    pub in_out: [u8; 128],
    pub op_in: [u8; 128],
    pub ring_ent: UringEntInOut,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_the_kernels() {
        assert_eq!(size_of::<InHeader>(), 40);
        assert_eq!(size_of::<OutHeader>(), 16);
        assert_eq!(size_of::<FuseAttr>(), 88);
        assert_eq!(size_of::<EntryOut>(), 128);
        assert_eq!(size_of::<AttrOut>(), 104);
        assert_eq!(size_of::<Statx>(), 256);
        assert_eq!(size_of::<StatxOut>(), 288);
        assert_eq!(size_of::<Kstatfs>(), 80);
        assert_eq!(size_of::<SetattrIn>(), 88);
        assert_eq!(size_of::<ReadIn>(), 40);
        assert_eq!(size_of::<WriteIn>(), 40);
        assert_eq!(size_of::<InitOut>(), 64);
        assert_eq!(size_of::<CopyFileRangeIn>(), 56);
        assert_eq!(size_of::<Dirent>(), 24);
        assert_eq!(size_of::<UringReqHeader>(), 288);
        assert_eq!(size_of::<UringCmdReq>(), 24);
    }
}
