//! Contents of files.

use tandem_fs::{FallocFlags, SyncKind, Whence, WriteFlags};

use super::{Answer, DIRECT, Dispatch, Failure, put};
use crate::abi::{
    CopyFileRangeIn, CopyFileRangeOut, FSYNC_DATASYNC, FallocateIn, FsyncIn, InitFlags, LseekIn,
    LseekOut, ReadIn, WriteIn, WriteInFlags, WriteOut,
};
use crate::reply::ReplyBuf;
use crate::request::{Operation, Request};

/// The longest copy, in bytes, that a CPU's queue may wait for.
const COPY_AT_ONCE: u64 = 1 << 20;
/// The longest copy that the narrow form of the answer can tell, in bytes; whole pages.
const COPY_NARROW: u64 = 0x7fff_f000;

/// Whether a WRITE or COPY_FILE_RANGE waits for a device, or copies much.
pub(super) fn is_long(req: &Request<'_>) -> bool {
    match req.operation() {
        Ok(Operation::Write { args, .. }) => sync_kind(&args) != SyncKind::None,
        Ok(Operation::CopyFileRange { args, .. }) => args.len > COPY_AT_ONCE,
        _ => false,
    }
}

/// How durable a write must be when it is answered.
///
/// After a buffered O_SYNC or O_DSYNC write the kernel sends an FSYNC of its own accord, once
/// for the whole write(2), and so it does after O_DIRECT writes that somebody waits for. After
/// an asynchronous one, or one by a handle that is `DIRECT`, it does not; where an FSYNC follows
/// all the same it finds nothing to do.
fn sync_kind(args: &WriteIn) -> SyncKind {
    let flags = args.flags as i32;
    let cached = args.write_flags & WriteInFlags::CACHE.bits() != 0;
    if cached || flags & libc::O_DIRECT == 0 && args.fh != DIRECT {
        SyncKind::None
    } else if flags & libc::O_SYNC == libc::O_SYNC {
        SyncKind::All
    } else if flags & libc::O_DSYNC != 0 {
        SyncKind::Data
    } else {
        SyncKind::None
    }
}

impl Dispatch {
    pub(super) fn read(&self, req: &Request<'_>, args: &ReadIn, out: &mut ReplyBuf<'_>) -> Answer {
        let space = out.space(args.size as usize);
        let len = self.volume.read(req.nodeid(), args.offset, space)?;
        out.set_len(len);
        Ok(())
    }

    pub(super) fn write(
        &self,
        req: &Request<'_>,
        args: &WriteIn,
        data: &[u8],
        out: &mut ReplyBuf<'_>,
    ) -> Answer {
        let kill_priv = args.write_flags & WriteInFlags::KILL_SUIDGID.bits() != 0;
        let flags = WriteFlags { kill_priv, sync: sync_kind(args) };
        let len = self.volume.write(&self.caller(req), req.nodeid(), args.offset, data, flags)?;
        put(out.push(&WriteOut { size: len as u32, padding: 0 }))
    }

    pub(super) fn fsync(&self, req: &Request<'_>, args: &FsyncIn) -> Answer {
        Ok(self.volume.fsync(req.nodeid(), args.fsync_flags & FSYNC_DATASYNC != 0)?)
    }

    pub(super) fn fallocate(&self, req: &Request<'_>, args: &FallocateIn) -> Answer {
        let mode = FallocFlags::from_bits(args.mode).ok_or(Failure::Errno(libc::EOPNOTSUPP))?;
        Ok(self.volume.fallocate(
            &self.caller(req),
            req.nodeid(),
            mode,
            args.offset,
            args.length,
        )?)
    }

    pub(super) fn lseek(
        &self,
        req: &Request<'_>,
        args: &LseekIn,
        out: &mut ReplyBuf<'_>,
    ) -> Answer {
        // With the kernel's write-back cache there may be data that only the kernel knows of. A
        // kernel that hears this takes all of a file for data.
        if self.flags.contains(InitFlags::WRITEBACK_CACHE) {
            return Err(Failure::Errno(libc::ENOSYS));
        }
        let whence = match args.whence as i32 {
            libc::SEEK_DATA => Whence::Data,
            libc::SEEK_HOLE => Whence::Hole,
            _ => return Err(Failure::Errno(libc::EINVAL)),
        };
        let offset = self.volume.seek(req.nodeid(), args.offset, whence)?;
        put(out.push(&LseekOut { offset }))
    }

    pub(super) fn copy_file_range(
        &self,
        req: &Request<'_>,
        args: &CopyFileRangeIn,
        wide: bool,
        out: &mut ReplyBuf<'_>,
    ) -> Answer {
        if args.flags != 0 {
            return Err(Failure::Errno(libc::EINVAL));
        }
        let len = if wide { args.len } else { args.len.min(COPY_NARROW) };
        let bytes_copied = self.volume.copy_range(
            &self.caller(req),
            req.nodeid(),
            args.off_in,
            args.nodeid_out,
            args.off_out,
            len,
        )?;
        if wide {
            put(out.push(&CopyFileRangeOut { bytes_copied }))
        } else {
            put(out.push(&WriteOut { size: bytes_copied as u32, padding: 0 }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_direct_writes_are_synchronous_here() {
        let kind = |flags: i32, write_flags| {
            sync_kind(&WriteIn { flags: flags as u32, write_flags, ..WriteIn::default() })
        };
        assert_eq!(kind(libc::O_SYNC, 0), SyncKind::None);
        assert_eq!(kind(libc::O_DIRECT, 0), SyncKind::None);
        assert_eq!(kind(libc::O_DIRECT | libc::O_DSYNC, 0), SyncKind::Data);
        assert_eq!(kind(libc::O_DIRECT | libc::O_SYNC, 0), SyncKind::All);
        assert_eq!(kind(libc::O_DIRECT | libc::O_SYNC, 1), SyncKind::None);
        let by_handle = |flags: i32| {
            sync_kind(&WriteIn { fh: DIRECT, flags: flags as u32, ..WriteIn::default() })
        };
        assert_eq!(by_handle(0), SyncKind::None);
        assert_eq!(by_handle(libc::O_DSYNC), SyncKind::Data);
    }
}
