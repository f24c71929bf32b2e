//! Changing a tree, in two passes: `touch` looks at every node that the change may need, so that a
//! miss comes before any change; `apply` changes.

use smallvec::SmallVec;
use tandem_format::Extent;

use super::{BadNode, Nodes, Place, TreeRoot, children_of, get};
use crate::extents::{list, node};

/// A change of the extents of a range.
pub(super) enum Op<'a> {
    Insert(Extent),
    Remove(&'a mut Vec<Extent>),
    Convert,
}

/// Changes the range `from..to` of a tree.
pub(super) fn run<N: Nodes>(
    nodes: &mut N,
    tree: &mut TreeRoot,
    from: u64,
    to: u64,
    op: Op<'_>,
) -> Result<(), N::Miss> {
    if tree.root == 0 || from >= to {
        return Ok(());
    }
    let mut edit = Edit { nodes, from, to, op, fill: true, tree: *tree };
    let place = Place::root(tree);
    edit.touch(place)?;
    let top = edit.apply(place, true)?.nodes;
    edit.settle(top);
    *tree = edit.tree;
    Ok(())
}

struct Edit<'a, 'b, N> {
    nodes: &'a mut N,
    from: u64,
    to: u64,
    op: Op<'b>,
    /// Nodes that become too small are filled up: all that takes is in memory.
    fill: bool,
    /// The tree after the change.
    tree: TreeRoot,
}

/// Nodes of a row: first block and id.
type Row = SmallVec<[(u64, u64); 3]>;

/// What has become of a node.
struct Applied {
    /// What is in its place: nothing, itself, or itself and a second half.
    nodes: Row,
    /// It has lost entries and has too few.
    small: bool,
}

fn capacity<N: Nodes>(level: u8) -> usize {
    if level == 0 { N::LEAF } else { N::INNER }
}

/// Fewest entries of a node away from the right edge.
fn fewest<N: Nodes>(level: u8) -> usize {
    capacity::<N>(level) / 4
}

impl<N: Nodes> Edit<'_, '_, N> {
    /// Looks at all nodes that `apply` may need at and under a place. Returns whether the node may
    /// vanish or become too small.
    fn touch(&mut self, place: Place) -> Result<bool, N::Miss> {
        let node = get(self.nodes, place)?;
        let count = node::count(node);
        if place.level == 0 {
            let left = self.left_in_leaf(place)?;
            return Ok(left < count && left < fewest::<N>(0));
        }
        let children = children_of(node, self.from, self.to);
        let (low, high) = (*children.start(), *children.end());
        let mut losses = 0;
        for i in children {
            let child = place.child(get(self.nodes, place)?, i);
            losses += usize::from(self.touch(child)?);
        }
        let left = count - losses;
        if losses > 0 {
            match self.touch_beside(place, low, high, left) {
                // What can wait does not make an insertion wait for a device.
                Err(_) if matches!(self.op, Op::Insert(_)) => self.fill = false,
                looked => looked?,
            }
        }
        Ok(losses > 0 && left < fewest::<N>(place.level))
    }

    /// Looks at what the children `low..=high` may be merged with, and, when no more than one child
    /// may be left, at what may become the root.
    fn touch_beside(
        &mut self,
        place: Place,
        low: usize,
        high: usize,
        left: usize,
    ) -> Result<(), N::Miss> {
        let count = node::count(get(self.nodes, place)?);
        if left <= 1 {
            return (0..low)
                .chain(high + 1..count)
                .try_for_each(|i| self.touch_only_children(place, i));
        }
        let beside = if low > 0 { low - 1 } else { high + 1 };
        if beside < count {
            let beside = place.child(get(self.nodes, place)?, beside);
            get(self.nodes, beside)?;
        }
        Ok(())
    }

    /// Looks at a child, and at what is under it as long as that is one node.
    fn touch_only_children(&mut self, parent: Place, i: usize) -> Result<(), N::Miss> {
        let mut place = parent.child(get(self.nodes, parent)?, i);
        loop {
            let node = get(self.nodes, place)?;
            if place.level == 0 || node::count(node) > 1 {
                return Ok(());
            }
            place = place.child(node, 0);
        }
    }

    /// The least number of extents that the change leaves in a leaf.
    fn left_in_leaf(&mut self, place: Place) -> Result<usize, N::Miss> {
        let extents = &get(self.nodes, place)?.extents;
        let (count, touched) = (extents.len(), list::touched(extents, self.from, self.to));
        Ok(match &self.op {
            Op::Remove(_) => count - touched.len(),
            Op::Convert if extents[touched.clone()].iter().any(|extent| extent.unwritten) => {
                count.saturating_sub(touched.len() + 1)
            }
            Op::Convert => count,
            Op::Insert(extent) => match list::insertion(extents, *extent) {
                Ok((range, with)) if list::end(extent) <= place.bound => {
                    count + with.len() - range.len()
                }
                _ => return Err(BadNode { id: place.id, what: "extents overlap" }.into()),
            },
        })
    }

