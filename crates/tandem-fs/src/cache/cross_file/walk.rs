//! Whether somebody walks through small files, told by where on D they lie. Files that a directory
//! got together lie together, whatever the order in which they are read: an order is not bet on.

/// A file below this many bytes is followed by others (SpadFS §IV).
pub(super) const SMALL: u64 = 32 << 10;

/// A file below this many bytes takes part in a walk that small files have begun, as long as it is
/// read from its beginning on.
pub(crate) const MIDDLING: u64 = 16 << 20;

/// Read past the end of the first small file (SpadFS §IV).
const FIRST: u64 = 16 << 10;

/// Read when the second file lies near the first (SpadFS §IV).
const SECOND: u64 = 64 << 10;

/// Read around all that follow, at the beginning, of the directory's own files and of whatever else
/// lies there. What has been used of it tells how it goes on.
const WIDE: u64 = 256 << 10;

/// Read of either at most.
const WIDEST: u64 = 2 << 20;

/// Read while nothing of it is used, of whatever lies there: it takes a disk a tenth of the time of the
/// request that it may save. Of a directory's own files it is [`SECOND`].
const NARROWEST: u64 = 128 << 10;

/// Of a file that is read from its beginning on, read ahead at most.
const AHEAD: u64 = 1 << 20;

/// The part of a directory's run that may be something else, as a divisor.
const GAPS: u64 = 8;

/// Requests whose use is known before a width is changed.
const JUDGED: u64 = 4;

/// Of 256 bytes so many must be used for more of their kind to be read, and so many for as many.
const GROW: u64 = 96;
const KEEP: u64 = 48;

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
    /// Bytes of it that lie on D behind the read, without a gap.
    pub ahead: u64,
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
#[derive(Debug)]
pub(super) struct Walks {
    walks: [Walk; WALKS],
    ticks: u64,
    /// How much is read around a file of others of its directory, and of whatever else is there.
    pub siblings: Width,
    pub others: Width,
}

/// How much to read of what nobody has asked for, by how much of it was used.
#[derive(Debug)]
pub(super) struct Width {
    /// Bytes, and the fewest.
    width: u64,
    least: u64,
    /// Requests judged since it was changed, the bytes in them, and those used.
    judged: (u64, u64, u64),
}

impl Width {
    fn new(least: u64) -> Width {
        Width { width: WIDE, least, judged: (0, 0, 0) }
    }

    /// In bytes.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// Around the walk's file number `files`. A walk begins as the paper has it, unless more than that
    /// was worth while lately.
    fn at_file(&self, files: u32) -> u64 {
        match files {
            0 => 0,
            1 if self.width <= WIDE => FIRST.min(self.width),
            2 if self.width <= WIDE => SECOND.min(self.width),
            _ => self.width,
        }
    }

    /// Of `len` bytes that one request has brought, `used` were asked for. True when the width was
    /// changed by it: what is known of other requests was true of another width.
    pub fn learn(&mut self, used: u64, len: u64) -> bool {
        if len == 0 {
            return false;
        }
        let (requests, all, sum) = &mut self.judged;
        *requests += 1;
        *all += len;
        *sum += used;
        if *requests < JUDGED {
            return false;
        }
        let width = match *sum * 256 / *all {
            GROW.. => (self.width * 2).min(WIDEST),
            KEEP.. => self.width,
            _ => (self.width / 2).max(self.least),
        };
        self.judged = (0, 0, 0);
        std::mem::replace(&mut self.width, width) != width
    }
}

impl Default for Walks {
    fn default() -> Walks {
        let (siblings, others) = (Width::new(SECOND), Width::new(NARROWEST));
        Walks { walks: Default::default(), ticks: 0, siblings, others }
    }
}

impl Walks {
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

    /// What to read of a directory together with bytes `[at, end)`, of the walk's file number `files`:
    /// its files on both sides, as far as little else lies between them.
    pub fn directory(
        &self,
        (at, end): (u64, u64),
        files: u32,
        siblings: &[(u64, u64)],
    ) -> (u64, u64) {
        let (mut from, mut to) = (at, end);
        let (least, most) = match self.siblings.at_file(files) {
            0 => return (at, end),
            width => (at.saturating_sub(width), end.saturating_add(width)),
        };
        let mut gaps = 0;
        let mut join = |gap: u64, len: u64| {
            let joins = (gaps + gap) * GAPS <= len;
            gaps += if joins { gap } else { 0 };
            joins
        };
        let split = siblings.partition_point(|s| s.0 < at);
        for &(start, stop) in siblings[split..].iter().take_while(|s| s.1 <= most) {
            if !join(start.saturating_sub(to), stop.saturating_sub(from)) {
                break;
            }
            to = to.max(stop);
        }
        for &(start, stop) in siblings[..split].iter().rev().take_while(|s| s.0 >= least) {
            if !join(from.saturating_sub(stop), to - start) {
                break;
            }
            from = from.min(start);
        }
        (from, to)
    }

    /// What to read for bytes `[at, end)` of the walk's file number `files`: a range around them.
    pub fn window(&self, (at, end): (u64, u64), files: u32) -> (u64, u64) {
        let width = self.others.at_file(files);
        match width {
            0 => (at, end),
            1..=FIRST => (at, end + width),
            _ => {
                let from = at / width * width;
                (from, (from + width).max(end))
            }
        }
    }
}

/// How much of a file to read ahead of what is asked for, when it is read from its beginning on: as
/// much as was read.
pub(super) fn ahead(len: u64, file: FileAt) -> u64 {
    if file.size >= MIDDLING { 0 } else { (file.off + len).min(AHEAD).min(file.ahead) }
}
