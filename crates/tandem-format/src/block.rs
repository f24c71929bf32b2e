//! The header that every metadata block starts with.

use crate::bytes::{get_u16, get_u32, get_u64};
use crate::error::FormatError;
use crate::units::{GRAIN, HEADER};

/// "TdmB".
const MAGIC: u32 = u32::from_le_bytes(*b"TdmB");
const STRUCTURE: &str = "block header";

/// What a metadata block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Entries of a directory.
    Leaf = 1,
    /// Table of a directory's extendible hashing.
    Table = 2,
    /// Node of an extent tree.
    Extent = 3,
    /// I-node records without a name.
    Inode = 4,
    /// Target of a symbolic link.
    Symlink = 5,
    /// Extended attributes.
    Xattr = 6,
    /// What a commit changed in the IFile.
    Delta = 7,
    /// IFile: addresses of blocks.
    Map = 16,
    /// IFile: homes of i-nodes.
    Imap = 17,
    /// IFile: use of segments.
    Seg = 18,
    /// IFile: groups of data blocks.
    Group = 19,
    /// IFile: free space.
    Free = 20,
}

impl TryFrom<u8> for Kind {
    type Error = FormatError;

    fn try_from(kind: u8) -> Result<Kind, FormatError> {
        Ok(match kind {
            1 => Kind::Leaf,
            2 => Kind::Table,
            3 => Kind::Extent,
            4 => Kind::Inode,
            5 => Kind::Symlink,
            6 => Kind::Xattr,
            7 => Kind::Delta,
            16 => Kind::Map,
            17 => Kind::Imap,
            18 => Kind::Seg,
            19 => Kind::Group,
            20 => Kind::Free,
            _ => return Err(FormatError::invalid(STRUCTURE, "kind", format!("{kind} is unknown"))),
        })
    }
}

/// What a block's header says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockMeta {
    /// The volume's number.
    pub volume: u64,
    /// Block id, or index in the IFile's table.
    pub id: u64,
    /// I-node that the block belongs to, or 0.
    pub owner: u64,
    /// Crash count when it was written.
    pub crash: u64,
    /// Serial number of the partial segment that it was written in.
    pub serial: u64,
    /// Logical position, by kind.
    pub index: u64,
    /// What it holds.
    pub kind: Kind,
    /// Level, by kind.
    pub level: u8,
    /// Entries in the payload.
    pub count: u32,
}

/// Appends a block to `out`, zero-padded to a grain; returns its checksum.
///
/// # Panics
/// When the payload has more than 65,471 bytes, the most that a header can express.
pub fn seal(out: &mut Vec<u8>, meta: &BlockMeta, payload: &[u8]) -> u32 {
    let len = HEADER + payload.len();
    assert!(len <= usize::from(u16::MAX), "a block of {len} bytes");
    let mut head = [0; HEADER];
    head[0..4].copy_from_slice(&MAGIC.to_le_bytes());
    head[8..16].copy_from_slice(&meta.volume.to_le_bytes());
    head[16..24].copy_from_slice(&meta.id.to_le_bytes());
    head[24..32].copy_from_slice(&meta.owner.to_le_bytes());
    head[32..40].copy_from_slice(&meta.crash.to_le_bytes());
    head[40..48].copy_from_slice(&meta.serial.to_le_bytes());
    head[48] = meta.kind as u8;
    head[49] = meta.level;
    head[50..52].copy_from_slice(&(len as u16).to_le_bytes());
    head[52..56].copy_from_slice(&meta.count.to_le_bytes());
    head[56..64].copy_from_slice(&meta.index.to_le_bytes());
    let crc = crc32c::crc32c_append(crc32c::crc32c(&head), payload);
    head[4..8].copy_from_slice(&crc.to_le_bytes());
    let padded = len.next_multiple_of(GRAIN);
    out.reserve(padded);
    out.extend_from_slice(&head);
    out.extend_from_slice(payload);
    out.resize(out.len() + padded - len, 0);
    crc
}

