//! Replies, built in place: [`ReplyBuf`] is a window on the memory that the kernel will read.

use zerocopy::{Immutable, IntoBytes};

use crate::abi::{Dirent, EntryOut};

/// What a handler made of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// What the [`ReplyBuf`] holds is the answer; nothing in it means just "done".
    Reply,
    /// The answer is this errno(3), positive.
    Error(i32),
    /// The kernel expects no answer.
    Silent,
}

/// Where an answer goes, without its header.
#[derive(Debug)]
pub struct ReplyBuf<'a> {
    space: &'a mut [u8],
    len: usize,
}

impl<'a> ReplyBuf<'a> {
    /// An empty answer that may grow to the size of `space`.
    pub fn new(space: &'a mut [u8]) -> ReplyBuf<'a> {
        ReplyBuf { space, len: 0 }
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How long the answer may become, in bytes.
    pub fn capacity(&self) -> usize {
        self.space.len()
    }

    /// Forgets what was put in.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// The first `want` bytes of the space, or all of it when there is less, for a reader to
    /// fill; [`ReplyBuf::set_len`] then says how many it filled.
    pub fn space(&mut self, want: usize) -> &mut [u8] {
        let want = want.min(self.space.len());
        &mut self.space[..want]
    }

    /// The answer is the first `len` bytes of the space.
    pub fn set_len(&mut self, len: usize) {
        self.len = len.min(self.space.len());
    }

    /// Appends a structure. False, and nothing appended, when there is no room.
    #[must_use]
    pub fn push<T: IntoBytes + Immutable>(&mut self, value: &T) -> bool {
        self.extend(value.as_bytes())
    }

    /// Appends bytes. False, and nothing appended, when there is no room.
    #[must_use]
    pub fn extend(&mut self, bytes: &[u8]) -> bool {
        match self.space.get_mut(self.len..).and_then(|rest| rest.get_mut(..bytes.len())) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.len += bytes.len();
                true
            }
            None => false,
        }
    }

    /// Makes the space smaller: a READDIR's size counts, not the transport's memory.
    pub fn limit(&mut self, bytes: usize) {
        let end = bytes.min(self.space.len());
        let space = std::mem::take(&mut self.space);
        self.space = &mut space[..end];
        self.len = self.len.min(end);
    }

    /// Appends a directory entry. False, and nothing appended, when there is no room.
    #[must_use]
    pub fn push_dirent(&mut self, ino: u64, off: u64, kind: u8, name: &[u8]) -> bool {
        self.push_entry(None, ino, off, kind, name)
    }

    /// Appends a directory entry with attributes. False, and nothing appended, when there is no
    /// room.
    #[must_use]
    pub fn push_direntplus(&mut self, entry: &EntryOut, off: u64, kind: u8, name: &[u8]) -> bool {
        self.push_entry(Some(entry), entry.attr.ino, off, kind, name)
    }

    fn push_entry(
        &mut self,
        entry: Option<&EntryOut>,
        ino: u64,
        off: u64,
        kind: u8,
        name: &[u8],
    ) -> bool {
        let plus = entry.map_or(&[][..], IntoBytes::as_bytes);
        let Ok(namelen) = u32::try_from(name.len()) else { return false };
        let dirent = Dirent { ino, off, namelen, kind: u32::from(kind) };
        let used = plus.len() + size_of::<Dirent>() + name.len();
        let padded = used.next_multiple_of(8);
        if self.space.len() - self.len < padded {
            return false;
        }
        let fits = self.extend(plus)
            && self.extend(dirent.as_bytes())
            && self.extend(name)
            && self.extend(&[0; 8][..padded - used]);
        debug_assert!(fits);
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_padded_and_bounded() {
        let mut space = [0xff; 80];
        let mut out = ReplyBuf::new(&mut space);
        assert!(out.push_dirent(5, 1, 4, b"abc"));
        assert_eq!(out.len(), 32);
        assert!(out.push_dirent(6, 2, 8, b"12345678"));
        assert_eq!(out.len(), 64);
        assert!(!out.push_dirent(7, 3, 8, b"x"));
        assert_eq!(out.len(), 64);
        assert_eq!(&space[24..32], b"abc\0\0\0\0\0");
    }

    #[test]
    fn the_limit_counts() {
        let mut space = [0; 64];
        let mut out = ReplyBuf::new(&mut space);
        out.limit(40);
        assert_eq!(out.capacity(), 40);
        assert!(out.push_dirent(5, 1, 4, b"abc"));
        assert!(!out.push_dirent(5, 1, 4, b"d"));
        out.limit(100);
        assert_eq!((out.capacity(), out.len()), (40, 32));
    }
}
