//! Operations on names.

use tandem_fs::RenameFlags;

use super::{Answer, DIRECT, Dispatch, Failure, put};
use crate::abi::{CreateIn, InitFlags, MkdirIn, MknodIn, OpenFlags, OpenOut};
use crate::reply::ReplyBuf;
use crate::request::Request;

impl Dispatch {
    pub(super) fn lookup(&self, req: &Request<'_>, name: &[u8], out: &mut ReplyBuf<'_>) -> Answer {
        let entry = match self.volume.lookup(&self.caller(req), req.nodeid(), name) {
            // A handle to a file that was unlinked, and that the kernel has let go of already.
            Ok(attr) if attr.nlink == 0 => {
                self.volume.forget(attr.ino, 1);
                self.no_entry()
            }
            Ok(attr) => self.entry(&attr),
            Err(e) if e.errno() == libc::ENOENT => self.no_entry(),
            Err(e) => return Err(e.into()),
        };
        put(out.push(&entry))
    }

    pub(super) fn mknod(
        &self,
        req: &Request<'_>,
        args: &MknodIn,
        name: &[u8],
        out: &mut ReplyBuf<'_>,
    ) -> Answer {
        let caller = self.caller(req);
        let attr =
            self.volume.mknod(&caller, req.nodeid(), name, args.mode, args.rdev, args.umask)?;
        put(out.push(&self.entry(&attr)))
    }

    pub(super) fn mkdir(
        &self,
        req: &Request<'_>,
        args: &MkdirIn,
        name: &[u8],
        out: &mut ReplyBuf<'_>,
    ) -> Answer {
        let caller = self.caller(req);
        let attr = self.volume.mkdir(&caller, req.nodeid(), name, args.mode, args.umask)?;
        put(out.push(&self.entry(&attr)))
    }

    pub(super) fn symlink(
        &self,
        req: &Request<'_>,
        name: &[u8],
        target: &[u8],
        out: &mut ReplyBuf<'_>,
    ) -> Answer {
        let attr = self.volume.symlink(&self.caller(req), req.nodeid(), name, target)?;
        put(out.push(&self.entry(&attr)))
    }

    /// A new regular file, opened.
    ///
    /// Who creates a file only to write it writes past the kernel's page cache: that keeps what
    /// is not a whole number of pages in one request, where the cache makes two of it, and asks
    /// for no `security.capability` at the first write.
    pub(super) fn create(
        &self,
        req: &Request<'_>,
        args: &CreateIn,
        name: &[u8],
        out: &mut ReplyBuf<'_>,
    ) -> Answer {
        let caller = self.caller(req);
        let mode = libc::S_IFREG | args.mode & 0o7777;
        let made = self.volume.mknod(&caller, req.nodeid(), name, mode, 0, args.umask);
        let attr = match made {
            Err(e) if e.errno() == libc::EEXIST && args.flags as i32 & libc::O_EXCL == 0 => {
                self.volume.lookup(&caller, req.nodeid(), name)?
            }
            made => made?,
        };
        let direct = args.flags as i32 & libc::O_ACCMODE == libc::O_WRONLY
            && !self.flags.contains(InitFlags::WRITEBACK_CACHE);
        let mut open_flags = OpenFlags::KEEP_CACHE | OpenFlags::NOFLUSH;
        open_flags.set(OpenFlags::DIRECT_IO, direct);
        let fh = if direct { DIRECT } else { 0 };
        put(out.push(&self.entry(&attr)))?;
        put(out.push(&OpenOut { fh, open_flags: open_flags.bits(), ..OpenOut::default() }))
    }

    /// A file without a name; the kernel wants it opened, too.
    pub(super) fn tmpfile(
        &self,
        req: &Request<'_>,
        args: &CreateIn,
        out: &mut ReplyBuf<'_>,
    ) -> Answer {
        let attr = self.volume.tmpfile(&self.caller(req), req.nodeid(), args.mode, args.umask)?;
        let open_flags = (OpenFlags::KEEP_CACHE | OpenFlags::NOFLUSH).bits();
        put(out.push(&self.entry(&attr)))?;
        put(out.push(&OpenOut { open_flags, ..OpenOut::default() }))
    }

    pub(super) fn link(
        &self,
        req: &Request<'_>,
        ino: u64,
        newname: &[u8],
        out: &mut ReplyBuf<'_>,
    ) -> Answer {
        let attr = self.volume.link(&self.caller(req), ino, req.nodeid(), newname)?;
        put(out.push(&self.entry(&attr)))
    }

    pub(super) fn unlink(&self, req: &Request<'_>, name: &[u8]) -> Answer {
        Ok(self.volume.unlink(&self.caller(req), req.nodeid(), name)?)
    }

    pub(super) fn rmdir(&self, req: &Request<'_>, name: &[u8]) -> Answer {
        Ok(self.volume.rmdir(&self.caller(req), req.nodeid(), name)?)
    }

    pub(super) fn rename(
        &self,
        req: &Request<'_>,
        name: &[u8],
        newdir: u64,
        newname: &[u8],
        flags: u32,
    ) -> Answer {
        let flags = RenameFlags::from_bits(flags).ok_or(Failure::Errno(libc::EINVAL))?;
        let caller = self.caller(req);
        Ok(self.volume.rename(&caller, req.nodeid(), name, newdir, newname, flags)?)
    }

    pub(super) fn readlink(&self, req: &Request<'_>, out: &mut ReplyBuf<'_>) -> Answer {
        let target = self.volume.readlink(req.nodeid())?;
        put(out.extend(&target))
    }
}
