//! System calls with nothing in between: the number that the kernel returns is what is tested.

// The calls themselves, and memory maps, cannot be had without it.
#![allow(unsafe_code)]

use std::ffi::{CString, OsStr};
use std::fmt;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

pub use libc::*;

/// An error number, shown by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

/// What a system call gives.
pub type R<T> = Result<T, Errno>;

macro_rules! names {
    ($value:expr; $($name:ident)*) => { match $value { $($name => stringify!($name).into(),)* n => format!("errno {n}") } };
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name: String = names!(self.0; EPERM ENOENT EINTR EIO ENXIO E2BIG EBADF EAGAIN ENOMEM
            EACCES EFAULT EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY
            ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE ERANGE EDEADLK ENAMETOOLONG ENOSYS
            ENOTEMPTY ELOOP ENODATA EOVERFLOW ENOTCONN EOPNOTSUPP ESTALE ECONNABORTED EDQUOT);
        f.write_str(&name)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for Errno {}

/// The calling thread's error number.
pub fn errno() -> Errno {
    Errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
}

fn c(path: impl AsRef<OsStr>) -> CString {
    CString::new(path.as_ref().as_bytes()).expect("a name without NUL")
}

trait Sign {
    fn negative(&self) -> bool;
}
impl Sign for i32 {
    fn negative(&self) -> bool {
        *self < 0
    }
}
impl Sign for i64 {
    fn negative(&self) -> bool {
        *self < 0
    }
}
impl Sign for isize {
    fn negative(&self) -> bool {
        *self < 0
    }
}

fn r<T: Sign>(value: T) -> R<T> {
    if value.negative() { Err(errno()) } else { Ok(value) }
}

fn unit(value: i32) -> R<()> {
    r(value).map(drop)
}

/// A call by its number, for those that the C library does not have or that it applies to all
/// threads at once.
pub fn raw(number: c_long, args: [c_long; 6]) -> R<c_long> {
    // SAFETY: every pointer among the arguments belongs to a buffer that the caller keeps.
    r(unsafe { syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]) })
}

macro_rules! path_calls {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*) = $call:expr;)*) => {
        $($(#[$doc])* pub fn $name(path: impl AsRef<OsStr>, $($arg: $ty),*) -> R<()> {
            let path = c(path);
            let call: unsafe extern "C" fn(*const c_char, $($ty),*) -> c_int = $call;
            // SAFETY: the path is a string that ends in NUL and outlives the call.
            unit(unsafe { call(path.as_ptr(), $($arg),*) })
        })*
    };
}

path_calls! {
    /// mkdir(2)
    mkdir(mode: mode_t) = libc::mkdir;
    /// rmdir(2)
    rmdir() = libc::rmdir;
    /// unlink(2)
    unlink() = libc::unlink;
    /// chmod(2)
    chmod(mode: mode_t) = libc::chmod;
    /// chown(2)
    chown(uid: uid_t, gid: gid_t) = libc::chown;
    /// lchown(2)
    lchown(uid: uid_t, gid: gid_t) = libc::lchown;
    /// mkfifo(2)
    mkfifo(mode: mode_t) = libc::mkfifo;
    /// mknod(2)
    mknod(mode: mode_t, dev: dev_t) = libc::mknod;
    /// truncate(2)
    truncate(len: off_t) = libc::truncate;
    /// access(2)
    access(mode: c_int) = libc::access;
    /// chdir(2)
    chdir() = libc::chdir;
    /// chroot(2), of this thread alone after `users::own_fs`
    chroot() = libc::chroot;
}

