//! Whether somebody walks through small files, told by where on D they lie. Files that a directory
//! got together lie together, whatever the order in which they are read: an order is not bet on.

use std::collections::VecDeque;

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

/// Read while little of it is used, of whatever lies there: it takes a disk a tenth of the time of the
/// request that it may save. While hardly any is, it is [`FIRST`]; of a directory's own files [`SECOND`].
const NARROW: u64 = 128 << 10;

/// Of a file that is read from its beginning on, read ahead at most.
const AHEAD: u64 = 1 << 20;

/// What lies between two files of a directory and is read with them, at most: it takes a disk a fifth
/// of the time of another request.
const GAP: u64 = 256 << 10;

/// Requests whose use is known before a width is changed, and before one that is narrow is.
const JUDGED: u64 = 4;
const JUDGED_NARROW: u64 = 16;

/// Of 256 bytes so many must be used for more of their kind to be read, so many for as many, and so
/// many for [`NARROW`].
const GROW: u64 = 96;
const KEEP: u64 = 48;
const HARDLY: u64 = 16;

/// Files this far apart on D are of one walk, in bytes.
const NEAR: u64 = 256 << 10;

/// A walk is remembered by the last bytes of it, at most this many.
const REACH: u64 = 4 << 20;

/// Walks remembered, and directories: several programs, two trees each.
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
    /// Where on D what precedes the read in the file ends.
    pub before: u64,
}

/// The directory that a file is in, as far as it is in memory.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    /// I-node number; 0 when it is unknown, or too large for a read in it to promise others.
    pub ino: u64,
    /// Where its files lie, in bytes of D, sorted.
    pub runs: Vec<(u64, u64)>,
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
    /// Directories whose files were read from D lately, the last one first, and how many reads.
    directories: VecDeque<(u64, u32)>,
    /// Where on D reads of files from their beginnings on have ended, the last one first.
    ends: VecDeque<u64>,
    ticks: u64,
    /// How much is read around a file of others of its directory, and of whatever else is there.
    pub siblings: Width,
    pub others: Width,
}

/// How much to read of what nobody has asked for, by how much of it was used.
#[derive(Debug)]
pub(super) struct Width {
    /// Bytes, the fewest while little is used, and while hardly any is.
    width: u64,
    narrow: u64,
    least: u64,
    /// More than was read was worth while lately.
    proven: bool,
    /// Requests judged since it was changed, the bytes in them, and those used.
    judged: (u64, u64, u64),
}

impl Width {
    fn new(narrow: u64, least: u64) -> Width {
        Width { width: WIDE, narrow, least, proven: false, judged: (0, 0, 0) }
    }

    /// In bytes.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// Around the walk's file number `files`. A walk begins as the paper has it, unless more than that
    /// was worth while lately.
    pub fn at_file(&self, files: u32) -> u64 {
        match files {
            0 => 0,
            1 if !self.proven => FIRST.min(self.width),
            2 if !self.proven => SECOND.min(self.width),
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
        if *requests < if self.width > self.narrow { JUDGED } else { JUDGED_NARROW } {
            return false;
        }
        let share = *sum * 256 / *all;
        let hardly = share < HARDLY && self.width <= self.narrow;
        let least = if hardly { self.least } else { self.narrow };
        let width = match share {
            GROW.. => (self.width * 2).min(WIDEST),
            KEEP.. => self.width,
            _ => (self.width / 2).max(least).min(self.width),
        };
        self.proven = share >= GROW;
        self.judged = (0, 0, 0);
        std::mem::replace(&mut self.width, width) != width
    }
}

impl Default for Walks {
    fn default() -> Walks {
        let (siblings, others) = (Width::new(SECOND, SECOND), Width::new(NARROW, FIRST));
        Walks {
            walks: Default::default(),
            directories: VecDeque::new(),
            ends: VecDeque::new(),
            ticks: 0,
            siblings,
            others,
        }
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

    /// Whether a file that is read up to byte `end` of D is read from its beginning on.
    pub fn goes_on(&mut self, file: FileAt, end: u64) -> bool {
        if file.size >= MIDDLING {
            return false;
        }
        let known = self.ends.iter().position(|&e| e == file.before);
        if file.off > 0 && known.is_none() {
            return false;
        }
        if let Some(at) = known {
            self.ends.remove(at);
        }
        self.ends.truncate(WALKS - 1);
        self.ends.push_front(end);
        true
    }

    /// A file of a directory must be read from D, from its beginning on or farther on; returns how
    /// many had to be lately, this one included, or 0 when a file that is not small is the only one and nothing is proven.
    /// Where a directory's files lie apart, this tells a walk that places do not.
    pub fn visit(&mut self, dir: u64, file: FileAt) -> u32 {
        if dir == 0 {
            return 0;
        }
        let known = self.directories.iter().position(|d| d.0 == dir);
        let before = known.and_then(|at| self.directories.remove(at)).map_or(0, |d| d.1);
        let files = before.saturating_add((file.off == 0).into());
        self.directories.truncate(WALKS - 1);
        self.directories.push_front((dir, files));
        let alone = files == 1 && file.size >= SMALL && !self.siblings.proven;
        if alone { 0 } else { files }
    }

    /// What to read of a directory together with bytes `[at, end)`, of the walk's file number `files`:
    /// its files on both sides, as far as not too much else lies between them.
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
        let split = siblings.partition_point(|s| s.0 < at);
        for &(start, stop) in siblings[split..].iter().take_while(|s| s.1 <= most) {
            if start.saturating_sub(to) > GAP {
                break;
            }
            to = to.max(stop);
        }
        for &(start, stop) in siblings[..split].iter().rev().take_while(|s| s.0 >= least) {
            if from.saturating_sub(stop) > GAP {
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

    /// How much of a file to read ahead of what is asked for, when it is read from its beginning on: as
    /// much as was read, and in a walk what is read of any file.
    pub fn ahead(&self, len: u64, file: FileAt, files: u32) -> u64 {
        (file.off + len).min(AHEAD).max(self.siblings.at_file(files)).min(file.ahead)
    }
}
