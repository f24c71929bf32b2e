//! Names to i-nodes, and the doors' holds on them.

use tandem_format::{Body as EntryBody, Content, Record};

use super::{access::MAY_EXEC, is_dots};
use crate::dir::Found;
use crate::error::{Res, Result, corrupt, fail};
use crate::state::{Node, State};
use crate::types::{Attr, Cred, FileKind, Ino, LIMBO, NAME_MAX, ROOT, StatFs};
use crate::volume::Volume;

impl State {
    /// The attributes behind an entry of `dir` that was found. A directory is entered into memory:
    /// it will be asked for by its number, and where its record lies need not be looked up then.
    pub(super) fn found_attr(&mut self, found: &Found, dir: Ino) -> Res<Attr> {
        let directory = found.kind == FileKind::Directory && found.embedded;
        if directory && self.nodes.get(found.ino).is_none() {
            let rec = self.entry_record(found)?;
            self.nodes.insert(found.ino, Node::found(rec, dir));
        }
        self.entry_attr(found)
    }

    /// The attributes behind an entry that was found.
    pub(super) fn entry_attr(&mut self, found: &Found) -> Res<Attr> {
        if let Some(node) = self.nodes.get(found.ino) {
            return Ok(self.attr_of(&node.rec));
        }
        if !found.embedded {
            return self.attr(found.ino);
        }
        let rec = self.entry_record(found)?;
        Ok(Attr::of(&rec, self.geo.block_size, 0))
    }

    /// The record in an entry that was found to hold one.
    fn entry_record(&mut self, found: &Found) -> Res<Record> {
        let no_record = |detail: String| corrupt(format!("i-node {}", found.ino), detail);
        match self.leaf(found.leaf)?.entry(found.slot).body {
            EntryBody::Embedded(bytes) => {
                Record::decode(bytes).map_err(|e| no_record(e.to_string()))
            }
            EntryBody::Link(_) => Err(no_record("its entry holds no record".into())),
        }
    }

    fn dots(&mut self, dir: Ino, name: &[u8]) -> Res<Ino> {
        match &self.node(dir)?.rec.content {
            Content::Dir(root) if name == b".." => Ok(if dir == ROOT { ROOT } else { root.parent }),
            // An i-node named by number may be asked for its own attributes so, whatever it is.
            _ => Ok(dir),
        }
    }
}

impl Volume {
    /// Looks a name up; `.` and `..` too. Takes a hold on what is found.
    ///
    /// # Errors
    /// ENOENT when there is no such name.
    pub fn lookup(&self, cred: &Cred, parent: Ino, name: &[u8]) -> Result<Attr> {
        self.core.run(|st| {
            if name.len() > NAME_MAX {
                return fail(libc::ENAMETOOLONG);
            }
            // No path leads there, and no number either.
            if parent == LIMBO {
                return fail(libc::ESTALE);
            }
            let attr = if is_dots(name) {
                let ino = st.dots(parent, name)?;
                let attr = st.attr(ino)?;
                // A handle of what has no link any more leads nowhere.
                if attr.nlink == 0 {
                    return fail(libc::ESTALE);
                }
                attr
            } else {
                st.may(cred, parent, MAY_EXEC)?;
                match st.dir_find(parent, name)? {
                    Some(found) => st.found_attr(&found, parent)?,
                    None => return fail(libc::ENOENT),
                }
            };
            st.holds.add(attr.ino);
            Ok(attr)
        })
    }

    /// Drops `n` holds.
    pub fn forget(&self, ino: Ino, n: u64) {
        self.forget_all(&[(ino, n)]);
    }

    /// Drops holds on many i-nodes.
    pub fn forget_all(&self, list: &[(Ino, u64)]) {
        let mut gone = Vec::new();
        {
            let mut st = self.core.state.lock();
            for &(ino, n) in list {
                if st.holds.sub(ino, n) == 0 && !st.orphans.is_empty() && st.orphans.contains(&ino)
                {
                    gone.push(ino);
                }
            }
        }
        for ino in gone {
            self.core.let_go(ino);
        }
    }

    /// The volume's size and how full it is.
    pub fn statfs(&self) -> StatFs {
        let st = self.core.state.lock();
        // Who runs short of blocks commits, and then has these.
        let free = (st.space.free_blocks() + st.soon_free()).saturating_sub(st.reserved);
        let room = st.segs.room_for_live().saturating_sub(st.segs.live_bytes() + st.running.growth);
        let files_free = room / st.entry_mean();
        StatFs {
            block_size: st.geo.block_size,
            blocks: st.geo.blocks,
            blocks_free: free,
            blocks_avail: free,
            files: st.inos.used.saturating_add(files_free),
            files_free,
            name_max: NAME_MAX as u32,
        }
    }
}
