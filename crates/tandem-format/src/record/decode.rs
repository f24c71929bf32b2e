//! Bytes to i-node records.

use smallvec::SmallVec;

use super::{
    ATIME, BTIME, CONTENT_SHIFT, CTIME, Content, DirRoot, Extent, FIXED, KNOWN, NLINK, OWNER,
    Record, SIZE, STRUCTURE, TIME, TYPE_DIR, TYPE_MASK, XATTR_SHIFT, Xattrs,
};
use crate::bytes::{Reader, get_u16, get_u32, get_u48};
use crate::error::FormatError;
use crate::units::Time;

/// More levels than the largest file can need.
const HEIGHT_MAX: u8 = 12;

impl Record {
    /// Checks the bytes of one record, all of them, and takes it apart.
    pub fn decode(bytes: &[u8]) -> Result<Record, FormatError> {
        let mut r = Reader::new(STRUCTURE, bytes);
        let fixed = r.take("header", FIXED)?;
        let flags = get_u16(fixed, 2);
        if flags & !KNOWN != 0 {
            return Err(r.invalid("flags", "unknown bits"));
        }
        let ino = get_u48(fixed, 4);
        if ino == 0 {
            return Err(r.invalid("ino", "zero"));
        }
        let stored_links = if flags & NLINK != 0 { Some(r.u32("nlink")?) } else { None };
        let (uid, gid) = if flags & OWNER != 0 { (r.u32("uid")?, r.u32("gid")?) } else { (0, 0) };
        let mtime = time(&mut r, "mtime")?;
        let atime = if flags & ATIME != 0 { time(&mut r, "atime")? } else { mtime };
        let ctime = if flags & CTIME != 0 { time(&mut r, "ctime")? } else { mtime };
        let btime = if flags & BTIME != 0 { time(&mut r, "btime")? } else { mtime };
        let size = if flags & SIZE != 0 { r.varint("size")? } else { 0 };
        let content = content(&mut r, flags >> CONTENT_SHIFT & 7)?;
        let mode = u32::from(get_u16(fixed, 0));
        if (mode & TYPE_MASK == TYPE_DIR) != matches!(content, Content::Dir(_)) {
            return Err(r.invalid("mode", "not what the content is"));
        }
        let xattrs = xattrs(&mut r, flags >> XATTR_SHIFT & 3)?;
        if !r.is_empty() {
            return Err(r.invalid("len", "bytes behind the record"));
        }
        Ok(Record {
            ino,
            generation: get_u32(fixed, 10),
            mode,
            nlink: stored_links.unwrap_or_else(|| Record::usual_links(&content)),
            uid,
            gid,
            atime,
            mtime,
            ctime,
            btime,
            size,
            content,
            xattrs,
        })
    }
}

#[inline]
fn time(r: &mut Reader<'_>, field: &'static str) -> Result<Time, FormatError> {
    let bytes = r.take(field, TIME)?;
    let low = u64::from(get_u32(bytes, 0)) | u64::from(bytes[4]) << 32;
    let nanos = get_u32(bytes, 5);
    if nanos >= Time::NANOS {
        return Err(r.invalid(field, "a second or more of nanoseconds"));
    }
    Ok(Time { secs: (low << 24) as i64 >> 24, nanos })
}

#[inline]
pub(crate) fn content(r: &mut Reader<'_>, tag: u16) -> Result<Content, FormatError> {
    Ok(match tag {
        0 => Content::None,
        1 => Content::Extents(extents(r)?),
        2 => {
            let (root, height) = (r.u64("tree root")?, r.u8("tree height")?);
            if root == 0 {
                return Err(r.invalid("tree root", "zero"));
            }
            if height > HEIGHT_MAX {
                return Err(r.invalid("tree height", "higher than any tree"));
            }
            Content::Tree {
                root,
                height,
                blocks: r.varint("blocks")?,
                extents: r.varint("extents")?,
            }
        }
        3 => Content::Dir(DirRoot {
            parent: r.u48("parent")?,
            entries: r.varint("entries")?,
            subdirs: r.varint_u32("subdirs")?,
            root: r.u64("directory root")?,
            group: r.u32("group")?,
        }),
        4 => {
            let len = r.varint_u32("target length")?;
            Content::Symlink(r.take("target", len as usize)?.into())
        }
        5 => match r.u64("target block")? {
            0 => return Err(r.invalid("target block", "zero")),
            id => Content::SymlinkBlock(id),
        },
        6 => Content::Device(r.u32("rdev")?),
        _ => return Err(r.invalid("flags", "unknown content")),
    })
}

#[inline]
fn extents(r: &mut Reader<'_>) -> Result<SmallVec<[Extent; 2]>, FormatError> {
    let n = r.varint("extents")?;
    let mut list = SmallVec::new();
    let mut end = 0u64;
    for _ in 0..n {
        let gap = r.varint("extent gap")?;
        let start = r.varint("extent start")?;
        let tail = r.varint("extent length")?;
        let Some(logical) = end.checked_add(gap) else {
            return Err(r.invalid("extent gap", "leads beyond 64 bits"));
        };
        let Ok(len) = u32::try_from(tail >> 1) else {
            return Err(r.invalid("extent length", "beyond 32 bits"));
        };
        let extent = Extent { logical, start, len, unwritten: tail & 1 != 0 };
        end = extent.check(STRUCTURE, end)?;
        list.push(extent);
    }
    if list.is_empty() {
        return Err(r.invalid("extents", "none"));
    }
    Ok(list)
}

#[inline]
pub(crate) fn xattrs(r: &mut Reader<'_>, tag: u16) -> Result<Xattrs, FormatError> {
    Ok(match tag {
        0 => Xattrs::None,
        1 => {
            let len = r.varint_u32("attribute length")?;
            Xattrs::Inline(r.take("attributes", len as usize)?.into())
        }
        2 => {
            let len = r.varint_u32("attribute length")?;
            let n = r.varint_u32("attribute blocks")?;
            let mut ids = Vec::new();
            for _ in 0..n {
                match r.u64("attribute block")? {
                    0 => return Err(r.invalid("attribute block", "zero")),
                    id => ids.push(id),
                }
            }
            Xattrs::Blocks { len, ids }
        }
        _ => return Err(r.invalid("flags", "unknown attributes")),
    })
}