    /// Changes the node at a place and what is under it. `edge` says that no node of its level is
    /// to its right.
    fn apply(&mut self, place: Place, edge: bool) -> Result<Applied, N::Miss> {
        let node = self.nodes.node(place.id)?;
        let before = node::count(node);
        if place.level == 0 {
            if self.concerns(place.id)? {
                self.apply_leaf(place.id);
            }
            return self.finish(place, before, edge);
        }
        let children = children_of(node, self.from, self.to);
        let (low, high) = (*children.start(), *children.end());
        let old: Row = node.children[low..=high].into();
        let places: SmallVec<[Place; 3]> = children.map(|i| place.child(node, i)).collect();
        let mut new = Row::new();
        let mut small: SmallVec<[usize; 3]> = SmallVec::new();
        for (i, child) in (low..).zip(places) {
            let applied = self.apply(child, edge && i + 1 == before)?;
            if applied.small {
                small.push(low + new.len());
            }
            new.extend(applied.nodes);
        }
        if old != new {
            self.nodes.node_mut(place.id).children.splice(low..=high, new);
        }
        if self.fill {
            // From the right, so that a merge does not move those still to be looked at.
            for i in small.into_iter().rev() {
                self.fill(place, i)?;
            }
        }
        self.finish(place, before, edge)
    }

    /// Frees a node that has become empty, and splits one that has become too large.
    fn finish(&mut self, place: Place, before: usize, edge: bool) -> Result<Applied, N::Miss> {
        let node = self.nodes.node(place.id)?;
        let (count, first, most) =
            (node::count(node), node::first(node), capacity::<N>(place.level));
        let mut nodes = Row::new();
        if count == 0 {
            self.nodes.free(place.id);
            return Ok(Applied { nodes, small: false });
        }
        nodes.push((first, place.id));
        if count > most {
            let appended = edge && (self.from..self.to).contains(&node::last(node));
            let at = if appended { most } else { count / 2 };
            let half = node::split_off(self.nodes.node_mut(place.id), at);
            nodes.push((node::first(&half), self.nodes.allocate(half)));
        }
        Ok(Applied { nodes, small: count < before && count < fewest::<N>(place.level) })
    }

    /// Whether the change changes anything in a leaf.
    fn concerns(&mut self, leaf: u64) -> Result<bool, N::Miss> {
        let extents = &self.nodes.node(leaf)?.extents;
        let touched = list::touched(extents, self.from, self.to);
        Ok(match &self.op {
            Op::Insert(_) => true,
            Op::Remove(_) => !touched.is_empty(),
            Op::Convert => extents[touched].iter().any(|extent| extent.unwritten),
        })
    }

    fn apply_leaf(&mut self, id: u64) {
        let extents = &mut self.nodes.node_mut(id).extents;
        let before = extents.len() as u64;
        let tree = &mut self.tree;
        match &mut self.op {
            Op::Insert(extent) => {
                if list::insert(extents, *extent).is_ok() {
                    tree.blocks = tree.blocks.saturating_add(extent.len.into());
                }
            }
            Op::Remove(removed) => {
                let known = removed.len();
                list::remove(extents, self.from, self.to, removed);
                let blocks = removed[known..].iter().map(|extent| u64::from(extent.len)).sum();
                tree.blocks = tree.blocks.saturating_sub(blocks);
            }
            Op::Convert => {
                list::convert(extents, self.from, self.to);
            }
        }
        tree.extents = tree.extents.saturating_add(extents.len() as u64).saturating_sub(before);
    }

    /// Merges the `i`th child of a node with the one to its left (or right, if it is the first), or
    /// evens the two out.
    fn fill(&mut self, parent: Place, i: usize) -> Result<(), N::Miss> {
        let left = i.saturating_sub(1);
        let children = &self.nodes.node(parent.id)?.children;
        let Some(&[(_, a), (_, b)]) = children.get(left..left + 2) else { return Ok(()) };
        let level = parent.level.saturating_sub(1);
        let (count_a, count_b) =
            (node::count(self.nodes.node(a)?), node::count(self.nodes.node(b)?));
        if count_a.min(count_b) >= fewest::<N>(level) {
            return Ok(());
        }
        let right = node::split_off(self.nodes.node_mut(b), 0);
        let joined = self.nodes.node_mut(a);
        if node::append(joined, right) {
            self.tree.extents = self.tree.extents.saturating_sub(1);
        }
        // Not quite full, so that the next entry does not split it again.
        let most = capacity::<N>(level);
        let total = node::count(joined);
        let rest = (total > most - most / 4).then(|| node::split_off(joined, total / 2));
        let key = rest.as_ref().map(node::first);
        match rest {
            Some(rest) => *self.nodes.node_mut(b) = rest,
            None => self.nodes.free(b),
        }
        let children = &mut self.nodes.node_mut(parent.id).children;
        match key {
            Some(key) => children[left + 1].0 = key,
            None => {
                children.remove(left + 1);
            }
        }
        Ok(())
    }

    /// Makes one root of what has become of the old one.
    fn settle(&mut self, top: Row) {
        match top[..] {
            [] => self.tree = TreeRoot::default(),
            [(_, id)] => {
                self.tree.root = id;
                while self.tree.height > 0 {
                    let Ok(node) = self.nodes.node(self.tree.root) else { return };
                    let &[(_, only)] = &node.children[..] else { return };
                    self.nodes.free(self.tree.root);
                    self.tree.root = only;
                    self.tree.height -= 1;
                }
            }
            _ => {
                self.tree.height += 1;
                self.tree.root = self.nodes.allocate(node::inner(self.tree.height, top.to_vec()));
            }
        }
    }
}
