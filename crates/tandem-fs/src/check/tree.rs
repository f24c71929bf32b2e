//! Extents: of a record, or of the tree that it leads to.

use tandem_format::{Extent, ExtentNode, ID_LIMIT, Kind};

use super::books::{Fact, NO, Subject};
use super::pass::{Pass, add};
use super::place::Place;
use super::report::ProblemKind;

/// What a node's parent says of it.
pub(super) struct Below {
    pub id: u64,
    pub level: u8,
    /// Its first file block; the root's is not said.
    pub first: Option<u64>,
    /// The next node's first file block.
    pub bound: u64,
}

impl Pass<'_> {
    /// Data blocks in use. Where they begin and end is entered: when all data blocks are covered
    /// exactly once, by extents or by free runs, something ends wherever something begins.
    pub fn extent(&self, ino: u64, e: &Extent) {
        let end = e.start.saturating_add(e.len.into());
        let block_size = u64::from(self.opened.sb.block_size);
        let beyond = e.logical.saturating_add(e.len.into()) > (1 << 63) / block_size;
        if end > self.opened.sb.blocks || beyond {
            let what = self.inode_name(ino);
            let detail = format!("extent {e:?} lies outside the data area or the file");
            self.findings.add(ProblemKind::Extent, what, detail);
            return;
        }
        add(&self.counts.extents, 1);
        add(&self.counts.blocks_used, e.len.into());
        self.cover(e.start, end, ino);
    }

    /// Data blocks `[from, to)` belong to `by`: an i-node, or 0 when they are free.
    pub fn cover(&self, from: u64, to: u64, by: u64) {
        self.books.enter(Subject::Border(from), Fact::Edge, NO, -1, by);
        self.books.enter(Subject::Border(to), Fact::Edge, NO, 1, by);
    }

    /// The extent tree of an i-node, from the root on. Nodes that cannot be read are reported
    /// where the log is read.
    pub fn tree(&self, ino: u64, root: u64, height: u8, blocks: u64, extents: u64) {
        let wrong = |detail: String| {
            self.findings.add(ProblemKind::ExtentTree, self.inode_name(ino), detail);
        };
        let (mut found_blocks, mut found_extents, mut whole) = (0u64, 0u64, true);
        let mut stack = vec![Below { id: root, level: height, first: None, bound: u64::MAX }];
        while let Some(below) = stack.pop() {
            let id = below.id;
            if id >= ID_LIMIT {
                wrong(format!("extent block {id}: a number that cannot be"));
                whole = false;
                continue;
            }
            let place = Place { level: below.level, ..Place::new(Kind::Extent, ino) };
            self.books.refer(id, place, ino);
            let node = self.fetch(id).and_then(|(meta, payload)| {
                let ours = (meta.kind, meta.owner, meta.level) == (Kind::Extent, ino, below.level);
                ExtentNode::decode(&payload, meta.level).ok().filter(|_| ours)
            });
            let Some(node) = node else {
                whole = false;
                continue;
            };
            if let Some(detail) = misplaced(&node, &below) {
                wrong(format!("extent block {id}: {detail}"));
                whole = false;
                // Above the lowest level, its children may lie below others too.
                if below.level > 0 {
                    continue;
                }
            }
            for e in &node.extents {
                found_blocks = found_blocks.saturating_add(e.len.into());
                found_extents += 1;
                self.extent(ino, e);
            }
            for (i, &(first, id)) in node.children.iter().enumerate().rev() {
                let bound = node.children.get(i + 1).map_or(below.bound, |next| next.0);
                let level = below.level - 1;
                stack.push(Below { id, level, first: Some(first), bound });
            }
        }
        if whole && (found_blocks, found_extents) != (blocks, extents) {
            wrong(format!(
                "its record counts {extents} extents with {blocks} data blocks, the tree has {found_extents} with {found_blocks}"
            ));
        }
    }
}

/// What is wrong with where a node lies.
pub(super) fn misplaced(node: &ExtentNode, below: &Below) -> Option<&'static str> {
    let ends = |e: &Extent| e.logical.saturating_add(e.len.into());
    let (first, end) = match below.level {
        0 => (node.extents.first()?.logical, node.extents.last().map_or(0, ends)),
        _ => (node.children.first()?.0, node.children.last()?.0.saturating_add(1)),
    };
    if below.first.is_some_and(|said| said != first) {
        return Some("does not begin where its parent says");
    }
    (end > below.bound).then_some("reaches into the next node")
}
