//! Requests that reach the disk.

use std::io;

use tandem_device::Device;
use tandem_disk::request::Operation as Ask;
use tandem_fuse::abi::{FallocateIn, ReadIn, WriteOut};
use tandem_fuse::{Operation, ReplyBuf, Request};

use super::{Answer, Files, errno, put};

/// A request to the disk: what, where, and how much.
type Asked = (Ask, u64, u64);

impl Files {
    /// What a request asks of the disk itself, if it does and makes sense.
    pub(super) fn asked(&self, req: &Request<'_>) -> Option<Asked> {
        let place = |offset, len| self.place(req.nodeid(), offset, len).ok();
        let (ask, (at, len)) = match req.operation().ok()? {
            Operation::Read(args) => (Ask::Read, place(args.offset, u64::from(args.size))?),
            Operation::Write { args, data } => (Ask::Write, place(args.offset, data.len() as u64)?),
            Operation::Fallocate(args) if punches(&args) => {
                (Ask::Discard, place(args.offset, args.length)?)
            }
            Operation::Fsync(_) => return Some((Ask::Flush, 0, 0)),
            _ => return None,
        };
        (len > 0).then_some((ask, at, len))
    }

    /// Has the disk carry out a request that may have arrived before.
    fn carry_out(
        &self,
        req: &Request<'_>,
        (ask, at, len): Asked,
        act: impl FnOnce(&dyn Device) -> io::Result<()>,
    ) -> Answer {
        let arrival = self.arrived.lock().remove(&req.header().unique);
        let arrival = arrival.unwrap_or_else(|| self.disk.arrive(ask, at, len));
        self.disk.carry_out(arrival, act).map_err(|e| errno(&e))
    }

    pub(super) fn read(&self, req: &Request<'_>, args: &ReadIn, out: &mut ReplyBuf<'_>) -> Answer {
        let ino = req.nodeid();
        if self.is_report(ino) {
            let report = self.report_of(args.fh).ok_or(libc::ESTALE)?;
            let from = usize::try_from(args.offset).unwrap_or(usize::MAX);
            let rest = report.as_bytes().get(from..).unwrap_or_default();
            return put(out.extend(&rest[..rest.len().min(args.size as usize)]));
        }
        let (at, len) = self.place(ino, args.offset, u64::from(args.size))?;
        if len > 0 {
            let space = out.space(len as usize);
            let fitted = space.len();
            let act = |bytes: &dyn Device| bytes.read_at(space, at);
            self.carry_out(req, (Ask::Read, at, fitted as u64), act)?;
            out.set_len(fitted);
        }
        Ok(())
    }

    pub(super) fn write(
        &self,
        req: &Request<'_>,
        offset: u64,
        data: &[u8],
        out: &mut ReplyBuf<'_>,
    ) -> Answer {
        if req.nodeid() == self.marks_ino() {
            self.marks.lock().write(offset, data, || self.disk.mark())?;
            return put(out.push(&WriteOut { size: data.len() as u32, padding: 0 }));
        }
        let (at, len) = self.place(req.nodeid(), offset, data.len() as u64)?;
        if len == 0 && !data.is_empty() {
            return Err(libc::ENOSPC);
        }
        if len > 0 {
            let act = |bytes: &dyn Device| bytes.write_at(&data[..len as usize], at);
            self.carry_out(req, (Ask::Write, at, len), act)?;
        }
        put(out.push(&WriteOut { size: len as u32, padding: 0 }))
    }

    /// As a block device: a hole is a discard, and zeros are written.
    pub(super) fn fallocate(&self, req: &Request<'_>, args: &FallocateIn) -> Answer {
        let (at, len) = self.place(req.nodeid(), args.offset, args.length)?;
        if punches(args) {
            if len == 0 {
                return Ok(());
            }
            return self.carry_out(req, (Ask::Discard, at, len), |bytes| bytes.discard(at, len));
        }
        if args.mode & !KEEP_SIZE == libc::FALLOC_FL_ZERO_RANGE as u32 {
            return self.zero(at, len);
        }
        Err(libc::EOPNOTSUPP)
    }

    pub(super) fn flush(&self, req: &Request<'_>) -> Answer {
        self.carry_out(req, (Ask::Flush, 0, 0), |bytes| bytes.flush())
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
}

const KEEP_SIZE: u32 = libc::FALLOC_FL_KEEP_SIZE as u32;

fn punches(args: &FallocateIn) -> bool {
    args.mode & !KEEP_SIZE == libc::FALLOC_FL_PUNCH_HOLE as u32
}
