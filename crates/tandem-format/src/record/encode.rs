//! I-node records to bytes.

use super::{
    ATIME, BTIME, CONTENT_SHIFT, CTIME, Content, FIXED, NLINK, OWNER, Record, SECS, SIZE, TIME,
    XATTR_SHIFT, Xattrs,
};
use crate::bytes::{VARINT_MAX, put_varint, set_varint, varint_len};
use crate::units::Time;

/// Most bytes of a record up to the size.
const HEAD_MAX: usize = FIXED + 4 + 8 + 4 * TIME + VARINT_MAX;

impl Record {
    /// Appends the record. Seconds are clamped to ±2^39, nanoseconds to less than 10^9.
    pub fn encode(&self, out: &mut Vec<u8>) {
        debug_assert!(self.ino != 0 && self.ino >> 48 == 0, "i-node number {}", self.ino);
        let flags = self.flags();
        let mut head = [0; HEAD_MAX];
        head[..2].copy_from_slice(&(self.mode as u16).to_le_bytes());
        head[2..4].copy_from_slice(&flags.to_le_bytes());
        head[4..10].copy_from_slice(&self.ino.to_le_bytes()[..6]);
        head[10..14].copy_from_slice(&self.generation.to_le_bytes());
        let mut at = FIXED;
        if flags & NLINK != 0 {
            head[at..at + 4].copy_from_slice(&self.nlink.to_le_bytes());
            at += 4;
        }
        if flags & OWNER != 0 {
            head[at..at + 4].copy_from_slice(&self.uid.to_le_bytes());
            head[at + 4..at + 8].copy_from_slice(&self.gid.to_le_bytes());
            at += 8;
        }
        at = set_time(&mut head, at, self.mtime);
        if flags & ATIME != 0 {
            at = set_time(&mut head, at, self.atime);
        }
        if flags & CTIME != 0 {
            at = set_time(&mut head, at, self.ctime);
        }
        if flags & BTIME != 0 {
            at = set_time(&mut head, at, self.btime);
        }
        if flags & SIZE != 0 {
            at = set_varint(&mut head, at, self.size);
        }
        out.extend_from_slice(&head[..at]);
        self.content.encode(out);
        self.xattrs.encode(out);
    }

    /// Bytes that [`Record::encode`] appends.
    pub fn encoded_len(&self) -> usize {
        let flags = self.flags();
        let times = 1 + (flags & (ATIME | CTIME | BTIME)).count_ones() as usize;
        let mut len = FIXED + times * TIME;
        if flags & NLINK != 0 {
            len += 4;
        }
        if flags & OWNER != 0 {
            len += 8;
        }
        if flags & SIZE != 0 {
            len += varint_len(self.size);
        }
        len + self.content.encoded_len() + self.xattrs.encoded_len()
    }

    #[inline]
    fn flags(&self) -> u16 {
        let flag = |on: bool, flag: u16| if on { flag } else { 0 };
        flag(self.nlink != Record::usual_links(&self.content), NLINK)
            | flag(self.uid != 0 || self.gid != 0, OWNER)
            | flag(self.atime != self.mtime, ATIME)
            | flag(self.ctime != self.mtime, CTIME)
            | flag(self.btime != self.mtime, BTIME)
            | flag(self.size != 0, SIZE)
            | self.content.tag() << CONTENT_SHIFT
            | self.xattrs.tag() << XATTR_SHIFT
    }
}

#[inline]
fn set_time(buf: &mut [u8], at: usize, time: Time) -> usize {
    let secs = time.secs.clamp(-SECS, SECS - 1);
    buf[at..at + 5].copy_from_slice(&secs.to_le_bytes()[..5]);
    buf[at + 5..at + TIME].copy_from_slice(&time.nanos.min(Time::NANOS - 1).to_le_bytes());
    at + TIME
}

impl Content {
    #[inline]
    pub(crate) fn tag(&self) -> u16 {
        match self {
            Content::Extents(list) if list.is_empty() => 0,
            Content::None => 0,
            Content::Extents(_) => 1,
            Content::Tree { .. } => 2,
            Content::Dir(_) => 3,
            Content::Symlink(_) => 4,
            Content::SymlinkBlock(_) => 5,
            Content::Device(_) => 6,
        }
    }

    #[inline]
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Content::None => {}
            Content::Extents(list) if list.is_empty() => {}
            Content::Extents(list) => {
                put_varint(out, list.len() as u64);
                let mut end = 0;
                for e in list {
                    // Extents out of order wrap around, which a decoder refuses.
                    put_varint(out, e.logical.wrapping_sub(end));
                    put_varint(out, e.start);
                    put_varint(out, u64::from(e.len) << 1 | u64::from(e.unwritten));
                    end = e.logical.wrapping_add(u64::from(e.len));
                }
            }
            Content::Tree { root, height, blocks, extents } => {
                out.extend_from_slice(&root.to_le_bytes());
                out.push(*height);
                put_varint(out, *blocks);
                put_varint(out, *extents);
            }
            Content::Dir(dir) => {
                out.extend_from_slice(&dir.parent.to_le_bytes()[..6]);
                put_varint(out, dir.entries);
                put_varint(out, u64::from(dir.subdirs));
                out.extend_from_slice(&dir.root.to_le_bytes());
                out.extend_from_slice(&dir.group.to_le_bytes());
            }
            Content::Symlink(target) => {
                put_varint(out, target.len() as u64);
                out.extend_from_slice(target);
            }
            Content::SymlinkBlock(id) => out.extend_from_slice(&id.to_le_bytes()),
            Content::Device(rdev) => out.extend_from_slice(&rdev.to_le_bytes()),
        }
    }

    #[inline]
    fn encoded_len(&self) -> usize {
        match self {
            Content::None => 0,
            Content::Extents(list) if list.is_empty() => 0,
            Content::Extents(list) => {
                let mut len = varint_len(list.len() as u64);
                let mut end = 0;
                for e in list {
                    len += varint_len(e.logical.wrapping_sub(end)) + varint_len(e.start);
                    len += varint_len(u64::from(e.len) << 1);
                    end = e.logical.wrapping_add(u64::from(e.len));
                }
                len
            }
            Content::Tree { blocks, extents, .. } => 9 + varint_len(*blocks) + varint_len(*extents),
            Content::Dir(dir) => 18 + varint_len(dir.entries) + varint_len(u64::from(dir.subdirs)),
            Content::Symlink(target) => varint_len(target.len() as u64) + target.len(),
            Content::SymlinkBlock(_) => 8,
            Content::Device(_) => 4,
        }
    }
}

impl Xattrs {
    #[inline]
    pub(crate) fn tag(&self) -> u16 {
        match self {
            Xattrs::None => 0,
            Xattrs::Inline(_) => 1,
            Xattrs::Blocks { .. } => 2,
        }
    }

    #[inline]
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Xattrs::None => {}
            Xattrs::Inline(bytes) => {
                put_varint(out, bytes.len() as u64);
                out.extend_from_slice(bytes);
            }
            Xattrs::Blocks { len, ids } => {
                put_varint(out, u64::from(*len));
                put_varint(out, ids.len() as u64);
                out.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
            }
        }
    }

    #[inline]
    fn encoded_len(&self) -> usize {
        match self {
            Xattrs::None => 0,
            Xattrs::Inline(bytes) => varint_len(bytes.len() as u64) + bytes.len(),
            Xattrs::Blocks { len, ids } => {
                varint_len(u64::from(*len)) + varint_len(ids.len() as u64) + ids.len() * 8
            }
        }
    }
}
