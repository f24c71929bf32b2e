//! How a volume is made and mounted.

use std::time::Duration;

/// What mkfs may be told; `None` takes the default.
#[derive(Debug, Clone, Default)]
pub struct MkfsOptions {
    /// Bytes of the metadata area. Default: the whole device, or 10 % of it when it holds the
    /// data too (DualFS §1 takes the same share).
    pub metadata_size: Option<u64>,
    /// Bytes of the data area. Default: the rest.
    pub data_size: Option<u64>,
    /// Data block size in bytes, a power of two from 512 to 65,536. Default 4,096.
    pub data_block_size: Option<u32>,
    /// Segment size in bytes, a power of two from 64 KiB to 8 MiB. Default 1 MiB, less on a
    /// small metadata area.
    pub segment_size: Option<u32>,
    /// Label, at most 63 bytes.
    pub label: Option<String>,
    /// Identity. Default: random.
    pub uuid: Option<uuid::Uuid>,
    /// Significant bits of the name hash, for tests of collisions. Default 48.
    pub hash_bits: Option<u8>,
    /// Zero both ends of each device first, by which others would recognize what was there.
    pub wipe: bool,
}

/// What mkfs did.
#[derive(Debug, Clone, serde::Serialize)]
pub struct MkfsReport {
    /// The volume's identity.
    pub uuid: uuid::Uuid,
    /// Bytes of the metadata area.
    pub metadata_size: u64,
    /// Segment size in bytes.
    pub segment_size: u32,
    /// Segments of the log.
    pub segments: u64,
    /// Bytes of the data area.
    pub data_size: u64,
    /// Data block size in bytes.
    pub block_size: u32,
    /// Data blocks.
    pub blocks: u64,
    /// Groups.
    pub groups: u32,
    /// About how many small files with names of ordinary length the metadata area has room for.
    pub files: u64,
}

/// When a read changes the access time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Atime {
    /// When it is older than the last change, or than a day.
    #[default]
    Relative,
    /// Always.
    Strict,
    /// Never.
    Never,
}

/// Options of a mount.
#[derive(Debug, Clone)]
pub struct MountOptions {
    /// Change nothing on the devices; a crashed volume is recovered in memory only.
    pub read_only: bool,
    /// How long a change may stay in memory.
    pub flush: Duration,
    /// How long the log may grow before a checkpoint shortens the next recovery. There is one earlier
    /// when 128 MiB have been logged, or when the IFile's changed blocks take up much of the memory.
    pub checkpoint: Duration,
    /// Bound on the memory of all caches together, in bytes.
    pub cache: u64,
    /// Access times.
    pub atime: Atime,
    /// Metadata blocks to prefetch around one that must be read (DualFS §2.2); 0 = none.
    pub prefetch: u32,
    /// Write metadata that is read again beside what was read with it (DualFS §2.2).
    pub relocate: bool,
    /// Directory affinity in per cent (DualFS §2.2); 0 = always the emptiest group.
    pub affinity: u32,
    /// Continuous allocation of directories (SpadFS §IV).
    pub continuous: bool,
    /// Read the contents of neighbouring small files together (SpadFS §IV "Cross-file readahead").
    pub cross_file: bool,
    /// Give freed space back to the data device.
    pub discard: bool,
    /// Commit in the background; without, only fsync, sync, pressure and shutdown do.
    pub background: bool,
}

impl Default for MountOptions {
    fn default() -> MountOptions {
        MountOptions {
            read_only: false,
            flush: Duration::from_secs(5),
            checkpoint: Duration::from_secs(60),
            cache: 256 << 20,
            atime: Atime::Relative,
            prefetch: 16,
            relocate: true,
            affinity: 10,
            continuous: true,
            cross_file: true,
            discard: true,
            background: true,
        }
    }
}