macro_rules! two_path_calls {
    ($($(#[$doc:meta])* $name:ident = $call:expr;)*) => {
        $($(#[$doc])* pub fn $name(from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> R<()> {
            let (from, to) = (c(from), c(to));
            let call: unsafe extern "C" fn(*const c_char, *const c_char) -> c_int = $call;
            // SAFETY: both are strings that end in NUL and outlive the call.
            unit(unsafe { call(from.as_ptr(), to.as_ptr()) })
        })*
    };
}

two_path_calls! {
    /// link(2)
    link = libc::link;
    /// symlink(2)
    symlink = libc::symlink;
    /// rename(2)
    rename = libc::rename;
}

/// open(2), always close-on-exec.
pub fn open(path: impl AsRef<OsStr>, flags: c_int, mode: mode_t) -> R<OwnedFd> {
    openat(AT_FDCWD, path, flags, mode)
}

/// openat(2), always close-on-exec.
pub fn openat(dir: RawFd, path: impl AsRef<OsStr>, flags: c_int, mode: mode_t) -> R<OwnedFd> {
    let path = c(path);
    // SAFETY: the path ends in NUL; the descriptor is new and ours.
    unsafe {
        r(libc::openat(dir, path.as_ptr(), flags | O_CLOEXEC, mode))
            .map(|fd| OwnedFd::from_raw_fd(fd))
    }
}

/// Creates an empty file with these permissions, which must not exist yet.
pub fn create(path: impl AsRef<OsStr>, mode: mode_t) -> R<()> {
    open(path, O_CREAT | O_EXCL | O_WRONLY, mode).map(drop)
}

/// linkat(2) from the working directory to the working directory.
pub fn linkat(from: impl AsRef<OsStr>, to: impl AsRef<OsStr>, flags: c_int) -> R<()> {
    let (from, to) = (c(from), c(to));
    // SAFETY: both are strings that end in NUL and outlive the call.
    unit(unsafe { libc::linkat(AT_FDCWD, from.as_ptr(), AT_FDCWD, to.as_ptr(), flags) })
}

/// Gives an open file (O_TMPFILE) a name.
pub fn link_fd(fd: &impl AsRawFd, to: impl AsRef<OsStr>) -> R<()> {
    linkat(format!("/proc/self/fd/{}", fd.as_raw_fd()), to, AT_SYMLINK_FOLLOW)
}

/// Gives an open file (O_TMPFILE) a name, without /proc.
pub fn link_open(fd: &impl AsRawFd, to: impl AsRef<OsStr>) -> R<()> {
    let (from, to, fd) = (c(""), c(to), fd.as_raw_fd());
    // SAFETY: both are strings that end in NUL and outlive the call.
    unit(unsafe { libc::linkat(fd, from.as_ptr(), AT_FDCWD, to.as_ptr(), AT_EMPTY_PATH) })
}

/// renameat2(2) in the working directory.
pub fn rename2(from: impl AsRef<OsStr>, to: impl AsRef<OsStr>, flags: c_uint) -> R<()> {
    let (from, to) = (c(from), c(to));
    // SAFETY: both are strings that end in NUL and outlive the call.
    unit(unsafe { libc::renameat2(AT_FDCWD, from.as_ptr(), AT_FDCWD, to.as_ptr(), flags) })
}

/// readlink(2)
pub fn readlink(path: impl AsRef<OsStr>) -> R<Vec<u8>> {
    let (path, mut buf) = (c(path), vec![0u8; 8192]);
    // SAFETY: the buffer is as long as is said.
    let n = r(unsafe { libc::readlink(path.as_ptr(), buf.as_mut_ptr().cast(), buf.len()) })?;
    buf.truncate(n as usize);
    Ok(buf)
}

macro_rules! fd_calls {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*) = $call:expr;)*) => {
        $($(#[$doc])* pub fn $name(fd: &impl AsRawFd, $($arg: $ty),*) -> R<()> {
            let call: unsafe extern "C" fn(c_int, $($ty),*) -> c_int = $call;
            // SAFETY: no memory is involved.
            unit(unsafe { call(fd.as_raw_fd(), $($arg),*) })
        })*
    };
}

fd_calls! {
    /// fchmod(2)
    fchmod(mode: mode_t) = libc::fchmod;
    /// fchown(2)
    fchown(uid: uid_t, gid: gid_t) = libc::fchown;
    /// ftruncate(2)
    ftruncate(len: off_t) = libc::ftruncate;
    /// fsync(2)
    fsync() = libc::fsync;
    /// fdatasync(2)
    fdatasync() = libc::fdatasync;
    /// syncfs(2)
    syncfs() = libc::syncfs;
    /// flock(2)
    flock(operation: c_int) = libc::flock;
    /// fallocate(2)
    fallocate(mode: c_int, off: off_t, len: off_t) = libc::fallocate;
    /// fchdir(2)
    fchdir() = libc::fchdir;
}

