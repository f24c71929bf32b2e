//! The directory that an emulated disk is: one file or two that are areas of it, one that tells what
//! it has done, and one that takes marks.
//!
//! The kernel's page cache stays out: every request reaches the disk, as it came.

mod marks;
mod transfer;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use tandem_device::Device;
use tandem_disk::emulate::{Arrival, Emulated};
use tandem_fuse::abi::{
    AttrOut, EntryOut, FuseAttr, Kstatfs, LseekIn, LseekOut, OpenFlags, OpenOut, ROOT_ID, ReadIn,
};
use tandem_fuse::{Handler, Operation, Outcome, ReplyBuf, Request};

use marks::Marks;

/// The kernel may believe names and attributes for this long: they never change.
const FOREVER: u64 = 86_400;
const FIRST: u64 = 2;
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

/// When a request has reached the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// When a thread is free to carry it out.
    Served,
    /// When it has been read from the kernel. One thread reads while others carry out, so that
    /// what was queued together arrives together, however fast it is done.
    Read,
}

/// Areas of a disk as files.
pub struct Files {
    disk: Arc<Emulated>,
    areas: Vec<Area>,
    report: Report,
    marks: Mutex<Marks>,
    admission: Admission,
    /// Requests read and not yet carried out, by their identities.
    arrived: Mutex<HashMap<u64, Arrival>>,
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

type Answer = Result<(), i32>;

impl Files {
    /// The file that tells what the disk has done.
    pub const STATS: &str = "disk.stats";

    /// The file that takes marks and gives each back with its time in the trace.
    pub const MARKS: &str = "disk.marks";

    /// Areas must lie on the disk.
    pub fn new(
        disk: Arc<Emulated>,
        areas: Vec<Area>,
        report: Report,
        admission: Admission,
    ) -> Files {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs());
        let owner = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        Files {
            disk,
            areas,
            report,
            marks: Mutex::default(),
            admission,
            arrived: Mutex::default(),
            open: Mutex::default(),
            owner,
            since,
        }
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

    fn report_of(&self, fh: u64) -> Option<Arc<str>> {
        let reports = self.open.lock();
        reports.open.iter().find(|(own, _)| *own == fh).map(|(_, report)| report.clone())
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
            Op::Read(args) => self.read(req, &args, out),
            Op::Write { args, data } => self.write(req, args.offset, data, out),
            Op::Readdir(args) => self.readdir(&args, false, out),
            Op::Readdirplus(args) => self.readdir(&args, true, out),
            Op::Fsync(_) | Op::Syncfs | Op::Destroy => self.flush(req),
            Op::Fallocate(args) => self.fallocate(req, &args),
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
    fn blocking(&self, req: &Request<'_>) -> bool {
        if self.admission == Admission::Served {
            return false;
        }
        let Some((ask, at, len)) = self.asked(req) else { return false };
        // Reading goes before carrying out, or nothing would queue.
        thread_local! { static FIRST: bool = tandem_device::real_time_alone() }
        FIRST.with(|_| ());
        let mut arrived = self.arrived.lock();
        arrived.insert(req.header().unique, self.disk.arrive(ask, at, len));
        true
    }

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

#[cfg(test)]
mod tests;
