//! One of every kind of thing that can have a name.

use crate::common::sys::*;

/// What a name can stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Dir,
    Fifo,
    Char,
    Block,
    Socket,
    Symlink,
}

/// All of them.
pub const ALL: [Kind; 7] =
    [Kind::File, Kind::Dir, Kind::Fifo, Kind::Char, Kind::Block, Kind::Socket, Kind::Symlink];

/// All but directories.
pub const NON_DIRS: [Kind; 6] =
    [Kind::File, Kind::Fifo, Kind::Char, Kind::Block, Kind::Socket, Kind::Symlink];

/// All but directories and symbolic links.
pub const NODES: [Kind; 5] = [Kind::File, Kind::Fifo, Kind::Char, Kind::Block, Kind::Socket];

impl Kind {
    /// Makes one; a symbolic link points nowhere.
    pub fn make(self, path: &str) {
        self.try_make(path, 0o644).unwrap_or_else(|e| panic!("making {path}, {self:?}: {e}"));
    }

    /// Makes one with these permissions (a symbolic link has none).
    pub fn try_make(self, path: &str, mode: u32) -> R<()> {
        match self {
            Kind::File => create(path, mode),
            Kind::Dir => mkdir(path, mode),
            Kind::Fifo => mkfifo(path, mode),
            Kind::Char => mknod(path, S_IFCHR | mode, makedev(1, 3)),
            Kind::Block => mknod(path, S_IFBLK | mode, makedev(7, 200)),
            Kind::Socket => mknod(path, S_IFSOCK | mode, 0),
            Kind::Symlink => symlink("points/nowhere", path),
        }
    }

    /// Its type bits.
    pub fn bits(self) -> u32 {
        match self {
            Kind::File => S_IFREG,
            Kind::Dir => S_IFDIR,
            Kind::Fifo => S_IFIFO,
            Kind::Char => S_IFCHR,
            Kind::Block => S_IFBLK,
            Kind::Socket => S_IFSOCK,
            Kind::Symlink => S_IFLNK,
        }
    }

    /// Removes one.
    pub fn remove(self, path: &str) -> R<()> {
        if self == Kind::Dir { rmdir(path) } else { unlink(path) }
    }

    /// Its type in a directory listing.
    pub fn dt(self) -> u8 {
        (self.bits() >> 12) as u8
    }
}

/// A name of this many bytes.
pub fn name_of(len: usize) -> String {
    "n".repeat(len)
}

/// Writes a file of these contents.
pub fn put(path: &str, data: &[u8]) {
    let fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0o644).unwrap();
    let mut done = 0;
    while done < data.len() {
        done += write(&fd, &data[done..]).unwrap();
    }
}

/// A file's contents.
pub fn get(path: &str) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// Bytes that are all different enough to notice any that is out of place.
pub fn pattern(len: usize, seed: u64) -> Vec<u8> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = Vec::with_capacity(len + 8);
    while out.len() < len {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        out.extend_from_slice(&x.to_le_bytes());
    }
    out.truncate(len);
    out
}
