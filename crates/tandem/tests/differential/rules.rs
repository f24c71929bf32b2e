//! Where Tandem may differ from the file systems that it is compared with: all of it.
//!
//! What is never compared, as no two file systems agree on it: i-node numbers (but which names
//! lead to the same i-node), a directory's size, `st_blocks`, `st_blksize`, positions in
//! directories and the order of their entries, change and birth times. Access and modification
//! times are compared as far as utimensat(2) has told them; whether a call has brought one to the
//! present is compared, the present is not. All are mounted `noatime`.
//! Times of FIFOs are not: the kernel does not tell a FUSE daemon of what passes through one.
//!
//! What is kept from happening: a regular file with the set-group bit but no execution by the
//! group, which gives nobody anything. Since Linux 6.2 local file systems take the bit away when
//! somebody who is not of the group writes; a FUSE daemon is not told who is of which groups, and
//! the protocol (FUSE_HANDLE_KILLPRIV_V2) asks for the bit only where it means execution.
//!
//! What is not tried: FALLOC_FL_COLLAPSE_RANGE and FALLOC_FL_INSERT_RANGE, which the kernel's FUSE
//! driver refuses with EOPNOTSUPP; RENAME_WHITEOUT, which Tandem refuses with EINVAL (overlayfs
//! asks for it of its upper layer); chown(2) to nobody (-1, -1), which takes the set-user bit away
//! elsewhere, but of which a FUSE daemon is told nothing.

use super::op::Op;
use super::run::{Outcome, Value};

/// A difference that is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// lseek(2) lets a file system say "data" where a file has zeros. How much ext4 says so depends
    /// on when it writes; wherever one of them says "hole", there are zeros.
    HolesAreFound,
}

/// The rule that allows this difference of Tandem's outcome from the other's, if one does.
pub fn allows(op: &Op, tandem: &Outcome, other: &Outcome) -> Option<Rule> {
    match (op, &tandem.result, &other.result) {
        (Op::Holes { .. }, Ok(Value::Holes(a)), Ok(Value::Holes(b)))
            if a.sound && b.sound && tandem.after == other.after =>
        {
            Some(Rule::HolesAreFound)
        }
        _ => None,
    }
}
