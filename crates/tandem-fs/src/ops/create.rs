//! New i-nodes and new names for old ones.

use tandem_format::{Body as EntryBody, Content, DirRoot, INO_LIMIT, Kind, Record, Xattrs};

use super::access::{MAY_EXEC, MAY_WRITE};
use super::{acl, check_name, is_dots, xattr};
use crate::cache::{Block, Body, Key};
use crate::error::{Error, Res, Result, fail};
use crate::ifile::Home;
use crate::state::{ENTRY_COST, Node, State};
use crate::types::{Attr, Cred, FileKind, Ino};
use crate::volume::Volume;

/// The longest target of a symbolic link, in bytes.
pub const SYMLINK_MAX: usize = 4095;

/// A longer target gets a block of its own.
const SYMLINK_INLINE: usize = 900;

/// What a new i-node is to be.
struct New<'a> {
    cred: &'a Cred,
    mode: u32,
    umask: u32,
    rdev: u32,
    target: &'a [u8],
}

impl Volume {
    /// Makes a regular file, device, fifo or socket.
    ///
    /// # Errors
    /// EEXIST when the name exists, ENOSPC.
    pub fn mknod(
        &self,
        cred: &Cred,
        parent: Ino,
        name: &[u8],
        mode: u32,
        rdev: u32,
        umask: u32,
    ) -> Result<Attr> {
        let mode = if mode & libc::S_IFMT == 0 { mode | libc::S_IFREG } else { mode };
        if matches!(mode & libc::S_IFMT, libc::S_IFDIR | libc::S_IFLNK) {
            return Err(Error::Posix(libc::EINVAL));
        }
        self.make(parent, name, &New { cred, mode, umask, rdev, target: b"" })
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// As [`Volume::mknod`].
    pub fn mkdir(
        &self,
        cred: &Cred,
        parent: Ino,
        name: &[u8],
        mode: u32,
        umask: u32,
    ) -> Result<Attr> {
        let mode = libc::S_IFDIR | mode & 0o7777;
        self.make(parent, name, &New { cred, mode, umask, rdev: 0, target: b"" })
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// As [`Volume::mknod`]; ENAMETOOLONG for a target of more than 4,095 bytes.
    pub fn symlink(&self, cred: &Cred, parent: Ino, name: &[u8], target: &[u8]) -> Result<Attr> {
        if target.len() > SYMLINK_MAX {
            return Err(Error::Posix(libc::ENAMETOOLONG));
        }
        if target.is_empty() {
            return Err(Error::Posix(libc::ENOENT));
        }
        self.make(
            parent,
            name,
            &New { cred, mode: libc::S_IFLNK | 0o777, umask: 0, rdev: 0, target },
        )
    }

    fn make(&self, parent: Ino, name: &[u8], new: &New<'_>) -> Result<Attr> {
        self.core.run(|st| {
            check_name(name)?;
            let group = st.parent(parent)?;
            if is_dots(name) {
                return fail(libc::EEXIST);
            }
            if st.dir_find(parent, name)?.is_some() {
                return fail(libc::EEXIST);
            }
            st.may(new.cred, parent, MAY_WRITE | MAY_EXEC)?;
            st.claim(ENTRY_COST + name.len() as u64 + new.target.len() as u64, false)?;
            let (ino, rec) = st.new_record(parent, group, new)?;
            let now = st.now;
            st.enter(parent, name, &rec)?;
            st.take_ino(ino);
            st.put_target(&rec, new.target);
            let dir = matches!(rec.content, Content::Dir(_));
            st.dir_changed(parent, 1, i64::from(dir), now)?;
            st.holds.add(ino);
            let attr = Attr::of(&rec, st.geo.block_size, 0);
            if let Content::Dir(root) = rec.content {
                st.count_group(root.group, 1, 0);
                st.space.directory_placed(group, root.group);
                st.nodes.insert(ino, Node::new(rec, parent));
            }
            Ok(attr)
        })
    }

    /// Makes a regular file without a name, which [`Volume::link`] may give it.
    ///
    /// # Errors
    /// As [`Volume::mknod`].
    pub fn tmpfile(&self, cred: &Cred, parent: Ino, mode: u32, umask: u32) -> Result<Attr> {
        self.core.run(|st| {
            let group = st.parent(parent)?;
            st.may(cred, parent, MAY_WRITE | MAY_EXEC)?;
            st.claim(ENTRY_COST, false)?;
            let mode = libc::S_IFREG | mode & 0o7777;
            let new = New { cred, mode, umask, rdev: 0, target: b"" };
            let (ino, mut rec) = st.new_record(parent, group, &new)?;
            rec.nlink = 0;
            st.take_ino(ino);
            let attr = Attr::of(&rec, st.geo.block_size, 0);
            st.nodes.insert(ino, Node::new(rec, parent));
            st.orphaned(ino);
            st.holds.add(ino);
            Ok(attr)
        })
    }

    /// Gives an i-node another name.
    ///
    /// # Errors
    /// EPERM for directories, EMLINK past 2^32 - 1 links, EEXIST.
    pub fn link(&self, cred: &Cred, ino: Ino, parent: Ino, name: &[u8]) -> Result<Attr> {
        self.core.run(|st| {
            check_name(name)?;
            st.parent(parent)?;
            if is_dots(name) {
                return fail(libc::EEXIST);
            }
            if st.dir_find(parent, name)?.is_some() {
                return fail(libc::EEXIST);
            }
            let node = st.node(ino)?;
            match node.rec.content {
                Content::Dir(_) => return fail(libc::EPERM),
                _ if node.rec.nlink == u32::MAX => return fail(libc::EMLINK),
                _ => {}
            }
            let (links, kind) = (node.rec.nlink, FileKind::of_mode(node.rec.mode));
            st.may(cred, parent, MAY_WRITE | MAY_EXEC)?;
            st.claim(ENTRY_COST * 2 + name.len() as u64, false)?;
            st.prepare(ino)?;
            let now = st.now;
            if links == 0 {
                st.name_orphan(ino, parent, name)?;
            } else {
                if let Some(Home::Entry { dir, top }) = st.imap_get(ino)? {
                    st.node(dir)?;
                    st.dir_find_home(dir, top, ino)?;
                    st.move_out(ino)?;
                }
                st.dir_insert(parent, name, kind, EntryBody::Link(ino))?;
                st.change(ino)?.rec.nlink = links + 1;
            }
            st.change(ino)?.rec.ctime = now;
            st.dir_changed(parent, 1, 0, now)?;
            st.holds.add(ino);
            st.attr(ino)
        })
    }

    /// A symbolic link's target.
    ///
    /// # Errors
    /// EINVAL for anything else.
    pub fn readlink(&self, ino: Ino) -> Result<Vec<u8>> {
        self.core.run(|st| match st.record(ino)?.content {
            Content::Symlink(target) => Ok(target.into_vec()),
            Content::SymlinkBlock(id) => match &st.cache.get(Key::block(id))?.body {
                Body::Raw(bytes) => Ok(bytes.clone()),
                _ => Err(crate::error::corrupt(format!("block {id}"), "not a symbolic link")),
            },
            _ => fail(libc::EINVAL),
        })
    }
}

impl State {
    /// A record for a new i-node, with what it inherits from its directory. Changes nothing yet
    /// but what a repetition makes good.
    fn new_record(&mut self, parent: Ino, group: u32, new: &New<'_>) -> Res<(Ino, Record)> {
        let ino = self.inos.free.last().copied().unwrap_or(self.inos.next);
        if ino >= INO_LIMIT {
            return fail(libc::ENOSPC);
        }
        self.prepare(ino)?;
        let now = self.now;
        let above = &self.node(parent)?.rec;
        let (setgid, parent_gid) = (above.mode & libc::S_ISGID != 0, above.gid);
        let above = (!matches!(above.xattrs, Xattrs::None)).then(|| above.clone());
        let kind = new.mode & libc::S_IFMT;
        let mut mode = new.mode & 0o7777;
        let mut xattrs = Vec::new();
        let default = match &above {
            Some(rec) if kind != libc::S_IFLNK => self.acl_of(rec, acl::DEFAULT)?,
            _ => None,
        };
        match default {
            Some(default) => {
                let mut access = default.clone();
                mode = mode & !0o777 | access.inherit(mode);
                if !access.is_mode() {
                    xattr::append(&mut xattrs, 4, acl::ACCESS, access.encode());
                }
                if kind == libc::S_IFDIR {
                    xattr::append(&mut xattrs, 4, acl::DEFAULT, default.encode());
                }
            }
            None => mode &= !new.umask,
        }
        let gid = if setgid { parent_gid } else { new.cred.gid };
        if setgid && kind == libc::S_IFDIR {
            mode |= libc::S_ISGID;
        }
        let content = match kind {
            libc::S_IFDIR => {
                let group = self.space.choose_directory_group(group, self.affinity);
                Content::Dir(DirRoot { parent, entries: 0, subdirs: 0, root: 0, group })
            }
            libc::S_IFLNK if new.target.len() <= SYMLINK_INLINE => {
                Content::Symlink(new.target.into())
            }
            libc::S_IFLNK => {
                Content::SymlinkBlock(self.ids.free.last().copied().unwrap_or(self.ids.next))
            }
            libc::S_IFCHR | libc::S_IFBLK => Content::Device(new.rdev),
            _ => Content::None,
        };
        let size =
            if matches!(content, Content::SymlinkBlock(_)) { new.target.len() as u64 } else { 0 };
        let rec = Record {
            ino,
            generation: (self.commit as u32).wrapping_add(1),
            mode: kind | mode,
            nlink: if kind == libc::S_IFDIR { 2 } else { 1 },
            uid: new.cred.uid,
            gid,
            atime: now,
            mtime: now,
            ctime: now,
            btime: now,
            size,
            content,
            xattrs: if xattrs.is_empty() {
                Xattrs::None
            } else {
                Xattrs::Inline(xattrs.into_boxed_slice())
            },
        };
        if let Content::SymlinkBlock(id) = rec.content {
            // Taken at once, so that nothing entered in between gets the same id.
            let taken = self.new_id();
            debug_assert_eq!(taken, id);
        }
        Ok((ino, rec))
    }

    fn take_ino(&mut self, ino: Ino) {
        if self.inos.free.last() == Some(&ino) {
            self.inos.free.pop();
        } else if self.inos.next == ino {
            self.inos.next += 1;
        }
        self.inos.used += 1;
    }

    fn put_target(&mut self, rec: &Record, target: &[u8]) {
        if let Content::SymlinkBlock(id) = rec.content {
            let body = Body::Raw(target.to_vec());
            let block = Block { kind: Kind::Symlink, owner: rec.ino, index: 0, level: 0, body };
            self.cache.insert_new(Key::block(id), block);
        }
    }

    /// Gives an i-node without a link its first name.
    fn name_orphan(&mut self, ino: Ino, parent: Ino, name: &[u8]) -> Res<()> {
        let sheltered = self.limbo_touch(ino)?;
        let node = self.node(ino)?;
        node.parent = parent;
        node.rec.nlink = 1;
        let mut rec = node.rec.clone();
        rec.size = node.disk_size;
        if let Some(found) = sheltered {
            self.leave_limbo(ino, &found)?;
        }
        match self.imap_get(ino)? {
            Some(Home::Block(_)) => {
                let kind = FileKind::of_mode(rec.mode);
                self.dir_insert(parent, name, kind, EntryBody::Link(ino))?;
            }
            _ => self.enter(parent, name, &rec)?,
        }
        self.orphans.remove(&ino);
        self.change(ino)?;
        Ok(())
    }
}
