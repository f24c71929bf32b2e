//! A file system in memory that does next to nothing, to test and measure the door alone.
#![allow(dead_code, missing_docs)]

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tandem_fuse::abi::{
    AttrOut, EntryOut, FattrFlags, FuseAttr, Kstatfs, LseekOut, Opcode, OpenOut, ReadIn, WriteOut,
};
use tandem_fuse::{Handler, Operation, Outcome, ReplyBuf, Request};

const FOREVER: u64 = 86_400;

pub struct Node {
    attr: FuseAttr,
    entries: Option<BTreeMap<Vec<u8>, u64>>,
    data: Vec<u8>,
    holds: u64,
    target: Vec<u8>,
}

/// One request as the handler saw it: operation, and a number that matters to a test (WRITE: the
/// open flags; SETATTR: the valid mask; FSYNC: its flags; else 0).
pub type Seen = (Opcode, u32);

pub struct Null {
    pub nodes: Mutex<HashMap<u64, Node>>,
    pub seen: Mutex<Vec<Seen>>,
    pub next: AtomicU64,
    /// Whether to keep `seen`.
    pub record: bool,
    /// Whether contents are kept; without, reads give zeros.
    pub keep: bool,
    /// How long an fsync takes.
    pub fsync: Duration,
    /// What CREATE does.
    pub create: bool,
}

impl Null {
    pub fn new() -> Null {
        let root = FuseAttr { ino: 1, mode: libc::S_IFDIR | 0o755, nlink: 2, ..Default::default() };
        let node = Node {
            attr: root,
            entries: Some(BTreeMap::new()),
            data: vec![],
            holds: 1,
            target: vec![],
        };
        Null {
            nodes: Mutex::new(HashMap::from([(1, node)])),
            seen: Mutex::new(vec![]),
            next: AtomicU64::new(1000),
            record: false,
            keep: true,
            fsync: Duration::ZERO,
            create: false,
        }
    }

