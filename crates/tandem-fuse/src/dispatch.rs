//! What each request means to a volume: one call, and its answer in the kernel's form. Errors
//! become numbers, and faults become lines in the log, here and nowhere else.

mod attr;
mod caller;
mod data;
mod dir;
mod fault;
mod names;
mod pace;
mod xattr;

use std::sync::Arc;
use std::time::Duration;

use tandem_fs::Volume;

use crate::abi::{InitFlags, Kstatfs, Opcode, OpenFlags, OpenOut};
use crate::handshake::Agreement;
use crate::options::{Checks, DoorOptions};
use crate::reply::{Outcome, ReplyBuf};
use crate::request::{Operation, Request};
use crate::transport::Handler;
use fault::Complaints;
use pace::Pace;

/// A volume behind the door.
pub(crate) struct Dispatch {
    volume: Arc<Volume>,
    /// How long the kernel may believe names and attributes.
    timeout: Duration,
    /// Whether the volume, not the kernel, checks permissions.
    enforce: bool,
    flags: InitFlags,
    /// Whether there are POSIX ACLs.
    acl: bool,
    /// Whether every change of a directory is durable when it is answered (`-o sync`, `dirsync`;
    /// the kernel sees to the contents of files).
    dirsync: bool,
    pace: Pace,
    complaints: Complaints,
}

/// Why an operation has no answer but a number.
enum Failure {
    /// POSIX says so.
    Errno(i32),
    /// The volume says so, perhaps for a reason that belongs in the log.
    Volume(tandem_fs::Error),
}

impl From<tandem_fs::Error> for Failure {
    fn from(e: tandem_fs::Error) -> Failure {
        Failure::Volume(e)
    }
}

/// The file handle of those who write past the kernel's page cache. All others have none.
const DIRECT: u64 = 1;

/// An operation's end; the answer is in the `ReplyBuf`.
type Answer = Result<(), Failure>;

impl Dispatch {
    pub(crate) fn new(
        volume: Arc<Volume>,
        agreement: &Agreement,
        options: &DoorOptions,
    ) -> Dispatch {
        Dispatch {
            volume,
            timeout: options.timeout,
            enforce: agreement.checks == Checks::Volume,
            flags: agreement.flags,
            acl: options.acl,
            dirsync: options.flags.sync || options.flags.dirsync,
            pace: Pace::default(),
            complaints: Complaints::default(),
        }
    }

    fn answer(&self, req: &Request<'_>, out: &mut ReplyBuf<'_>) -> Answer {
        use Operation as Op;
        let operation = req.operation().map_err(|e| {
            tracing::error!(opcode = req.opcode().name(), "{e}");
            Failure::Errno(libc::EIO)
        })?;
        match operation {
            Op::Lookup { name } => self.lookup(req, name, out),
            Op::Getattr => self.getattr(req, out),
            Op::Statx(_) => self.statx(req, out),
            Op::Setattr(args) => self.setattr(req, &args, out),
            Op::Readlink => self.readlink(req, out),
            Op::Symlink { name, target } => self.symlink(req, name, target, out),
            Op::Mknod { args, name } => self.mknod(req, &args, name, out),
            Op::Mkdir { args, name } => self.mkdir(req, &args, name, out),
            Op::Create { args, name } => self.create(req, &args, name, out),
            Op::Tmpfile { args } => self.tmpfile(req, &args, out),
            Op::Unlink { name } => self.unlink(req, name),
            Op::Rmdir { name } => self.rmdir(req, name),
            Op::Rename { newdir, flags, name, newname } => {
                self.rename(req, name, newdir, newname, flags)
            }
            Op::Link { ino, newname } => self.link(req, ino, newname, out),
            Op::Open => self.open(InitFlags::NO_OPEN_SUPPORT, OpenFlags::NOFLUSH, out),
            Op::Opendir => self.open(InitFlags::NO_OPENDIR_SUPPORT, OpenFlags::CACHE_DIR, out),
            Op::Release | Op::Releasedir => Ok(()),
            Op::Read(args) => self.read(req, &args, out),
            Op::Write { args, data } => self.write(req, &args, data, out),
            Op::Readdir(args) => self.readdir(req, &args, out),
            Op::Readdirplus(args) => self.readdirplus(req, &args, out),
            Op::Fsync(args) | Op::Fsyncdir(args) => self.fsync(req, &args),
            Op::Syncfs => Ok(self.volume.sync()?),
            Op::Destroy => Ok(self.volume.shutdown()?),
            Op::Statfs => self.statfs(out),
            Op::Setxattr { args, name, value } => self.setxattr(req, &args, name, value),
            Op::Getxattr { size, name } => self.getxattr(req, name, size, out),
            Op::Listxattr { size } => self.listxattr(req, size, out),
            Op::Removexattr { name } => self.removexattr(req, name),
            Op::Fallocate(args) => self.fallocate(req, &args),
            Op::Lseek(args) => self.lseek(req, &args, out),
            Op::CopyFileRange { args, wide } => self.copy_file_range(req, &args, wide, out),
            Op::Ioctl(_) => Err(Failure::Errno(libc::ENOTTY)),
            // The kernel does well, or better, without us; close need not wait for anybody.
            Op::Flush | Op::Access | Op::Refused | Op::Unknown => Err(Failure::Errno(libc::ENOSYS)),
            Op::Init(_) => Err(Failure::Errno(libc::EIO)),
            Op::Forget { .. } | Op::BatchForget { .. } | Op::Interrupt { .. } => Ok(()),
        }
    }

