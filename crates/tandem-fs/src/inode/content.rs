//! Where a file's contents lie: extents in the record, a tree of extent blocks past a few.

use smallvec::SmallVec;
use tandem_format::{Content, Extent, ExtentNode, Kind};

use crate::cache::{Block, Body, Key};
use crate::error::{Fault, Res, corrupt, fail};
use crate::extents::{self, BadNode, Nodes as _, TreeRoot};
use crate::space::Run;
use crate::state::State;
use crate::types::Ino;

/// A record has at most this many extents; more make a tree.
const INLINE_MAX: usize = 16;

/// Pieces of a mapping.
pub(crate) type Mapping = SmallVec<[Extent; 4]>;

/// The metadata cache as a store of extent nodes for one file.
struct Store<'a> {
    st: &'a mut State,
    ino: Ino,
}

impl extents::Nodes for Store<'_> {
    type Miss = Fault;

    fn node(&mut self, id: u64) -> Result<&ExtentNode, Fault> {
        match &self.st.cache.get(Key::block(id))?.body {
            Body::Extent(node) => Ok(node),
            _ => Err(corrupt(format!("block {id}"), "not an extent block")),
        }
    }

    fn node_mut(&mut self, id: u64) -> &mut ExtentNode {
        match self.st.cache.get_mut(Key::block(id)).map(|b| &mut b.body) {
            Ok(Body::Extent(node)) => node,
            _ => unreachable!("an extent block was looked at before it is changed"),
        }
    }

    fn allocate(&mut self, node: ExtentNode) -> u64 {
        let id = self.st.new_id();
        let index = node.extents.first().map(|e| e.logical).or(node.children.first().map(|c| c.0));
        let block = Block {
            kind: Kind::Extent,
            owner: self.ino,
            index: index.unwrap_or(0),
            level: node.level,
            body: Body::Extent(node),
        };
        self.st.cache.insert_new(Key::block(id), block);
        id
    }

    fn free(&mut self, id: u64) {
        self.st.free_id(id);
    }
}

impl From<BadNode> for Fault {
    fn from(e: BadNode) -> Fault {
        corrupt("extent tree", e.to_string())
    }
}

impl From<extents::Overlap> for Fault {
    fn from(e: extents::Overlap) -> Fault {
        corrupt("extents", e.to_string())
    }
}

/// A file's mapping taken out of its node while it changes.
enum Map {
    List(SmallVec<[Extent; 2]>),
    Tree(TreeRoot),
}

impl State {
    fn map_of(&mut self, ino: Ino) -> Res<Map> {
        match &self.node(ino)?.rec.content {
            Content::None => Ok(Map::List(SmallVec::new())),
            Content::Extents(list) => Ok(Map::List(list.clone())),
            Content::Tree { root, height, blocks, extents } => Ok(Map::Tree(TreeRoot {
                root: *root,
                height: *height,
                blocks: *blocks,
                extents: *extents,
            })),
            _ => fail(libc::EINVAL),
        }
    }

    fn set_map(&mut self, ino: Ino, map: Map) -> Res<()> {
        let content = match map {
            Map::List(list) if list.is_empty() => Content::None,
            Map::List(list) => Content::Extents(list),
            Map::Tree(t) if t.extents == 0 => Content::None,
            Map::Tree(t) => Content::Tree {
                root: t.root,
                height: t.height,
                blocks: t.blocks,
                extents: t.extents,
            },
        };
        self.change(ino)?.rec.content = content;
        Ok(())
    }

    /// The extents that cover parts of blocks `[from, to)`, cut to it, in order.
    pub fn map_range(&mut self, ino: Ino, from: u64, to: u64) -> Res<Mapping> {
        let mut out = Mapping::new();
        self.map_visit(ino, from, to, &mut |e| {
            out.extend(extents::clip(e, from, to));
            true
        })?;
        Ok(out)
    }

