//! A leaf on the volume: its entries in the order of their i-node numbers, which mostly is that of
//! their making, field by field as columns of differences. Hashes are not stored: they are those of
//! the names.

mod pack;
mod shape;
#[cfg(test)]
mod tests;
mod times;
mod unpack;

pub(super) use pack::pack;
pub(super) use unpack::unpack;

use crate::record::Extent;

const STRUCTURE: &str = "leaf";

/// What is left out of packed leaves, because it is the same on the whole volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Implied {
    /// Key of the directory hash.
    pub hash_key: [u64; 2],
    /// Bits of the directory hash that count.
    pub hash_bits: u8,
    /// Bytes of a data block.
    pub block_size: u32,
}

/// What the next extent is expected to be: it follows the one before, and covers the file's end.
#[derive(Default)]
struct Expected {
    start: u64,
}

impl Expected {
    fn len(&self, size: u64, logical: u64, block_size: u32) -> u32 {
        let blocks = size.div_ceil(u64::from(block_size.max(1)));
        u32::try_from(blocks.saturating_sub(logical)).unwrap_or(u32::MAX)
    }

    fn passed(&mut self, extent: &Extent) {
        self.start = extent.start.wrapping_add(u64::from(extent.len));
    }
}

/// Bytes that two names have in common at their beginnings.
fn shared(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Bits of a name's byte under an alphabet of `n` bytes, `n` at least 1.
fn symbol_bits(n: usize) -> u32 {
    usize::BITS - (n - 1).leading_zeros()
}