/// lseek(2)
pub fn lseek(fd: &impl AsRawFd, off: i64, whence: c_int) -> R<i64> {
    // SAFETY: no memory is involved.
    r(unsafe { libc::lseek(fd.as_raw_fd(), off, whence) })
}

/// write(2)
pub fn write(fd: &impl AsRawFd, data: &[u8]) -> R<usize> {
    // SAFETY: the buffer is as long as is said.
    r(unsafe { libc::write(fd.as_raw_fd(), data.as_ptr().cast(), data.len()) }).map(|n| n as usize)
}

/// pwrite(2)
pub fn pwrite(fd: &impl AsRawFd, data: &[u8], off: i64) -> R<usize> {
    // SAFETY: the buffer is as long as is said.
    r(unsafe { libc::pwrite(fd.as_raw_fd(), data.as_ptr().cast(), data.len(), off) })
        .map(|n| n as usize)
}

/// pread(2) of up to `len` bytes.
pub fn pread(fd: &impl AsRawFd, len: usize, off: i64) -> R<Vec<u8>> {
    let mut buf = vec![0xa5u8; len];
    // SAFETY: the buffer is as long as is said.
    let n = r(unsafe { libc::pread(fd.as_raw_fd(), buf.as_mut_ptr().cast(), len, off) })?;
    buf.truncate(n as usize);
    Ok(buf)
}

/// read(2) of up to `len` bytes.
pub fn read(fd: &impl AsRawFd, len: usize) -> R<Vec<u8>> {
    let mut buf = vec![0xa5u8; len];
    // SAFETY: the buffer is as long as is said.
    let n = r(unsafe { libc::read(fd.as_raw_fd(), buf.as_mut_ptr().cast(), len) })?;
    buf.truncate(n as usize);
    Ok(buf)
}

/// The process's permission mask; of this thread alone after `users::own_fs`.
pub fn umask(mask: mode_t) -> mode_t {
    // SAFETY: no memory is involved.
    unsafe { libc::umask(mask) }
}

/// A point in time: seconds since 1970 and nanoseconds.
pub type When = (i64, u32);

/// What statx(2) tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The i-node's number.
    pub ino: u64,
    /// The file system's device number.
    pub dev: (u32, u32),
    /// Type and permissions.
    pub mode: u32,
    /// Links.
    pub nlink: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Bytes.
    pub size: u64,
    /// Units of 512 bytes.
    pub blocks: u64,
    /// Preferred unit of I/O.
    pub blksize: u32,
    /// A device node's device.
    pub rdev: (u32, u32),
    /// Last access.
    pub atime: When,
    /// Last change of the contents.
    pub mtime: When,
    /// Last change of the i-node.
    pub ctime: When,
    /// Birth, where the file system knows it.
    pub btime: Option<When>,
}

impl Stat {
    /// Permissions alone.
    pub fn perm(&self) -> u32 {
        self.mode & 0o7777
    }

    /// The type alone (`S_IF…`).
    pub fn kind(&self) -> u32 {
        self.mode & S_IFMT
    }
}

fn statx_at(fd: RawFd, path: impl AsRef<OsStr>, flags: c_int) -> R<Stat> {
    let path = c(path);
    // SAFETY: all zero is a valid `statx`, which the kernel fills; the path ends in NUL.
    let s = unsafe {
        let mut s: libc::statx = std::mem::zeroed();
        unit(libc::statx(fd, path.as_ptr(), flags, STATX_BASIC_STATS | STATX_BTIME, &mut s))?;
        s
    };
    let when = |t: statx_timestamp| (t.tv_sec, t.tv_nsec);
    Ok(Stat {
        ino: s.stx_ino,
        dev: (s.stx_dev_major, s.stx_dev_minor),
        mode: s.stx_mode.into(),
        nlink: s.stx_nlink,
        uid: s.stx_uid,
        gid: s.stx_gid,
        size: s.stx_size,
        blocks: s.stx_blocks,
        blksize: s.stx_blksize,
        rdev: (s.stx_rdev_major, s.stx_rdev_minor),
        atime: when(s.stx_atime),
        mtime: when(s.stx_mtime),
        ctime: when(s.stx_ctime),
        btime: (s.stx_mask & STATX_BTIME != 0).then(|| when(s.stx_btime)),
    })
}