    /// Gives the extents that touch blocks `[from, to)` to `f`, in order, until it returns false. They
    /// lie within the data area and what a file can have.
    pub fn map_visit(
        &mut self,
        ino: Ino,
        from: u64,
        to: u64,
        f: &mut dyn FnMut(&Extent) -> bool,
    ) -> Res<()> {
        let (blocks, most) = (self.geo.blocks, (1 << 63) / u64::from(self.geo.block_size));
        let within = |from: u64, len: u32, end: u64| {
            from.checked_add(len.into()).is_some_and(|behind| behind <= end)
        };
        let mut bad = None;
        let mut f = |e: &Extent| {
            if within(e.start, e.len, blocks) && within(e.logical, e.len, most) {
                return f(e);
            }
            bad = Some(*e);
            false
        };
        match self.map_of(ino)? {
            Map::List(list) => {
                for piece in extents::list_map(&list, from, to) {
                    match piece {
                        extents::Piece::Mapped(e) if !f(&e) => break,
                        _ => {}
                    }
                }
            }
            Map::Tree(root) => {
                extents::tree_map(&mut Store { st: self, ino }, &root, from, to, &mut f)?;
            }
        }
        match bad {
            Some(e) => Err(corrupt(format!("i-node {ino}"), format!("{e:?} cannot be"))),
            None => Ok(()),
        }
    }

    /// Enters an extent over a hole.
    pub fn map_insert(&mut self, ino: Ino, extent: Extent) -> Res<()> {
        let map = match self.map_of(ino)? {
            Map::List(mut list) => {
                extents::list_insert(&mut list, extent)?;
                if list.len() > INLINE_MAX {
                    Map::Tree(extents::tree_build(&mut Store { st: self, ino }, &list))
                } else {
                    Map::List(list)
                }
            }
            Map::Tree(mut root) => {
                extents::tree_insert(&mut Store { st: self, ino }, &mut root, extent)?;
                Map::Tree(root)
            }
        };
        self.set_map(ino, map)
    }

    /// Removes blocks `[from, to)` from the mapping; returns what was mapped.
    pub fn map_remove(&mut self, ino: Ino, from: u64, to: u64) -> Res<Vec<Extent>> {
        let mut removed = Vec::new();
        let map = match self.map_of(ino)? {
            Map::List(mut list) => {
                extents::list_remove(&mut list, from, to, &mut removed);
                Map::List(list)
            }
            Map::Tree(mut root) => {
                extents::tree_remove(
                    &mut Store { st: self, ino },
                    &mut root,
                    from,
                    to,
                    &mut removed,
                )?;
                Map::Tree(root)
            }
        };
        if !removed.is_empty() {
            self.set_map(ino, map)?;
        }
        Ok(removed)
    }

    /// Blocks `[from, to)` that are mapped, but unwritten, now hold data.
    pub fn map_convert(&mut self, ino: Ino, from: u64, to: u64) -> Res<()> {
        let map = match self.map_of(ino)? {
            Map::List(mut list) => {
                extents::list_convert(&mut list, from, to);
                if list.len() > INLINE_MAX {
                    Map::Tree(extents::tree_build(&mut Store { st: self, ino }, &list))
                } else {
                    Map::List(list)
                }
            }
            Map::Tree(mut root) => {
                extents::tree_convert(&mut Store { st: self, ino }, &mut root, from, to)?;
                Map::Tree(root)
            }
        };
        self.set_map(ino, map)
    }

    /// Removes and frees blocks `[from, to)` of a file.
    pub fn free_range(&mut self, ino: Ino, from: u64, to: u64) -> Res<()> {
        for e in self.map_remove(ino, from, to)? {
            self.free_run(Run { start: e.start, len: u64::from(e.len) });
        }
        Ok(())
    }

    /// Frees the end of an extent tree, at most about one node of it; true when nothing is left.
    pub fn trim_tree(&mut self, ino: Ino) -> Res<bool> {
        let Map::Tree(root) = self.map_of(ino)? else {
            self.free_range(ino, 0, u64::MAX)?;
            return Ok(true);
        };
        let from = {
            let mut store = Store { st: self, ino };
            let mut id = root.root;
            for _ in 0..root.height {
                id = match store.node(id)?.children.last() {
                    Some(&(_, child)) => child,
                    None => {
                        return Err(corrupt(
                            format!("block {id}"),
                            "extent block without children",
                        ));
                    }
                };
            }
            store.node(id)?.extents.first().map_or(0, |e| e.logical)
        };
        self.free_range(ino, from, u64::MAX)?;
        Ok(matches!(self.node(ino)?.rec.content, Content::None))
    }
}
