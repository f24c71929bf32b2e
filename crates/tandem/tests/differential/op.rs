//! What is done: one system call, or a few that belong together.

use crate::common::users::{ALICE, BOB, CAROL, TEAM, User};

/// A path, as given to the call; any bytes but NUL.
pub type Name = Vec<u8>;

/// Descriptors that can be open at a time.
pub const SLOTS: usize = 5;

/// Who does it.
pub const USERS: [User; 4] =
    [User::new(0, 0), ALICE, BOB.with(&[TEAM]), User::new(CAROL.uid, CAROL.gid)];

/// A step of a sequence.
#[derive(Clone)]
pub struct Step {
    /// Index into `USERS`.
    pub who: usize,
    /// What.
    pub op: Op,
}

/// An operation. Descriptors are slots; what is open where depends on what succeeded before.
#[derive(Clone)]
pub enum Op {
    Open {
        path: Name,
        flags: i32,
        mode: u32,
        slot: usize,
    },
    OpenAt {
        dir: usize,
        path: Name,
        flags: i32,
        slot: usize,
    },
    Close {
        slot: usize,
    },
    Write {
        slot: usize,
        len: usize,
        seed: u64,
    },
    Pwrite {
        slot: usize,
        off: i64,
        len: usize,
        seed: u64,
    },
    Read {
        slot: usize,
        len: usize,
    },
    Pread {
        slot: usize,
        off: i64,
        len: usize,
    },
    Seek {
        slot: usize,
        off: i64,
        whence: i32,
    },
    Holes {
        slot: usize,
    },
    Ftruncate {
        slot: usize,
        len: i64,
    },
    Truncate {
        path: Name,
        len: i64,
    },
    Fallocate {
        slot: usize,
        mode: i32,
        off: i64,
        len: i64,
    },
    Fsync {
        slot: usize,
        data: bool,
    },
    Sync {
        slot: usize,
    },
    MapRead {
        slot: usize,
        off: usize,
        len: usize,
    },
    MapWrite {
        slot: usize,
        off: usize,
        len: usize,
        seed: u64,
    },
    Copy {
        from: usize,
        to: usize,
        off: Option<(i64, i64)>,
        len: usize,
    },
    Sendfile {
        from: usize,
        to: usize,
        off: i64,
        len: usize,
    },
    Append {
        slot: usize,
        on: bool,
    },
    List {
        slot: usize,
    },
    Names {
        path: Name,
    },
    Mkdir {
        path: Name,
        mode: u32,
    },
    Mknod {
        path: Name,
        mode: u32,
        dev: u64,
    },
    Symlink {
        target: Name,
        path: Name,
    },
    Link {
        from: Name,
        to: Name,
        follow: bool,
    },
    LinkOpen {
        slot: usize,
        to: Name,
    },
    Unlink {
        path: Name,
    },
    Rmdir {
        path: Name,
    },
    Rename {
        from: Name,
        to: Name,
        flags: u32,
    },
    Chmod {
        path: Name,
        mode: u32,
    },
    Fchmod {
        slot: usize,
        mode: u32,
    },
    Chown {
        path: Name,
        uid: u32,
        gid: u32,
        follow: bool,
    },
    Fchown {
        slot: usize,
        uid: u32,
        gid: u32,
    },
    Times {
        path: Name,
        atime: Option<i64>,
        mtime: Option<i64>,
        follow: bool,
    },
    Setxattr {
        path: Name,
        name: &'static str,
        value: Vec<u8>,
        flags: i32,
        follow: bool,
    },
    Getxattr {
        path: Name,
        name: &'static str,
        len: usize,
    },
    Removexattr {
        path: Name,
        name: &'static str,
    },
    Listxattr {
        path: Name,
    },
    Stat {
        path: Name,
        follow: bool,
    },
    Fstat {
        slot: usize,
    },
    Readlink {
        path: Name,
    },
    Access {
        path: Name,
        mode: i32,
    },
    Umask {
        mask: u32,
    },
    /// Everything there is, from the root on.
    Survey,
    /// All descriptors are closed; Tandem is unmounted, checked and mounted again.
    Remount,
}

