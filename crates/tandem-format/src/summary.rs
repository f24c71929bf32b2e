//! What a partial segment of the log begins with.

use crate::block::Kind;
use crate::bytes::{Reader, get_u32};
use crate::error::FormatError;
use crate::page::{crc_without, refuse};
use crate::units::{COUNT_MAX, GRAIN};

/// Bytes of a summary before its entries.
pub const SUMMARY_HEADER: usize = 96;
/// Bytes of a summary's entry.
pub const SUMMARY_ENTRY: usize = 20;
/// Bytes to which a partial segment is padded.
pub const PARTIAL_ALIGN: usize = 4096;
/// Grains of the largest partial segment: the whole of the largest segment.
pub const PARTIAL_MAX: u32 = (8 << 20) / GRAIN as u32;

const MAGIC: u32 = u32::from_le_bytes(*b"TdmS");
const CRC: usize = 4;
const STRUCTURE: &str = "summary";

bitflags::bitflags! {
    /// What a partial segment is.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct SummaryFlags: u16 {
        /// The commit goes on in the next partial segment.
        const CONTINUES = 1;
        /// It belongs to a checkpoint: its blocks are the IFile's.
        const CHECKPOINT = 2;
        /// The cleaner wrote it.
        const CLEANER = 4;
    }
}

/// One block of a partial segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SummaryEntry {
    /// Block id, or index in its table for a block of the IFile; below 2^48.
    pub id: u64,
    /// I-node number, or 0; below 2^48.
    pub owner: u64,
    /// The block's checksum.
    pub crc: u32,
    /// The block's length in grains.
    pub grains: u16,
    /// What the block is.
    pub kind: Kind,
    /// As in the block's header.
    pub level: u8,
}

/// What a partial segment is and which blocks follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Short form of the volume's uuid.
    pub volume: u64,
    /// Crash count of the mount that wrote it.
    pub crash: u64,
    /// One more than that of the partial segment before.
    pub serial: u64,
    /// Number of the commit.
    pub commit: u64,
    /// When it was written, nanoseconds since 1970.
    pub time: i64,
    /// What it is.
    pub flags: SummaryFlags,
    /// Grains of the partial segment, summary and padding included.
    pub total: u32,
    /// CRC32C of all that follows the summary, padding included.
    pub payload_crc: u32,
    /// The segment that follows when this one is full.
    pub next_segment: u64,
    /// The blocks, in order, without gaps.
    pub entries: Vec<SummaryEntry>,
}

impl Summary {
    /// Bytes of a summary of `n` entries.
    pub const fn len_for(n: usize) -> usize {
        let len = n.saturating_mul(SUMMARY_ENTRY).saturating_add(SUMMARY_HEADER);
        len.div_ceil(GRAIN).saturating_mul(GRAIN)
    }

