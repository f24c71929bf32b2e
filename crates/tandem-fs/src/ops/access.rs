//! Permissions, for doors that have not checked them.

use tandem_format::Record;

use super::acl;
use crate::error::{Res, fail};
use crate::state::State;
use crate::types::{Cred, Ino};

/// Execute or search.
pub(crate) const MAY_EXEC: u32 = 1;
/// Write.
pub(crate) const MAY_WRITE: u32 = 2;
/// Read.
pub(crate) const MAY_READ: u32 = 4;

impl State {
    /// Fails with EACCES unless `cred` may do all of `mask` with the i-node.
    pub(crate) fn may(&mut self, cred: &Cred, ino: Ino, mask: u32) -> Res<()> {
        if !cred.enforce {
            return Ok(());
        }
        let rec = self.record(ino)?;
        if cred.uid == 0 {
            let dir = rec.mode & libc::S_IFMT == libc::S_IFDIR;
            let executable = dir || rec.mode & 0o111 != 0;
            return if mask & MAY_EXEC != 0 && !executable { fail(libc::EACCES) } else { Ok(()) };
        }
        let granted = match self.acl_of(&rec, acl::ACCESS)? {
            Some(acl) => acl.granted(cred, &rec),
            None => class_bits(cred, &rec),
        };
        if granted & mask == mask { Ok(()) } else { fail(libc::EACCES) }
    }

    /// Fails unless `cred` may remove or replace an entry of `dir` that leads to `ino`: write and
    /// search permission, and ownership in a sticky directory.
    pub(crate) fn may_remove(&mut self, cred: &Cred, dir: Ino, ino: Ino) -> Res<()> {
        self.may(cred, dir, MAY_WRITE | MAY_EXEC)?;
        if !cred.enforce || cred.uid == 0 {
            return Ok(());
        }
        let (parent, rec) = (self.record(dir)?, self.record(ino)?);
        let sticky = parent.mode & libc::S_ISVTX != 0;
        if sticky && cred.uid != parent.uid && cred.uid != rec.uid {
            fail(libc::EPERM)
        } else {
            Ok(())
        }
    }

    /// Fails with EPERM unless `cred` owns the i-node or is the superuser.
    pub(crate) fn must_own(&mut self, cred: &Cred, ino: Ino) -> Res<()> {
        if cred.enforce && cred.uid != 0 && self.record(ino)?.uid != cred.uid {
            return fail(libc::EPERM);
        }
        Ok(())
    }
}

/// What the mode gives to the class that `cred` falls into.
pub(crate) fn class_bits(cred: &Cred, rec: &Record) -> u32 {
    let shift = match () {
        () if cred.uid == rec.uid => 6,
        () if cred.in_group(rec.gid) => 3,
        () => 0,
    };
    rec.mode >> shift & 7
}
