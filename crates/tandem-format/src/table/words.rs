//! Addresses: those of blocks that were logged one after the other lie side by side.

use crate::bits::{BitReader, BitWriter, unzigzag, zigzag};
use crate::error::FormatError;
use crate::units::{FANOUT, GRAIN, HEADER, Loc};

const STRUCTURE: &str = "address table";

/// Most grains of a device, as addresses have them.
const GRAINS: u64 = 1 << 48;

/// Bits of the length, in grains, of the longest block.
const LENGTH_BITS: u64 = 11;

/// 504 addresses: a block of the block map, or a radix node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words(pub Vec<u64>);

impl Words {
    /// All zeros.
    pub fn new() -> Words {
        Words(vec![0; FANOUT])
    }

    /// The payload of its block. An address of no grains is no address; it comes back as zero.
    pub fn encode(&self) -> Vec<u8> {
        let words = &self.0[..self.count() as usize];
        let locs = words.iter().map(|&word| Loc::from_raw(word));
        let mut w = BitWriter::default();
        w.number(words.len() as u128);
        let mut column: Vec<u64> = locs.clone().map(|loc| loc.grains().into()).collect();
        w.column(&column);
        column.clear();
        let mut last = 0;
        for loc in locs.filter(|loc| loc.grains() > 0) {
            // The log's order is inverse: the next block mostly ends where this one begins.
            let end = loc.grain() + u64::from(loc.grains());
            column.push(zigzag(last - end as i64));
            last = loc.grain() as i64;
        }
        w.column(&column);
        w.finish()
    }

    /// Checks a payload and takes it apart; always gives 504 addresses.
    pub fn decode(payload: &[u8]) -> Result<Words, FormatError> {
        let mut r = BitReader::new(STRUCTURE, payload);
        let n = r.number("count", FANOUT as u64)? as usize;
        let (mut lengths, mut places) = (Vec::new(), Vec::new());
        r.column("length", n, u16::MAX.into(), &mut lengths)?;
        let many = lengths.iter().filter(|&&grains| grains > 0).count();
        r.column("place", many, 4 * GRAINS, &mut places)?;
        let mut words = vec![0; FANOUT];
        let mut last = 0;
        let such = words.iter_mut().zip(&lengths).filter(|(_, grains)| **grains > 0);
        for ((word, &grains), &by) in such.zip(&places) {
            let grain = last - unzigzag(by) - grains as i64;
            if !(0..GRAINS as i64).contains(&grain) {
                return Err(r.invalid("place", "outside of every device"));
            }
            *word = Loc::new(grain as u64, grains as u16).raw();
            last = grain;
        }
        if !r.rest()?.is_empty() {
            return Err(FormatError::invalid(STRUCTURE, "len", "bytes behind the last address"));
        }
        Ok(Words(words))
    }

    /// Number of addresses up to the last that is not zero.
    pub fn count(&self) -> u32 {
        self.0.iter().take(FANOUT).rposition(|&w| w != 0).map_or(0, |last| last as u32 + 1)
    }

    /// Bytes that a block of them takes up at most, header and padding included, on a device of
    /// `size` bytes.
    pub fn most_bytes(size: u64) -> u64 {
        // Zigzag doubles, and all ones are not a value.
        let place = u64::from(u64::BITS - (size / GRAIN as u64 * 2).leading_zeros()) + 1;
        let bits = 3 * 16 + FANOUT as u64 * (LENGTH_BITS + place);
        (HEADER as u64 + bits.div_ceil(8)).next_multiple_of(GRAIN as u64)
    }
}

impl Default for Words {
    fn default() -> Words {
        Words::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn loc(grains: u64) -> impl Strategy<Value = u64> {
        let some = (0..grains, 1u16..1024).prop_map(|(grain, len)| Loc::new(grain, len).raw());
        prop_oneof![1 => Just(0), 4 => some]
    }

    #[test]
    fn neighbours_take_little() {
        let mut words = Words::new();
        let mut grain = 1 << 30;
        for (n, word) in words.0.iter_mut().enumerate() {
            let grains = 5 + n as u16 % 7;
            grain -= u64::from(grains);
            *word = Loc::new(grain, grains).raw();
        }
        let len = words.encode().len();
        assert!(len < FANOUT * 5 / 8 + 16, "{len}");
        assert_eq!(Words::new().encode(), [0, 0]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(Words::decode(&[]).is_err());
        let bytes = |n: u128, lengths: &[u64], places: &[u64]| {
            let mut w = BitWriter::default();
            w.number(n);
            w.column(lengths);
            w.column(places);
            w.finish()
        };
        assert!(Words::decode(&bytes(1, &[3], &[zigzag(-7)])).is_ok());
        assert!(Words::decode(&bytes(505, &[0; 505], &[])).is_err());
        assert!(Words::decode(&bytes(1, &[1 << 16], &[zigzag(-1 << 20)])).is_err());
        assert!(Words::decode(&bytes(1, &[3], &[zigzag(-2)])).is_err());
        assert!(Words::decode(&bytes(1, &[3], &[zigzag(-1 << 49)])).is_err());
        assert!(Words::decode(&[&bytes(1, &[3], &[zigzag(-7)])[..], &[0]].concat()).is_err());
    }

    proptest! {
        #[test]
        fn addresses_come_back(
            (grains, list) in (10u32..48).prop_flat_map(|bits| {
                (Just(1u64 << bits), prop::collection::vec(loc(1 << bits), 0..=FANOUT))
            })
        ) {
            let mut words = Words::new();
            words.0[..list.len()].copy_from_slice(&list);
            let bytes = words.encode();
            let most = Words::most_bytes(grains * GRAIN as u64);
            prop_assert!((HEADER + bytes.len()) as u64 <= most, "{} {most}", bytes.len());
            prop_assert_eq!(Words::decode(&bytes), Ok(words));
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(words) = Words::decode(&bytes) {
                prop_assert_eq!(Words::decode(&words.encode()), Ok(words));
            }
        }
    }
}
