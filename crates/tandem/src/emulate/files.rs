//! The directory that an emulated disk is: one file or two that are areas of it, one that tells what
//! it has done, and one that takes marks.
//!
//! The kernel's page cache stays out: every request reaches the disk, as it came.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use tandem_device::Device;
use tandem_fuse::abi::{
    AttrOut, EntryOut, FallocateIn, FuseAttr, Kstatfs, LseekIn, LseekOut, OpenFlags, OpenOut,
    ROOT_ID, ReadIn, WriteOut,
};
use tandem_fuse::{Handler, Operation, Outcome, ReplyBuf, Request};

/// The kernel may believe names and attributes for this long: they never change.
const FOREVER: u64 = 86_400;
const FIRST: u64 = 2;
/// All marks together.
const MARKS_BYTES: usize = 1 << 20;
/// Reports that may be open at a time.
const REPORTS: usize = 64;

/// A part of the disk under a name of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Area {
    /// The file's name.
    pub name: String,
    /// First byte on the disk.
    pub start: u64,
    /// Bytes.
    pub len: u64,
}

/// What `disk.stats` says when it is opened.
pub type Report = Box<dyn Fn() -> String + Send + Sync>;

/// Which time it is in the disk's trace, in nanoseconds.
pub type Clock = Box<dyn Fn() -> u64 + Send + Sync>;

/// Areas of a disk as files.
pub struct Files {
    disk: Arc<dyn Device>,
    areas: Vec<Area>,
    report: Report,
    marks: Mutex<Marks>,
    clock: Clock,
    /// The last reports as they were when they were opened, by file handle.
    open: Mutex<Reports>,
    owner: (u32, u32),
    since: u64,
}

#[derive(Default)]
struct Reports {
    last: u64,
    open: VecDeque<(u64, Arc<str>)>,
}

/// Lines that were written, and the same with their times before them.
#[derive(Default)]
struct Marks {
    written: Vec<u8>,
    lines: usize,
    report: String,
}

type Answer = Result<(), i32>;

impl Marks {
    /// A page that is written out again with a line more (as a guest's kernel does it) is that line.
    fn write(&mut self, offset: u64, data: &[u8], clock: &Clock) -> Answer {
        let at = usize::try_from(offset).map_err(|_| libc::EFBIG)?;
        let end = at.checked_add(data.len()).filter(|&end| end <= MARKS_BYTES);
        let end = end.ok_or(libc::EFBIG)?;
        if self.written.len() < end {
            self.written.resize(end, 0);
        }
        self.written[at..end].copy_from_slice(data);
        let now = clock();
        while let Some(len) = self.written[self.lines..].iter().position(|&byte| byte == b'\n') {
            let line = &self.written[self.lines..self.lines + len];
            let _ = writeln!(self.report, "{now} {}", String::from_utf8_lossy(line));
            self.lines += len + 1;
        }
        Ok(())
    }
}

impl Files {
    /// The file that tells what the disk has done.
    pub const STATS: &str = "disk.stats";

    /// The file that takes marks and gives each back with its time in the trace.
    pub const MARKS: &str = "disk.marks";

