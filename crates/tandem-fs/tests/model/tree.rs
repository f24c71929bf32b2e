//! The reference: a POSIX file system in memory, as plain as possible.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tandem_fs::{Ino, ROOT, RenameFlags, Time};

use super::content::Content;

pub type Name = Arc<[u8]>;

/// What an i-node has besides attributes.
#[derive(Clone)]
pub enum Body {
    File(Arc<Content>),
    Dir { parent: Ino, entries: BTreeMap<Name, Ino> },
    Link(Vec<u8>),
    Special,
}

#[derive(Clone)]
pub struct Inode {
    pub generation: u32,
    pub mode: u32,
    pub nlink: u32,
    pub uid: u32,
    pub gid: u32,
    pub rdev: u32,
    pub atime: Time,
    pub mtime: Time,
    pub ctime: Time,
    pub btime: Time,
    pub xattrs: BTreeMap<Name, Arc<Vec<u8>>>,
    pub body: Body,
}

impl Inode {
    pub fn is_dir(&self) -> bool {
        matches!(self.body, Body::Dir { .. })
    }

    pub fn file(&self) -> Option<&Arc<Content>> {
        if let Body::File(content) = &self.body { Some(content) } else { None }
    }
}

/// One entry's place.
#[derive(Clone, Debug)]
pub struct Spot {
    pub dir: Ino,
    pub name: Name,
}

impl Spot {
    fn check(&self) -> Result<(), i32> {
        match () {
            () if self.name.is_empty() => Err(libc::ENOENT),
            () if self.name.len() > 255 => Err(libc::ENAMETOOLONG),
            () if self.name.contains(&b'/') || self.name.contains(&0) => Err(libc::EINVAL),
            () => Ok(()),
        }
    }

    fn dots(&self) -> bool {
        matches!(&*self.name, b"." | b"..")
    }
}

/// All i-nodes by number, unlinked ones in use included.
#[derive(Clone, Default)]
pub struct Tree {
    pub nodes: BTreeMap<Ino, Arc<Inode>>,
}

impl Tree {
    pub fn get(&self, ino: Ino) -> &Inode {
        &self.nodes[&ino]
    }

    pub fn change(&mut self, ino: Ino) -> &mut Inode {
        Arc::make_mut(self.nodes.get_mut(&ino).expect("the model knows the i-node"))
    }

    pub fn entries(&self, dir: Ino) -> Result<&BTreeMap<Name, Ino>, i32> {
        match self.nodes.get(&dir).map(|n| (&n.body, n.nlink)) {
            Some((Body::Dir { .. }, 0)) => Err(libc::ENOENT),
            Some((Body::Dir { entries, .. }, _)) => Ok(entries),
            Some(_) => Err(libc::ENOTDIR),
            None => Err(libc::ESTALE),
        }
    }

    pub fn find(&self, spot: &Spot) -> Result<Ino, i32> {
        self.entries(spot.dir)?.get(&spot.name).copied().ok_or(libc::ENOENT)
    }

    pub fn parent(&self, dir: Ino) -> Ino {
        match &self.get(dir).body {
            Body::Dir { parent, .. } => *parent,
            _ => ROOT,
        }
    }

    /// Whether `dir` is `above` or below it.
    pub fn is_below(&self, mut dir: Ino, above: Ino) -> bool {
        while dir != above && dir != ROOT {
            dir = self.parent(dir);
        }
        dir == above
    }

    pub fn may_create(&self, spot: &Spot) -> Result<(), i32> {
        spot.check()?;
        let entries = self.entries(spot.dir)?;
        if spot.dots() || entries.contains_key(&spot.name) {
            return Err(libc::EEXIST);
        }
        Ok(())
    }

    fn edit(&mut self, dir: Ino, now: Time, f: impl FnOnce(&mut BTreeMap<Name, Ino>) -> i64) {
        let node = self.change(dir);
        (node.mtime, node.ctime) = (now, now);
        if let Body::Dir { entries, .. } = &mut node.body {
            let subdirs = f(entries);
            node.nlink = node.nlink.wrapping_add_signed(subdirs as i32);
        }
    }

    /// Enters a name for an i-node that is known already.
    pub fn enter(&mut self, spot: &Spot, ino: Ino, now: Time) {
        let dir = self.get(ino).is_dir();
        self.edit(spot.dir, now, |entries| {
            entries.insert(Arc::clone(&spot.name), ino);
            i64::from(dir)
        });
        if let Body::Dir { parent, .. } = &mut self.change(ino).body {
            *parent = spot.dir;
        }
    }

    fn leave(&mut self, spot: &Spot, now: Time) {
        let dir = self.find(spot).is_ok_and(|ino| self.get(ino).is_dir());
        self.edit(spot.dir, now, |entries| {
            entries.remove(&spot.name);
            -i64::from(dir)
        });
    }