/// Long names and values are cut short.
fn short(bytes: &[u8]) -> String {
    let text = bytes.escape_ascii().to_string();
    if text.len() <= 60 { text } else { format!("{}…({} bytes)", &text[..40], bytes.len()) }
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?}", USERS[self.who].uid, self.op)
    }
}

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use Op::*;
        match self {
            Open { path, flags, mode, slot } => {
                write!(f, "{slot} = open({}, {flags:#o}, {mode:#o})", short(path))
            }
            OpenAt { dir, path, flags, slot } => {
                write!(f, "{slot} = openat({dir}, {}, {flags:#o}, 0644)", short(path))
            }
            Close { slot } => write!(f, "close({slot})"),
            Write { slot, len, .. } => write!(f, "write({slot}, {len} bytes)"),
            Pwrite { slot, off, len, .. } => write!(f, "pwrite({slot}, {len} bytes, {off})"),
            Read { slot, len } => write!(f, "read({slot}, {len})"),
            Pread { slot, off, len } => write!(f, "pread({slot}, {len}, {off})"),
            Seek { slot, off, whence } => write!(f, "lseek({slot}, {off}, {whence})"),
            Holes { slot } => write!(f, "holes of {slot}"),
            Ftruncate { slot, len } => write!(f, "ftruncate({slot}, {len})"),
            Truncate { path, len } => write!(f, "truncate({}, {len})", short(path)),
            Fallocate { slot, mode, off, len } => {
                write!(f, "fallocate({slot}, {mode:#x}, {off}, {len})")
            }
            Fsync { slot, data } => write!(f, "f{}sync({slot})", if *data { "data" } else { "" }),
            Sync { slot } => write!(f, "syncfs({slot})"),
            MapRead { slot, off, len } => write!(f, "map {slot}, read {len} bytes at {off}"),
            MapWrite { slot, off, len, .. } => {
                write!(f, "map {slot}, store {len} bytes at {off}, msync")
            }
            Copy { from, to, off, len } => {
                write!(f, "copy_file_range({from}, {to}, {off:?}, {len})")
            }
            Sendfile { from, to, off, len } => {
                write!(f, "sendfile(to {to}, from {from}, {off}, {len})")
            }
            Append { slot, on } => write!(f, "fcntl({slot}, O_APPEND {on})"),
            List { slot } => write!(f, "getdents({slot})"),
            Names { path } => write!(f, "ls {}", short(path)),
            Mkdir { path, mode } => write!(f, "mkdir({}, {mode:#o})", short(path)),
            Mknod { path, mode, dev } => write!(f, "mknod({}, {mode:#o}, {dev})", short(path)),
            Symlink { target, path } => write!(f, "symlink({}, {})", short(target), short(path)),
            Link { from, to, follow } => {
                write!(f, "link({}, {}, follow {follow})", short(from), short(to))
            }
            LinkOpen { slot, to } => write!(f, "link({slot}, {})", short(to)),
            Unlink { path } => write!(f, "unlink({})", short(path)),
            Rmdir { path } => write!(f, "rmdir({})", short(path)),
            Rename { from, to, flags } => {
                write!(f, "rename({}, {}, {flags})", short(from), short(to))
            }
            Chmod { path, mode } => write!(f, "chmod({}, {mode:#o})", short(path)),
            Fchmod { slot, mode } => write!(f, "fchmod({slot}, {mode:#o})"),
            Chown { path, uid, gid, follow } => {
                write!(
                    f,
                    "chown({}, {}, {}, follow {follow})",
                    short(path),
                    *uid as i32,
                    *gid as i32
                )
            }
            Fchown { slot, uid, gid } => {
                write!(f, "fchown({slot}, {}, {})", *uid as i32, *gid as i32)
            }
            Times { path, atime, mtime, follow } => {
                write!(f, "utimens({}, {atime:?}, {mtime:?}, follow {follow})", short(path))
            }
            Setxattr { path, name, value, flags, follow } => {
                let value = short(value);
                write!(f, "setxattr({}, {name}, {value}, {flags}, follow {follow})", short(path))
            }
            Getxattr { path, name, len } => write!(f, "getxattr({}, {name}, {len})", short(path)),
            Removexattr { path, name } => write!(f, "removexattr({}, {name})", short(path)),
            Listxattr { path } => write!(f, "listxattr({})", short(path)),
            Stat { path, follow } => write!(f, "stat({}, follow {follow})", short(path)),
            Fstat { slot } => write!(f, "fstat({slot})"),
            Readlink { path } => write!(f, "readlink({})", short(path)),
            Access { path, mode } => write!(f, "access({}, {mode})", short(path)),
            Umask { mask } => write!(f, "umask({mask:#o})"),
            Survey => f.write_str("survey"),
            Remount => f.write_str("remount"),
        }
    }
}
