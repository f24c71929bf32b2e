//! Doing a sequence on one file system.

use super::op::{Name, Op, SLOTS, Step, USERS};
use super::survey::{self, Node, Seen, digest, seen};
use crate::common::sys::*;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

/// What a call gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Done,
    Number(i64),
    /// How many bytes, and a hash of them.
    Bytes(usize, u64),
    Text(Vec<u8>),
    Names(Vec<(Vec<u8>, u8)>),
    Seen(Seen),
    Holes(Holes),
    Survey(Vec<Node>),
    /// Nothing is open there.
    Closed,
}

/// Where a file has data, as lseek(2) tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holes {
    /// Where data and holes begin, by turns, data first.
    pub borders: Vec<i64>,
    /// Whether all bytes outside of data are zeros and the borders rise to the file's end.
    pub sound: bool,
}

/// What a step gave, and how what it was about looks afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub result: R<Value>,
    pub after: Vec<R<Seen>>,
}

impl Outcome {
    /// Whether there was something to do it with, and it could be done.
    pub fn succeeded(&self) -> bool {
        !matches!(self.result, Err(_) | Ok(Value::Closed))
    }
}

/// A file system under test, seen from the thread that is at home in it.
pub struct Runner<'a> {
    slots: [Option<OwnedFd>; SLOTS],
    remount: &'a mut dyn FnMut(),
}

fn os(path: &Name) -> &std::ffi::OsStr {
    std::ffi::OsStr::from_bytes(path)
}

/// Bytes of a seed.
fn pattern(len: usize, seed: u64) -> Vec<u8> {
    let step = (seed as u8) | 1;
    (0..len)
        .map(|i| (i as u8).wrapping_mul(step).wrapping_add((i >> 8) as u8) ^ seed as u8)
        .collect()
}

