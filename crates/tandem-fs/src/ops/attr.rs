//! Attributes.

use super::access::MAY_WRITE;
use super::acl::{self, Acl};
use crate::error::{Res, Result, fail};
use crate::state::{RECORD_COST, State};
use crate::types::{Attr, Cred, Ino, SIZE_MAX, SetAttr, SetTime};
use crate::volume::Volume;

impl Volume {
    /// An i-node's attributes.
    ///
    /// # Errors
    /// ESTALE when there is no such i-node.
    pub fn getattr(&self, ino: Ino) -> Result<Attr> {
        self.core.run(|st| st.attr(ino))
    }

    /// Changes attributes; all of them or none.
    ///
    /// # Errors
    /// EFBIG for sizes past 2^63 - 1, EISDIR and EINVAL for sizes of what has none, EPERM.
    pub fn setattr(&self, cred: &Cred, ino: Ino, set: &SetAttr) -> Result<Attr> {
        self.core.run(|st| {
            st.may_set(cred, ino, set)?;
            let shrinks = set.size.is_some();
            st.claim(RECORD_COST, shrinks)?;
            st.node(ino)?;
            let acl = match set.mode {
                Some(_) => {
                    let rec = st.record(ino)?;
                    st.acl_of(&rec, acl::ACCESS)?
                }
                None => None,
            };
            if let Some(size) = set.size {
                st.resize(ino, size)?;
            }
            st.set_fields(cred, ino, set, acl)?;
            st.attr(ino)
        })
    }
}

impl State {
    fn may_set(&mut self, cred: &Cred, ino: Ino, set: &SetAttr) -> Res<()> {
        if let Some(size) = set.size {
            super::io::check_regular(&self.node(ino)?.rec)?;
            if size > SIZE_MAX {
                return fail(libc::EFBIG);
            }
        }
        if !cred.enforce || cred.uid == 0 {
            return Ok(());
        }
        if set.size.is_some() {
            self.may(cred, ino, MAY_WRITE)?;
        }
        let rec = self.record(ino)?;
        let owner = rec.uid == cred.uid;
        let chown = set.uid.is_some_and(|uid| uid != rec.uid || !owner)
            || set.gid.is_some_and(|gid| !(owner && (gid == rec.gid || cred.in_group(gid))));
        let at = |t: Option<SetTime>| matches!(t, Some(SetTime::At(_)));
        if chown || (!owner && (set.mode.is_some() || at(set.atime) || at(set.mtime))) {
            return fail(libc::EPERM);
        }
        if !owner && (set.atime.is_some() || set.mtime.is_some()) {
            self.may(cred, ino, MAY_WRITE)?;
        }
        Ok(())
    }

    fn set_fields(&mut self, cred: &Cred, ino: Ino, set: &SetAttr, acl: Option<Acl>) -> Res<()> {
        let now = self.now;
        let rec = &mut self.change(ino)?.rec;
        let kind = rec.mode & libc::S_IFMT;
        if let Some(uid) = set.uid {
            rec.uid = uid;
        }
        if let Some(gid) = set.gid {
            rec.gid = gid;
        }
        if (set.uid.is_some() || set.gid.is_some() || set.kill_priv)
            && kind != libc::S_IFDIR
            && set.mode.is_none()
        {
            rec.mode = without_privileges(rec.mode);
        }
        if let Some(mode) = set.mode {
            rec.mode = kind | mode & 0o7777;
            if cred.enforce && cred.uid != 0 && !cred.in_group(rec.gid) {
                rec.mode &= !libc::S_ISGID;
            }
        }
        let time = |t| match t {
            SetTime::Now => now,
            SetTime::At(t) => t,
        };
        if let Some(t) = set.atime {
            rec.atime = time(t);
        }
        if let Some(t) = set.mtime {
            rec.mtime = time(t);
        }
        if set.size.is_some() && set.mtime.is_none() {
            rec.mtime = now;
        }
        rec.ctime = set.ctime.unwrap_or(now);
        if let (Some(mut acl), Some(mode)) = (acl, set.mode) {
            acl.chmod(mode);
            self.put_xattr(ino, 4, acl::ACCESS, Some(acl.encode()))?;
        }
        Ok(())
    }
}

/// A mode without the bits that a change of owner or contents takes away: set-user always,
/// set-group when it means execution.
pub(super) fn without_privileges(mode: u32) -> u32 {
    let mut mode = mode & !libc::S_ISUID;
    if mode & libc::S_IXGRP != 0 {
        mode &= !libc::S_ISGID;
    }
    mode
}
