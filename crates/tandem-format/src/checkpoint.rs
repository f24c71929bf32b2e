//! From where a mount starts.

use crate::error::FormatError;
use crate::geometry::superblock_b;
use crate::page::{self, refuse};
use crate::units::{COUNT_MAX, GRAIN, ID_LIMIT, INO_LIMIT, Loc, Time};

const MAGIC: [u8; 8] = *b"TandemCP";
const STRUCTURE: &str = "checkpoint";

/// Radix tables of the IFile, in the order of a checkpoint's roots.
pub const TABLES: usize = 5;
/// The highest that a radix tree can be: 504^7 table blocks are more than any index reaches.
pub const HEIGHT_MAX: u8 = 7;

/// The root of one of the IFile's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointRoot {
    /// The root block; none: the table is empty.
    pub loc: Loc,
    /// Levels of nodes above the table blocks; 0: `loc` is the only table block.
    pub height: u8,
}

/// The state of a volume at one moment, and the place in the log where what came after begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Short form of the volume's uuid.
    pub volume: u64,
    /// Crash count: only partial segments of this number follow.
    pub crash: u64,
    /// Serial of the last partial segment covered.
    pub serial: u64,
    /// Number of the last commit covered.
    pub commit: u64,
    /// The volume was unmounted, and nothing follows.
    pub clean: bool,
    /// When it was written.
    pub time: Time,
    /// Segment where roll-forward begins.
    pub segment: u64,
    /// Byte in that segment where it begins, a multiple of a grain.
    pub offset: u32,
    /// The segment that follows when the current one is full.
    pub next_segment: u64,
    /// Serial of the partial segment that roll-forward expects first.
    pub next_serial: u64,
    /// Map, Imap, Seg, Group, Free.
    pub roots: [CheckpointRoot; TABLES],
    /// The lowest i-node number never used.
    pub next_ino: u64,
    /// The lowest block id never used.
    pub next_id: u64,
    /// Live i-nodes.
    pub inodes: u64,
    /// Bytes of live blocks on M.
    pub live_bytes: u64,
    /// Block ids in use.
    pub mapped: u64,
    /// Free data blocks: the sum of what the group descriptors say.
    pub free_blocks: u64,
    /// Bytes of the metadata area, as the superblock has it: tells where the second one is.
    pub meta_size: u64,
}

