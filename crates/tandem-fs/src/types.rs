//! The words in which the i-node level interface speaks.

use tandem_format::{Content, Record, Time};

/// An i-node number: never zero, never changes while the i-node lives.
pub type Ino = u64;

/// The root directory's i-node number.
pub const ROOT: Ino = 1;

/// The hidden directory that holds unlinked i-nodes which were still in use at a commit.
/// Recovery empties it; no path leads to it.
pub const LIMBO: Ino = 2;

/// The longest name, in bytes.
pub const NAME_MAX: usize = 255;

/// The largest file size, in bytes (2^63 - 1).
pub const SIZE_MAX: u64 = i64::MAX as u64;

/// A piece of a file's contents, in data blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileExtent {
    /// First block in the file.
    pub logical: u64,
    /// First block on D, from the start of the data area.
    pub start: u64,
    /// Number of blocks.
    pub len: u32,
    /// Allocated, but reads as zeros.
    pub unwritten: bool,
}

/// What stat(2) tells of an i-node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attr {
    /// I-node number.
    pub ino: Ino,
    /// Distinguishes successive users of one i-node number.
    pub generation: u32,
    /// File type and permission bits, as `st_mode`.
    pub mode: u32,
    /// Number of links; 0 for an i-node that is unlinked but held.
    pub nlink: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Device number of a device i-node, in the kernel's 32-bit encoding.
    pub rdev: u32,
    /// Size in bytes.
    pub size: u64,
    /// Space in units of 512 bytes.
    pub blocks: u64,
    /// Preferred size of I/O in bytes: the data block size.
    pub blksize: u32,
    /// Last access.
    pub atime: Time,
    /// Last change of the contents.
    pub mtime: Time,
    /// Last change of the attributes.
    pub ctime: Time,
    /// Creation.
    pub btime: Time,
}

impl Attr {
    /// The attributes of a record on a volume with the given data block size; `pending` is the
    /// number of data blocks that delayed allocation has promised to it.
    pub(crate) fn of(rec: &Record, block_size: u32, pending: u64) -> Attr {
        let blocks = match &rec.content {
            Content::Extents(list) => list.iter().map(|e| u64::from(e.len)).sum(),
            Content::Tree { blocks, .. } => *blocks,
            _ => 0,
        };
        let size = match &rec.content {
            Content::Dir(dir) => dir.entries.saturating_mul(64),
            Content::Symlink(target) => target.len() as u64,
            _ => rec.size,
        };
        let rdev = if let Content::Device(dev) = rec.content { dev } else { 0 };
        Attr {
            ino: rec.ino,
            generation: rec.generation,
            mode: rec.mode,
            nlink: rec.nlink,
            uid: rec.uid,
            gid: rec.gid,
            rdev,
            size,
            blocks: (blocks + pending).saturating_mul(u64::from(block_size)) / 512,
            blksize: block_size.max(4096),
            atime: rec.atime,
            mtime: rec.mtime,
            ctime: rec.ctime,
            btime: rec.btime,
        }
    }

    /// The file type as `d_type` of a directory entry.
    pub fn kind(&self) -> FileKind {
        FileKind::of_mode(self.mode)
    }
}

/// A file's type; the discriminants are those of directory entries on the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum FileKind {
    /// Regular file.
    Regular = 1,
    /// Directory.
    Directory = 2,
    /// Symbolic link.
    Symlink = 3,
    /// Character device.
    CharDevice = 4,
    /// Block device.
    BlockDevice = 5,
    /// Named pipe.
    Fifo = 6,
    /// Socket.
    Socket = 7,
}

impl FileKind {
    /// The type in the upper bits of a mode; anything unknown counts as a regular file.
    pub fn of_mode(mode: u32) -> FileKind {
        match mode & libc::S_IFMT {
            libc::S_IFDIR => FileKind::Directory,
            libc::S_IFLNK => FileKind::Symlink,
            libc::S_IFCHR => FileKind::CharDevice,
            libc::S_IFBLK => FileKind::BlockDevice,
            libc::S_IFIFO => FileKind::Fifo,
            libc::S_IFSOCK => FileKind::Socket,
            _ => FileKind::Regular,
        }
    }

    /// The type of a directory entry on the volume, by its number there.
    pub fn of_tag(tag: u8) -> FileKind {
        match tag & 0x0f {
            2 => FileKind::Directory,
            3 => FileKind::Symlink,
            4 => FileKind::CharDevice,
            5 => FileKind::BlockDevice,
            6 => FileKind::Fifo,
            7 => FileKind::Socket,
            _ => FileKind::Regular,
        }
    }

