//! Extended attributes.

use tandem_fs::{SetAttr, XattrMode};

use super::{Answer, Dispatch, Failure, put};
use crate::abi::{GetxattrOut, SETXATTR_ACL_KILL_SGID, SetxattrIn};
use crate::reply::ReplyBuf;
use crate::request::Request;

impl Dispatch {
    pub(super) fn setxattr(
        &self,
        req: &Request<'_>,
        args: &SetxattrIn,
        name: &[u8],
        value: &[u8],
    ) -> Answer {
        let mode = match args.flags as i32 {
            0 => XattrMode::Any,
            libc::XATTR_CREATE => XattrMode::Create,
            libc::XATTR_REPLACE => XattrMode::Replace,
            _ => return Err(Failure::Errno(libc::EINVAL)),
        };
        self.known(name)?;
        let caller = self.caller(req);
        self.volume.setxattr(&caller, req.nodeid(), name, value, mode)?;
        // The kernel sets the flag for a default ACL too, which says nothing of the mode.
        if args.setxattr_flags & SETXATTR_ACL_KILL_SGID != 0 && name == b"system.posix_acl_access" {
            self.drop_set_group(req)?;
        }
        Ok(())
    }

    fn known(&self, name: &[u8]) -> Answer {
        if !self.acl && name.starts_with(b"system.posix_acl_") {
            return Err(Failure::Errno(libc::EOPNOTSUPP));
        }
        Ok(())
    }

    /// The kernel found that who set the ACL may not keep the set-group bit.
    fn drop_set_group(&self, req: &Request<'_>) -> Answer {
        let attr = self.volume.getattr(req.nodeid())?;
        if attr.mode & libc::S_ISGID != 0 {
            let mode = Some(attr.mode & 0o7777 & !libc::S_ISGID);
            let changes = SetAttr { mode, ..SetAttr::default() };
            self.volume.setattr(&self.caller(req), req.nodeid(), &changes)?;
        }
        Ok(())
    }

    pub(super) fn getxattr(
        &self,
        req: &Request<'_>,
        name: &[u8],
        size: u32,
        out: &mut ReplyBuf<'_>,
    ) -> Answer {
        self.known(name)?;
        let value = self.volume.getxattr(&self.caller(req), req.nodeid(), name)?;
        sized(&value, size, out)
    }

    pub(super) fn listxattr(&self, req: &Request<'_>, size: u32, out: &mut ReplyBuf<'_>) -> Answer {
        let names = self.volume.listxattr(&self.caller(req), req.nodeid())?;
        sized(&names, size, out)
    }

    pub(super) fn removexattr(&self, req: &Request<'_>, name: &[u8]) -> Answer {
        Ok(self.volume.removexattr(&self.caller(req), req.nodeid(), name)?)
    }
}

/// The value, or its length when that is all that is wanted.
fn sized(value: &[u8], size: u32, out: &mut ReplyBuf<'_>) -> Answer {
    if size == 0 {
        put(out.push(&GetxattrOut { size: value.len() as u32, padding: 0 }))
    } else if value.len() > size as usize {
        Err(Failure::Errno(libc::ERANGE))
    } else {
        put(out.extend(value))
    }
}
