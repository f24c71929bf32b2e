//! Pages of 4096 bytes that carry their own magic and checksum, field after field.

use crate::bytes::Reader;
use crate::error::FormatError;

/// Bytes of a superblock, a data label or a checkpoint.
pub const PAGE: usize = 4096;

/// Where the checksum of a page lies: right after the magic.
const CRC: usize = 8;

/// CRC32C of `bytes` with the four at `at` taken as zero.
pub(crate) fn crc_without(bytes: &[u8], at: usize) -> u32 {
    let (head, rest) = bytes.split_at(at.min(bytes.len()));
    let tail = rest.get(4..).unwrap_or_default();
    crc32c::crc32c_append(crc32c::crc32c_append(crc32c::crc32c(head), &[0; 4]), tail)
}

/// Begins a page: the magic, and room for the checksum.
pub(crate) fn begin(magic: [u8; 8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(PAGE);
    out.extend_from_slice(&magic);
    out.extend_from_slice(&[0; 4]);
    out
}

/// Pads a page with zeros and puts its checksum in.
pub(crate) fn finish(mut out: Vec<u8>) -> Vec<u8> {
    out.resize(PAGE, 0);
    let crc = crc_without(&out, CRC);
    out[CRC..CRC + 4].copy_from_slice(&crc.to_le_bytes());
    out
}

/// The fields of a page after its checksum. What follows the first 4096 bytes does not count.
pub(crate) fn check<'a>(
    bytes: &'a [u8],
    magic: [u8; 8],
    structure: &'static str,
) -> Result<Reader<'a>, FormatError> {
    let Some(page) = bytes.get(..PAGE) else {
        return Err(FormatError::truncated(structure, "page"));
    };
    let mut fields = Reader::new(structure, page);
    if fields.u64("magic")? != u64::from_le_bytes(magic) {
        return Err(FormatError::NotTandem { structure });
    }
    let (stored, computed) = (fields.u32("checksum")?, crc_without(page, CRC));
    if stored != computed {
        return Err(FormatError::Checksum { structure, stored, computed });
    }
    Ok(fields)
}

/// A field has a value that it cannot have.
#[cold]
pub(crate) fn refuse<T>(
    structure: &'static str,
    field: &'static str,
    value: impl Into<u64>,
) -> Result<T, FormatError> {
    Err(FormatError::invalid(structure, field, format!("{} cannot be", value.into())))
}