/// stat(2), with the birth time.
pub fn stat(path: impl AsRef<OsStr>) -> R<Stat> {
    statx_at(AT_FDCWD, path, 0)
}

/// lstat(2), with the birth time.
pub fn lstat(path: impl AsRef<OsStr>) -> R<Stat> {
    statx_at(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW)
}

/// fstat(2), with the birth time.
pub fn fstat(fd: &impl AsRawFd) -> R<Stat> {
    statx_at(fd.as_raw_fd(), "", AT_EMPTY_PATH)
}

/// One of the two times given to utimensat(2).
#[derive(Clone, Copy)]
pub enum Set {
    /// This time.
    At(When),
    /// The present.
    Now,
    /// As it is.
    Omit,
}

fn timespecs(times: [Set; 2]) -> [timespec; 2] {
    times.map(|t| match t {
        Set::At((secs, nanos)) => timespec { tv_sec: secs, tv_nsec: nanos.into() },
        Set::Now => timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        Set::Omit => timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
    })
}

/// utimensat(2): access time, modification time.
pub fn utimens(path: impl AsRef<OsStr>, times: [Set; 2], flags: c_int) -> R<()> {
    let (path, times) = (c(path), timespecs(times));
    // SAFETY: the path ends in NUL and there are two times.
    unit(unsafe { utimensat(AT_FDCWD, path.as_ptr(), times.as_ptr(), flags) })
}

/// utimensat(2) without times: both are the present.
pub fn utimens_null(path: impl AsRef<OsStr>) -> R<()> {
    let path = c(path);
    // SAFETY: the path ends in NUL; no times are allowed.
    unit(unsafe { utimensat(AT_FDCWD, path.as_ptr(), std::ptr::null(), 0) })
}

/// futimens(3)
pub fn futimens(fd: &impl AsRawFd, times: [Set; 2]) -> R<()> {
    let times = timespecs(times);
    // SAFETY: there are two times.
    unit(unsafe { libc::futimens(fd.as_raw_fd(), times.as_ptr()) })
}

/// lsetxattr(2) or setxattr(2)
pub fn setxattr(
    path: impl AsRef<OsStr>,
    follow: bool,
    name: impl AsRef<OsStr>,
    value: &[u8],
    flags: c_int,
) -> R<()> {
    let (path, name, call) =
        (c(path), c(name), if follow { libc::setxattr } else { libc::lsetxattr });
    // SAFETY: strings end in NUL; the value is as long as is said.
    unit(unsafe { call(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), flags) })
}

/// lgetxattr(2) or getxattr(2) into a buffer of `len` bytes; the length alone when it is 0.
pub fn getxattr_sized(
    path: impl AsRef<OsStr>,
    follow: bool,
    name: impl AsRef<OsStr>,
    len: usize,
) -> R<(usize, Vec<u8>)> {
    let (path, name, mut buf) = (c(path), c(name), vec![0u8; len]);
    let call = if follow { libc::getxattr } else { libc::lgetxattr };
    // SAFETY: strings end in NUL; the buffer is as long as is said.
    let n = r(unsafe { call(path.as_ptr(), name.as_ptr(), buf.as_mut_ptr().cast(), len) })?;
    buf.truncate(n as usize);
    Ok((n as usize, buf))
}

/// The attribute's value; symbolic links are not followed.
pub fn getxattr(path: impl AsRef<OsStr>, name: impl AsRef<OsStr>) -> R<Vec<u8>> {
    getxattr_sized(path, false, name, 70_000).map(|v| v.1)
}

/// lremovexattr(2)
pub fn removexattr(path: impl AsRef<OsStr>, name: impl AsRef<OsStr>) -> R<()> {
    let (path, name) = (c(path), c(name));
    // SAFETY: both are strings that end in NUL.
    unit(unsafe { lremovexattr(path.as_ptr(), name.as_ptr()) })
}

