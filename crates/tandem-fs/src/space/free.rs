//! The free space of one group: a sorted list of runs while they are few, a bitmap with a tree of
//! longest runs over it while they are many. Blocks are counted from the start of the group.

mod bitmap;
mod bytes;
mod list;

pub use bytes::FreeError;
pub(super) use bytes::{decode, encode};

use bitmap::Bitmap;
use list::List;

/// Greatest group size in blocks: the bytes of its bitmap are counted in 16-bit chunk numbers.
pub(super) const MAX_GROUP: u32 = 1 << 31;

/// A free run inside a group: first block and length.
pub(super) type Piece = (u32, u32);

/// The free blocks of a group in memory.
#[derive(Debug)]
pub(super) struct GroupFree {
    size: u32,
    form: Form,
}

#[derive(Debug)]
enum Form {
    List(List),
    Bitmap(Bitmap),
}

impl GroupFree {
    /// From sorted runs that neither overlap nor touch and lie within `size` blocks.
    pub fn new(size: u32, runs: Vec<Piece>) -> GroupFree {
        let form = if runs.len() > list_limit(size) {
            Form::Bitmap(Bitmap::new(size, &runs))
        } else {
            Form::List(List::new(runs))
        };
        GroupFree { size, form }
    }

    /// Length of the longest run; 0 when nothing is free.
    pub fn longest(&self) -> u32 {
        match &self.form {
            Form::List(list) => list.longest(),
            Form::Bitmap(map) => map.longest(),
        }
    }

    /// The longest run, the first of several.
    pub fn longest_run(&self) -> Option<Piece> {
        self.next_run(0, self.longest().max(1))
    }

    /// How many blocks are free from `block` on without a gap.
    pub fn free_from(&self, block: u32) -> u32 {
        match &self.form {
            Form::List(list) => list.free_from(block),
            Form::Bitmap(map) => map.free_from(block),
        }
    }

    /// Whether any of the blocks is free.
    pub fn any_free(&self, start: u32, len: u32) -> bool {
        match &self.form {
            Form::List(list) => list.any_free(start, len),
            Form::Bitmap(map) => map.any_free(start, len),
        }
    }

    /// The first run of at least `want` blocks among those at or after `from`; of a run that
    /// contains `from`, only the part from there on counts.
    pub fn next_run(&self, from: u32, want: u32) -> Option<Piece> {
        match &self.form {
            Form::List(list) => list.next_run(from, want),
            Form::Bitmap(map) => map.next_run(from, want),
        }
    }

    /// Marks free blocks as used.
    pub fn take(&mut self, start: u32, len: u32) {
        match &mut self.form {
            Form::List(list) => list.take(start, len),
            Form::Bitmap(map) => map.take(start, len),
        }
        self.reform();
    }

    /// Marks used blocks as free.
    pub fn put(&mut self, start: u32, len: u32) {
        match &mut self.form {
            Form::List(list) => list.put(start, len),
            Form::Bitmap(map) => map.put(start, len),
        }
        self.reform();
    }

    /// All runs in order.
    pub fn runs(&self) -> Vec<Piece> {
        match &self.form {
            Form::List(list) => list.runs().to_vec(),
            Form::Bitmap(map) => map.runs(),
        }
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        size_of::<GroupFree>()
            + match &self.form {
                Form::List(list) => list.memory(),
                Form::Bitmap(map) => map.memory(),
            }
    }

    fn reform(&mut self) {
        let limit = list_limit(self.size);
        match &self.form {
            Form::List(list) if list.runs().len() > limit => {
                self.form = Form::Bitmap(Bitmap::new(self.size, list.runs()));
            }
            Form::Bitmap(map) if map.count() < limit / 2 => {
                self.form = Form::List(List::new(map.runs()));
            }
            _ => {}
        }
    }

    /// Number of runs by a bitmap's own count.
    #[cfg(test)]
    pub fn bitmap_count(&self) -> Option<usize> {
        match &self.form {
            Form::List(_) => None,
            Form::Bitmap(map) => Some(map.count()),
        }
    }
}

/// Most runs of a list: as many as a bitmap has bytes for, but no more than are searched and moved
/// in a fraction of a microsecond.
fn list_limit(size: u32) -> usize {
    (size as usize / 64).clamp(4, 1024)
}