    /// The value that readdir(3) calls `d_type`.
    pub fn d_type(self) -> u8 {
        match self {
            FileKind::Regular => libc::DT_REG,
            FileKind::Directory => libc::DT_DIR,
            FileKind::Symlink => libc::DT_LNK,
            FileKind::CharDevice => libc::DT_CHR,
            FileKind::BlockDevice => libc::DT_BLK,
            FileKind::Fifo => libc::DT_FIFO,
            FileKind::Socket => libc::DT_SOCK,
        }
    }
}

/// Who asks.
#[derive(Debug, Clone, Default)]
pub struct Cred {
    /// User.
    pub uid: u32,
    /// Primary group.
    pub gid: u32,
    /// Supplementary groups.
    pub groups: Vec<u32>,
    /// Whether Tandem itself checks permissions. False when the caller has done so already, as
    /// the kernel does with `default_permissions`.
    pub enforce: bool,
}

impl Cred {
    /// The superuser.
    pub fn root() -> Cred {
        Cred::default()
    }

    pub(crate) fn in_group(&self, gid: u32) -> bool {
        self.gid == gid || self.groups.contains(&gid)
    }
}

/// A time to set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetTime {
    /// The volume's clock at the time of the call.
    Now,
    /// This time.
    At(Time),
}

/// Attributes to change; `None` leaves one alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct SetAttr {
    /// Permission bits (the type bits are ignored).
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Size in bytes, at most [`SIZE_MAX`].
    pub size: Option<u64>,
    /// Access time.
    pub atime: Option<SetTime>,
    /// Modification time.
    pub mtime: Option<SetTime>,
    /// Change time, from a kernel that keeps it itself (write-back cache).
    pub ctime: Option<Time>,
    /// Clear the set-user and set-group bits and `security.capability`.
    pub kill_priv: bool,
}

/// How durable a write must be when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncKind {
    /// As the mount's flush interval has it.
    #[default]
    None,
    /// Contents and what is needed to read them (`O_DSYNC`).
    Data,
    /// Everything (`O_SYNC`).
    All,
}

/// How to write.
#[derive(Debug, Clone, Copy, Default)]
pub struct WriteFlags {
    /// Clear the set-user and set-group bits.
    pub kill_priv: bool,
    /// Durability at return.
    pub sync: SyncKind,
}

/// Where [`crate::Volume::seek`] looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whence {
    /// The next data.
    Data,
    /// The next hole.
    Hole,
}

/// What an existing attribute means to [`crate::Volume::setxattr`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XattrMode {
    /// Set, whether it exists or not.
    Any,
    /// It must not exist.
    Create,
    /// It must exist.
    Replace,
}

bitflags::bitflags! {
    /// Flags of [`crate::Volume::rename`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct RenameFlags: u32 {
        /// Fail with EEXIST when the new name exists.
        const NOREPLACE = 1;
        /// Swap the two entries.
        const EXCHANGE = 2;
    }

    /// Modes of [`crate::Volume::fallocate`], with fallocate(2)'s values.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct FallocFlags: u32 {
        /// Leave the size alone.
        const KEEP_SIZE = 0x01;
        /// Free the range (with KEEP_SIZE).
        const PUNCH_HOLE = 0x02;
        /// Make the range read as zeros, keeping it allocated.
        const ZERO_RANGE = 0x10;
    }
}

/// One directory entry, as readdir gives it.
#[derive(Debug, Clone, Copy)]
pub struct DirEntry<'a> {
    /// I-node number.
    pub ino: Ino,
    /// Where to go on after this entry; never 0.
    pub cookie: u64,
    /// Type.
    pub kind: FileKind,
    /// Name.
    pub name: &'a [u8],
}

/// What statfs(2) tells.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct StatFs {
    /// Data block size in bytes.
    pub block_size: u32,
    /// Data blocks in all.
    pub blocks: u64,
    /// Free data blocks.
    pub blocks_free: u64,
    /// Free data blocks that delayed writes have not promised away.
    pub blocks_avail: u64,
    /// I-nodes in use and possible.
    pub files: u64,
    /// I-nodes for which the metadata device has room.
    pub files_free: u64,
    /// Longest name in bytes.
    pub name_max: u32,
}