/// llistxattr(2) into a buffer of `len` bytes: the length and the names, sorted.
pub fn listxattr_sized(path: impl AsRef<OsStr>, len: usize) -> R<(usize, Vec<String>)> {
    let (path, mut buf) = (c(path), vec![0u8; len]);
    // SAFETY: the path ends in NUL; the buffer is as long as is said.
    let n = r(unsafe { llistxattr(path.as_ptr(), buf.as_mut_ptr().cast(), len) })? as usize;
    buf.truncate(n);
    let text = String::from_utf8_lossy(&buf).into_owned();
    let mut names: Vec<String> =
        text.split('\0').filter(|s| !s.is_empty()).map(str::to_owned).collect();
    names.sort();
    Ok((n, names))
}

/// The names of all attributes, sorted.
pub fn listxattr(path: impl AsRef<OsStr>) -> R<Vec<String>> {
    listxattr_sized(path, 70_000).map(|v| v.1)
}

/// One entry of getdents64(2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirent {
    /// The i-node's number.
    pub ino: u64,
    /// Where the next one is.
    pub next: i64,
    /// `DT_…`
    pub kind: u8,
    /// The name.
    pub name: Vec<u8>,
}

/// getdents64(2) with a buffer of `len` bytes; empty at the end.
pub fn getdents(fd: &impl AsRawFd, len: usize) -> R<Vec<Dirent>> {
    let mut buf = vec![0u8; len];
    let args = [fd.as_raw_fd().into(), buf.as_mut_ptr() as c_long, len as c_long, 0, 0, 0];
    let n = raw(SYS_getdents64, args)? as usize;
    let (mut out, mut at) = (Vec::new(), 0);
    while at + 19 <= n {
        let word = |i: usize| u64::from_le_bytes(buf[at + i..at + i + 8].try_into().unwrap());
        let reclen = usize::from(u16::from_le_bytes([buf[at + 16], buf[at + 17]]));
        let name = buf[at + 19..at + reclen].split(|b| *b == 0).next().unwrap_or(&[]).to_vec();
        out.push(Dirent { ino: word(0), next: word(8) as i64, kind: buf[at + 18], name });
        at += reclen;
    }
    Ok(out)
}

/// All entries from where the descriptor stands, by calls of `len` bytes.
pub fn read_dir(fd: &impl AsRawFd, len: usize) -> R<Vec<Dirent>> {
    let mut all = Vec::new();
    loop {
        let part = getdents(fd, len)?;
        if part.is_empty() {
            return Ok(all);
        }
        all.extend(part);
    }
}

/// The names in a directory, `.` and `..` left out, sorted.
pub fn names(path: impl AsRef<OsStr>) -> R<Vec<String>> {
    let dir = open(path, O_RDONLY | O_DIRECTORY, 0)?;
    let mut names: Vec<String> = read_dir(&dir, 32768)?
        .into_iter()
        .map(|e| String::from_utf8_lossy(&e.name).into_owned())
        .filter(|n| n != "." && n != "..")
        .collect();
    names.sort();
    Ok(names)
}

/// copy_file_range(2); offsets of `None` use and move the descriptors'.
pub fn copy_file_range(
    from: &impl AsRawFd,
    from_off: Option<i64>,
    to: &impl AsRawFd,
    to_off: Option<i64>,
    len: usize,
) -> R<usize> {
    let (mut a, mut b) = (from_off, to_off);
    let p = |o: &mut Option<i64>| o.as_mut().map_or(std::ptr::null_mut(), |v| v as *mut i64);
    // SAFETY: the offsets live as long as the call.
    r(unsafe {
        libc::copy_file_range(from.as_raw_fd(), p(&mut a), to.as_raw_fd(), p(&mut b), len, 0)
    })
    .map(|n| n as usize)
}

/// sendfile(2) from this offset to where `to` stands.
pub fn sendfile(to: &impl AsRawFd, from: &impl AsRawFd, off: i64, len: usize) -> R<usize> {
    let mut off = off;
    // SAFETY: the offset lives as long as the call.
    r(unsafe { libc::sendfile(to.as_raw_fd(), from.as_raw_fd(), &mut off, len) })
        .map(|n| n as usize)
}

/// statvfs(3)
pub fn statvfs(path: impl AsRef<OsStr>) -> R<libc::statvfs> {
    let path = c(path);
    // SAFETY: all zero is valid, and the call fills it.
    unsafe {
        let mut s: libc::statvfs = std::mem::zeroed();
        unit(libc::statvfs(path.as_ptr(), &mut s)).map(|()| s)
    }
}