    pub fn take_seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }

    /// I-nodes that are unlinked and still held.
    pub fn orphans(&self) -> usize {
        self.nodes.lock().unwrap().values().filter(|n| n.attr.nlink == 0).count()
    }

    fn note(&self, op: Opcode, detail: u32) {
        if self.record {
            self.seen.lock().unwrap().push((op, detail));
        }
    }

    fn entry(&self, attr: FuseAttr) -> EntryOut {
        EntryOut {
            nodeid: attr.ino,
            generation: 1,
            entry_valid: FOREVER,
            attr_valid: FOREVER,
            attr,
            ..Default::default()
        }
    }

    fn add(
        &self,
        req: &Request<'_>,
        name: &[u8],
        mode: u32,
        target: &[u8],
    ) -> Result<FuseAttr, i32> {
        let mut nodes = self.nodes.lock().unwrap();
        let ino = self.next.fetch_add(1, Ordering::Relaxed);
        let now = now();
        let attr = FuseAttr {
            ino,
            mode,
            nlink: 1,
            uid: req.header().uid,
            gid: req.header().gid,
            blksize: 4096,
            size: target.len() as u64,
            atime: now.0,
            mtime: now.0,
            ctime: now.0,
            atimensec: now.1,
            mtimensec: now.1,
            ctimensec: now.1,
            ..Default::default()
        };
        let dir = nodes.get_mut(&req.nodeid()).ok_or(libc::ESTALE)?;
        let entries = dir.entries.as_mut().ok_or(libc::ENOTDIR)?;
        if !name.is_empty() {
            if entries.contains_key(name) {
                return Err(libc::EEXIST);
            }
            entries.insert(name.to_vec(), ino);
        }
        (dir.attr.mtime, dir.attr.mtimensec) = now;
        let node = Node {
            attr,
            entries: (mode & libc::S_IFMT == libc::S_IFDIR).then(BTreeMap::new),
            data: vec![],
            holds: 1,
            target: target.to_vec(),
        };
        nodes.insert(ino, node);
        Ok(attr)
    }

    fn remove(&self, req: &Request<'_>, name: &[u8]) -> Result<(), i32> {
        let mut nodes = self.nodes.lock().unwrap();
        let dir = nodes.get_mut(&req.nodeid()).ok_or(libc::ESTALE)?;
        let ino = dir.entries.as_mut().and_then(|e| e.remove(name)).ok_or(libc::ENOENT)?;
        (dir.attr.mtime, dir.attr.mtimensec) = now();
        if let Some(node) = nodes.get_mut(&ino) {
            node.attr.nlink = 0;
            if node.holds == 0 {
                nodes.remove(&ino);
            }
        }
        Ok(())
    }

    fn forget(&self, ino: u64, n: u64) {
        let mut nodes = self.nodes.lock().unwrap();
        if let Some(node) = nodes.get_mut(&ino) {
            node.holds = node.holds.saturating_sub(n);
            if node.holds == 0 && node.attr.nlink == 0 && ino != 1 {
                nodes.remove(&ino);
            }
        }
    }

    fn list(&self, req: &Request<'_>, args: &ReadIn, plus: bool, out: &mut ReplyBuf<'_>) -> i32 {
        out.limit(args.size as usize);
        let mut nodes = self.nodes.lock().unwrap();
        let Some(dir) = nodes.get(&req.nodeid()) else { return libc::ESTALE };
        let Some(entries) = &dir.entries else { return libc::ENOTDIR };
        let all: Vec<(Vec<u8>, u64)> = entries
            .iter()
            .skip(args.offset as usize)
            .take(args.size as usize / 24)
            .map(|(name, ino)| (name.clone(), *ino))
            .collect();
        for (i, (name, ino)) in all.iter().enumerate() {
            let off = args.offset + i as u64 + 1;
            let Some(node) = nodes.get_mut(ino) else { continue };
            let kind = (node.attr.mode >> 12) as u8;
            let fitted = if plus {
                out.push_direntplus(&self.entry(node.attr), off, kind, name)
            } else {
                out.push_dirent(*ino, off, kind, name)
            };
            if !fitted {
                break;
            }
            if plus {
                node.holds += 1;
            }
        }
        0
    }

    fn answer(&self, req: &Request<'_>, out: &mut ReplyBuf<'_>) -> Result<(), i32> {
        let op = req.operation().map_err(|_| libc::EIO)?;
        let ino = req.nodeid();
        let fits = match op {
            Operation::Lookup { name } => {
                let mut nodes = self.nodes.lock().unwrap();
                let dir = nodes.get(&ino).ok_or(libc::ESTALE)?;
                let found = dir.entries.as_ref().and_then(|e| e.get(name)).copied();
                match found.and_then(|ino| nodes.get_mut(&ino)) {
                    Some(node) => {
                        node.holds += 1;
                        out.push(&self.entry(node.attr))
                    }
                    None => out.push(&EntryOut { entry_valid: FOREVER, ..Default::default() }),
                }
            }
            Operation::Getattr => {
                let nodes = self.nodes.lock().unwrap();
                let attr = nodes.get(&ino).ok_or(libc::ESTALE)?.attr;
                out.push(&AttrOut { attr_valid: FOREVER, attr, ..Default::default() })
            }
            Operation::Setattr(args) => {
                let mut nodes = self.nodes.lock().unwrap();
                let node = nodes.get_mut(&ino).ok_or(libc::ESTALE)?;
                let valid = FattrFlags::from_bits_truncate(args.valid);
                self.note(Opcode::Setattr, args.valid);
                if valid.contains(FattrFlags::MODE) {
                    node.attr.mode = node.attr.mode & libc::S_IFMT | args.mode & 0o7777;
                }
                if valid.contains(FattrFlags::UID) {
                    node.attr.uid = args.uid;
                }
                if valid.contains(FattrFlags::GID) {
                    node.attr.gid = args.gid;
                }
                if valid.contains(FattrFlags::SIZE) {
                    node.attr.size = args.size;
                    if self.keep {
                        node.data.resize(args.size as usize, 0);
                    }
                }
                if valid.contains(FattrFlags::MTIME) {
                    (node.attr.mtime, node.attr.mtimensec) = (args.mtime, args.mtimensec);
                }
                out.push(&AttrOut { attr_valid: FOREVER, attr: node.attr, ..Default::default() })
            }
            Operation::Mknod { args, name } => {
                let attr = self.add(req, name, args.mode & !args.umask, b"")?;
                out.push(&self.entry(attr))
            }
            Operation::Mkdir { args, name } => {
                let attr = self.add(req, name, libc::S_IFDIR | args.mode & !args.umask, b"")?;
                out.push(&self.entry(attr))
            }
            Operation::Symlink { name, target } => {
                let attr = self.add(req, name, libc::S_IFLNK | 0o777, target)?;
                out.push(&self.entry(attr))
            }
            Operation::Readlink => {
                let nodes = self.nodes.lock().unwrap();
                out.extend(&nodes.get(&ino).ok_or(libc::ESTALE)?.target)
            }
            Operation::Create { args, name } if self.create => {
                let attr = self.add(req, name, args.mode & !args.umask, b"")?;
                out.push(&self.entry(attr))
                    && out.push(&OpenOut { open_flags: 2, ..Default::default() })
            }
            Operation::Tmpfile { args } => {
                let attr = self.add(req, b"", args.mode & !args.umask, b"")?;
                out.push(&self.entry(attr))
                    && out.push(&OpenOut { open_flags: 2, ..Default::default() })
            }
            Operation::Unlink { name } | Operation::Rmdir { name } => {
                self.remove(req, name)?;
                true
            }
            Operation::Read(args) => {
                let nodes = self.nodes.lock().unwrap();
                let node = nodes.get(&ino).ok_or(libc::ESTALE)?;
                let want =
                    (args.size as u64).min(node.attr.size.saturating_sub(args.offset)) as usize;
                let space = out.space(want);
                if self.keep {
                    space.copy_from_slice(&node.data[args.offset as usize..][..want]);
                } else {
                    space.fill(0);
                }
                out.set_len(want);
                true
            }
            Operation::Write { args, data } => {
                self.note(Opcode::Write, args.flags);
                let mut nodes = self.nodes.lock().unwrap();
                let node = nodes.get_mut(&ino).ok_or(libc::ESTALE)?;
                let end = args.offset + data.len() as u64;
                node.attr.size = node.attr.size.max(end);
                node.attr.blocks = node.attr.size.div_ceil(512);
                if self.keep {
                    let size = node.attr.size as usize;
                    node.data.resize(size, 0);
                    node.data[args.offset as usize..end as usize].copy_from_slice(data);
                }
                out.push(&WriteOut { size: data.len() as u32, padding: 0 })
            }
            Operation::Readdir(args) => match self.list(req, &args, false, out) {
                0 => true,
                e => return Err(e),
            },
            Operation::Readdirplus(args) => match self.list(req, &args, true, out) {
                0 => true,
                e => return Err(e),
            },
            Operation::Statfs => {
                out.push(&Kstatfs { bsize: 4096, namelen: 255, ..Default::default() })
            }
            Operation::Fsync(args) | Operation::Fsyncdir(args) => {
                self.note(req.opcode(), args.fsync_flags);
                std::thread::sleep(self.fsync);
                true
            }
            Operation::Syncfs | Operation::Destroy => {
                self.note(req.opcode(), 0);
                std::thread::sleep(self.fsync);
                true
            }
            Operation::Lseek(args) => out.push(&LseekOut { offset: args.offset }),
            Operation::Release | Operation::Releasedir => true,
            Operation::Ioctl(_) => return Err(libc::ENOTTY),
            Operation::Getxattr { .. } => return Err(libc::ENODATA),
            _ => return Err(libc::ENOSYS),
        };
        if fits { Ok(()) } else { Err(libc::EIO) }
    }
}

