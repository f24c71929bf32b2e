//! Both sorts of nodes alike.

use tandem_format::{Extent, ExtentNode};

use super::list;

/// A leaf.
pub(super) fn leaf(extents: Vec<Extent>) -> ExtentNode {
    ExtentNode { level: 0, extents, children: Vec::new() }
}

/// A node over nodes of the level below: the first block and the id of each.
pub(super) fn inner(level: u8, children: Vec<(u64, u64)>) -> ExtentNode {
    ExtentNode { level, extents: Vec::new(), children }
}

/// The number of entries.
pub(super) fn count(node: &ExtentNode) -> usize {
    if node.level == 0 { node.extents.len() } else { node.children.len() }
}

/// The first block that a node that is not empty speaks of.
pub(super) fn first(node: &ExtentNode) -> u64 {
    match node.level {
        0 => node.extents.first().map_or(0, |extent| extent.logical),
        _ => node.children.first().map_or(0, |child| child.0),
    }
}

/// The first block of the last entry of a node that is not empty.
pub(super) fn last(node: &ExtentNode) -> u64 {
    match node.level {
        0 => node.extents.last().map_or(0, |extent| extent.logical),
        _ => node.children.last().map_or(0, |child| child.0),
    }
}

/// Takes the entries from `at` on out of a node, as a node of the same level.
pub(super) fn split_off(node: &mut ExtentNode, at: usize) -> ExtentNode {
    match node.level {
        0 => leaf(node.extents.split_off(at)),
        level => inner(level, node.children.split_off(at)),
    }
}

/// Appends the entries of a node of the same level that follows. Returns whether an extent went
/// up in the one before it.
pub(super) fn append(node: &mut ExtentNode, mut next: ExtentNode) -> bool {
    let joins = match (node.extents.last_mut(), next.extents.first()) {
        (Some(left), Some(right)) => list::join(left, right),
        _ => false,
    };
    node.extents.extend(next.extents.drain(usize::from(joins)..));
    node.children.append(&mut next.children);
    joins
}
