//! A B+tree of extents.
//!
//! A node's key in its parent is exactly the first block that it maps, so the extent before a block
//! is in the leaf that the block belongs to. Neighbours are joined within a leaf, not across the
//! border of two. A node that shrinks below a quarter of its capacity is merged with a neighbour or
//! evened out with it, unless an insertion would have to wait for the neighbour; the nodes at the
//! right edge may be smaller, so that a file that grows at its end leaves full nodes behind. A node
//! is never empty.

mod edit;

use tandem_format::{CHILDREN_PER_NODE, EXTENTS_PER_NODE, Extent, ExtentNode};

use super::list::{clip, end};
use super::node;

/// Where the nodes of trees are kept.
pub trait Nodes {
    /// Why a node cannot be had. The operation has changed nothing then.
    type Miss: From<BadNode>;

    /// Most extents of a leaf.
    const LEAF: usize = EXTENTS_PER_NODE;
    /// Most children of another node.
    const INNER: usize = CHILDREN_PER_NODE;

    /// Looks at a node. One that has been had stays until the operation returns.
    ///
    /// # Errors
    /// [`Nodes::Miss`] for a node that is not in memory.
    fn node(&mut self, id: u64) -> Result<&ExtentNode, Self::Miss>;

    /// A node to be changed; only called for nodes that the operation has looked at or allocated.
    fn node_mut(&mut self, id: u64) -> &mut ExtentNode;

    /// Keeps a new node; returns its id, which is not 0.
    fn allocate(&mut self, node: ExtentNode) -> u64;

    /// Gives up a node that the operation has looked at.
    fn free(&mut self, id: u64);
}

/// A tree's nodes contradict each other, or a change contradicts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("extent node {id}: {what}")]
pub struct BadNode {
    /// The node.
    pub id: u64,
    /// What is wrong with it.
    pub what: &'static str,
}

/// A tree, as a record holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TreeRoot {
    /// The root's id; 0 when there are no extents.
    pub root: u64,
    /// The root's level: 0 when it is a leaf.
    pub height: u8,
    /// Data blocks mapped.
    pub blocks: u64,
    /// Extents in the leaves.
    pub extents: u64,
}

/// Makes a tree of a sorted list of extents.
pub fn build<N: Nodes>(nodes: &mut N, extents: &[Extent]) -> TreeRoot {
    let mut keep = |node: ExtentNode| (node::first(&node), nodes.allocate(node));
    let mut row: Vec<(u64, u64)> =
        extents.chunks(N::LEAF).map(|part| keep(node::leaf(part.to_vec()))).collect();
    let mut height = 0;
    while row.len() > 1 {
        height += 1;
        row = row.chunks(N::INNER).map(|part| keep(node::inner(height, part.to_vec()))).collect();
    }
    TreeRoot {
        root: row.first().map_or(0, |top| top.1),
        height,
        blocks: extents.iter().map(|extent| u64::from(extent.len)).sum(),
        extents: extents.len() as u64,
    }
}

/// Calls `f` with the extents of a range in order, cut off at its ends, until it returns false.
///
/// # Errors
/// [`Nodes::Miss`], after `f` has seen the extents before the missing node: the caller goes on
/// after the last of them.
pub fn map<N: Nodes>(
    nodes: &mut N,
    tree: &TreeRoot,
    from: u64,
    to: u64,
    f: &mut dyn FnMut(&Extent) -> bool,
) -> Result<(), N::Miss> {
    if tree.root != 0 && from < to {
        walk(nodes, Place::root(tree), from, to, f)?;
    }
    Ok(())
}

/// Adds an extent in a hole, and joins it with its neighbours where the blocks follow each other
/// in the file and on the device. Blocks that are mapped but unwritten are [`convert`]ed instead.
/// Needs no other nodes than a [`map`] of the range does.
///
/// # Errors
/// [`Nodes::Miss`], with nothing changed; also, from [`BadNode`], when the range is not a hole.
pub fn insert<N: Nodes>(nodes: &mut N, tree: &mut TreeRoot, extent: Extent) -> Result<(), N::Miss> {
    if extent.len == 0 {
        return Ok(());
    }
    let Some(end) = extent.logical.checked_add(extent.len.into()) else {
        return Err(BadNode { id: tree.root, what: "extent beyond the greatest offset" }.into());
    };
    if tree.root == 0 {
        *tree = build(nodes, &[extent]);
        return Ok(());
    }
    // The extent's leaf is that of its first block.
    edit::run(
        nodes,
        tree,
        extent.logical,
        extent.logical.saturating_add(1).min(end),
        edit::Op::Insert(extent),
    )
}