/// The file system's magic number.
pub fn fs_type(path: impl AsRef<OsStr>) -> R<i64> {
    let path = c(path);
    // SAFETY: all zero is valid, and the call fills it.
    unsafe {
        let mut s: libc::statfs = std::mem::zeroed();
        unit(libc::statfs(path.as_ptr(), &mut s)).map(|()| s.f_type)
    }
}

/// A POSIX record lock on `[start, start + len)`: `F_SETLK`, `F_SETLKW` or their OFD kin.
pub fn lock(fd: &impl AsRawFd, cmd: c_int, kind: c_int, start: i64, len: i64) -> R<()> {
    lock_struct(fd, cmd, kind, start, len).map(drop)
}

/// Whom a lock of this kind would wait for (`F_GETLK`): its kind and process.
pub fn lock_owner(fd: &impl AsRawFd, kind: c_int, start: i64, len: i64) -> R<(c_int, pid_t)> {
    lock_struct(fd, F_GETLK, kind, start, len).map(|l| (l.l_type.into(), l.l_pid))
}

fn lock_struct(fd: &impl AsRawFd, cmd: c_int, kind: c_int, start: i64, len: i64) -> R<libc::flock> {
    // SAFETY: all zero is valid, and the kernel reads and fills it.
    unsafe {
        let mut l: libc::flock = std::mem::zeroed();
        (l.l_type, l.l_whence, l.l_start, l.l_len) = (kind as i16, SEEK_SET as i16, start, len);
        unit(fcntl(fd.as_raw_fd(), cmd, &mut l as *mut libc::flock)).map(|()| l)
    }
}

/// fcntl(2) with a number, or none.
pub fn fcntl_int(fd: &impl AsRawFd, cmd: c_int, arg: c_int) -> R<c_int> {
    // SAFETY: no memory is involved.
    r(unsafe { fcntl(fd.as_raw_fd(), cmd, arg) })
}

/// name_to_handle_at(2): the handle's bytes as the kernel lays them out, and the mount's number.
pub fn name_to_handle(path: impl AsRef<OsStr>) -> R<(Vec<u8>, i32)> {
    let (path, mut buf, mut mount) = (c(path), vec![0u8; 8 + 128], 0i32);
    buf[..4].copy_from_slice(&128u32.to_ne_bytes());
    let args = [
        AT_FDCWD.into(),
        path.as_ptr() as c_long,
        buf.as_mut_ptr() as c_long,
        &raw mut mount as c_long,
        0,
        0,
    ];
    raw(SYS_name_to_handle_at, args)?;
    let used = u32::from_ne_bytes([buf[0], buf[1], buf[2], buf[3]]) as usize;
    buf.truncate(8 + used);
    Ok((buf, mount))
}

