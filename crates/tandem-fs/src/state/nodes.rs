//! I-nodes in memory: directories in use, files with contents under way, everything changed since
//! the last commit. Where a node is, it is the truth; where none is, the record on M is.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use tandem_format::Record;

use crate::cache::FileData;
use crate::types::Ino;

/// An i-node in memory.
#[derive(Debug)]
pub(crate) struct Node {
    /// The i-node as its users see it.
    pub rec: Record,
    /// For a regular file: the size whose contents are on D, which is what a commit writes.
    pub disk_size: u64,
    /// Differs from the record on M.
    pub dirty: bool,
    /// Contents that are not yet where the record says.
    pub data: Option<Arc<FileData>>,
    /// Has an entry in the hidden directory.
    pub in_limbo: bool,
    /// Directory in which it was found or made, for placement.
    pub parent: Ino,
    /// Taken from an entry of `parent`, without a look at the i-node map: good for reading alone.
    pub hearsay: bool,
    used: bool,
}

impl Node {
    /// A node of a record as it is on M.
    pub fn new(rec: Record, parent: Ino) -> Node {
        let disk_size = rec.size;
        Node {
            rec,
            disk_size,
            dirty: false,
            data: None,
            in_limbo: false,
            parent,
            hearsay: false,
            used: true,
        }
    }

    /// A node of the record in an entry of `parent`, before anybody has asked for it by its number.
    pub fn found(rec: Record, parent: Ino) -> Node {
        Node { hearsay: true, used: false, ..Node::new(rec, parent) }
    }

    /// The file's layers, made when there are none.
    pub fn layers(&mut self) -> Arc<FileData> {
        Arc::clone(self.data.get_or_insert_with(Arc::default))
    }

    /// Whether no link leads to it.
    pub fn is_orphan(&self) -> bool {
        self.rec.nlink == 0
    }
}

/// Nodes that one call of [`Nodes::shrink`] looks at.
const SHRINK_STEPS: usize = 64;

/// The i-nodes in memory.
#[derive(Default)]
pub(crate) struct Nodes {
    map: FxHashMap<Ino, Node>,
    ring: VecDeque<Ino>,
    dirty: Vec<Ino>,
    /// Calls of [`Nodes::shrink`] that may pass before the next look: the last found nothing.
    rest: u32,
}

impl Nodes {
    /// The node, if it is in memory.
    pub fn get(&self, ino: Ino) -> Option<&Node> {
        self.map.get(&ino)
    }

    /// The node, if it is in memory, counted as used.
    pub fn get_mut(&mut self, ino: Ino) -> Option<&mut Node> {
        let node = self.map.get_mut(&ino)?;
        node.used = true;
        Some(node)
    }

    /// The node, to be changed; it becomes dirty.
    pub fn change(&mut self, ino: Ino) -> Option<&mut Node> {
        let node = self.map.get_mut(&ino).filter(|node| !node.hearsay)?;
        node.used = true;
        if !node.dirty {
            node.dirty = true;
            self.dirty.push(ino);
        }
        Some(node)
    }

    /// Adds a node.
    pub fn insert(&mut self, ino: Ino, node: Node) {
        if node.dirty {
            self.dirty.push(ino);
        }
        if self.map.insert(ino, node).is_none() {
            self.ring.push_back(ino);
            if self.ring.len() > 2 * self.map.len() + 1024 {
                let map = &self.map;
                self.ring.retain(|ino| map.contains_key(ino));
            }
        }
    }

    /// Forgets a node, whatever it says.
    pub fn remove(&mut self, ino: Ino) -> Option<Node> {
        self.map.remove(&ino)
    }

    /// How many are in memory.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// A dirty node's number, if there is one.
    pub fn next_dirty(&mut self) -> Option<Ino> {
        while let Some(&ino) = self.dirty.last() {
            if self.map.get(&ino).is_some_and(|n| n.dirty) {
                return Some(ino);
            }
            self.dirty.pop();
        }
        None
    }

    /// How many are dirty, at most.
    pub fn dirty_len(&self) -> usize {
        self.dirty.len()
    }

    /// The node's record is in its block.
    pub fn cleaned(&mut self, ino: Ino) {
        if let Some(node) = self.map.get_mut(&ino) {
            node.dirty = false;
        }
        if self.dirty.last() == Some(&ino) {
            self.dirty.pop();
        }
    }

    /// Lets go of nodes that say nothing that M does not, while more than `limit` are left. Looks
    /// at a few only: it is called after every operation.
    pub fn shrink(&mut self, limit: usize) {
        if self.map.len() <= limit || self.rest > 0 {
            self.rest = self.rest.saturating_sub(1);
            return;
        }
        let before = self.map.len();
        let mut steps = self.ring.len().min(SHRINK_STEPS);
        while self.map.len() > limit && steps > 0 {
            steps -= 1;
            let Some(ino) = self.ring.pop_front() else { break };
            let Some(node) = self.map.get_mut(&ino) else { continue };
            if node.dirty || node.used || node.data.is_some() || node.is_orphan() {
                node.used = false;
                self.ring.push_back(ino);
                continue;
            }
            self.map.remove(&ino);
        }
        if self.map.len() == before {
            self.rest = SHRINK_STEPS as u32 / 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clean nodes that nobody has used since the hand came by.
    fn nodes(n: u64, dirty: bool) -> Nodes {
        let mut nodes = Nodes::default();
        for ino in 0..n {
            let node = Node {
                dirty,
                used: false,
                ..Node::new(Record { nlink: 1, ..Record::default() }, 0)
            };
            nodes.insert(ino, node);
        }
        nodes
    }

    #[test]
    fn shrink_lets_go_down_to_its_limit() {
        let mut nodes = nodes(100, false);
        nodes.shrink(30);
        assert_eq!(nodes.len(), 100 - SHRINK_STEPS);
        nodes.shrink(30);
        nodes.shrink(30);
        assert_eq!(nodes.len(), 30);
    }

    #[test]
    fn shrink_rests_after_a_look_in_vain() {
        let mut nodes = nodes(100, true);
        nodes.shrink(10);
        (0..100).for_each(|ino| nodes.cleaned(ino));
        // However much could go now, nobody looks for a while, ...
        for call in 0..SHRINK_STEPS / 2 {
            nodes.shrink(10);
            assert_eq!(nodes.len(), 100, "call {call}");
        }
        // ... and then somebody does.
        nodes.shrink(10);
        assert_eq!(nodes.len(), 100 - SHRINK_STEPS);
        // A look that has found something is followed by another.
        nodes.shrink(10);
        assert_eq!(nodes.len(), 10);
    }
}
