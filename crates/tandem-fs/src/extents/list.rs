//! Extents as a sorted list.

use std::ops::{Deref, Range};

use smallvec::{Array, SmallVec};
use tandem_format::Extent;

/// Greatest length of an extent in blocks.
pub const MAX_LEN: u32 = u32::MAX >> 1;

/// A vector of extents, in order and without overlaps.
pub trait ExtentList: Deref<Target = [Extent]> {
    /// Puts other extents in the place of some.
    fn replace(&mut self, at: Range<usize>, with: &[Extent]);
}

impl ExtentList for Vec<Extent> {
    fn replace(&mut self, at: Range<usize>, with: &[Extent]) {
        self.splice(at, with.iter().copied());
    }
}

impl<A: Array<Item = Extent>> ExtentList for SmallVec<A> {
    fn replace(&mut self, at: Range<usize>, with: &[Extent]) {
        let at_start = at.start;
        self.drain(at);
        self.insert_from_slice(at_start, with);
    }
}

/// An extent was to be inserted where there is one already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("extents overlap")]
pub struct Overlap;

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// Blocks with a place on the data device: an extent or the part of one.
    Mapped(Extent),
    /// Blocks without one.
    Hole {
        /// First block.
        from: u64,
        /// The block after the last.
        to: u64,
    },
}

/// The pieces of a range; see [`map`].
#[derive(Debug, Clone)]
pub struct Pieces<'a> {
    rest: &'a [Extent],
    from: u64,
    to: u64,
}

/// The range as mapped pieces and holes in order, cut off at its ends.
pub fn map(list: &[Extent], from: u64, to: u64) -> Pieces<'_> {
    Pieces { rest: &list[first_after(list, from)..], from, to }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        if self.from >= self.to {
            return None;
        }
        let from = self.from;
        match self.rest.first() {
            Some(extent) if extent.logical <= from => {
                self.rest = &self.rest[1..];
                let Some(piece) = clip(extent, from, self.to) else { return self.next() };
                self.from = end(&piece);
                Some(Piece::Mapped(piece))
            }
            next => {
                self.from = next.map_or(self.to, |extent| extent.logical.min(self.to));
                Some(Piece::Hole { from, to: self.from })
            }
        }
    }
}

/// Adds an extent in a hole, and joins it with its neighbours where the blocks follow each other
/// in the file and on the device.
///
/// # Errors
/// [`Overlap`], with nothing changed, when the range is not a hole.
pub fn insert(list: &mut impl ExtentList, extent: Extent) -> Result<(), Overlap> {
    if extent.len == 0 {
        return Ok(());
    }
    let (at, with) = insertion(list, extent)?;
    list.replace(at, &with);
    Ok(())
}

/// Takes the blocks of a range out of the list. What was mapped is appended to `removed`.
pub fn remove(list: &mut impl ExtentList, from: u64, to: u64, removed: &mut Vec<Extent>) {
    let at = touched(list, from, to);
    let (Some(first), Some(last)) = (list[at.clone()].first(), list[at.clone()].last()) else {
        return;
    };
    removed.extend(list[at.clone()].iter().filter_map(|extent| clip(extent, from, to)));
    let kept = [clip(first, 0, from), clip(last, to, u64::MAX)];
    let kept: SmallVec<[Extent; 2]> = kept.into_iter().flatten().collect();
    list.replace(at, &kept);
}

/// Marks the unwritten blocks of a range as written; returns how many there were.
pub fn convert(list: &mut impl ExtentList, from: u64, to: u64) -> u64 {
    let touched = touched(list, from, to);
    if !list[touched.clone()].iter().any(|extent| extent.unwritten) {
        return 0;
    }
    let mut converted = 0;
    let mut with: SmallVec<[Extent; 8]> = SmallVec::new();
    // One more on each side, to join with.
    let at = touched.start.saturating_sub(1)..(touched.end + 1).min(list.len());
    for extent in &list[at.clone()] {
        if !extent.unwritten {
            push(&mut with, *extent);
            continue;
        }
        let (from, to) =
            (from.clamp(extent.logical, end(extent)), to.clamp(extent.logical, end(extent)));
        converted += to.saturating_sub(from);
        let parts = [
            clip(extent, 0, from),
            clip(extent, from, to).map(|middle| Extent { unwritten: false, ..middle }),
            clip(extent, to.max(from), u64::MAX),
        ];
        for part in parts.into_iter().flatten() {
            push(&mut with, part);
        }
    }
    list.replace(at, &with);
    converted
}

/// The block after an extent's last.
pub fn end(extent: &Extent) -> u64 {
    extent.logical.saturating_add(extent.len.into())
}

/// The part of an extent within a range.
pub fn clip(extent: &Extent, from: u64, to: u64) -> Option<Extent> {
    let (first, after) = (extent.logical.max(from), end(extent).min(to));
    (first < after).then(|| Extent {
        logical: first,
        start: extent.start.saturating_add(first - extent.logical),
        len: (after - first) as u32,
        ..*extent
    })
}

/// The parts of an extent outside another one's range, in order.
pub fn minus(extent: &Extent, other: &Extent) -> SmallVec<[Extent; 2]> {
    [clip(extent, 0, other.logical), clip(extent, end(other), u64::MAX)]
        .into_iter()
        .flatten()
        .collect()
}

/// The places of the extents that have blocks in the range.
pub(super) fn touched(list: &[Extent], from: u64, to: u64) -> Range<usize> {
    let start = first_after(list, from);
    if from >= to {
        return start..start;
    }
    start..start + list[start..].partition_point(|extent| extent.logical < to)
}

/// What [`insert`] puts in the place of which extents.
pub(super) fn insertion(
    list: &[Extent],
    extent: Extent,
) -> Result<(Range<usize>, SmallVec<[Extent; 4]>), Overlap> {
    let at = list.partition_point(|other| other.logical < extent.logical);
    let (before, behind) = (at.checked_sub(1).map(|i| list[i]), list.get(at).copied());
    let clash = before.is_some_and(|other| end(&other) > extent.logical)
        || behind.is_some_and(|other| end(&extent) > other.logical);
    if clash || extent.logical.checked_add(extent.len.into()).is_none() {
        return Err(Overlap);
    }
    let mut range = at..at;
    let mut with: SmallVec<[Extent; 4]> = SmallVec::new();
    if let Some(other) = before.filter(|other| follows(other, &extent)) {
        range.start -= 1;
        with.push(other);
    }
    push(&mut with, extent);
    if let Some(other) = behind.filter(|other| follows(&extent, other)) {
        range.end += 1;
        push(&mut with, other);
    }
    Ok((range, with))
}

/// The place of the first extent that ends after a block.
fn first_after(list: &[Extent], block: u64) -> usize {
    list.partition_point(|extent| end(extent) <= block)
}

/// Whether two extents follow each other in the file and on the device.
fn follows(left: &Extent, right: &Extent) -> bool {
    left.unwritten == right.unwritten
        && end(left) == right.logical
        && left.start.checked_add(left.len.into()) == Some(right.start)
}

/// Makes the left extent both, when they follow each other and are not too long for one.
pub(super) fn join(left: &mut Extent, right: &Extent) -> bool {
    let joins = follows(left, right) && left.len.saturating_add(right.len) <= MAX_LEN;
    if joins {
        left.len += right.len;
    }
    joins
}

/// Appends an extent, joining it with the last one when that is possible.
fn push<A: Array<Item = Extent>>(list: &mut SmallVec<A>, extent: Extent) {
    if !list.last_mut().is_some_and(|last| join(last, &extent)) {
        list.push(extent);
    }
}
