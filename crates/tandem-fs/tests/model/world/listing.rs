//! Directories read whole, and bit by bit while they change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tandem_fs::{Attr, FileKind, Ino};

use super::{Outcome, World, told, wrong};
use crate::model::op::Pick;
use crate::model::tree::{Body, Name, Spot};

/// A listing under way. What stays in the directory all the while must come exactly once; what
/// comes or goes in between may come or not.
pub struct Cursor {
    pub dir: Ino,
    cookie: u64,
    stays: BTreeSet<Name>,
    changes: BTreeSet<Name>,
    seen: BTreeSet<Name>,
}

struct Given {
    name: Name,
    ino: Ino,
    kind: FileKind,
    attr: Option<Attr>,
}

impl World {
    fn window(&self, dir: Ino, cookie: &mut u64, n: usize, plus: bool) -> Outcome<Vec<Given>> {
        let mut out: Vec<Given> = Vec::new();
        let take = |out: &mut Vec<Given>, cookie: &mut u64, e: tandem_fs::DirEntry<'_>, attr| {
            if out.len() == n {
                return false;
            }
            *cookie = e.cookie;
            out.push(Given { name: Arc::from(e.name), ino: e.ino, kind: e.kind, attr });
            true
        };
        let from = *cookie;
        let done = if plus {
            self.vol.readdir_plus(&self.cred, dir, from, &mut |e, attr| {
                take(&mut out, cookie, e, Some(*attr))
            })
        } else {
            self.vol.readdir(&self.cred, dir, from, &mut |e| take(&mut out, cookie, e, None))
        };
        told("readdir", done)?;
        if plus {
            for given in out.iter().filter(|g| *g.name != *b"." && *g.name != *b"..") {
                self.vol.forget(given.ino, 1);
            }
        }
        Ok(out)
    }

    fn check_given(&self, dir: Ino, given: &Given) -> Outcome {
        let name = String::from_utf8_lossy(&given.name).into_owned();
        let want = match &*given.name {
            b"." => dir,
            b".." => self.tree.parent(dir),
            _ => match self.tree.entries(dir).map(|e| e.get(&given.name).copied()) {
                Ok(Some(ino)) => ino,
                _ => return wrong(format!("readdir gives {name:?}, which is not there")),
            },
        };
        let kind = FileKind::of_mode(self.tree.get(want).mode);
        if given.ino != want || given.kind != kind {
            let (ino, got) = (given.ino, given.kind);
            return wrong(format!("readdir: {name:?} is {ino} ({got:?}), not {want} ({kind:?})"));
        }
        match &given.attr {
            Some(attr) => self.check_attr(want, attr),
            None => Ok(()),
        }
    }

    /// Lists a directory from beginning to end.
    pub(super) fn list(&mut self, dir: Ino, window: usize, plus: bool) -> Outcome {
        if !self.tree.get(dir).is_dir() {
            let got = self.vol.readdir(&self.cred, dir, 0, &mut |_| true);
            return self.agree("readdir", got, Err(libc::ENOTDIR)).map(drop);
        }
        let mut cookie = 0;
        let mut seen: BTreeMap<Name, Ino> = BTreeMap::new();
        loop {
            let given = self.window(dir, &mut cookie, window, plus)?;
            if given.is_empty() {
                break;
            }
            for entry in given.into_iter().filter(|e| !self.is_foreign(dir, &e.name)) {
                self.check_given(dir, &entry)?;
                if seen.insert(Arc::clone(&entry.name), entry.ino).is_some() {
                    return wrong(format!(
                        "readdir gives {:?} twice",
                        String::from_utf8_lossy(&entry.name)
                    ));
                }
            }
            self.accessed(dir)?;
        }
        let node = self.tree.get(dir);
        let want = match &node.body {
            Body::Dir { entries, .. } if node.nlink > 0 => entries.len() + 2,
            _ => 0,
        };
        if seen.len() != want {
            let path = self.tree.path(dir);
            return wrong(format!("{path}: readdir gives {} entries, not {want}", seen.len()));
        }
        self.accessed(dir)
    }

    pub(super) fn open_dir(&mut self, dir: Pick) -> Outcome {
        let dir = self.pick_dir(dir);
        let Ok(entries) = self.tree.entries(dir) else { return Ok(()) };
        let stays = entries.keys().cloned().collect();
        let (changes, seen) = (BTreeSet::new(), BTreeSet::new());
        if self.cursors.len() < 5 {
            self.cursors.push(Cursor { dir, cookie: 0, stays, changes, seen });
        }
        Ok(())
    }

    /// An entry comes or goes.
    pub(super) fn touch_cursors(&mut self, spot: &Spot) {
        for cursor in self.cursors.iter_mut().filter(|c| c.dir == spot.dir) {
            cursor.stays.remove(&spot.name);
            cursor.changes.insert(Arc::clone(&spot.name));
        }
    }

    pub(super) fn step_cursor(&mut self, cursor: Pick, n: usize) -> Outcome {
        if self.cursors.is_empty() {
            return Ok(());
        }
        let at = cursor as usize % self.cursors.len();
        let (dir, mut cookie) = (self.cursors[at].dir, self.cursors[at].cookie);
        let removed = self.tree.entries(dir).is_err();
        let given = self.window(dir, &mut cookie, n, false)?;
        self.accessed(dir)?;
        self.cursors[at].cookie = cookie;
        for entry in &given {
            if self.is_foreign(dir, &entry.name) {
                continue;
            }
            self.check_given(dir, entry)?;
            let cursor = &mut self.cursors[at];
            let again = !cursor.seen.insert(Arc::clone(&entry.name));
            if again && !cursor.changes.contains(&entry.name) {
                let name = String::from_utf8_lossy(&entry.name).into_owned();
                return wrong(format!("an open listing of {dir} gives {name:?} twice"));
            }
        }
        if given.is_empty() || removed {
            let cursor = self.cursors.remove(at);
            let missed = cursor.stays.difference(&cursor.seen).next();
            if let (Some(name), false) = (missed, removed) {
                let name = String::from_utf8_lossy(name);
                return wrong(format!("an open listing of {dir} has missed {name:?}"));
            }
        }
        Ok(())
    }
}
