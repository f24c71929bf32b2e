//! The end of an i-node: when no link leads to it and no door holds it.

use tandem_format::{Content, Xattrs};

use super::limbo_name;
use crate::dir::Found;
use crate::error::Res;
use crate::ifile::Home;
use crate::space::Run;
use crate::state::State;
use crate::types::{Ino, LIMBO};

impl State {
    /// The last link is gone. The node must be in memory and its link count zero already.
    pub fn orphaned(&mut self, ino: Ino) {
        self.orphans.insert(ino);
    }

    /// Frees an unlinked i-node that nobody holds. A large one frees a part of itself for each
    /// call and returns false until it is gone.
    pub fn free_inode(&mut self, ino: Ino) -> Res<bool> {
        let Some(node) = self.nodes.get(ino) else { return Ok(true) };
        let tree = matches!(node.rec.content, Content::Tree { .. });
        let dir = match node.rec.content {
            Content::Dir(root) => Some(root),
            _ => None,
        };
        self.imap_present(ino)?;
        if tree {
            self.shed_data(ino);
            if !self.trim_tree(ino)? {
                return Ok(false);
            }
        }
        let home = self.imap_get(ino)?;
        let slot = match home {
            Some(Home::Block(id)) => self.leaf(id)?.find_key(ino).map(|slot| (id, slot)),
            _ => None,
        };
        let sheltered = self.limbo_touch(ino)?;
        if let Some(root) = dir {
            self.dir_clear(root.root)?;
            self.count_group(root.group, -1, 0);
        }
        self.shed_data(ino);
        self.free_content(ino);
        if let Some((id, slot)) = slot {
            self.remove_from_block(id, slot)?;
        }
        if let Some(found) = sheltered {
            self.leave_limbo(ino, &found)?;
        }
        self.imap_set(ino, None)?;
        self.nodes.remove(ino);
        self.orphans.remove(&ino);
        self.running.freed_inos.push(ino);
        self.inos.used = self.inos.used.saturating_sub(1);
        Ok(true)
    }

    /// Finds an i-node's entry in the hidden directory, if it has one, with all that removing it
    /// needs.
    pub fn limbo_touch(&mut self, ino: Ino) -> Res<Option<Found>> {
        if !self.nodes.get(ino).is_some_and(|n| n.in_limbo) {
            return Ok(None);
        }
        self.node(LIMBO)?;
        let found = self.dir_find(LIMBO, &limbo_name(ino))?;
        if let Some(found) = &found {
            self.dir_remove_touch(found)?;
        }
        Ok(found)
    }

    /// Removes an i-node's entry from the hidden directory.
    pub fn leave_limbo(&mut self, ino: Ino, found: &Found) -> Res<()> {
        self.dir_remove(LIMBO, found)?;
        self.add_entries(LIMBO, -1)?;
        if let Some(node) = self.nodes.get_mut(ino) {
            node.in_limbo = false;
        }
        Ok(())
    }

    /// Forgets contents that are still in memory.
    pub fn shed_data(&mut self, ino: Ino) {
        let Some(data) = self.nodes.get_mut(ino).and_then(|n| n.data.take()) else { return };
        let mut layers = data.layers.lock();
        self.dirty_bytes = self.dirty_bytes.saturating_sub(layers.cut(0, u64::MAX));
        let reserved = std::mem::take(&mut layers.reserved);
        self.unreserve(reserved);
        let layers = std::mem::take(&mut *layers);
        let staged = [&layers.placing, &layers.fresh, &layers.ready].into_iter();
        for staged in staged.flat_map(|list| list.iter()).filter(|s| !s.convert) {
            let e = staged.extent;
            self.drop_run(Run { start: e.start, len: u64::from(e.len) });
        }
    }

    fn free_content(&mut self, ino: Ino) {
        let Some(node) = self.nodes.get_mut(ino) else { return };
        let content = std::mem::replace(&mut node.rec.content, Content::None);
        let xattrs = std::mem::replace(&mut node.rec.xattrs, Xattrs::None);
        match content {
            Content::Extents(list) => {
                for e in list {
                    self.free_run(Run { start: e.start, len: u64::from(e.len) });
                }
            }
            Content::SymlinkBlock(id) => self.free_id(id),
            _ => {}
        }
        if let Xattrs::Blocks { ids, .. } = xattrs {
            for id in ids {
                self.free_id(id);
            }
        }
    }
}