fn now() -> (u64, u32) {
    let t = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    (t.as_secs(), t.subsec_nanos())
}

impl Handler for Null {
    fn handle(&self, req: Request<'_>, out: &mut ReplyBuf<'_>) -> Outcome {
        match req.opcode() {
            Opcode::Write | Opcode::Setattr | Opcode::Fsync | Opcode::Fsyncdir => {}
            Opcode::Syncfs | Opcode::Destroy => {}
            op => self.note(op, 0),
        }
        match req.operation() {
            Ok(Operation::Forget { count }) => {
                self.forget(req.nodeid(), count);
                return Outcome::Silent;
            }
            Ok(Operation::BatchForget { list }) => {
                list.for_each(|one| self.forget(one.nodeid, one.nlookup));
                return Outcome::Silent;
            }
            Ok(Operation::Interrupt { .. }) => return Outcome::Silent,
            _ => {}
        }
        match self.answer(&req, out) {
            Ok(()) => Outcome::Reply,
            Err(errno) => Outcome::Error(errno),
        }
    }

    fn blocking(&self, req: &Request<'_>) -> bool {
        matches!(
            req.opcode(),
            Opcode::Fsync | Opcode::Fsyncdir | Opcode::Syncfs | Opcode::Destroy | Opcode::Fallocate
        )
    }
}
