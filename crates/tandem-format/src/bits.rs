//! Numbers of any width in bits, and columns of them: what packed blocks are made of.

use crate::error::FormatError;

/// Most bits of a column's values; larger ones are spelled out.
const WIDTH_MAX: u32 = 63;
/// Bits that tell how many bits a number has.
const LENGTH: u32 = 7;

/// A signed number as an unsigned one that is small when it is close to zero.
#[inline]
pub(crate) fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

/// The inverse of [`zigzag`].
#[inline]
pub(crate) fn unzigzag(n: u64) -> i64 {
    (n >> 1) as i64 ^ -((n & 1) as i64)
}

/// Appends bits, the lowest first, from the lowest bit of each byte on.
#[derive(Default)]
pub(crate) struct BitWriter {
    out: Vec<u8>,
    acc: u64,
    held: u32,
}

impl BitWriter {
    #[inline]
    fn put_few(&mut self, value: u64, bits: u32) {
        debug_assert!(bits <= 32 && value >> bits == 0, "{value:#x} in {bits} bits");
        self.acc |= value << self.held;
        self.held += bits;
        if self.held >= 32 {
            self.out.extend_from_slice(&(self.acc as u32).to_le_bytes());
            self.acc >>= 32;
            self.held -= 32;
        }
    }

    /// Appends a value that has at most `bits` bits.
    #[inline]
    pub fn put(&mut self, value: u64, bits: u32) {
        if bits <= 32 {
            return self.put_few(value, bits);
        }
        self.put_few(value & 0xffff_ffff, 32);
        self.put_few(value >> 32, bits - 32);
    }

    /// Appends a number of less than 128 bits: its length, and that many bits.
    pub fn number(&mut self, mut value: u128) {
        let mut bits = 128 - value.leading_zeros();
        self.put_few(u64::from(bits), LENGTH);
        while bits > 0 {
            let few = bits.min(32);
            self.put_few(value as u64 & ((1 << few) - 1), few);
            value >>= few;
            bits -= few;
        }
    }

    /// Appends a column.
    pub fn column(&mut self, values: &[u64]) {
        self.cells(values, |at| values[at].into());
    }

    /// The same; what does not fit the width is spelled out as `full` has it. `u64::MAX` never fits.
    pub fn cells(&mut self, values: &[u64], full: impl Fn(usize) -> u128) {
        let some = values.iter().any(|&v| v != 0);
        self.put_few(some.into(), 1);
        if !some {
            return;
        }
        let width = width(values);
        self.put_few(width.into(), 6);
        let escape = (1 << width) - 1;
        for (at, &value) in values.iter().enumerate() {
            if value < escape {
                self.put(value, width);
            } else {
                self.put(escape, width);
                self.number(full(at));
            }
        }
    }

    /// The bytes; the last one is filled up with zeros.
    pub fn finish(mut self) -> Vec<u8> {
        let left = self.held.div_ceil(8) as usize;
        self.out.extend_from_slice(&self.acc.to_le_bytes()[..left]);
        self.out
    }
}

/// The width that takes the fewest bits for a column, 1 to 63.
fn width(values: &[u64]) -> u32 {
    let mut by_length = [0u32; 66];
    for &value in values {
        // All ones mark what is spelled out.
        let bits = if value == u64::MAX { 65 } else { 64 - (value + 1).leading_zeros() };
        by_length[bits as usize] += 1;
    }
    let longest = by_length.iter().rposition(|&n| n > 0).unwrap_or(0) as u32;
    let (mut best, mut least) = (1, u32::MAX);
    let (mut spelled, mut width) = (0, longest.max(1));
    loop {
        if width <= WIDTH_MAX {
            let cost = values.len() as u32 * width + spelled;
            (best, least) = if cost <= least { (width, cost) } else { (best, least) };
        }
        if width == 1 {
            return best;
        }
        spelled += by_length[width as usize] * (LENGTH + width);
        width -= 1;
    }
}

