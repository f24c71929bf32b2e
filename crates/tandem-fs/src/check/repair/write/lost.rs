//! lost+found: what no directory has any more, under its i-node number.

use tandem_format::{Body, Content, INO_LIMIT, Kind, Record};

use super::super::survey::{Inode, MADE, ORPHAN, leaf};
use super::Writer;
use super::directories::Target;
use crate::error::Result;
use crate::mkfs::directory;
use crate::types::{FileKind, LIMBO, ROOT};

/// Its name in the root directory.
const NAME: &str = "lost+found";

/// Something whose name in its directory another has.
pub(super) struct Displaced {
    pub target: Target,
}

impl Writer<'_> {
    /// Puts everything into lost+found that no directory has.
    pub(super) fn reconnect(&mut self) -> Result<()> {
        let orphans: Vec<Inode> =
            self.survey.inodes.iter().filter(|inode| inode.is(ORPHAN)).copied().collect();
        if orphans.is_empty() {
            return Ok(());
        }
        self.find_lost()?;
        let total = orphans.len() as u64;
        for (done, inode) in (0..).zip(orphans) {
            self.report("reconnecting", done, total);
            if let Some(target) = self.orphan(&inode) {
                self.enter_lost(target)?;
            }
            self.relieve()?;
        }
        Ok(())
    }

    /// What an orphan's entry is to have.
    fn orphan(&self, inode: &Inode) -> Option<Target> {
        if inode.is(MADE) {
            return Some(Target::Record(Box::new(self.made_record(inode.ino))));
        }
        let info = self.survey.index.get(inode.block)?;
        if info.kind != Kind::Leaf {
            return Some(Target::Link(inode.ino, inode.kind));
        }
        let mut bytes = vec![0; info.loc.bytes() as usize];
        self.core.meta.read_at(&mut bytes, info.loc.offset()).ok()?;
        let leaf = leaf(&bytes, &self.survey.base.sb.implied())?;
        // Two entries of one key cannot be in a leaf that is good.
        let Body::Embedded(bytes) = leaf.entry(leaf.find_key(inode.key)?).body else { return None };
        let mut rec = Record::decode(bytes).ok()?;
        self.prepare(&mut rec);
        Some(Target::Record(Box::new(rec)))
    }

    /// Enters something under its number.
    fn enter_lost(&mut self, mut target: Target) -> Result<()> {
        let ino = target.ino();
        if let Target::Record(rec) = &mut target {
            if let Content::Dir(dir) = &mut rec.content {
                dir.parent = self.lost;
            }
        }
        let mut name = format!("#{ino}");
        let mut n = 0;
        while let Some(again) = self.enter(self.lost, name.as_bytes(), target)? {
            n += 1;
            name = format!("#{ino}.{n}");
            target = again;
        }
        Ok(())
    }

    /// Puts what found its name taken into lost+found.
    pub(super) fn enter_displaced(&mut self) -> Result<()> {
        if self.displaced.is_empty() {
            return Ok(());
        }
        self.find_lost()?;
        for displaced in std::mem::take(&mut self.displaced) {
            let ino = displaced.target.ino();
            if let Some(dir) = self.survey.dirs.get_mut(&ino) {
                dir.up = (self.lost, 0);
            }
            self.enter_lost(displaced.target)?;
            let inode = self.survey.inode(ino).copied();
            if self.survey.dirs.get(&ino).is_some_and(|dir| dir.rebuild) {
                self.rebuild(ino)?;
            } else if inode.is_some_and(|inode| inode.kind == FileKind::Directory) {
                self.mend(ino)?;
            }
        }
        Ok(())
    }

    /// Finds lost+found, or makes it.
    fn find_lost(&mut self) -> Result<()> {
        if self.lost != 0 {
            return Ok(());
        }
        let mut name = NAME.to_owned();
        let mut n = 0;
        loop {
            let found = self.core.run(|st| st.dir_find(ROOT, name.as_bytes()))?;
            match found {
                Some(found) if found.kind == FileKind::Directory => {
                    self.lost = found.ino;
                    return self.ready(found.ino);
                }
                Some(_) => {
                    n += 1;
                    name = format!("{NAME}.{n}");
                }
                None => break,
            }
        }
        let (now, ino) = (self.survey.source.env.now(), self.unused_ino());
        self.core.run(|st| {
            let mut rec = directory(ino, now);
            rec.mode = libc::S_IFDIR | 0o700;
            st.node(ROOT)?;
            st.dir_find(ROOT, name.as_bytes())?;
            st.imap_present(ino)?;
            st.enter(ROOT, name.as_bytes(), &rec)?;
            st.inos.next = st.inos.next.max(ino + 1);
            st.inos.used += 1;
            st.count_group(0, 1, 0);
            st.count_entry(ROOT, FileKind::Directory)
        })?;
        self.lost = ino;
        Ok(())
    }

    /// A number that no i-node has: the next, or the lowest when the highest there can be is taken.
    fn unused_ino(&self) -> u64 {
        let next = self.core.state.lock().inos.next;
        if next < INO_LIMIT {
            return next;
        }
        let taken = self.survey.inodes.iter().map(|inode| inode.ino).filter(|ino| *ino > LIMBO);
        let mut gaps = (LIMBO + 1..).zip(taken).filter(|(n, taken)| n != taken);
        gaps.next().map_or(next, |(n, _)| n)
    }
}
