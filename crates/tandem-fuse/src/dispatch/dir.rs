//! Reading directories.

use super::{Answer, Dispatch, attr::fuse_attr};
use crate::abi::{EntryOut, ReadIn};
use crate::reply::ReplyBuf;
use crate::request::Request;

impl Dispatch {
    pub(super) fn readdir(
        &self,
        req: &Request<'_>,
        args: &ReadIn,
        out: &mut ReplyBuf<'_>,
    ) -> Answer {
        out.limit(args.size as usize);
        self.volume.readdir(&self.caller(req), req.nodeid(), args.offset, &mut |entry| {
            out.push_dirent(entry.ino, entry.cookie, entry.kind.d_type(), entry.name)
        })?;
        Ok(())
    }

    /// Entries with attributes. The kernel holds the i-node of each that it gets, but not those
    /// of "." and "..", which it takes for mere names when they have no node id.
    pub(super) fn readdirplus(
        &self,
        req: &Request<'_>,
        args: &ReadIn,
        out: &mut ReplyBuf<'_>,
    ) -> Answer {
        out.limit(args.size as usize);
        self.volume.readdir_plus(
            &self.caller(req),
            req.nodeid(),
            args.offset,
            &mut |entry, attr| {
                let full = match entry.name {
                    b"." | b".." => EntryOut { attr: fuse_attr(attr), ..EntryOut::default() },
                    _ => self.entry(attr),
                };
                out.push_direntplus(&full, entry.cookie, entry.kind.d_type(), entry.name)
            },
        )?;
        Ok(())
    }
}