/// Takes bits off the front of a slice.
pub(crate) struct BitReader<'a> {
    structure: &'static str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    pub fn new(structure: &'static str, bytes: &'a [u8]) -> BitReader<'a> {
        BitReader { structure, bytes, at: 0 }
    }

    #[cold]
    pub fn invalid(&self, field: &'static str, detail: &'static str) -> FormatError {
        FormatError::invalid(self.structure, field, detail)
    }

    #[inline]
    fn get_few(&mut self, field: &'static str, bits: u32) -> Result<u64, FormatError> {
        let from = self.at / 8;
        let end = self.at + bits as usize;
        if end > self.bytes.len() * 8 {
            return Err(FormatError::truncated(self.structure, field));
        }
        let rest = &self.bytes[from..];
        let word = match rest.first_chunk::<8>() {
            Some(word) => u64::from_le_bytes(*word),
            None => rest.iter().rev().fold(0, |word, &b| word << 8 | u64::from(b)),
        };
        let value = word >> (self.at % 8) & ((1 << bits) - 1);
        self.at = end;
        Ok(value)
    }

    /// The next `bits` bits, at most 64.
    #[inline]
    pub fn get(&mut self, field: &'static str, bits: u32) -> Result<u64, FormatError> {
        if bits <= 32 {
            return self.get_few(field, bits);
        }
        let low = self.get_few(field, 32)?;
        Ok(low | self.get_few(field, bits - 32)? << 32)
    }

    /// A number of less than 128 bits.
    pub fn long(&mut self, field: &'static str) -> Result<u128, FormatError> {
        let bits = self.get_few(field, LENGTH)? as u32;
        let low = self.get(field, bits.min(64))?;
        Ok(u128::from(low) | u128::from(self.get(field, bits.saturating_sub(64))?) << 64)
    }

    /// A number that is at most `most`.
    pub fn number(&mut self, field: &'static str, most: u64) -> Result<u64, FormatError> {
        match u64::try_from(self.long(field)?) {
            Ok(value) if value <= most => Ok(value),
            _ => Err(self.invalid(field, "larger than it can be")),
        }
    }

    /// A column's width; none for a column of zeros.
    pub fn width(&mut self, field: &'static str) -> Result<Option<u32>, FormatError> {
        if self.get_few(field, 1)? == 0 {
            return Ok(None);
        }
        match self.get_few(field, 6)? as u32 {
            0 => Err(self.invalid(field, "a column without width")),
            width => Ok(Some(width)),
        }
    }

    /// The next cell of a column of this width; none when it is spelled out behind.
    #[inline]
    pub fn cell(&mut self, field: &'static str, width: u32) -> Result<Option<u64>, FormatError> {
        let value = self.get(field, width)?;
        Ok((value != (1 << width) - 1).then_some(value))
    }

    /// A column of `n` values that are at most `most`, into `to`.
    pub fn column(
        &mut self,
        field: &'static str,
        n: usize,
        most: u64,
        to: &mut Vec<u64>,
    ) -> Result<(), FormatError> {
        to.clear();
        let Some(width) = self.width(field)? else {
            to.resize(n, 0);
            return Ok(());
        };
        to.reserve(n);
        for _ in 0..n {
            let value = match self.cell(field, width)? {
                Some(value) => value,
                None => self.number(field, u64::MAX)?,
            };
            if value > most {
                return Err(self.invalid(field, "larger than it can be"));
            }
            to.push(value);
        }
        Ok(())
    }

    /// The bytes behind the one that was begun, which must be filled up with zeros.
    pub fn rest(self) -> Result<&'a [u8], FormatError> {
        let whole = self.at.div_ceil(8);
        if !self.at.is_multiple_of(8) && self.bytes[whole - 1] >> (self.at % 8) != 0 {
            return Err(FormatError::invalid(self.structure, "padding", "not zero"));
        }
        Ok(&self.bytes[whole..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0u32..64, any::<bool>())
            .prop_map(|(v, shift, ones)| if ones { u64::MAX >> shift } else { v >> shift })
    }

    fn bits(columns: &[&[u64]]) -> usize {
        let mut w = BitWriter::default();
        columns.iter().for_each(|c| w.column(c));
        w.out.len() * 8 + w.held as usize
    }

    #[test]
    fn columns_are_short() {
        assert_eq!(bits(&[&[0; 100]]), 1);
        assert_eq!(bits(&[&[1, 2, 0, 2, 1, 0]]), 7 + 6 * 2);
        let mut values = [3; 100];
        values[7] = 1 << 40;
        assert_eq!(bits(&[&values]), 7 + 100 * 3 + 7 + 41);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(BitReader::new("s", &[1]).column("f", 1, 9, &mut Vec::new()).is_err());
        assert!(BitReader::new("s", &[]).column("f", 0, 9, &mut Vec::new()).is_err());
        let mut w = BitWriter::default();
        w.column(&[10]);
        w.number(1 << 64);
        let bytes = w.finish();
        assert!(BitReader::new("s", &bytes).column("f", 1, 9, &mut Vec::new()).is_err());
        let mut r = BitReader::new("s", &bytes);
        assert!(r.column("f", 1, 10, &mut Vec::new()).is_ok());
        assert!(r.number("f", u64::MAX).is_err());
        let mut r = BitReader::new("s", &[0x81]);
        r.get("f", 3).unwrap();
        assert!(r.rest().is_err());
    }

    proptest! {
        #[test]
        fn columns_come_back(columns in prop::collection::vec(prop::collection::vec(value(), 0..50), 0..8)) {
            let mut w = BitWriter::default();
            columns.iter().for_each(|c| w.column(c));
            let bytes = w.finish();
            let mut r = BitReader::new("s", &bytes);
            for column in &columns {
                let mut read = Vec::new();
                r.column("f", column.len(), u64::MAX, &mut read).unwrap();
                prop_assert_eq!(&read, column);
            }
            prop_assert_eq!(r.rest(), Ok(&[][..]));
        }

        #[test]
        fn a_value_more_costs_little(values in prop::collection::vec(value(), 1..60), more in value()) {
            let without = bits(&[&values]);
            let zero = values.iter().all(|&v| v == 0);
            let with = bits(&[&[values.as_slice(), &[more]].concat()]);
            let most = without + 7 + 64 + 63 + if zero { 6 + values.len() } else { 0 };
            prop_assert!(with <= most, "{without} {with}");
        }

        #[test]
        fn numbers_come_back(value in any::<u128>(), shift in 1u32..128, from in 0u32..8) {
            let value = value >> shift;
            let mut w = BitWriter::default();
            w.put(0, from);
            w.number(value);
            let bytes = w.finish();
            let mut r = BitReader::new("s", &bytes);
            r.get("f", from).unwrap();
            prop_assert_eq!(r.long("f"), Ok(value));
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..60), n in 0usize..80) {
            let mut r = BitReader::new("s", &bytes);
            while r.column("f", n, 1 << 40, &mut Vec::new()).is_ok() && r.long("f").is_ok() {}
            let _ = r.rest();
        }
    }
}
