//! Directories built anew, and records corrected.

use tandem_format::{Body, Content, DirRoot, Entry, Kind, Record};

use super::super::super::directory::bad_name;
use super::super::index::Info;
use super::super::mend::{kind_of, mend_type};
use super::super::survey::{EVICTED, MADE, MEND, ORPHAN, leaf};
use super::Writer;
use super::lost::Displaced;
use crate::error::{Res, Result};
use crate::ifile::Home;
use crate::inode::limbo_name;
use crate::mkfs::directory;
use crate::state::State;
use crate::types::{FileKind, LIMBO, ROOT};

/// What an entry leads to.
pub(super) enum Target {
    /// The record goes with the entry.
    Record(Box<Record>),
    /// The record lies elsewhere.
    Link(u64, FileKind),
}

impl Target {
    pub fn ino(&self) -> u64 {
        match self {
            Target::Record(rec) => rec.ino,
            Target::Link(ino, _) => *ino,
        }
    }

    fn kind(&self) -> FileKind {
        match self {
            Target::Record(rec) => FileKind::of_mode(rec.mode),
            Target::Link(_, kind) => *kind,
        }
    }
}

impl Writer<'_> {
    /// Gives those i-nodes a record that have lost theirs, unless they go to lost+found.
    pub(super) fn make_records(&mut self) -> Result<()> {
        let made = |inode: &&super::super::survey::Inode| inode.is(MADE) && !inode.is(ORPHAN);
        let made: Vec<_> = self.survey.inodes.iter().filter(made).copied().collect();
        for inode in made {
            let rec = self.made_record(inode.ino);
            self.core.run(|st| {
                st.imap_present(rec.ino)?;
                st.enter_unnamed(&rec)
            })?;
        }
        Ok(())
    }

    /// The new record of an i-node that has lost its own.
    pub(super) fn made_record(&self, ino: u64) -> Record {
        let now = self.survey.source.env.now();
        let inode = self.survey.inode(ino);
        let mut rec = directory(ino, now);
        if inode.is_some_and(|inode| inode.kind != FileKind::Directory) {
            rec.mode = libc::S_IFREG | 0o600;
            rec.nlink = inode.map_or(1, |inode| inode.nlink);
            rec.content = Content::None;
        } else if ino != ROOT {
            rec.mode = libc::S_IFDIR | 0o700;
        }
        rec
    }

    /// The directory that another one lies in.
    fn parent(&self, ino: u64) -> u64 {
        match self.survey.dirs.get(&ino).map_or(0, |dir| dir.up.0) {
            0 if ino == ROOT || ino == LIMBO => ROOT,
            0 => self.lost,
            up => up,
        }
    }

    /// Builds a directory anew from its leaves, the newest first.
    pub(super) fn rebuild(&mut self, ino: u64) -> Result<()> {
        let parent = self.parent(ino);
        let groups = self.survey.base.geo.groups;
        let hidden = parent == LIMBO;
        self.core.run(|st| {
            st.node(ino)?;
            let node = st.change(ino)?;
            let group = match &node.rec.content {
                Content::Dir(dir) if dir.group < groups => dir.group,
                _ => 0,
            };
            node.rec.nlink = if hidden { 0 } else { 2 };
            node.in_limbo = hidden;
            node.rec.content =
                Content::Dir(DirRoot { parent, entries: 0, subdirs: 0, root: 0, group });
            Ok(())
        })?;
        for info in self.survey.index.newest_first(ino, Kind::Leaf) {
            let mut bytes = vec![0; info.loc.bytes() as usize];
            if self.core.meta.read_at(&mut bytes, info.loc.offset()).is_err() {
                continue;
            }
            let Some(leaf) = leaf(&bytes, &self.survey.base.sb.implied()) else { continue };
            for slot in 0..leaf.count() as usize {
                let entry = leaf.entry(slot);
                let Some((name, target)) = self.accepted(&info, &entry) else { continue };
                if let Some(target) = self.enter(ino, &name, target)? {
                    self.displaced.push(Displaced { target });
                }
            }
            self.relieve()?;
        }
        Ok(())
    }

    /// An entry of a leaf, if it is to be entered again, under the name that it is to have.
    fn accepted(&self, info: &Info, entry: &Entry<'_>) -> Option<(Vec<u8>, Target)> {
        let (dir, key) = (info.owner, entry.key);
        if bad_name(entry.name).is_some() || self.survey.refused.contains(&(dir, key)) {
            return None;
        }
        let target = match entry.body {
            Body::Embedded(bytes) => {
                let mut rec = Record::decode(bytes).ok()?;
                let inode = self.survey.inode(rec.ino)?;
                if !self.survey.is_home(rec.ino, info.id, key) || inode.is(EVICTED) {
                    return None;
                }
                self.prepare(&mut rec);
                Target::Record(Box::new(rec))
            }
            Body::Link(ino) => {
                let inode = self.survey.inode(ino)?;
                let place = self.survey.dirs.get(&ino).map(|dir| dir.up);
                let elsewhere = place.is_some_and(|up| up != (dir, key));
                let named = dir == LIMBO && inode.nlink > 0 && inode.kind != FileKind::Directory;
                if elsewhere || named {
                    return None;
                }
                Target::Link(ino, inode.kind)
            }
        };
        let name =
            if dir == LIMBO { limbo_name(target.ino()).to_vec() } else { entry.name.to_vec() };
        Some((name, target))
    }

    /// Gives a record that is entered again the type and the links that it is to have.
    pub(super) fn prepare(&self, rec: &mut Record) {
        mend_type(rec);
        if kind_of(rec) != FileKind::Directory {
            rec.nlink = self.survey.inode(rec.ino).map_or(rec.nlink, |inode| inode.nlink);
        }
    }

    /// Enters a name; returns the target when another i-node has the name already.
    pub(super) fn enter(
        &mut self,
        dir: u64,
        name: &[u8],
        target: Target,
    ) -> Result<Option<Target>> {
        let ino = target.ino();
        let taken = self.core.run(|st| {
            st.node(dir)?;
            if let Some(found) = st.dir_find(dir, name)? {
                if let (Target::Record(rec), true) = (&target, found.ino == ino) {
                    // A newer leaf has the name, but the record only here.
                    if st.imap_get(ino)?.is_none() {
                        st.enter_unnamed(rec)?;
                    }
                }
                return Ok(Some(found.ino));
            }
            match &target {
                Target::Record(rec) => {
                    st.imap_present(rec.ino)?;
                    st.enter(dir, name, rec)?;
                }
                Target::Link(ino, kind) => {
                    st.dir_insert(dir, name, *kind, Body::Link(*ino))?;
                }
            }
            st.count_entry(dir, target.kind())?;
            Ok(None)
        })?;
        let file = target.kind() != FileKind::Directory && dir != LIMBO;
        match self.survey.inode_mut(ino) {
            // Several versions of a leaf have the name: it was counted for each.
            Some(inode) if taken == Some(ino) && file => {
                inode.nlink = inode.nlink.saturating_sub(1).max(1);
                inode.flags |= MEND;
            }
            _ => {}
        }
        Ok(taken.filter(|other| *other != ino).map(|_| target))
    }

    /// Corrects a record.
    pub(super) fn mend(&mut self, ino: u64) -> Result<()> {
        let parent = self.parent(ino);
        let Some(inode) = self.survey.inode(ino).copied() else { return Ok(()) };
        let dir = self.survey.dirs.get(&ino).copied();
        let survey = &self.survey;
        self.core.run(|st| {
            let mut rec = st.node(ino)?.rec.clone();
            let mended = survey.mend(&mut rec);
            match (&mut rec.content, dir) {
                (Content::Dir(root), Some(dir)) => {
                    root.parent = parent;
                    if !dir.rebuild {
                        (root.entries, root.subdirs) = (dir.entries, dir.subdirs);
                        let links = dir.subdirs.saturating_add(2);
                        rec.nlink = if parent == LIMBO { 0 } else { links };
                    }
                }
                _ => rec.nlink = inode.nlink,
            }
            st.retag(ino, kind_of(&rec))?;
            let node = st.change(ino)?;
            node.disk_size = rec.size;
            node.in_limbo = rec.nlink == 0;
            node.rec = rec;
            match mended.attributes {
                Some(bytes) => st.restore_xattrs(ino, &bytes),
                None => Ok(()),
            }
        })
    }
}

impl State {
    /// Has the i-node block of a record say what type it has.
    fn retag(&mut self, ino: u64, kind: FileKind) -> Res<()> {
        if let Some(Home::Block(id)) = self.imap_get(ino)? {
            if let Some(slot) = self.leaf(id)?.find_key(ino) {
                self.leaf_mut(id)?.set_kind(slot, kind as u8);
            }
        }
        Ok(())
    }

    /// Counts one more entry of a directory whose node is in memory.
    pub(super) fn count_entry(&mut self, dir: u64, kind: FileKind) -> Res<()> {
        self.add_entries(dir, 1)?;
        if kind == FileKind::Directory && dir != LIMBO {
            let node = self.change(dir)?;
            node.rec.nlink = node.rec.nlink.saturating_add(1);
            if let Content::Dir(root) = &mut node.rec.content {
                root.subdirs = root.subdirs.saturating_add(1);
            }
        }
        Ok(())
    }
}