    /// The bytes of the summary, padded to a grain.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::len_for(self.entries.len()));
        out.extend_from_slice(&MAGIC.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        for word in [self.volume, self.crash, self.serial, self.commit] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.time.to_le_bytes());
        out.extend_from_slice(&self.flags.bits().to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&(self.entries.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.total.to_le_bytes());
        out.extend_from_slice(&self.payload_crc.to_le_bytes());
        out.extend_from_slice(&self.next_segment.to_le_bytes());
        out.resize(SUMMARY_HEADER, 0);
        for entry in &self.entries {
            for word in [entry.id, entry.owner] {
                debug_assert!(word < 1 << 48, "{entry:?}");
                out.extend_from_slice(&word.to_le_bytes()[..6]);
            }
            out.extend_from_slice(&entry.crc.to_le_bytes());
            out.extend_from_slice(&entry.grains.to_le_bytes());
            out.extend_from_slice(&[entry.kind as u8, entry.level]);
        }
        out.resize(Self::len_for(self.entries.len()), 0);
        let crc = crc_without(&out, CRC);
        out[CRC..CRC + 4].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Number of blocks and grains in all, to know how much to read: the summary takes
    /// [`len_for`](Self::len_for) the blocks, the partial segment 64 bytes a grain. Nothing is
    /// checked but that these are possible.
    ///
    /// # Errors
    /// [`FormatError::Truncated`] below [`SUMMARY_HEADER`] bytes, [`FormatError::NotTandem`] when
    /// no summary begins here, [`FormatError::Invalid`] for impossible sizes.
    pub fn peek(bytes: &[u8]) -> Result<(u32, u32), FormatError> {
        let Some(header) = bytes.get(..SUMMARY_HEADER) else {
            return Err(FormatError::truncated(STRUCTURE, "header"));
        };
        if get_u32(header, 0) != MAGIC {
            return Err(FormatError::NotTandem { structure: STRUCTURE });
        }
        let (blocks, total) = (get_u32(header, 52), get_u32(header, 56));
        if total > PARTIAL_MAX || !(total as usize * GRAIN).is_multiple_of(PARTIAL_ALIGN) {
            return refuse(STRUCTURE, "total", total);
        }
        if Self::len_for(blocks as usize) > total as usize * GRAIN {
            return refuse(STRUCTURE, "blocks", blocks);
        }
        Ok((blocks, total))
    }

    /// Reads a summary and checks that its blocks fit the partial segment.
    ///
    /// # Errors
    /// [`FormatError::Truncated`] when `bytes` ends before the summary does ([`peek`](Self::peek)
    /// tells how long it is), [`FormatError::NotTandem`] when no summary begins here, others when
    /// it is damaged.
    pub fn decode(bytes: &[u8]) -> Result<Summary, FormatError> {
        let (blocks, total) = Self::peek(bytes)?;
        let len = Self::len_for(blocks as usize);
        let Some(bytes) = bytes.get(..len) else {
            return Err(FormatError::truncated(STRUCTURE, "entries"));
        };
        let (stored, computed) = (get_u32(bytes, CRC), crc_without(bytes, CRC));
        if stored != computed {
            return Err(FormatError::Checksum { structure: STRUCTURE, stored, computed });
        }
        let mut f = Reader::new(STRUCTURE, &bytes[CRC + 4..]);
        let (volume, crash) = (f.u64("volume")?, f.u64("crash count")?);
        let (serial, commit) = (f.u64("serial")?, f.u64("commit")?);
        for (field, count) in [("crash count", crash), ("serial", serial), ("commit", commit)] {
            if count > COUNT_MAX {
                return refuse(STRUCTURE, field, count);
            }
        }
        let (time, flags) = (f.u64("time")? as i64, f.u32("flags")?);
        let known = u16::try_from(flags).ok().and_then(SummaryFlags::from_bits);
        let Some(flags) = known else { return refuse(STRUCTURE, "flags", flags) };
        f.take("blocks and total", 8)?;
        let (payload_crc, next_segment) = (f.u32("payload checksum")?, f.u64("next segment")?);
        f.take("reserved", 24)?;
        let mut entries = Vec::with_capacity(blocks as usize);
        let mut grains = len / GRAIN;
        for _ in 0..blocks {
            let entry = entry(&mut f)?;
            grains += usize::from(entry.grains);
            if entry.grains == 0 || grains > total as usize {
                return refuse(STRUCTURE, "grains", entry.grains);
            }
            entries.push(entry);
        }
        Ok(Summary {
            volume,
            crash,
            serial,
            commit,
            time,
            flags,
            total,
            payload_crc,
            next_segment,
            entries,
        })
    }

    /// Bytes of this summary.
    pub fn encoded_len(&self) -> usize {
        Self::len_for(self.entries.len())
    }

    /// Whether `payload`, all that follows the summary up to `total`, is what was written.
    pub fn verify_payload(&self, payload: &[u8]) -> bool {
        let len = (self.total as usize).saturating_mul(GRAIN).saturating_sub(self.encoded_len());
        payload.len() == len && crc(payload) == self.payload_crc
    }

    /// The blocks, each with the grain where it begins, counted from the partial segment's start.
    pub fn blocks(&self) -> impl Iterator<Item = (u32, &SummaryEntry)> {
        let first = u32::try_from(self.encoded_len() / GRAIN).unwrap_or(u32::MAX);
        self.entries.iter().scan(first, |next, entry| {
            let at = *next;
            *next = at.saturating_add(u32::from(entry.grains));
            Some((at, entry))
        })
    }
}

/// CRC32C of a partial segment's payload.
pub fn crc(payload: &[u8]) -> u32 {
    crc32c::crc32c(payload)
}

fn entry(f: &mut Reader<'_>) -> Result<SummaryEntry, FormatError> {
    let (id, owner) = (f.u48("id")?, f.u48("owner")?);
    let (crc, [low, high, kind, level]) = (f.u32("crc")?, f.u32("kind")?.to_le_bytes());
    let grains = u16::from_le_bytes([low, high]);
    Ok(SummaryEntry { id, owner, crc, grains, kind: Kind::try_from(kind)?, level })
}

#[cfg(test)]
mod tests;
