//! Where a file's contents lie: extents, from blocks of the file to data blocks.
//!
//! `list` has the operations on a sorted list of extents, as a record holds it and a leaf of a
//! tree holds it; `tree` is the B+tree of a file with more extents than its record takes. The
//! tree works on nodes that may be missing from memory, and looks before it changes anything.
//!
//! Ranges are half open, `from..to`, in data blocks of the file; `to` may be `u64::MAX`.

mod list;
mod node;
#[cfg(test)]
mod tests;
mod tree;

pub use list::{Overlap, Piece, clip, end, minus};
pub use list::{
    convert as list_convert, insert as list_insert, map as list_map, remove as list_remove,
};
#[cfg(test)]
pub use tree::last as tree_last;
pub use tree::{BadNode, Nodes, TreeRoot};
pub use tree::{
    build as tree_build, convert as tree_convert, insert as tree_insert, map as tree_map,
    remove as tree_remove,
};
