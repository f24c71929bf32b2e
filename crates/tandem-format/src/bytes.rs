//! Little-endian numbers in byte slices.

use crate::error::FormatError;

/// The number at byte `at`; the caller knows that it is there.
#[inline]
pub(crate) fn get_u16(buf: &[u8], at: usize) -> u16 {
    let mut a = [0; 2];
    a.copy_from_slice(&buf[at..at + 2]);
    u16::from_le_bytes(a)
}

/// The number at byte `at`; the caller knows that it is there.
#[inline]
pub(crate) fn get_u32(buf: &[u8], at: usize) -> u32 {
    let mut a = [0; 4];
    a.copy_from_slice(&buf[at..at + 4]);
    u32::from_le_bytes(a)
}

/// The six-byte number at byte `at`; the caller knows that it is there.
#[inline]
pub(crate) fn get_u48(buf: &[u8], at: usize) -> u64 {
    u64::from(get_u32(buf, at)) | u64::from(get_u16(buf, at + 4)) << 32
}

/// The number at byte `at`; the caller knows that it is there.
#[inline]
pub(crate) fn get_u64(buf: &[u8], at: usize) -> u64 {
    let mut a = [0; 8];
    a.copy_from_slice(&buf[at..at + 8]);
    u64::from_le_bytes(a)
}

/// Largest number of bytes of a variable-length number.
pub(crate) const VARINT_MAX: usize = 10;

/// Writes `v` as LEB128 into `buf` at `at`; returns the first byte behind it.
#[inline]
pub(crate) fn set_varint(buf: &mut [u8], mut at: usize, mut v: u64) -> usize {
    while v >= 0x80 {
        buf[at] = v as u8 | 0x80;
        v >>= 7;
        at += 1;
    }
    buf[at] = v as u8;
    at + 1
}

/// Appends `v` as LEB128.
#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, v: u64) {
    if v < 0x80 {
        return out.push(v as u8);
    }
    let mut buf = [0; VARINT_MAX];
    let n = set_varint(&mut buf, 0, v);
    out.extend_from_slice(&buf[..n]);
}

/// Bytes that [`put_varint`] appends.
#[inline]
pub(crate) fn varint_len(v: u64) -> usize {
    let bits = 64 - (v | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Takes fields off the front of a slice.
pub(crate) struct Reader<'a> {
    structure: &'static str,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    #[inline]
    pub fn new(structure: &'static str, bytes: &'a [u8]) -> Reader<'a> {
        Reader { structure, rest: bytes }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    pub fn take(&mut self, field: &'static str, n: usize) -> Result<&'a [u8], FormatError> {
        match self.rest.split_at_checked(n) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(bytes)
            }
            None => Err(FormatError::truncated(self.structure, field)),
        }
    }

    #[inline]
    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], FormatError> {
        match self.rest.split_first_chunk::<N>() {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(*bytes)
            }
            None => Err(FormatError::truncated(self.structure, field)),
        }
    }

    #[inline]
    pub fn u8(&mut self, field: &'static str) -> Result<u8, FormatError> {
        self.array::<1>(field).map(|[b]| b)
    }

    #[inline]
    pub fn u32(&mut self, field: &'static str) -> Result<u32, FormatError> {
        self.array(field).map(u32::from_le_bytes)
    }

    #[inline]
    pub fn u48(&mut self, field: &'static str) -> Result<u64, FormatError> {
        self.array::<6>(field).map(|b| get_u48(&b, 0))
    }

    #[inline]
    pub fn u64(&mut self, field: &'static str) -> Result<u64, FormatError> {
        self.array(field).map(u64::from_le_bytes)
    }

    #[inline]
    pub fn varint(&mut self, field: &'static str) -> Result<u64, FormatError> {
        if let Some((&b, rest)) = self.rest.split_first() {
            if b < 0x80 {
                self.rest = rest;
                return Ok(u64::from(b));
            }
        }
        self.long_varint(field)
    }

    fn long_varint(&mut self, field: &'static str) -> Result<u64, FormatError> {
        let mut v = 0u64;
        for (n, &b) in self.rest.iter().take(VARINT_MAX).enumerate() {
            if n == VARINT_MAX - 1 && b > 1 {
                break;
            }
            v |= u64::from(b & 0x7f) << (7 * n);
            if b < 0x80 {
                self.rest = &self.rest[n + 1..];
                return Ok(v);
            }
        }
        if self.rest.len() < VARINT_MAX {
            return Err(FormatError::truncated(self.structure, field));
        }
        Err(self.invalid(field, "number beyond 64 bits"))
    }

    /// A number that is a length in memory or a count.
    #[inline]
    pub fn varint_u32(&mut self, field: &'static str) -> Result<u32, FormatError> {
        let v = self.varint(field)?;
        u32::try_from(v).map_err(|_| self.invalid(field, "number beyond 32 bits"))
    }

    #[cold]
    pub fn invalid(&self, field: &'static str, detail: &'static str) -> FormatError {
        FormatError::invalid(self.structure, field, detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn varints_beyond_64_bits_are_refused() {
        let mut ten = [0x80; 10];
        ten[9] = 2;
        assert_eq!(
            Reader::new("s", &ten).varint("f"),
            Err(FormatError::invalid("s", "f", "number beyond 64 bits"))
        );
        ten[9] = 1;
        assert_eq!(Reader::new("s", &ten).varint("f"), Ok(1 << 63));
        assert_eq!(Reader::new("s", &ten[..9]).varint("f"), Err(FormatError::truncated("s", "f")));
        assert_eq!(Reader::new("s", &[]).varint("f"), Err(FormatError::truncated("s", "f")));
        assert!(Reader::new("s", &[0x80; 20]).varint("f").is_err());
    }

    proptest! {
        #[test]
        fn varints_come_back(v in any::<u64>(), shift in 0..64) {
            let v = v >> shift;
            let mut out = Vec::new();
            put_varint(&mut out, v);
            prop_assert_eq!(out.len(), varint_len(v));
            let mut r = Reader::new("s", &out);
            prop_assert_eq!(r.varint("f"), Ok(v));
            prop_assert!(r.is_empty());
        }
    }
}