impl Checkpoint {
    /// The 4096 bytes of a checkpoint area.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = page::begin(MAGIC);
        out.extend_from_slice(&[u8::from(self.clean), 0, 0, 0]);
        for word in [self.volume, self.crash, self.serial, self.commit] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.time.secs.to_le_bytes());
        out.extend_from_slice(&self.time.nanos.to_le_bytes());
        out.extend_from_slice(&self.offset.to_le_bytes());
        for word in [self.segment, self.next_segment, self.next_serial] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for root in &self.roots {
            out.extend_from_slice(&root.loc.raw().to_le_bytes());
            out.extend_from_slice(&[root.height, 0, 0, 0, 0, 0, 0, 0]);
        }
        let counts = [self.next_ino, self.next_id, self.inodes];
        for word in counts.into_iter().chain([self.live_bytes, self.mapped, self.free_blocks]) {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.meta_size.to_le_bytes());
        page::finish(out)
    }

    /// Reads a checkpoint. Whether its numbers go with the volume is for the caller to see.
    ///
    /// # Errors
    /// [`FormatError::NotTandem`] when none was ever written here, others for damaged bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut f = page::check(bytes, MAGIC, STRUCTURE)?;
        let clean = match f.u32("clean")?.to_le_bytes() {
            [clean @ (0 | 1), ..] => clean == 1,
            [clean, ..] => return refuse(STRUCTURE, "clean", clean),
        };
        let (volume, crash) = (f.u64("volume")?, f.u64("crash count")?);
        let (serial, commit) = (f.u64("serial")?, f.u64("commit")?);
        let time = Time { secs: f.u64("time")? as i64, nanos: f.u32("time")? };
        if time.nanos >= Time::NANOS {
            return refuse(STRUCTURE, "time", time.nanos);
        }
        let offset = f.u32("offset")?;
        if !(offset as usize).is_multiple_of(GRAIN) {
            return refuse(STRUCTURE, "offset", offset);
        }
        let (segment, next_segment) = (f.u64("segment")?, f.u64("next segment")?);
        let next_serial = f.u64("next serial")?;
        let mut roots = [CheckpointRoot { loc: Loc::NONE, height: 0 }; TABLES];
        for root in &mut roots {
            let (loc, [height, ..]) = (f.u64("root")?, f.u64("height")?.to_le_bytes());
            *root = CheckpointRoot { loc: Loc::from_raw(loc), height };
            if height > HEIGHT_MAX || (root.loc.is_none() && height != 0) {
                return refuse(STRUCTURE, "height", height);
            }
        }
        let checkpoint = Checkpoint {
            volume,
            crash,
            serial,
            commit,
            clean,
            time,
            segment,
            offset,
            next_segment,
            next_serial,
            roots,
            next_ino: f.u64("next ino")?,
            next_id: f.u64("next id")?,
            inodes: f.u64("inodes")?,
            live_bytes: f.u64("live bytes")?,
            mapped: f.u64("mapped")?,
            free_blocks: f.u64("free blocks")?,
            meta_size: f.u64("metadata size")?,
        };
        checkpoint.check_counts()?;
        Ok(checkpoint)
    }

    /// What is counted on from here must not overflow.
    fn check_counts(&self) -> Result<(), FormatError> {
        let bounded = [
            ("crash count", self.crash, COUNT_MAX),
            ("serial", self.serial, COUNT_MAX),
            ("commit", self.commit, COUNT_MAX),
            ("next serial", self.next_serial, COUNT_MAX),
            ("next ino", self.next_ino, INO_LIMIT),
            ("next id", self.next_id, ID_LIMIT),
            ("inodes", self.inodes, COUNT_MAX),
            ("live bytes", self.live_bytes, COUNT_MAX),
            ("mapped", self.mapped, COUNT_MAX),
            ("free blocks", self.free_blocks, COUNT_MAX),
        ];
        match bounded.into_iter().find(|(_, count, most)| count > most) {
            Some((field, count, _)) => refuse(STRUCTURE, field, count),
            // Else the next checkpoint would not be the newer one.
            None if self.next_serial <= self.serial => {
                refuse(STRUCTURE, "next serial", self.next_serial)
            }
            None => Ok(()),
        }
    }

    /// Byte on M where the second superblock lies.
    pub fn superblock_b(&self) -> u64 {
        superblock_b(self.meta_size)
    }

    /// What decides which of two checkpoints counts: the greater.
    pub fn order(&self) -> (u64, u64) {
        (self.serial, self.crash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(n: u64, clean: bool, height: u8) -> Checkpoint {
        Checkpoint {
            volume: !n,
            crash: n,
            serial: n.wrapping_add(1),
            commit: n.wrapping_add(2),
            clean,
            time: Time { secs: n as i64, nanos: (n % 1_000_000_000) as u32 },
            segment: n.wrapping_add(3),
            offset: (n as u32) & !63,
            next_segment: n.wrapping_add(4),
            next_serial: n.wrapping_add(5),
            roots: std::array::from_fn(|i| CheckpointRoot {
                loc: Loc::from_raw(n | (i as u64 + 1) << 16 | 1),
                height,
            }),
            next_ino: n.wrapping_add(6),
            next_id: n.wrapping_add(7),
            inodes: n.wrapping_add(8),
            live_bytes: n.wrapping_add(9),
            mapped: n.wrapping_add(10),
            free_blocks: n.wrapping_add(11),
            meta_size: n.wrapping_add(12),
        }
    }

    #[test]
    fn counts_leave_room_to_count_on() {
        for n in [COUNT_MAX, u64::MAX - 1] {
            let wrong: [fn(&mut Checkpoint, u64); 11] = [
                |cp, _| cp.next_serial = cp.serial,
                |cp, n| cp.crash = n + 1,
                |cp, n| cp.serial = n + 1,
                |cp, n| cp.commit = n + 1,
                |cp, n| cp.next_serial = n + 1,
                |cp, n| cp.next_ino = n + 1,
                |cp, n| cp.next_id = n + 1,
                |cp, n| cp.inodes = n + 1,
                |cp, n| cp.live_bytes = n + 1,
                |cp, n| cp.mapped = n + 1,
                |cp, n| cp.free_blocks = n + 1,
            ];
            for change in wrong {
                let mut cp = sample(7, false, 1);
                change(&mut cp, n);
                assert!(matches!(
                    Checkpoint::decode(&cp.encode()),
                    Err(FormatError::Invalid { .. })
                ));
            }
        }
    }

    #[test]
    fn numbers_fit_the_six_bytes_of_a_summary() {
        for (next_ino, next_id, good) in [
            (INO_LIMIT, ID_LIMIT, true),
            (INO_LIMIT + 1, ID_LIMIT, false),
            (INO_LIMIT, ID_LIMIT + 1, false),
        ] {
            let cp = Checkpoint { next_ino, next_id, ..sample(7, false, 1) };
            assert_eq!(Checkpoint::decode(&cp.encode()).is_ok(), good, "{next_ino} {next_id}");
        }
    }

    #[test]
    fn fields_lie_where_the_document_says() {
        let cp = sample(0x1122_3344_5566, true, 3);
        let b = cp.encode();
        assert_eq!(b.len(), 4096);
        assert_eq!(&b[..8], b"TandemCP");
        assert_eq!(b[12], 1);
        assert_eq!(b[16..24], cp.volume.to_le_bytes());
        assert_eq!(b[40..48], cp.commit.to_le_bytes());
        assert_eq!(b[56..60], cp.time.nanos.to_le_bytes());
        assert_eq!(b[60..64], cp.offset.to_le_bytes());
        assert_eq!(b[80..88], cp.next_serial.to_le_bytes());
        assert_eq!(b[152..160], cp.roots[4].loc.raw().to_le_bytes());
        assert_eq!(b[160], 3);
        assert_eq!(b[168..176], cp.next_ino.to_le_bytes());
        assert_eq!(b[208..216], cp.free_blocks.to_le_bytes());
        assert_eq!(b[216..224], cp.meta_size.to_le_bytes());
        assert!(b[224..].iter().all(|&b| b == 0));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refuse = |cp: Checkpoint| {
            let found = Checkpoint::decode(&cp.encode());
            assert!(matches!(found, Err(FormatError::Invalid { .. })), "{found:?}");
        };
        let mut cp = sample(7, false, HEIGHT_MAX + 1);
        refuse(cp);
        cp = sample(7, false, 1);
        cp.offset = 32;
        refuse(cp);
        cp = sample(7, false, 1);
        cp.roots[2].loc = Loc::NONE;
        refuse(cp);
        cp = sample(7, false, 1);
        cp.time.nanos = u32::MAX;
        refuse(cp);
    }

    proptest! {
        #[test]
        fn comes_back(n in 0..1u64 << 47, clean in any::<bool>(), height in 0..=HEIGHT_MAX) {
            let cp = sample(n, clean, height);
            prop_assert_eq!(Checkpoint::decode(&cp.encode()), Ok(cp));
        }

        #[test]
        fn any_changed_byte_is_noticed(at in 0usize..4096, with in 1u8..) {
            let mut bytes = sample(9, true, 2).encode();
            bytes[at] ^= with;
            prop_assert!(Checkpoint::decode(&bytes).is_err());
        }

        #[test]
        fn with_a_right_checksum_anything_is_taken_or_refused(
            changes in prop::collection::vec((12usize..232, any::<u8>()), 1..8),
        ) {
            let mut bytes = sample(9, true, 2).encode();
            for (at, with) in changes {
                bytes[at] = with;
            }
            let crc = page::crc_without(&bytes, 8);
            bytes[8..12].copy_from_slice(&crc.to_le_bytes());
            if let Ok(cp) = Checkpoint::decode(&bytes) {
                prop_assert_eq!(Checkpoint::decode(&cp.encode()), Ok(cp));
            }
        }
    }
}
