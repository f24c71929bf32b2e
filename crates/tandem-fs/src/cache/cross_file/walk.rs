//! Whether somebody walks through small files, told by where on D they lie. Files that a directory
//! got together lie together, whatever the order in which they are read: an order is not bet on.

/// A file below this many bytes is followed by others (SpadFS §IV).
pub(super) const SMALL: u64 = 32 << 10;

/// A file below this many bytes takes part in a walk that small files have begun, as long as it is
/// read from its beginning on.
pub(super) const MIDDLING: u64 = 16 << 20;

/// Read past the end of the first small file (SpadFS §IV).
const FIRST: u64 = 16 << 10;

/// Read when the second file lies near the first (SpadFS §IV).
const SECOND: u64 = 64 << 10;

/// Read when the third does; all that follow bring [`WIDE`].
const THIRD: u64 = 256 << 10;
const WIDE: u64 = 1 << 20;

/// Read in a walk while almost every file is in memory when it is asked for.
const WIDEST: u64 = 2 << 20;

/// So many of 256 files have to be, for a walk to be recognized at its first file.
const SURE: u64 = 160;

/// Files this far apart on D are of one walk, in bytes.
const NEAR: u64 = 256 << 10;

/// A walk is remembered by the last bytes of it, at most this many.
const REACH: u64 = 4 << 20;

/// Walks remembered: several programs, two trees each.
const WALKS: usize = 16;

/// Which part of what file is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileAt {
    /// The file's size in bytes.
    pub size: u64,
    /// Byte of it at which the read begins.
    pub off: u64,
}

/// Neighbouring bytes of D out of which small files were read.
#[derive(Debug, Clone, Copy, Default)]
struct Walk {
    from: u64,
    to: u64,
    files: u32,
    /// Where the last read ended.
    next: u64,
    last: u64,
}

/// The walks that are going on.
#[derive(Debug, Default)]
pub(super) struct Walks {
    walks: [Walk; WALKS],
    ticks: u64,
    /// Of 256 bytes read ahead so many were used, about, lately.
    used: u64,
    /// Of 256 small files so many were in memory when they were asked for, about, lately.
    served: u64,
}

impl Walks {
    pub fn new() -> Walks {
        Walks { used: 256, ..Walks::default() }
    }

    /// A file is read at `[at, end)` of D; returns how many reads have been around there, this one
    /// included, or 0 when it is no part of a walk.
    pub fn note(&mut self, at: u64, end: u64, file: FileAt) -> u32 {
        if file.size >= MIDDLING {
            return 0;
        }
        self.ticks += 1;
        let near = |w: &Walk| w.files > 0 && at < w.to + NEAR && end + NEAR > w.from;
        let walk = match self.walks.iter().position(near) {
            Some(found) => &mut self.walks[found],
            None if file.size >= SMALL => return 0,
            None => {
                let Some(oldest) = self.walks.iter_mut().min_by_key(|w| w.last) else { return 0 };
                *oldest = Walk { from: at, to: end, ..Walk::default() };
                oldest
            }
        };
        if file.size >= SMALL && file.off > 0 && at != walk.next {
            return 0;
        }
        walk.next = end;
        walk.from = walk.from.min(at).max(end.saturating_sub(REACH));
        walk.to = walk.to.max(end).min(at + REACH);
        walk.files = walk.files.saturating_add(1);
        walk.last = self.ticks;
        walk.files
    }

    /// Whether a small file was in memory when it was asked for.
    pub fn served(&mut self, hit: bool) {
        self.served = (self.served * 31 + if hit { 256 } else { 0 }) / 32;
    }

    /// What to read for bytes `[at, end)` of the walk's file number `files`: a range around them.
    pub fn window(&self, at: u64, end: u64, files: u32) -> (u64, u64) {
        let sure = self.served >= SURE;
        let width = match files {
            0 => return (at, end),
            1 | 2 if sure => WIDE >> self.restraint(),
            1 => return (at, end + FIRST),
            2 => SECOND,
            3 => THIRD,
            _ if sure => WIDEST >> self.restraint(),
            _ => WIDE >> self.restraint(),
        };
        let from = at / width * width;
        (from, (from + width).max(end))
    }

    /// Halvings of the window, the more the less is used of what was read ahead.
    fn restraint(&self) -> u32 {
        match self.used {
            128.. => 0,
            64.. => 2,
            _ => 3,
        }
    }

    /// `used` of `len` bytes that one request brought were asked for.
    pub fn learn(&mut self, used: u64, len: u64) {
        if len <= SECOND {
            return;
        }
        self.used = (self.used * 15 + used * 256 / len.max(1)) / 16;
    }
}
