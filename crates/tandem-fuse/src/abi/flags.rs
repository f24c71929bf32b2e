//! Flag words.

bitflags::bitflags! {
    /// What both sides can do, in INIT: `flags` in the low half, `flags2` in the high half.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct InitFlags: u64 {
        /// Several reads of one file at a time.
        const ASYNC_READ = 1;
        /// Look-ups of "." and ".." by node id, for NFS and file handles.
        const EXPORT_SUPPORT = 1 << 4;
        /// Writes of more than a page.
        const BIG_WRITES = 1 << 5;
        /// The umask comes along and is applied by the file system.
        const DONT_MASK = 1 << 6;
        /// READDIRPLUS exists.
        const DO_READDIRPLUS = 1 << 13;
        /// The kernel chooses between READDIR and READDIRPLUS.
        const READDIRPLUS_AUTO = 1 << 14;
        /// Direct I/O is submitted asynchronously.
        const ASYNC_DIO = 1 << 15;
        /// The kernel holds written pages back.
        const WRITEBACK_CACHE = 1 << 16;
        /// ENOSYS to OPEN means: never ask again.
        const NO_OPEN_SUPPORT = 1 << 17;
        /// Several operations in one directory at a time.
        const PARALLEL_DIROPS = 1 << 18;
        /// POSIX ACLs.
        const POSIX_ACL = 1 << 20;
        /// ECONNABORTED instead of ENODEV after an abort.
        const ABORT_ERROR = 1 << 21;
        /// `max_pages` counts.
        const MAX_PAGES = 1 << 22;
        /// Symbolic links are cached.
        const CACHE_SYMLINKS = 1 << 23;
        /// ENOSYS to OPENDIR means: never ask again.
        const NO_OPENDIR_SUPPORT = 1 << 24;
        /// The kernel drops cached contents only when told to.
        const EXPLICIT_INVAL_DATA = 1 << 25;
        /// The file system clears set-id bits, when told to.
        const HANDLE_KILLPRIV_V2 = 1 << 28;
        /// The long form of SETXATTR.
        const SETXATTR_EXT = 1 << 29;
        /// `flags2` counts.
        const INIT_EXT = 1 << 30;
        /// Shared mappings of files opened for direct I/O.
        const DIRECT_IO_ALLOW_MMAP = 1 << 36;
        /// Requests over io_uring.
        const OVER_IO_URING = 1 << 41;
    }

    /// Which fields of SETATTR count.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct FattrFlags: u32 {
        /// Mode.
        const MODE = 1;
        /// Owner.
        const UID = 1 << 1;
        /// Group.
        const GID = 1 << 2;
        /// Size.
        const SIZE = 1 << 3;
        /// Access time.
        const ATIME = 1 << 4;
        /// Modification time.
        const MTIME = 1 << 5;
        /// File handle.
        const FH = 1 << 6;
        /// The access time is now.
        const ATIME_NOW = 1 << 7;
        /// The modification time is now.
        const MTIME_NOW = 1 << 8;
        /// Lock owner.
        const LOCKOWNER = 1 << 9;
        /// Change time.
        const CTIME = 1 << 10;
        /// Clear set-id bits.
        const KILL_SUIDGID = 1 << 11;
    }

    /// Flags of WRITE.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct WriteInFlags: u32 {
        /// From the page cache, some time after the program wrote it.
        const CACHE = 1;
        /// The lock owner counts.
        const LOCKOWNER = 1 << 1;
        /// Clear set-id bits.
        const KILL_SUIDGID = 1 << 2;
    }

    /// What an OPEN's answer asks of the kernel.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct OpenFlags: u32 {
        /// Past the page cache.
        const DIRECT_IO = 1 << 0;
        /// Keep cached contents.
        const KEEP_CACHE = 1 << 1;
        /// Cache the directory.
        const CACHE_DIR = 1 << 3;
        /// No FLUSH at close.
        const NOFLUSH = 1 << 5;
    }
}