/// Checks a block's header and checksum; returns what the header says, and the payload without
/// padding. `block` may be longer than the block is.
pub fn open(block: &[u8]) -> Result<(BlockMeta, &[u8]), FormatError> {
    if block.len() < HEADER {
        return Err(FormatError::truncated(STRUCTURE, "header"));
    }
    if get_u32(block, 0) != MAGIC {
        return Err(FormatError::NotTandem { structure: "block" });
    }
    let len = usize::from(get_u16(block, 50));
    if len < HEADER || len > block.len() {
        let detail = format!("{len} bytes in a block of {}", block.len());
        return Err(FormatError::invalid(STRUCTURE, "len", detail));
    }
    let stored = get_u32(block, 4);
    let mut head = [0; HEADER];
    head.copy_from_slice(&block[..HEADER]);
    head[4..8].fill(0);
    let payload = &block[HEADER..len];
    let computed = crc32c::crc32c_append(crc32c::crc32c(&head), payload);
    if stored != computed {
        return Err(FormatError::Checksum { structure: "block", stored, computed });
    }
    let meta = BlockMeta {
        volume: get_u64(block, 8),
        id: get_u64(block, 16),
        owner: get_u64(block, 24),
        crash: get_u64(block, 32),
        serial: get_u64(block, 40),
        index: get_u64(block, 56),
        kind: Kind::try_from(block[48])?,
        level: block[49],
        count: get_u32(block, 52),
    };
    Ok((meta, payload))
}

/// What a block says of itself before anything of it has been checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// What it would hold.
    pub kind: Kind,
    /// Its level, by kind.
    pub level: u8,
    /// Its block id, or index in the IFile's table.
    pub id: u64,
    /// Its length in grains, not 0.
    pub grains: u16,
}

/// What the bytes at the start of a grain claim to be, when they look like a block's header. Nothing
/// of it is to be believed before [`open`] has agreed.
pub fn peek(grain: &[u8]) -> Option<Claim> {
    if grain.len() < HEADER || get_u32(grain, 0) != MAGIC {
        return None;
    }
    let len = usize::from(get_u16(grain, 50));
    let kind = Kind::try_from(grain[48]).ok()?;
    let grains = u16::try_from(len.div_ceil(GRAIN)).ok()?;
    (len >= HEADER).then_some(Claim { kind, level: grain[49], id: get_u64(grain, 16), grains })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const META: BlockMeta = BlockMeta {
        volume: 1,
        id: 2,
        owner: 3,
        crash: 4,
        serial: 5,
        index: 6,
        kind: Kind::Leaf,
        level: 7,
        count: 8,
    };

    fn sealed(payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        seal(&mut out, &META, payload);
        out
    }

    #[test]
    fn only_used_bytes_are_written() {
        for (payload, grains) in [(0, 1), (1, 2), (64, 2), (65, 3), (4032, 64)] {
            let block = sealed(&vec![7; payload]);
            assert_eq!(block.len(), grains * GRAIN);
            assert_eq!(open(&block), Ok((META, vec![7; payload].as_slice())));
        }
    }

    #[test]
    fn appends_to_what_is_there() {
        let mut out = vec![1; 100];
        let crc = seal(&mut out, &META, b"payload");
        assert_eq!(out[..100], [1; 100]);
        assert_eq!(out[104..108], crc.to_le_bytes());
        assert!(open(&out[100..]).is_ok());
    }

    #[test]
    fn says_what_is_wrong() {
        let field = |block: &[u8]| match open(block) {
            Err(FormatError::Invalid { field, .. } | FormatError::Truncated { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        assert_eq!(field(&[0; 63]), "header");
        assert_eq!(open(&[0; 64]), Err(FormatError::NotTandem { structure: "block" }));
        let block = sealed(&[1; 100]);
        assert_eq!(field(&block[..128]), "len");
        let mut out = Vec::new();
        seal(&mut out, &META, &[]);
        out[48] = 99;
        let mut head = out.clone();
        head[4..8].fill(0);
        out[4..8].copy_from_slice(&crc32c::crc32c(&head).to_le_bytes());
        assert_eq!(field(&out), "kind");
    }

    #[test]
    fn a_header_claims_what_it_says() {
        let block = sealed(&[1; 100]);
        assert_eq!(peek(&block), Some(Claim { kind: Kind::Leaf, level: 7, id: 2, grains: 3 }));
        assert_eq!(peek(&block[..63]), None);
        assert_eq!(peek(&block[64..]), None);
    }

    #[test]
    fn kinds_are_their_numbers() {
        for n in 0..=255 {
            if let Ok(kind) = Kind::try_from(n) {
                assert_eq!(kind as u8, n);
            }
        }
        assert_eq!((0..=255).filter(|&n| Kind::try_from(n).is_ok()).count(), 12);
    }

    proptest! {
        #[test]
        fn a_flipped_bit_is_noticed(len in 0usize..300, at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut block = sealed(&vec![5; len]);
            let at = at.index(HEADER + len);
            block[at] ^= 1u8 << bit;
            prop_assert!(open(&block).is_err());
        }

        #[test]
        fn any_bytes_are_refused(block in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(open(&block).is_err());
        }
    }
}