    pub fn may_unlink(&self, spot: &Spot) -> Result<Ino, i32> {
        spot.check()?;
        self.entries(spot.dir)?;
        if spot.dots() {
            return Err(libc::EISDIR);
        }
        let ino = self.find(spot)?;
        if self.get(ino).is_dir() { Err(libc::EISDIR) } else { Ok(ino) }
    }

    pub fn may_rmdir(&self, spot: &Spot) -> Result<Ino, i32> {
        spot.check()?;
        self.entries(spot.dir)?;
        match &*spot.name {
            b"." => return Err(libc::EINVAL),
            b".." => return Err(libc::ENOTEMPTY),
            _ => {}
        }
        let ino = self.find(spot)?;
        match &self.get(ino).body {
            Body::Dir { entries, .. } if entries.is_empty() => Ok(ino),
            Body::Dir { .. } => Err(libc::ENOTEMPTY),
            _ => Err(libc::ENOTDIR),
        }
    }

    /// Removes a name; the i-node stays, with no link perhaps.
    pub fn remove(&mut self, spot: &Spot, now: Time) -> Ino {
        let ino = self.find(spot).expect("looked up before");
        self.leave(spot, now);
        let node = self.change(ino);
        node.ctime = now;
        node.nlink = if node.is_dir() { 0 } else { node.nlink - 1 };
        ino
    }

    /// What a rename would do: the i-node that it replaces, or nothing at all (false).
    pub fn may_rename(
        &self,
        from: &Spot,
        to: &Spot,
        flags: RenameFlags,
    ) -> Result<(bool, Option<Ino>), i32> {
        from.check()?;
        to.check()?;
        let (exchange, noreplace) =
            (flags.contains(RenameFlags::EXCHANGE), flags.contains(RenameFlags::NOREPLACE));
        if exchange && noreplace {
            return Err(libc::EINVAL);
        }
        self.entries(from.dir)?;
        self.entries(to.dir)?;
        if from.dots() || to.dots() {
            return Err(libc::EBUSY);
        }
        let src = self.find(from)?;
        let dst = self.find(to).ok();
        if from.dir == to.dir && from.name == to.name {
            return if noreplace { Err(libc::EEXIST) } else { Ok((false, None)) };
        }
        match dst {
            Some(_) if noreplace => return Err(libc::EEXIST),
            None if exchange => return Err(libc::ENOENT),
            _ => {}
        }
        if self.get(src).is_dir() && self.is_below(to.dir, src) {
            return Err(libc::EINVAL);
        }
        let Some(dst) = dst else { return Ok((true, None)) };
        if self.get(dst).is_dir() && self.is_below(from.dir, dst) {
            return Err(if exchange { libc::EINVAL } else { libc::ENOTEMPTY });
        }
        if !exchange {
            match (self.get(src).is_dir(), self.get(dst).is_dir()) {
                (true, false) => return Err(libc::ENOTDIR),
                (false, true) => return Err(libc::EISDIR),
                (true, true) => drop(self.may_rmdir(to)?),
                (false, false) => {}
            }
        }
        if src == dst {
            return Ok((false, None));
        }
        Ok((true, Some(dst)))
    }

    /// Renames as [`Tree::may_rename`] has allowed.
    pub fn rename(&mut self, from: &Spot, to: &Spot, exchange: bool, now: Time) {
        let src = self.find(from).expect("looked up before");
        let dst = self.find(to).ok();
        self.leave(from, now);
        match dst {
            Some(dst) if exchange => {
                self.leave(to, now);
                self.enter(from, dst, now);
                self.change(dst).ctime = now;
            }
            Some(_) => drop(self.remove(to, now)),
            None => {}
        }
        self.enter(to, src, now);
        self.change(src).ctime = now;
    }

    /// The i-nodes that a name leads to, and no others.
    pub fn linked(&self) -> Tree {
        let nodes = self.nodes.iter().filter(|(_, n)| n.nlink > 0);
        Tree { nodes: nodes.map(|(&ino, n)| (ino, Arc::clone(n))).collect() }
    }

    /// All names.
    pub fn spots(&self) -> Vec<Spot> {
        let mut out = Vec::new();
        for (&dir, node) in &self.nodes {
            if let Body::Dir { entries, .. } = &node.body {
                out.extend(entries.keys().map(|name| Spot { dir, name: Arc::clone(name) }));
            }
        }
        out
    }

    /// A name of each i-node, as a path, for messages.
    pub fn path(&self, ino: Ino) -> String {
        let mut seen = BTreeSet::new();
        let mut at = ino;
        let mut out = String::new();
        while at != ROOT && seen.insert(at) {
            let up = self.nodes.iter().find_map(|(&dir, node)| match &node.body {
                Body::Dir { entries, .. } => {
                    entries.iter().find(|(_, i)| **i == at).map(|(name, _)| (dir, name))
                }
                _ => None,
            });
            let Some((dir, name)) = up else { return format!("(unlinked {at}){out}") };
            let name = String::from_utf8_lossy(&name[..name.len().min(20)]).into_owned();
            out = format!("/{name}{out}");
            at = dir;
        }
        format!("{out} (i-node {ino})")
    }
}
