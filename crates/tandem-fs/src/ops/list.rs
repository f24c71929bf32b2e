//! Reading directories. Cookies are keys: they need no state, survive every change of the
//! directory, and an entry that stays is given exactly once.

use tandem_format::Content;

use super::access::MAY_READ;
use super::{is_dots, is_impossible};
use crate::dir::Found;
use crate::error::{Fault, Res, Result, corrupt, fail};
use crate::state::State;
use crate::types::{Attr, Cred, DirEntry, FileKind, Ino, ROOT};
use crate::volume::Volume;

/// Takes an entry and where it was found; `.` and `..` are found nowhere. Whether there is room for more.
type Take<'a> = &'a mut dyn FnMut(&mut State, DirEntry<'_>, Option<&Found>) -> Res<bool>;

/// Cookies 1 and 2 follow `.` and `..`; the entry with key k is followed by k + 3.
const FIRST: u64 = 2;

/// Directories that one listing enters into memory at most: what goes of them with each operation.
const KEPT: usize = 32;

impl Volume {
    /// Gives the entries after `cookie` (0 at the start), `.` and `..` first, to `f` until it
    /// returns false. May stop early, but not without having given one; the end is reached when
    /// nothing is given. What is wrong behind an entry that was given is the next call's error.
    ///
    /// # Errors
    /// ENOTDIR, and those of reading the directory.
    pub fn readdir(
        &self,
        cred: &Cred,
        ino: Ino,
        cookie: u64,
        f: &mut dyn FnMut(DirEntry<'_>) -> bool,
    ) -> Result<()> {
        self.list(cred, ino, cookie, &mut |_, entry, _| Ok(f(entry)))
    }

    /// The same with the entries' attributes; takes a hold on each entry that `f` accepts, but for
    /// `.` and `..`.
    ///
    /// # Errors
    /// As [`Volume::readdir`].
    pub fn readdir_plus(
        &self,
        cred: &Cred,
        ino: Ino,
        cookie: u64,
        f: &mut dyn FnMut(DirEntry<'_>, &Attr) -> bool,
    ) -> Result<()> {
        let mut kept = 0;
        self.list(cred, ino, cookie, &mut |st, entry, found| {
            let attr = match found {
                Some(found) if kept < KEPT => {
                    kept += usize::from(entry.kind == FileKind::Directory);
                    st.found_attr(found, ino)?
                }
                Some(found) => st.entry_attr(found)?,
                None => st.attr(entry.ino)?,
            };
            let taken = f(entry, &attr);
            if taken && !is_dots(entry.name) {
                st.holds.add(entry.ino);
            }
            Ok(taken)
        })
    }

    fn list(&self, cred: &Cred, ino: Ino, cookie: u64, f: Take<'_>) -> Result<()> {
        let mut cookie = cookie;
        let mut given = false;
        self.core.run(|st| {
            let node = st.seen(ino)?;
            let Content::Dir(root) = node.rec.content else { return fail(libc::ENOTDIR) };
            if node.rec.nlink == 0 {
                return Ok(());
            }
            st.may(cred, ino, MAY_READ)?;
            let parent = if ino == ROOT { ROOT } else { root.parent };
            while cookie < FIRST {
                let (name, at): (&[u8], Ino) =
                    if cookie == 0 { (b".", ino) } else { (b"..", parent) };
                let entry =
                    DirEntry { ino: at, cookie: cookie + 1, kind: FileKind::Directory, name };
                if !f(st, entry, None)? {
                    return Ok(());
                }
                cookie += 1;
                given = true;
            }
            let mut next = cookie;
            let listed = st.dir_list(ino, cookie - FIRST, &mut |st, found, leaf| {
                let name = leaf.entry(found.slot).name;
                if is_impossible(name) {
                    let detail = format!("the name \"{}\" cannot be", name.escape_ascii());
                    return Err(corrupt(format!("directory leaf {}", found.leaf), detail));
                }
                let cookie = found.key + 1 + FIRST;
                let entry = DirEntry { ino: found.ino, cookie, kind: found.kind, name };
                let more = f(st, entry, Some(&found))?;
                if more {
                    next = entry.cookie;
                    given = true;
                }
                Ok(more)
            });
            cookie = next;
            match listed {
                Ok(_) => {}
                Err(Fault::Miss(_) | Fault::Fail(_)) if given => {}
                Err(fault) => return Err(fault),
            }
            st.read_accessed(ino)
        })
    }
}
