//! Other users, without other processes: on Linux credentials, umask and working directory
//! belong to a thread, and only the C library makes them the process's.

use super::sys::{self, Errno, raw};
use libc::{CLONE_FS, SYS_setgroups, SYS_setresgid, SYS_setresuid, SYS_unshare, c_long};

/// Somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// User number.
    pub uid: u32,
    /// Group number.
    pub gid: u32,
    /// Further groups.
    pub groups: &'static [u32],
}

impl User {
    /// A user with this number and this group, and no other groups.
    pub const fn new(uid: u32, gid: u32) -> User {
        User { uid, gid, groups: &[] }
    }

    /// The same with further groups.
    pub const fn with(self, groups: &'static [u32]) -> User {
        User { groups, ..self }
    }

    /// Runs this with the user's credentials in this thread.
    pub fn run<T>(self, work: impl FnOnce() -> T) -> T {
        let _back = Back;
        become_user(self).expect("root may become anybody");
        work()
    }
}

/// The owner in most tests.
pub const ALICE: User = User::new(65_534, 65_534);
/// Somebody else, in another group.
pub const BOB: User = User::new(65_533, 65_533);
/// Neither, but in Alice's group.
pub const CAROL: User = User::new(65_532, 65_534);
/// A group that Alice's variant `alice_of` belongs to as well.
pub const TEAM: u32 = 65_531;

/// Alice as a member of `TEAM`.
pub const fn alice_of_team() -> User {
    ALICE.with(&[TEAM])
}

const KEEP: c_long = -1;

fn become_user(user: User) -> Result<(), Errno> {
    let groups = user.groups;
    raw(SYS_setgroups, [groups.len() as c_long, groups.as_ptr() as c_long, 0, 0, 0, 0])?;
    raw(SYS_setresgid, [KEEP, user.gid.into(), KEEP, 0, 0, 0])?;
    raw(SYS_setresuid, [KEEP, user.uid.into(), KEEP, 0, 0, 0])?;
    Ok(())
}

struct Back;

impl Drop for Back {
    fn drop(&mut self) {
        let _ = raw(SYS_setresuid, [KEEP, 0, KEEP, 0, 0, 0]);
        let _ = raw(SYS_setresgid, [KEEP, 0, KEEP, 0, 0, 0]);
        let _ = raw(SYS_setgroups, [0, 0, 0, 0, 0, 0]);
    }
}

/// Gives this thread a umask and a working directory of its own.
pub fn own_fs() -> Result<(), Errno> {
    raw(SYS_unshare, [CLONE_FS.into(), 0, 0, 0, 0, 0]).map(drop)
}

/// Runs this with another umask.
pub fn with_umask<T>(mask: u32, work: impl FnOnce() -> T) -> T {
    let old = sys::umask(mask);
    let out = work();
    sys::umask(old);
    out
}

/// Whether this process is root.
pub fn is_root() -> bool {
    // An effective number of 0 in this thread is what counts for all that follows.
    rustix::process::geteuid().is_root()
}