/// Takes the blocks of a range out of the tree. What was mapped is appended to `removed`, in order.
/// All nodes of the range must be in memory at once: a large file is taken apart from its end.
///
/// # Errors
/// [`Nodes::Miss`], with nothing changed.
pub fn remove<N: Nodes>(
    nodes: &mut N,
    tree: &mut TreeRoot,
    from: u64,
    to: u64,
    removed: &mut Vec<Extent>,
) -> Result<(), N::Miss> {
    edit::run(nodes, tree, from, to, edit::Op::Remove(removed))
}

/// Marks the unwritten blocks of a range as written.
///
/// # Errors
/// [`Nodes::Miss`], with nothing changed.
pub fn convert<N: Nodes>(
    nodes: &mut N,
    tree: &mut TreeRoot,
    from: u64,
    to: u64,
) -> Result<(), N::Miss> {
    edit::run(nodes, tree, from, to, edit::Op::Convert)
}

/// The last extent.
///
/// # Errors
/// [`Nodes::Miss`].
#[cfg(test)]
pub fn last<N: Nodes>(nodes: &mut N, tree: &TreeRoot) -> Result<Option<Extent>, N::Miss> {
    if tree.root == 0 {
        return Ok(None);
    }
    let mut place = Place::root(tree);
    loop {
        let node = get(nodes, place)?;
        if place.level == 0 {
            return Ok(node.extents.last().copied());
        }
        place = place.child(node, node::count(node) - 1);
    }
}

/// What is known of a node before it is looked at.
#[derive(Debug, Clone, Copy)]
struct Place {
    id: u64,
    level: u8,
    /// The key in the parent; the root has none.
    first: Option<u64>,
    /// The next node's key.
    bound: u64,
}

impl Place {
    fn root(tree: &TreeRoot) -> Place {
        Place { id: tree.root, level: tree.height, first: None, bound: u64::MAX }
    }

    /// The `i`th child of `node`, which is at this place.
    fn child(self, node: &ExtentNode, i: usize) -> Place {
        let children = &node.children;
        let (first, id) = children[i];
        let bound = children.get(i + 1).map_or(self.bound, |next| next.0);
        Place { id, level: self.level.saturating_sub(1), first: Some(first), bound }
    }
}

/// Looks at a node and checks it against its place. It is not empty, and not a leaf above level 0.
fn get<N: Nodes>(nodes: &mut N, place: Place) -> Result<&ExtentNode, N::Miss> {
    let node = nodes.node(place.id)?;
    let last = match place.level {
        0 => node.extents.last().map_or(0, end),
        _ => node.children.last().map_or(0, |child| child.0.saturating_add(1)),
    };
    let what = if node.level != place.level {
        "wrong level"
    } else if node::count(node) == 0 {
        "empty"
    } else if place.first.is_some_and(|first| first != node::first(node)) {
        "does not begin where its parent says"
    } else if last > place.bound {
        "reaches into the next node"
    } else {
        return Ok(node);
    };
    Err(BadNode { id: place.id, what }.into())
}

/// The places of the children that the blocks `from..to` belong to, at least one.
fn children_of(node: &ExtentNode, from: u64, to: u64) -> std::ops::RangeInclusive<usize> {
    let children = &node.children;
    let first = children.partition_point(|child| child.0 <= from).saturating_sub(1);
    let after = first + children[first..].partition_point(|child| child.0 < to);
    first..=first.max(after.saturating_sub(1))
}

fn walk<N: Nodes>(
    nodes: &mut N,
    place: Place,
    from: u64,
    to: u64,
    f: &mut dyn FnMut(&Extent) -> bool,
) -> Result<bool, N::Miss> {
    let node = get(nodes, place)?;
    if place.level == 0 {
        let wanted = super::list::touched(&node.extents, from, to);
        return Ok(node.extents[wanted].iter().filter_map(|e| clip(e, from, to)).all(|e| f(&e)));
    }
    for i in children_of(node, from, to) {
        let child = place.child(get(nodes, place)?, i);
        if !walk(nodes, child, from, to, f)? {
            return Ok(false);
        }
    }
    Ok(true)
}
