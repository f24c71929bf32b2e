//! Nodes in memory, some of them forgotten.

use std::collections::{BTreeMap, BTreeSet};

use tandem_format::{Extent, ExtentNode};

use super::Model;
use crate::extents::*;

/// Keeps nodes with at most `LEAF` extents or `INNER` children, and watches over the rules.
#[derive(Debug, Clone, Default)]
pub(super) struct Store<const LEAF: usize, const INNER: usize> {
    pub nodes: BTreeMap<u64, ExtentNode>,
    next: u64,
    missing: BTreeSet<u64>,
    /// Looked at by the operation under way.
    seen: BTreeSet<u64>,
    /// The operation under way has begun to change nodes.
    pub changing: bool,
    /// Nodes changed or made since the last [`Store::begin`].
    pub written: BTreeSet<u64>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Miss(u64),
    Bad(BadNode),
}

impl From<BadNode> for Fault {
    fn from(bad: BadNode) -> Fault {
        Fault::Bad(bad)
    }
}

impl<const LEAF: usize, const INNER: usize> Nodes for Store<LEAF, INNER> {
    type Miss = Fault;
    const LEAF: usize = LEAF;
    const INNER: usize = INNER;

    fn node(&mut self, id: u64) -> Result<&ExtentNode, Fault> {
        if !self.seen.contains(&id) {
            if self.missing.contains(&id) {
                assert!(!self.changing, "node {id} was not looked at before the first change");
                return Err(Fault::Miss(id));
            }
            assert!(!self.changing || self.missing.is_empty(), "node {id} might have been missing");
            self.seen.insert(id);
        }
        self.nodes.get(&id).ok_or(Fault::Miss(id))
    }

    fn node_mut(&mut self, id: u64) -> &mut ExtentNode {
        assert!(self.seen.contains(&id), "node {id} was not looked at");
        self.changing = true;
        self.written.insert(id);
        self.nodes.get_mut(&id).unwrap()
    }

    fn allocate(&mut self, node: ExtentNode) -> u64 {
        self.changing = true;
        self.next += 1;
        self.nodes.insert(self.next, node);
        self.seen.insert(self.next);
        self.written.insert(self.next);
        self.next
    }

    fn free(&mut self, id: u64) {
        assert!(self.seen.contains(&id), "node {id} was not looked at");
        self.changing = true;
        self.nodes.remove(&id).unwrap();
    }
}

impl<const LEAF: usize, const INNER: usize> Store<LEAF, INNER> {
    /// Before an operation.
    pub fn begin(&mut self) {
        self.seen.clear();
        self.written.clear();
        self.changing = false;
    }

    /// Forgets the nodes that `f` picks.
    pub fn forget(&mut self, f: impl FnMut(&u64) -> bool) {
        self.missing = self.nodes.keys().copied().filter(f).collect();
    }

    /// Brings a node back.
    pub fn load(&mut self, id: u64) {
        assert!(self.missing.remove(&id), "node {id} does not exist");
    }

    /// All extents of a tree; checks it on the way. `dense` also checks that nodes away from the
    /// right edge are filled.
    pub fn check(&self, tree: &TreeRoot, dense: bool) -> Vec<Extent> {
        let mut all = Vec::new();
        let mut reached = BTreeSet::new();
        if tree.root != 0 {
            let root = &self.nodes[&tree.root];
            assert!(root.level == 0 || root.children.len() > 1, "a root with one child");
            self.check_node(
                tree.root,
                tree.height,
                u64::MAX,
                (true, !dense),
                &mut reached,
                &mut all,
            );
        }
        assert!(reached.iter().eq(self.nodes.keys()), "nodes that are in no tree");
        assert_eq!(tree.extents, all.len() as u64);
        assert_eq!(tree.blocks, all.iter().map(|e| u64::from(e.len)).sum::<u64>());
        assert!(all.windows(2).all(|w| end(&w[0]) <= w[1].logical));
        all
    }

    fn check_node(
        &self,
        id: u64,
        level: u8,
        bound: u64,
        (edge, sparse): (bool, bool),
        reached: &mut BTreeSet<u64>,
        all: &mut Vec<Extent>,
    ) {
        assert!(reached.insert(id), "node {id} is in the tree twice");
        let node = &self.nodes[&id];
        assert_eq!(node.level, level);
        let (count, most) =
            if level == 0 { (node.extents.len(), LEAF) } else { (node.children.len(), INNER) };
        assert!((1..=most).contains(&count), "node {id} has {count} entries");
        assert!(edge || sparse || count >= most / 4, "node {id} has only {count} entries");
        all.extend(&node.extents);
        assert!(node.extents.iter().all(|e| end(e) <= bound));
        for (i, &(first, child)) in node.children.iter().enumerate() {
            let node = &self.nodes[&child];
            let begins =
                node.extents.first().map(|e| e.logical).or(node.children.first().map(|c| c.0));
            assert_eq!(begins, Some(first));
            let next = self.nodes[&id].children.get(i + 1).map(|c| c.0);
            assert!(first < next.unwrap_or(bound));
            let edge = edge && next.is_none();
            self.check_node(child, level - 1, next.unwrap_or(bound), (edge, sparse), reached, all);
        }
    }

    /// The mapping of a tree.
    pub fn model(&self, tree: &TreeRoot, dense: bool) -> Model {
        Model::of(&self.check(tree, dense))
    }
}
