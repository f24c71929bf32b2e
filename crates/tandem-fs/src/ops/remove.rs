//! Names that go, and i-nodes with them.

use tandem_format::Content;

use super::{check_name, is_dots};
use crate::dir::Found;
use crate::error::{Res, Result, fail};
use crate::state::State;
use crate::types::{Cred, FileKind, Ino};
use crate::volume::{Core, Volume};

/// What removing a name may add to M, in bytes: it is bounded, and may use the last reserve.
const REMOVE_COST: u64 = 256;

impl Volume {
    /// Removes a name of anything but a directory.
    ///
    /// # Errors
    /// ENOENT, EISDIR.
    pub fn unlink(&self, cred: &Cred, parent: Ino, name: &[u8]) -> Result<()> {
        let gone = self.core.run(|st| {
            check_name(name)?;
            st.parent(parent)?;
            if is_dots(name) {
                return fail(libc::EISDIR);
            }
            let Some(found) = st.dir_find(parent, name)? else { return fail(libc::ENOENT) };
            if found.kind == FileKind::Directory {
                return fail(libc::EISDIR);
            }
            st.may_remove(cred, parent, found.ino)?;
            st.claim(REMOVE_COST, true)?;
            st.node(found.ino)?;
            st.dir_remove_touch(&found)?;
            let now = st.now;
            st.dir_remove(parent, &found)?;
            st.dir_changed(parent, -1, 0, now)?;
            st.unlinked(found.ino)
        })?;
        if let Some(ino) = gone {
            self.core.let_go(ino);
        }
        Ok(())
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, ENOTEMPTY.
    pub fn rmdir(&self, cred: &Cred, parent: Ino, name: &[u8]) -> Result<()> {
        let gone = self.core.run(|st| {
            check_name(name)?;
            st.parent(parent)?;
            match name {
                b"." => return fail(libc::EINVAL),
                b".." => return fail(libc::ENOTEMPTY),
                _ => {}
            }
            let Some(found) = st.dir_find(parent, name)? else { return fail(libc::ENOENT) };
            if found.kind != FileKind::Directory {
                return fail(libc::ENOTDIR);
            }
            st.may_remove(cred, parent, found.ino)?;
            st.must_be_empty(found.ino)?;
            st.claim(REMOVE_COST, true)?;
            st.dir_remove_touch(&found)?;
            let now = st.now;
            st.dir_remove(parent, &found)?;
            st.dir_changed(parent, -1, -1, now)?;
            st.unlinked(found.ino)
        })?;
        if let Some(ino) = gone {
            self.core.let_go(ino);
        }
        Ok(())
    }
}

impl State {
    /// Fails with ENOTEMPTY unless a directory has no entries.
    pub(super) fn must_be_empty(&mut self, dir: Ino) -> Res<()> {
        match &self.node(dir)?.rec.content {
            Content::Dir(root) if root.entries == 0 => Ok(()),
            Content::Dir(_) => fail(libc::ENOTEMPTY),
            _ => fail(libc::ENOTDIR),
        }
    }

    /// An entry of a node in memory is gone: counts its links. Returns the i-node when it was the
    /// last one and nobody holds it.
    pub(super) fn unlinked(&mut self, ino: Ino) -> Res<Option<Ino>> {
        let now = self.now;
        let node = self.change(ino)?;
        node.rec.ctime = now;
        node.rec.nlink = match node.rec.content {
            Content::Dir(_) => 0,
            _ => node.rec.nlink.saturating_sub(1),
        };
        if node.rec.nlink > 0 {
            return Ok(None);
        }
        self.orphaned(ino);
        Ok((self.holds.get(ino) == 0).then_some(ino))
    }

    /// Removes one entry and what it leads to, as rename does with its target.
    pub(super) fn replace_target(&mut self, dir: Ino, found: &Found) -> Res<Option<Ino>> {
        let subdir = found.kind == FileKind::Directory;
        let now = self.now;
        self.dir_remove(dir, found)?;
        self.dir_changed(dir, -1, -i64::from(subdir), now)?;
        self.unlinked(found.ino)
    }
}

impl Core {
    /// Frees an unlinked i-node that nobody holds; a large one in the background.
    pub(crate) fn let_go(&self, ino: Ino) {
        let large = {
            let st = self.state.lock();
            match st.nodes.get(ino) {
                Some(node) => matches!(node.rec.content, Content::Tree { .. }),
                None => return,
            }
        };
        if !large {
            let freed = self.run(|st| {
                if st.holds.get(ino) > 0 || !st.orphans.contains(&ino) {
                    return Ok(true);
                }
                st.free_inode(ino)
            });
            match freed {
                Ok(true) => return,
                Ok(false) => {}
                Err(e) if e.is_fault() => tracing::error!("freeing i-node {ino}: {e}"),
                Err(_) => {}
            }
        }
        self.state.lock().reclaim.push(ino);
        self.press();
    }
}