    /// Areas must lie on the disk.
    pub fn new(disk: Arc<dyn Device>, areas: Vec<Area>, report: Report, clock: Clock) -> Files {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs());
        let owner = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        let (marks, open) = (Mutex::default(), Mutex::default());
        Files { disk, areas, report, marks, clock, open, owner, since }
    }

    fn stats_ino(&self) -> u64 {
        FIRST + self.areas.len() as u64
    }

    fn marks_ino(&self) -> u64 {
        self.stats_ino() + 1
    }

    /// Files whose contents are made when they are opened.
    fn is_report(&self, ino: u64) -> bool {
        ino == self.stats_ino() || ino == self.marks_ino()
    }

    fn area(&self, ino: u64) -> Result<&Area, i32> {
        let index = ino.checked_sub(FIRST).ok_or(libc::EISDIR)?;
        self.areas.get(index as usize).ok_or(libc::EACCES)
    }

    /// Where on the disk a file's bytes are; the length is cut off at the file's end.
    fn place(&self, ino: u64, offset: u64, len: u64) -> Result<(u64, u64), i32> {
        let area = self.area(ino)?;
        let len = len.min(area.len.saturating_sub(offset));
        Ok((area.start.saturating_add(offset), len))
    }

    fn names(&self) -> impl Iterator<Item = (u64, &str)> {
        let areas = self.areas.iter().map(|area| area.name.as_str());
        (FIRST..).zip(areas.chain([Files::STATS, Files::MARKS]))
    }

    fn attr(&self, ino: u64) -> Result<FuseAttr, i32> {
        let (mode, size) = match ino {
            ROOT_ID => (libc::S_IFDIR | 0o755, 0),
            ino if ino == self.stats_ino() => (libc::S_IFREG | 0o444, 0),
            ino if ino == self.marks_ino() => (libc::S_IFREG | 0o600, 0),
            ino => (libc::S_IFREG | 0o600, self.area(ino).map_err(|_| libc::ENOENT)?.len),
        };
        Ok(FuseAttr {
            ino,
            size,
            blocks: size / 512,
            atime: self.since,
            mtime: self.since,
            ctime: self.since,
            mode,
            nlink: if ino == ROOT_ID { 2 } else { 1 },
            uid: self.owner.0,
            gid: self.owner.1,
            blksize: 4096,
            ..FuseAttr::default()
        })
    }

    fn entry(&self, ino: u64) -> Result<EntryOut, i32> {
        Ok(EntryOut {
            nodeid: ino,
            entry_valid: FOREVER,
            attr_valid: FOREVER,
            attr: self.attr(ino)?,
            ..EntryOut::default()
        })
    }

    fn lookup(&self, name: &[u8], out: &mut ReplyBuf<'_>) -> Answer {
        let found = self.names().find(|(_, own)| own.as_bytes() == name);
        put(out.push(&self.entry(found.ok_or(libc::ENOENT)?.0)?))
    }

    fn getattr(&self, ino: u64, out: &mut ReplyBuf<'_>) -> Answer {
        let attr = self.attr(ino)?;
        put(out.push(&AttrOut { attr_valid: FOREVER, attr, ..AttrOut::default() }))
    }

    fn open(&self, ino: u64, out: &mut ReplyBuf<'_>) -> Answer {
        let mut fh = 0;
        if self.is_report(ino) {
            let stats = ino == self.stats_ino();
            let report = if stats { (self.report)() } else { self.marks.lock().report.clone() };
            let reports = &mut *self.open.lock();
            reports.last += 1;
            fh = reports.last;
            reports.open.push_back((fh, report.into()));
            if reports.open.len() > REPORTS {
                reports.open.pop_front();
            }
        }
        let open_flags = OpenFlags::DIRECT_IO.bits();
        put(out.push(&OpenOut { fh, open_flags, ..OpenOut::default() }))
    }

    fn read(&self, ino: u64, args: &ReadIn, out: &mut ReplyBuf<'_>) -> Answer {
        if self.is_report(ino) {
            let report = self.report_of(args.fh).ok_or(libc::ESTALE)?;
            let from = usize::try_from(args.offset).unwrap_or(usize::MAX);
            let rest = report.as_bytes().get(from..).unwrap_or_default();
            return put(out.extend(&rest[..rest.len().min(args.size as usize)]));
        }
        let (at, len) = self.place(ino, args.offset, u64::from(args.size))?;
        if len > 0 {
            let space = out.space(len as usize);
            let len = space.len();
            self.disk.read_at(space, at).map_err(|e| errno(&e))?;
            out.set_len(len);
        }
        Ok(())
    }

    fn report_of(&self, fh: u64) -> Option<Arc<str>> {
        let reports = self.open.lock();
        reports.open.iter().find(|(own, _)| *own == fh).map(|(_, report)| report.clone())
    }

    fn write(&self, ino: u64, offset: u64, data: &[u8], out: &mut ReplyBuf<'_>) -> Answer {
        if ino == self.marks_ino() {
            self.marks.lock().write(offset, data, &self.clock)?;
            return put(out.push(&WriteOut { size: data.len() as u32, padding: 0 }));
        }
        let (at, len) = self.place(ino, offset, data.len() as u64)?;
        if len == 0 && !data.is_empty() {
            return Err(libc::ENOSPC);
        }
        self.disk.write_at(&data[..len as usize], at).map_err(|e| errno(&e))?;
        put(out.push(&WriteOut { size: len as u32, padding: 0 }))
    }

    /// As a block device: a hole is a discard, and zeros are written.
    fn fallocate(&self, ino: u64, args: &FallocateIn) -> Answer {
        let (at, len) = self.place(ino, args.offset, args.length)?;
        let keep = libc::FALLOC_FL_KEEP_SIZE as u32;
        match args.mode & !keep {
            mode if mode == libc::FALLOC_FL_PUNCH_HOLE as u32 => {
                self.disk.discard(at, len).map_err(|e| errno(&e))
            }
            mode if mode == libc::FALLOC_FL_ZERO_RANGE as u32 => self.zero(at, len),
            _ => Err(libc::EOPNOTSUPP),
        }
    }

    fn zero(&self, mut at: u64, mut len: u64) -> Answer {
        let zeros = vec![0; len.min(1 << 20) as usize];
        while len > 0 {
            let part = &zeros[..len.min(zeros.len() as u64) as usize];
            self.disk.write_at(part, at).map_err(|e| errno(&e))?;
            at += part.len() as u64;
            len -= part.len() as u64;
        }
        Ok(())
    }

    fn readdir(&self, args: &ReadIn, plus: bool, out: &mut ReplyBuf<'_>) -> Answer {
        out.limit(args.size as usize);
        let dots = [(ROOT_ID, "."), (ROOT_ID, "..")].into_iter();
        for (at, (ino, name)) in (1..).zip(dots.chain(self.names())) {
            if at <= args.offset {
                continue;
            }
            let kind = if ino == ROOT_ID { libc::DT_DIR } else { libc::DT_REG };
            let fitted = match plus {
                false => out.push_dirent(ino, at, kind, name.as_bytes()),
                true => out.push_direntplus(&self.listed(ino)?, at, kind, name.as_bytes()),
            };
            if !fitted {
                break;
            }
        }
        Ok(())
    }

    /// An entry as a listing has it: the directory itself is not looked up by it.
    fn listed(&self, ino: u64) -> Result<EntryOut, i32> {
        let nodeid = if ino == ROOT_ID { 0 } else { ino };
        Ok(EntryOut { nodeid, ..self.entry(ino)? })
    }

    fn lseek(&self, ino: u64, args: &LseekIn, out: &mut ReplyBuf<'_>) -> Answer {
        let len = self.area(ino)?.len;
        if args.offset >= len {
            return Err(libc::ENXIO);
        }
        let hole = args.whence as i32 == libc::SEEK_HOLE;
        put(out.push(&LseekOut { offset: if hole { len } else { args.offset } }))
    }

    fn statfs(&self, out: &mut ReplyBuf<'_>) -> Answer {
        let blocks = self.disk.size() / 512;
        put(out.push(&Kstatfs {
            blocks,
            bsize: 512,
            frsize: 512,
            namelen: 255,
            ..Kstatfs::default()
        }))
    }

    fn answer(&self, req: &Request<'_>, out: &mut ReplyBuf<'_>) -> Answer {
        use Operation as Op;
        let ino = req.nodeid();
        match req.operation().map_err(|_| libc::EIO)? {
            Op::Lookup { name } => self.lookup(name, out),
            // As on a block device, neither O_TRUNC nor truncate(2) changes anything.
            Op::Getattr | Op::Setattr(_) => self.getattr(ino, out),
            Op::Open => self.open(ino, out),
            Op::Opendir => put(out.push(&OpenOut::default())),
            Op::Release | Op::Releasedir => Ok(()),
            Op::Read(args) => self.read(ino, &args, out),
            Op::Write { args, data } => self.write(ino, args.offset, data, out),
            Op::Readdir(args) => self.readdir(&args, false, out),
            Op::Readdirplus(args) => self.readdir(&args, true, out),
            Op::Fsync(_) => self.disk.flush().map_err(|e| errno(&e)),
            Op::Syncfs | Op::Destroy => self.disk.flush().map_err(|e| errno(&e)),
            Op::Fallocate(args) => self.fallocate(ino, &args),
            Op::Lseek(args) => self.lseek(ino, &args, out),
            Op::Statfs => self.statfs(out),
            Op::Getxattr { .. } | Op::Listxattr { .. } => Err(libc::EOPNOTSUPP),
            Op::Ioctl(_) => Err(libc::ENOTTY),
            Op::Statx(_) | Op::Flush | Op::Access | Op::Refused | Op::Unknown => Err(libc::ENOSYS),
            _ => Err(libc::EPERM),
        }
    }
}

impl Handler for Files {
    fn handle(&self, req: Request<'_>, out: &mut ReplyBuf<'_>) -> Outcome {
        if let Ok(Operation::Forget { .. } | Operation::BatchForget { .. }) = req.operation() {
            return Outcome::Silent;
        }
        if let Ok(Operation::Interrupt { .. }) = req.operation() {
            return Outcome::Silent;
        }
        match self.answer(&req, out) {
            Ok(()) => Outcome::Reply,
            Err(errno) => Outcome::Error(errno),
        }
    }
}

fn put(fitted: bool) -> Answer {
    if fitted { Ok(()) } else { Err(libc::EIO) }
}

fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}
