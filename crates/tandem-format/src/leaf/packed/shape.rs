//! What many entries of a leaf have in common, stored once.

use super::STRUCTURE;
use crate::bits::{BitReader, BitWriter};
use crate::error::FormatError;
use crate::record::{CONTENT_DIR, CONTENT_DIR_EMPTY, Content, Record, TYPE_DIR, TYPE_MASK};

/// Type of file, permissions, owner, and what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Shape {
    /// Type of file as in the entry, 0 to 7.
    pub kind: u8,
    /// The record lies in the entry; else the rest is zero.
    pub embedded: bool,
    pub content: u8,
    pub xattrs: u8,
    /// The number of links is stored.
    pub links: bool,
    pub mode: u16,
    pub uid: u32,
    pub gid: u32,
}

impl Shape {
    pub fn of(kind: u8, record: Option<&Record>) -> Shape {
        let Some(rec) = record else { return Shape { kind, ..Shape::default() } };
        let empty = matches!(rec.content, Content::Dir(dir) if dir.root == 0);
        Shape {
            kind,
            embedded: true,
            content: if empty { CONTENT_DIR_EMPTY } else { rec.content.tag() as u8 },
            xattrs: rec.xattrs.tag() as u8,
            links: rec.nlink != Record::usual_links(&rec.content),
            mode: rec.mode as u16,
            uid: rec.uid,
            gid: rec.gid,
        }
    }

    pub fn is_dir(&self) -> bool {
        matches!(self.content, CONTENT_DIR | CONTENT_DIR_EMPTY)
    }

    pub fn write(&self, w: &mut BitWriter) {
        w.put(self.kind.into(), 3);
        w.put(self.embedded.into(), 1);
        if self.embedded {
            w.put(self.content.into(), 3);
            w.put(self.xattrs.into(), 2);
            w.put(self.links.into(), 1);
            w.put(self.mode.into(), 16);
            w.number(self.uid.into());
            w.number(self.gid.into());
        }
    }

    pub fn read(r: &mut BitReader<'_>) -> Result<Shape, FormatError> {
        let kind = r.get("type", 3)? as u8;
        if r.get("type", 1)? == 0 {
            return Ok(Shape { kind, ..Shape::default() });
        }
        let shape = Shape {
            kind,
            embedded: true,
            content: r.get("content", 3)? as u8,
            xattrs: r.get("attributes", 2)? as u8,
            links: r.get("links", 1)? != 0,
            mode: r.get("mode", 16)? as u16,
            uid: r.number("uid", u32::MAX.into())? as u32,
            gid: r.number("gid", u32::MAX.into())? as u32,
        };
        if (u32::from(shape.mode) & TYPE_MASK == TYPE_DIR) != shape.is_dir() {
            return Err(FormatError::invalid(STRUCTURE, "mode", "not what the content is"));
        }
        Ok(shape)
    }
}
