//! The operations: the i-node level interface that every door adapts, as methods of [`Volume`].
//!
//! Every call that returns an entry takes one hold on its i-node; [`Volume::forget`] drops holds.
//! An i-node without a link lives while it is held.
//!
//! [`Volume`]: crate::Volume
//! [`Volume::forget`]: crate::Volume::forget

mod access;
mod acl;
mod attr;
mod create;
mod falloc;
mod io;
mod list;
mod lookup;
mod map;
mod path;
mod read;
mod remove;
mod rename;
mod xattr;

use tandem_format::{Record, Time};

use crate::error::{Res, fail};
use crate::state::State;
use crate::types::{Attr, Ino, NAME_MAX};

/// What a name must be like to be entered or removed.
fn check_name(name: &[u8]) -> Res<()> {
    match name {
        b"" => fail(libc::ENOENT),
        _ if name.len() > NAME_MAX => fail(libc::ENAMETOOLONG),
        _ if name.contains(&b'/') || name.contains(&0) => fail(libc::EINVAL),
        _ => Ok(()),
    }
}

/// No caller can have made an entry with this name.
fn is_impossible(name: &[u8]) -> bool {
    is_dots(name) || name.is_empty() || name.iter().any(|b| matches!(b, b'/' | 0))
}

fn is_dots(name: &[u8]) -> bool {
    matches!(name, b"." | b"..")
}

impl State {
    /// The attributes of a record, with what memory knows of it.
    fn attr_of(&self, rec: &Record) -> Attr {
        let pending = self.nodes.get(rec.ino).and_then(|n| n.data.as_ref()).map_or(0, |d| {
            let layers = d.layers.lock();
            let staged = [&layers.placing, &layers.fresh, &layers.ready].into_iter();
            let staged = staged.flat_map(|list| list.iter()).filter(|s| !s.convert);
            layers.reserved + staged.map(|s| u64::from(s.extent.len)).sum::<u64>()
        });
        Attr::of(rec, self.geo.block_size, pending)
    }

    /// The attributes of an i-node.
    fn attr(&mut self, ino: Ino) -> Res<Attr> {
        if let Some(node) = self.nodes.get(ino) {
            return Ok(self.attr_of(&node.rec));
        }
        let rec = self.record(ino)?;
        Ok(Attr::of(&rec, self.geo.block_size, 0))
    }

    /// A directory into which or from which names are about to go: it must exist still.
    fn parent(&mut self, dir: Ino) -> Res<u32> {
        let node = self.node(dir)?;
        match &node.rec.content {
            tandem_format::Content::Dir(_) if node.rec.nlink == 0 => fail(libc::ENOENT),
            tandem_format::Content::Dir(root) => Ok(root.group),
            _ => fail(libc::ENOTDIR),
        }
    }

    /// Brings in what entering or moving the record of `ino` may touch.
    fn prepare(&mut self, ino: Ino) -> Res<()> {
        self.imap_present(ino)?;
        if self.open_inode_block != 0 {
            self.leaf(self.open_inode_block)?;
        }
        Ok(())
    }

    /// A directory's contents have changed by `entries` names and `subdirs` directories.
    fn dir_changed(&mut self, dir: Ino, entries: i64, subdirs: i64, now: Time) -> Res<()> {
        self.add_entries(dir, entries)?;
        let node = self.change(dir)?;
        node.rec.mtime = now;
        node.rec.ctime = now;
        if let tandem_format::Content::Dir(root) = &mut node.rec.content {
            root.subdirs = root.subdirs.saturating_add_signed(subdirs as i32);
            if node.rec.nlink > 0 {
                node.rec.nlink = 2u32.saturating_add(root.subdirs);
            }
        }
        Ok(())
    }
}
