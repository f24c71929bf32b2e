//! Units, addresses, and time.

/// Most that crash counts, serial and commit numbers and totals may be, so that counting on from
/// them cannot overflow.
pub const COUNT_MAX: u64 = 1 << 62;
/// I-node numbers are below this.
pub const INO_LIMIT: u64 = 1 << 48;
/// Block ids that a device gives are below this; six bytes hold those that a mount goes on to.
pub const ID_LIMIT: u64 = 1 << 47;
/// Bytes of a grain, the unit in which metadata is addressed.
pub const GRAIN: usize = 64;
/// Bytes of a metadata block's header.
pub const HEADER: usize = 64;
/// Largest metadata block in bytes, header included; deltas, symbolic links and attributes may be
/// larger.
pub const BLOCK: usize = 4096;
/// Largest payload of such a block in bytes.
pub const PAYLOAD: usize = BLOCK - HEADER;
/// Addresses in a block of the block map or a radix node.
pub const FANOUT: usize = PAYLOAD / 8;
/// I-nodes in a block of the i-node map.
pub const IMAP_PER_BLOCK: usize = PAYLOAD / 16;
/// Segments in a block of the segment usage table.
pub const SEG_PER_BLOCK: usize = PAYLOAD / 16;
/// Groups in a block of the group table.
pub const GROUP_PER_BLOCK: usize = PAYLOAD / 32;

/// Where a block lies on the metadata device, and how long it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Loc(u64);

impl Loc {
    /// Nowhere.
    pub const NONE: Loc = Loc(0);

    /// `grains` grains from grain `grain` (less than 2^48) on.
    pub const fn new(grain: u64, grains: u16) -> Loc {
        Loc(grain << 16 | grains as u64)
    }

    /// First grain.
    pub const fn grain(self) -> u64 {
        self.0 >> 16
    }

    /// Length in grains.
    pub const fn grains(self) -> u16 {
        self.0 as u16
    }

    /// Length in bytes.
    pub const fn bytes(self) -> u64 {
        self.grains() as u64 * GRAIN as u64
    }

    /// First byte.
    pub const fn offset(self) -> u64 {
        self.grain() * GRAIN as u64
    }

    /// Whether it is [`Loc::NONE`].
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// As stored.
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// From what is stored.
    pub const fn from_raw(raw: u64) -> Loc {
        Loc(raw)
    }
}

impl std::fmt::Debug for Loc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_none() {
            return f.write_str("nowhere");
        }
        write!(f, "{}+{}", self.offset(), self.bytes())
    }
}

/// A point in time, counted from 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time {
    /// Whole seconds; i-node records clamp them to ±2^39.
    pub secs: i64,
    /// Nanoseconds, less than 10^9, counted forward also before 1970.
    pub nanos: u32,
}

impl Time {
    /// Nanoseconds in a second.
    pub const NANOS: u32 = 1_000_000_000;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_the_format() {
        assert_eq!((PAYLOAD, FANOUT, IMAP_PER_BLOCK), (4032, 504, 252));
        assert_eq!((SEG_PER_BLOCK, GROUP_PER_BLOCK), (252, 126));
    }

    #[test]
    fn addresses_come_apart() {
        let loc = Loc::new((1 << 48) - 1, u16::MAX);
        assert_eq!(loc.raw(), u64::MAX);
        assert_eq!((loc.grain(), loc.grains()), ((1 << 48) - 1, u16::MAX));
        let loc = Loc::from_raw(Loc::new(1024, 3).raw());
        assert_eq!((loc.offset(), loc.bytes()), (65536, 192));
        assert!(Loc::NONE.is_none() && Loc::default().is_none() && !loc.is_none());
    }
}