/// open_by_handle_at(2)
pub fn open_by_handle(mount: &impl AsRawFd, handle: &[u8], flags: c_int) -> R<OwnedFd> {
    let mut handle = handle.to_vec();
    let args = [
        mount.as_raw_fd().into(),
        handle.as_mut_ptr() as c_long,
        (flags | O_CLOEXEC).into(),
        0,
        0,
        0,
    ];
    // SAFETY: the descriptor is new and ours.
    raw(SYS_open_by_handle_at, args).map(|fd| unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// A shared memory map of a file.
pub struct Map {
    at: *mut u8,
    len: usize,
}

// SAFETY: the tests order their own accesses.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    /// mmap(2) of the first `len` bytes.
    pub fn new(fd: &impl AsRawFd, len: usize, prot: c_int, flags: c_int) -> R<Map> {
        // SAFETY: a new map, where the kernel likes.
        let at = unsafe { mmap(std::ptr::null_mut(), len, prot, flags, fd.as_raw_fd(), 0) };
        if at == MAP_FAILED { Err(errno()) } else { Ok(Map { at: at.cast(), len }) }
    }

    /// Reads `len` bytes.
    pub fn get(&self, off: usize, len: usize) -> Vec<u8> {
        assert!(off + len <= self.len);
        // SAFETY: in the map; volatile, as others change it.
        (off..off + len).map(|i| unsafe { self.at.add(i).read_volatile() }).collect()
    }

    /// Stores bytes.
    pub fn put(&self, off: usize, data: &[u8]) {
        assert!(off + data.len() <= self.len);
        for (i, b) in data.iter().enumerate() {
            // SAFETY: in the map; volatile, as others read it.
            unsafe { self.at.add(off + i).write_volatile(*b) }
        }
    }

    /// msync(2) of all of it.
    pub fn sync(&self, flags: c_int) -> R<()> {
        // SAFETY: the map is ours.
        unit(unsafe { msync(self.at.cast(), self.len, flags) })
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the map is ours and not used again.
        unsafe { munmap(self.at.cast(), self.len) };
    }
}

/// A buffer that starts at a multiple of 4096, for O_DIRECT.
pub struct Aligned(Vec<u8>, usize, usize);

impl Aligned {
    /// `len` bytes of `fill`.
    pub fn new(len: usize, fill: u8) -> Aligned {
        let v = vec![fill; len + 4096];
        let start = v.as_ptr().align_offset(4096);
        Aligned(v, start, len)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0[self.1..self.1 + self.2]
    }

    /// pread(2) into it.
    pub fn pread(&mut self, fd: &impl AsRawFd, off: i64) -> R<usize> {
        let buf = &mut self.0[self.1..self.1 + self.2];
        // SAFETY: the buffer is as long as is said.
        r(unsafe { libc::pread(fd.as_raw_fd(), buf.as_mut_ptr().cast(), buf.len(), off) })
            .map(|n| n as usize)
    }
}

/// posix_fadvise(2): the pages of this file leave the cache.
pub fn drop_pages(fd: &impl AsRawFd) {
    // SAFETY: no memory is involved.
    unsafe { posix_fadvise(fd.as_raw_fd(), 0, 0, POSIX_FADV_DONTNEED) };
}

/// mount(2)
pub fn mount(source: &str, target: &Path, fstype: &str, flags: c_ulong, data: &str) -> R<()> {
    let (source, target, fstype, data) = (c(source), c(target), c(fstype), c(data));
    // SAFETY: all are strings that end in NUL.
    unit(unsafe {
        libc::mount(source.as_ptr(), target.as_ptr(), fstype.as_ptr(), flags, data.as_ptr().cast())
    })
}

/// umount2(2)
pub fn umount(target: &Path, flags: c_int) -> R<()> {
    let target = c(target);
    // SAFETY: the string ends in NUL.
    unit(unsafe { umount2(target.as_ptr(), flags) })
}

/// Sends a signal to a process that the test started.
pub fn kill(pid: u32, signal: c_int) -> R<()> {
    // SAFETY: no memory is involved.
    unit(unsafe { libc::kill(pid as pid_t, signal) })
}

/// getcwd(2)
pub fn getcwd() -> R<PathBuf> {
    let mut buf = vec![0u8; 4096];
    let n = raw(SYS_getcwd, [buf.as_mut_ptr() as c_long, 4096, 0, 0, 0, 0])? as usize;
    buf.truncate(n.saturating_sub(1));
    Ok(std::ffi::OsString::from_vec(buf).into())
}

/// The device number of a path's file system, for mount points.
pub fn device_of(path: &Path) -> R<(u32, u32)> {
    stat(path).map(|s| s.dev)
}

/// faccessat2(2) by the effective user, which is the one that the tests change.
pub fn eaccess(path: impl AsRef<OsStr>, mode: c_int) -> R<()> {
    let path = c(path);
    let args = [AT_FDCWD.into(), path.as_ptr() as c_long, mode.into(), AT_EACCESS.into(), 0, 0];
    raw(SYS_faccessat2, args).map(drop)
}

/// Runs this in a child process and gives its result; it may use nothing that other threads of
/// this process could hold a lock of.
pub fn in_child(work: impl FnOnce() -> R<u8>) -> R<u8> {
    // SAFETY: the child makes system calls and ends without any of the process's clean-up.
    unsafe {
        let pid = r(fork())?;
        if pid == 0 {
            let code = work().map_or(255, i32::from);
            _exit(code);
        }
        let mut status = 0;
        r(waitpid(pid, &mut status, 0))?;
        if WIFEXITED(status) && WEXITSTATUS(status) != 255 {
            Ok(WEXITSTATUS(status) as u8)
        } else {
            Err(Errno(ECHILD))
        }
    }
}
