//! The free space of a group as bytes on M (`docs/format.md`).

use super::Piece;

/// What is wrong with a group's free space or descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FreeError {
    /// The descriptor claims more free blocks than the group has.
    #[error("descriptor with {free} free blocks, the group has {size}")]
    Descriptor {
        /// Free blocks by the descriptor.
        free: u32,
        /// Blocks of the group.
        size: u32,
    },
    /// The number of groups or their size does not go with the volume.
    #[error("{found} groups of {group_blocks} blocks, the volume has {blocks} blocks")]
    Geometry {
        /// Descriptors given.
        found: u64,
        /// Blocks of a group.
        group_blocks: u32,
        /// Blocks of the volume.
        blocks: u64,
    },
    /// The bytes end before the list or the bitmap.
    #[error("{found} bytes, {expected} needed")]
    Short {
        /// Bytes there are.
        found: u64,
        /// Bytes there must be.
        expected: u64,
    },
    /// A run that is empty, overlaps or touches the one before it, or is out of order.
    #[error("run {start}+{len} is empty, out of order, or not apart from the one before")]
    Order {
        /// First block in the group.
        start: u32,
        /// Blocks.
        len: u32,
    },
    /// A free block beyond the end of the group.
    #[error("free block {block}, the group has {size}")]
    Range {
        /// The block in the group.
        block: u64,
        /// Blocks of the group.
        size: u32,
    },
    /// Not as many free blocks as the descriptor says.
    #[error("{found} free blocks, the descriptor says {expected}")]
    Count {
        /// Free blocks found.
        found: u64,
        /// Free blocks by the descriptor.
        expected: u32,
    },
}

/// The bytes of sorted runs in the form that is smaller, and whether that is a bitmap. `full` is
/// the volume's group size, which the last group's bitmap has too.
pub(in super::super) fn encode(runs: &[Piece], full: u32) -> (bool, Vec<u8>) {
    let bitmap_len = full.div_ceil(8) as usize;
    let list_len = 4 + 8 * runs.len();
    if list_len <= bitmap_len {
        let mut bytes = Vec::with_capacity(list_len);
        bytes.extend_from_slice(&(runs.len() as u32).to_le_bytes());
        for (start, len) in runs {
            bytes.extend_from_slice(&start.to_le_bytes());
            bytes.extend_from_slice(&len.to_le_bytes());
        }
        return (false, bytes);
    }
    let mut bytes = vec![0; bitmap_len];
    for &(start, len) in runs {
        fill(&mut bytes, start as usize, (start + len) as usize);
    }
    (true, bytes)
}

/// The runs of a group of `size` blocks with `expected` of them free. What follows the list or
/// the bitmap does not count.
pub(in super::super) fn decode(
    bytes: &[u8],
    bitmap: bool,
    size: u32,
    full: u32,
    expected: u32,
) -> Result<Vec<Piece>, FreeError> {
    let runs = if bitmap { decode_bitmap(bytes, size, full)? } else { decode_list(bytes, size)? };
    let found = runs.iter().map(|run| u64::from(run.1)).sum();
    if found != u64::from(expected) {
        return Err(FreeError::Count { found, expected });
    }
    Ok(runs)
}

fn decode_list(bytes: &[u8], size: u32) -> Result<Vec<Piece>, FreeError> {
    let word = |at: usize| match bytes.get(at..at + 4) {
        Some(&[a, b, c, d]) => Ok(u32::from_le_bytes([a, b, c, d])),
        _ => Err(FreeError::Short { found: bytes.len() as u64, expected: at as u64 + 4 }),
    };
    let count = word(0)? as usize;
    let mut runs = Vec::with_capacity(count.min(bytes.len() / 8));
    // The first block that the next run may begin with.
    let mut next = 0;
    for i in 0..count {
        let (start, len) = (word(4 + 8 * i)?, word(8 + 8 * i)?);
        if len == 0 || u64::from(start) < next {
            return Err(FreeError::Order { start, len });
        }
        let end = u64::from(start) + u64::from(len);
        if end > u64::from(size) {
            return Err(FreeError::Range { block: end - 1, size });
        }
        runs.push((start, len));
        next = end + 1;
    }
    Ok(runs)
}

fn decode_bitmap(bytes: &[u8], size: u32, full: u32) -> Result<Vec<Piece>, FreeError> {
    let expected = full.div_ceil(8) as usize;
    let Some(bytes) = bytes.get(..expected) else {
        return Err(FreeError::Short { found: bytes.len() as u64, expected: expected as u64 });
    };
    let mut runs: Vec<Piece> = Vec::new();
    for (i, &byte) in bytes.iter().enumerate() {
        let mut rest = u32::from(byte);
        while rest != 0 {
            let bit = rest.trailing_zeros();
            let len = (rest >> bit).trailing_ones();
            rest &= u32::MAX << (bit + len);
            let block = i as u64 * 8 + u64::from(bit);
            if block + u64::from(len) > u64::from(size) {
                return Err(FreeError::Range { block: block.max(u64::from(size)), size });
            }
            match runs.last_mut() {
                Some(last) if u64::from(last.0 + last.1) == block => last.1 += len,
                _ => runs.push((block as u32, len)),
            }
        }
    }
    Ok(runs)
}

/// Sets the bits `from..to`.
fn fill(bytes: &mut [u8], from: usize, to: usize) {
    let (first, last) = (from / 8, (to - 1) / 8);
    let (head, tail) = (0xff << (from % 8), 0xff >> (7 - (to - 1) % 8));
    if first == last {
        bytes[first] |= head & tail;
        return;
    }
    bytes[first] |= head;
    bytes[first + 1..last].fill(0xff);
    bytes[last] |= tail;
}