impl<'a> Runner<'a> {
    /// Nothing is open.
    pub fn new(remount: &'a mut dyn FnMut()) -> Runner<'a> {
        Runner { slots: Default::default(), remount }
    }

    /// Does all of it.
    pub fn all(&mut self, steps: &[Step]) -> Vec<Outcome> {
        umask(0o022);
        let out = steps.iter().map(|step| self.step(step)).collect();
        self.slots = Default::default();
        out
    }

    fn step(&mut self, step: &Step) -> Outcome {
        // Only what follows is the user's; what is looked at afterwards is root's.
        let result = match step.who {
            0 => self.call(&step.op),
            who => USERS[who].run(|| self.call(&step.op)),
        };
        self.settle(&step.op);
        Outcome { result, after: self.after(&step.op) }
    }

    /// No file keeps a set-group bit that does not mean execution: `rules` says why.
    fn settle(&self, op: &Op) {
        let idle = |s: &Stat| s.kind() == S_IFREG && s.mode & (S_ISGID | S_IXGRP) == S_ISGID;
        match op {
            Op::Open { slot, .. } | Op::OpenAt { slot, .. } | Op::Fchmod { slot, .. } => {
                let Some(fd) = &self.slots[*slot] else { return };
                if let Some(s) = fstat(fd).ok().filter(idle) {
                    // One of O_PATH was there before.
                    let _ = fchmod(fd, s.perm() & !S_ISGID);
                }
            }
            Op::Chmod { path, .. } | Op::Mknod { path, .. } | Op::Setxattr { path, .. } => {
                if let Some(s) = stat(os(path)).ok().filter(idle) {
                    chmod(os(path), s.perm() & !S_ISGID).unwrap();
                }
            }
            _ => {}
        }
    }

    fn after(&self, op: &Op) -> Vec<R<Seen>> {
        use Op::*;
        let path = |p: &Name| lstat(os(p)).map(|s| seen(&s));
        let open = |slot: usize| self.slots[slot].as_ref().map(|fd| fstat(fd).map(|s| seen(&s)));
        match op {
            Open { path: p, slot, .. } => open(*slot).into_iter().chain([path(p)]).collect(),
            OpenAt { slot, .. }
            | Close { slot }
            | Write { slot, .. }
            | Pwrite { slot, .. }
            | Read { slot, .. }
            | Ftruncate { slot, .. }
            | Fallocate { slot, .. }
            | MapWrite { slot, .. }
            | Fchmod { slot, .. }
            | Fchown { slot, .. } => open(*slot).into_iter().collect(),
            Copy { from, to, .. } | Sendfile { from, to, .. } => {
                open(*from).into_iter().chain(open(*to)).collect()
            }
            LinkOpen { slot, to } => open(*slot).into_iter().chain([path(to)]).collect(),
            Link { from, to, .. } | Rename { from, to, .. } => vec![path(from), path(to)],
            Truncate { path: p, .. }
            | Mkdir { path: p, .. }
            | Mknod { path: p, .. }
            | Symlink { path: p, .. }
            | Unlink { path: p }
            | Rmdir { path: p }
            | Chmod { path: p, .. }
            | Chown { path: p, .. }
            | Times { path: p, .. }
            | Setxattr { path: p, .. } => vec![path(p)],
            _ => vec![],
        }
    }

    fn on(&self, slot: usize, work: impl FnOnce(&OwnedFd) -> R<Value>) -> R<Value> {
        self.slots[slot].as_ref().map_or(Ok(Value::Closed), work)
    }

    fn keep(&mut self, slot: usize, fd: R<OwnedFd>) -> R<Value> {
        self.slots[slot] = Some(fd?);
        Ok(Value::Done)
    }

    fn call(&mut self, op: &Op) -> R<Value> {
        use Op::*;
        let done = |()| Value::Done;
        let number = |n: usize| Value::Number(n as i64);
        match op {
            Open { path, flags, mode, slot } => {
                let fd = open(os(path), *flags, *mode);
                self.keep(*slot, fd)
            }
            OpenAt { dir, path, flags, slot } => {
                let Some(at) = &self.slots[*dir] else { return Ok(Value::Closed) };
                let fd = openat(at.as_raw_fd(), os(path), *flags, 0o644);
                self.keep(*slot, fd)
            }
            Close { slot } => {
                self.slots[*slot] = None;
                Ok(Value::Done)
            }
            Write { slot, len, seed } => {
                self.on(*slot, |fd| write(fd, &pattern(*len, *seed)).map(number))
            }
            Pwrite { slot, off, len, seed } => {
                self.on(*slot, |fd| pwrite(fd, &pattern(*len, *seed), *off).map(number))
            }
            Read { slot, len } => self.on(*slot, |fd| read(fd, *len).map(bytes)),
            Pread { slot, off, len } => self.on(*slot, |fd| pread(fd, *len, *off).map(bytes)),
            Seek { slot, off, whence } => self.on(*slot, |fd| {
                // A directory's positions mean something to its file system only.
                if fstat(fd)?.kind() == S_IFDIR {
                    return Ok(Value::Done);
                }
                lseek(fd, *off, *whence).map(Value::Number)
            }),
            Holes { slot } => self.on(*slot, holes),
            Ftruncate { slot, len } => self.on(*slot, |fd| ftruncate(fd, *len).map(done)),
            Truncate { path, len } => truncate(os(path), *len).map(done),
            Fallocate { slot, mode, off, len } => {
                self.on(*slot, |fd| fallocate(fd, *mode, *off, *len).map(done))
            }
            Fsync { slot, data: false } => self.on(*slot, |fd| fsync(fd).map(done)),
            Fsync { slot, data: true } => self.on(*slot, |fd| fdatasync(fd).map(done)),
            Sync { slot } => self.on(*slot, |fd| syncfs(fd).map(done)),
            MapRead { slot, off, len } => self.on(*slot, |fd| map_read(fd, *off, *len)),
            MapWrite { slot, off, len, seed } => {
                self.on(*slot, |fd| map_write(fd, *off, &pattern(*len, *seed)))
            }
            Copy { from, to, off, len } => {
                let Some(from) = &self.slots[*from] else { return Ok(Value::Closed) };
                let (a, b) = off.unzip();
                self.on(*to, |to| copy_file_range(from, a, to, b, *len).map(number))
            }
            Sendfile { from, to, off, len } => {
                let Some(from) = &self.slots[*from] else { return Ok(Value::Closed) };
                self.on(*to, |to| {
                    // It passes pages on, not copies: within a file the result depends on when.
                    if fstat(to)?.ino == fstat(from)?.ino {
                        return Ok(Value::Done);
                    }
                    sendfile(to, from, *off, *len).map(number)
                })
            }
            Append { slot, on } => self.on(*slot, |fd| {
                let flags = fcntl_int(fd, F_GETFL, 0)?;
                let flags = if *on { flags | O_APPEND } else { flags & !O_APPEND };
                fcntl_int(fd, F_SETFL, flags).map(|_| Value::Done)
            }),
            List { slot } => self.on(*slot, |fd| {
                lseek(fd, 0, SEEK_SET)?;
                let all = list(fd);
                // Where a directory ends is its file system's own business.
                lseek(fd, 0, SEEK_SET)?;
                all
            }),
            Names { path } => list(&open(os(path), O_RDONLY | O_DIRECTORY, 0)?),
            Fchmod { slot, mode } => self.on(*slot, |fd| fchmod(fd, *mode).map(done)),
            Fchown { slot, uid, gid } => self.on(*slot, |fd| fchown(fd, *uid, *gid).map(done)),
            Fstat { slot } => self.on(*slot, |fd| fstat(fd).map(|s| Value::Seen(seen(&s)))),
            LinkOpen { slot, to } => self.on(*slot, |fd| link_open(fd, os(to)).map(done)),
            Umask { mask } => {
                umask(*mask);
                Ok(Value::Done)
            }
            Survey => survey::all().map(Value::Survey),
            Remount => {
                self.slots = Default::default();
                (self.remount)();
                survey::all().map(Value::Survey)
            }
            other => by_name(other),
        }
    }
}

/// Calls that have names only.
fn by_name(op: &Op) -> R<Value> {
    use Op::*;
    match op {
        Mkdir { path, mode } => mkdir(os(path), *mode),
        Mknod { path, mode, dev } => mknod(os(path), *mode, *dev),
        Symlink { target, path } => symlink(os(target), os(path)),
        Link { from, to, follow } => {
            linkat(os(from), os(to), if *follow { AT_SYMLINK_FOLLOW } else { 0 })
        }
        Unlink { path } => unlink(os(path)),
        Rmdir { path } => rmdir(os(path)),
        Rename { from, to, flags } => rename2(os(from), os(to), *flags),
        Chmod { path, mode } => chmod(os(path), *mode),
        Chown { path, uid, gid, follow: true } => chown(os(path), *uid, *gid),
        Chown { path, uid, gid, follow: false } => lchown(os(path), *uid, *gid),
        Times { path, atime, mtime, follow } => {
            let time = |t: &Option<i64>| t.map_or(Set::Omit, |t| Set::At((t, 5)));
            let flags = if *follow { 0 } else { AT_SYMLINK_NOFOLLOW };
            utimens(os(path), [time(atime), time(mtime)], flags)
        }
        Setxattr { path, name, value, flags, follow } => {
            setxattr(os(path), *follow, name, value, *flags)
        }
        Removexattr { path, name } => removexattr(os(path), name),
        Access { path, mode } => eaccess(os(path), *mode),
        Getxattr { path, name, len } => {
            return getxattr_sized(os(path), false, name, *len).map(|(n, value)| {
                if value.is_empty() { Value::Number(n as i64) } else { Value::Text(value) }
            });
        }
        Listxattr { path } => {
            return listxattr(os(path)).map(|names| Value::Text(names.join("\n").into()));
        }
        Stat { path, follow: true } => return stat(os(path)).map(|s| Value::Seen(seen(&s))),
        Stat { path, follow: false } => return lstat(os(path)).map(|s| Value::Seen(seen(&s))),
        Readlink { path } => return readlink(os(path)).map(Value::Text),
        _ => unreachable!("an operation on descriptors"),
    }
    .map(|()| Value::Done)
}

fn bytes(data: Vec<u8>) -> Value {
    Value::Bytes(data.len(), digest(&data))
}

fn list(dir: &OwnedFd) -> R<Value> {
    let mut all: Vec<_> = read_dir(dir, 4096)?.into_iter().map(|e| (e.name, e.kind)).collect();
    all.sort();
    Ok(Value::Names(all))
}

/// The part of `[off, off + len)` that a map of the file has; none of a page past the end.
fn mapped(fd: &OwnedFd, off: usize, len: usize) -> R<Option<(usize, usize)>> {
    let s = fstat(fd)?;
    let size = s.size as usize;
    Ok((s.kind() == S_IFREG && off < size).then(|| (off, len.min(size - off))))
}

fn map_read(fd: &OwnedFd, off: usize, len: usize) -> R<Value> {
    let Some((off, len)) = mapped(fd, off, len)? else { return Ok(Value::Number(0)) };
    let map = Map::new(fd, off + len, PROT_READ, MAP_SHARED)?;
    Ok(bytes(map.get(off, len)))
}

fn map_write(fd: &OwnedFd, off: usize, data: &[u8]) -> R<Value> {
    let Some((off, len)) = mapped(fd, off, data.len())? else { return Ok(Value::Number(0)) };
    let map = Map::new(fd, off + len, PROT_READ | PROT_WRITE, MAP_SHARED)?;
    map.put(off, &data[..len]);
    map.sync(MS_SYNC)?;
    Ok(Value::Number(len as i64))
}

fn holes(fd: &OwnedFd) -> R<Value> {
    let s = fstat(fd)?;
    if s.kind() != S_IFREG {
        return Ok(Value::Done);
    }
    let before = lseek(fd, 0, SEEK_CUR)?;
    let size = s.size as i64;
    // Past the end there is neither.
    let past = (lseek(fd, size, SEEK_DATA), lseek(fd, size, SEEK_HOLE));
    let mut sound = past == (Err(Errno(ENXIO)), Err(Errno(ENXIO)));
    let (mut borders, mut at) = (vec![], 0);
    while at < size {
        let data = match lseek(fd, at, SEEK_DATA) {
            Err(Errno(ENXIO)) => size,
            other => other?,
        };
        sound &= data >= at && zeros(fd, at, data);
        let hole = if data < size { lseek(fd, data, SEEK_HOLE)? } else { size };
        sound &= data == size || hole > data;
        if !sound {
            break;
        }
        borders.extend([data, hole]);
        at = hole;
    }
    lseek(fd, before, SEEK_SET)?;
    Ok(Value::Holes(Holes { borders, sound }))
}

/// Whether nothing but zeros can be read there; a descriptor for writing cannot tell.
fn zeros(fd: &OwnedFd, from: i64, to: i64) -> bool {
    pread(fd, (to - from) as usize, from).map_or(true, |b| b.iter().all(|b| *b == 0))
}