    /// OPEN and OPENDIR keep no state. A kernel that understands is told never to ask again.
    fn open(&self, silent: InitFlags, hints: OpenFlags, out: &mut ReplyBuf<'_>) -> Answer {
        if self.flags.contains(silent) {
            return Err(Failure::Errno(libc::ENOSYS));
        }
        let open_flags = (hints | OpenFlags::KEEP_CACHE).bits();
        put(out.push(&OpenOut { open_flags, ..OpenOut::default() }))
    }

    fn statfs(&self, out: &mut ReplyBuf<'_>) -> Answer {
        let s = self.volume.statfs();
        put(out.push(&Kstatfs {
            blocks: s.blocks,
            bfree: s.blocks_free,
            bavail: s.blocks_avail,
            files: s.files,
            ffree: s.files_free,
            bsize: s.block_size,
            namelen: s.name_max,
            frsize: s.block_size,
            ..Kstatfs::default()
        }))
    }
}

/// Whether an operation changes a directory.
fn changes_names(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Mknod
            | Opcode::Create
            | Opcode::Mkdir
            | Opcode::Symlink
            | Opcode::Link
            | Opcode::Unlink
            | Opcode::Rmdir
            | Opcode::Rename
            | Opcode::Rename2
    )
}

/// An answer that does not fit its buffer is a mistake of ours.
fn put(fitted: bool) -> Answer {
    if fitted { Ok(()) } else { Err(Failure::Errno(libc::EIO)) }
}

impl Handler for Dispatch {
    fn handle(&self, req: Request<'_>, out: &mut ReplyBuf<'_>) -> Outcome {
        match req.operation() {
            Ok(Operation::Forget { count }) => {
                self.volume.forget(req.nodeid(), count);
                return Outcome::Silent;
            }
            Ok(Operation::BatchForget { list }) => {
                let list: Vec<_> = list.map(|one| (one.nodeid, one.nlookup)).collect();
                self.volume.forget_all(&list);
                return Outcome::Silent;
            }
            Ok(Operation::Interrupt { .. }) => return Outcome::Silent,
            _ => {}
        }
        let watch = self.pace.start();
        let mut answer = self.answer(&req, out);
        if self.dirsync && answer.is_ok() && changes_names(req.opcode()) {
            answer = self.volume.sync().map_err(Failure::Volume);
        }
        self.pace.stop(req.opcode(), watch);
        match answer {
            Ok(()) => Outcome::Reply,
            Err(Failure::Errno(errno)) => Outcome::Error(errno),
            Err(Failure::Volume(e)) => {
                if e.is_fault() {
                    self.complaints.log(&req, &e, || self.volume.called(req.nodeid()));
                }
                Outcome::Error(e.errno())
            }
        }
    }

    fn blocking(&self, req: &Request<'_>) -> bool {
        match req.opcode() {
            Opcode::Fsync
            | Opcode::Fsyncdir
            | Opcode::Syncfs
            | Opcode::Destroy
            | Opcode::Fallocate => true,
            Opcode::Write | Opcode::CopyFileRange | Opcode::CopyFileRange64 => {
                data::is_long(req) || self.pace.is_slow(req.opcode())
            }
            opcode => self.dirsync && changes_names(opcode) || self.pace.is_slow(opcode),
        }
    }
}
