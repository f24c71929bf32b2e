//! Rename: atomic, over whatever is there, or an exchange.

use tandem_format::{Body as EntryBody, Content};

use super::{check_name, is_dots};
use crate::dir::Found;
use crate::error::{Res, Result, corrupt, fail};
use crate::state::{ENTRY_COST, State};
use crate::types::{Cred, FileKind, Ino, ROOT, RenameFlags};
use crate::volume::Volume;

/// One side of a rename.
#[derive(Clone, Copy)]
struct Side<'a> {
    dir: Ino,
    name: &'a [u8],
}

impl Volume {
    /// Gives an entry another name or directory. With EXCHANGE the two entries swap.
    ///
    /// # Errors
    /// ENOENT, EEXIST with NOREPLACE, EINVAL for a directory into itself, ENOTEMPTY, EISDIR,
    /// ENOTDIR.
    pub fn rename(
        &self,
        cred: &Cred,
        parent: Ino,
        name: &[u8],
        newparent: Ino,
        newname: &[u8],
        flags: RenameFlags,
    ) -> Result<()> {
        let gone = self.core.run(|st| {
            check_name(name)?;
            check_name(newname)?;
            let (from, to) = (Side { dir: parent, name }, Side { dir: newparent, name: newname });
            if flags.contains(RenameFlags::NOREPLACE | RenameFlags::EXCHANGE) {
                return fail(libc::EINVAL);
            }
            st.parent(parent)?;
            st.parent(newparent)?;
            if is_dots(name) || is_dots(newname) {
                return fail(libc::EBUSY);
            }
            let Some(src) = st.dir_find(parent, name)? else { return fail(libc::ENOENT) };
            let dst = st.dir_find(newparent, newname)?;
            if parent == newparent && name == newname {
                return if flags.contains(RenameFlags::NOREPLACE) {
                    fail(libc::EEXIST)
                } else {
                    Ok(None)
                };
            }
            match &dst {
                Some(_) if flags.contains(RenameFlags::NOREPLACE) => return fail(libc::EEXIST),
                None if flags.contains(RenameFlags::EXCHANGE) => return fail(libc::ENOENT),
                _ => {}
            }
            st.check_rename(cred, from, to, &src, dst.as_ref(), flags)?;
            if dst.is_some_and(|d| d.ino == src.ino) {
                return Ok(None);
            }
            st.claim(2 * ENTRY_COST + (name.len() + newname.len()) as u64, dst.is_some())?;
            st.node(src.ino)?;
            st.prepare(src.ino)?;
            st.dir_bucket_touch(parent, name)?;
            st.dir_bucket_touch(newparent, newname)?;
            if let Some(dst) = &dst {
                st.node(dst.ino)?;
                st.prepare(dst.ino)?;
            }
            match dst {
                Some(dst) if flags.contains(RenameFlags::EXCHANGE) => {
                    st.exchange(from, to, &src, &dst)?;
                    Ok(None)
                }
                dst => st.move_entry(from, to, &src, dst),
            }
        })?;
        if let Some(ino) = gone {
            self.core.let_go(ino);
        }
        Ok(())
    }
}

impl State {
    fn check_rename(
        &mut self,
        cred: &Cred,
        from: Side<'_>,
        to: Side<'_>,
        src: &Found,
        dst: Option<&Found>,
        flags: RenameFlags,
    ) -> Res<()> {
        self.may_remove(cred, from.dir, src.ino)?;
        match dst {
            Some(dst) => self.may_remove(cred, to.dir, dst.ino)?,
            None => self.may(cred, to.dir, super::access::MAY_WRITE | super::access::MAY_EXEC)?,
        }
        let src_dir = src.kind == FileKind::Directory;
        if src_dir && self.is_below(to.dir, src.ino)? {
            return fail(libc::EINVAL);
        }
        let Some(dst) = dst else { return Ok(()) };
        let dst_dir = dst.kind == FileKind::Directory;
        if dst_dir && self.is_below(from.dir, dst.ino)? {
            let exchange = flags.contains(RenameFlags::EXCHANGE);
            return fail(if exchange { libc::EINVAL } else { libc::ENOTEMPTY });
        }
        if flags.contains(RenameFlags::EXCHANGE) {
            return Ok(());
        }
        match (src_dir, dst_dir) {
            (true, false) => fail(libc::ENOTDIR),
            (false, true) => fail(libc::EISDIR),
            (true, true) => self.must_be_empty(dst.ino),
            (false, false) => Ok(()),
        }
    }

    /// Whether `dir` is `above` or lies below it.
    fn is_below(&mut self, dir: Ino, above: Ino) -> Res<bool> {
        let mut at = dir;
        let mut steps = 0;
        loop {
            if at == above {
                return Ok(true);
            }
            if at == ROOT {
                return Ok(false);
            }
            at = self.dir_root(at)?.parent;
            steps += 1;
            if steps > self.inos.used + 16 {
                return Err(corrupt(format!("directory {dir}"), "its parents lead in a circle"));
            }
        }
    }

    fn move_entry(
        &mut self,
        from: Side<'_>,
        to: Side<'_>,
        src: &Found,
        dst: Option<Found>,
    ) -> Res<Option<Ino>> {
        let now = self.now;
        let mut gone = None;
        if let Some(dst) = dst {
            gone = self.replace_target(to.dir, &dst)?;
            self.must_flush.push(src.ino);
        }
        self.take_out(from)?;
        self.put_in(to, src)?;
        let subdir = i64::from(src.kind == FileKind::Directory);
        self.dir_changed(from.dir, -1, -subdir, now)?;
        self.dir_changed(to.dir, 1, subdir, now)?;
        Ok(gone)
    }

    fn exchange(&mut self, from: Side<'_>, to: Side<'_>, src: &Found, dst: &Found) -> Res<()> {
        let now = self.now;
        self.take_out(from)?;
        self.take_out(to)?;
        self.put_in(to, src)?;
        self.put_in(from, dst)?;
        let (a, b) = (src.kind == FileKind::Directory, dst.kind == FileKind::Directory);
        let subdirs = i64::from(b) - i64::from(a);
        self.dir_changed(from.dir, 0, subdirs, now)?;
        self.dir_changed(to.dir, 0, -subdirs, now)
    }

    /// Removes an entry by name; what was found before may have moved within its leaf.
    fn take_out(&mut self, side: Side<'_>) -> Res<()> {
        match self.dir_find(side.dir, side.name)? {
            Some(found) => self.dir_remove(side.dir, &found),
            None => Err(corrupt(
                format!("directory {}", side.dir),
                "an entry vanished during its rename",
            )),
        }
    }

    /// Enters what `found` was under a new name. Its node is in memory.
    fn put_in(&mut self, to: Side<'_>, found: &Found) -> Res<()> {
        let now = self.now;
        let node = self.change(found.ino)?;
        node.rec.ctime = now;
        node.parent = to.dir;
        if let Content::Dir(root) = &mut node.rec.content {
            root.parent = to.dir;
        }
        if !found.embedded {
            return self
                .dir_insert(to.dir, to.name, found.kind, EntryBody::Link(found.ino))
                .map(|_| ());
        }
        let mut rec = node.rec.clone();
        rec.size = node.disk_size;
        self.enter(to.dir, to.name, &rec)
    }
}
