//! Reading everything that a mounted volume shows.

use std::collections::BTreeSet;

use tandem_format::Geometry;
use tandem_fs::{Attr, Cred, Error, FileExtent, FileKind, Ino, ROOT, Result, Volume, Whence};

use super::overlay::Overlay;

/// Entries, extents and steps within one directory or file that a volume of this size can show.
const MANY: usize = 20_000;
/// Directories and files that are looked into.
const VISITS: usize = 600;
/// Bytes compared of one extent.
const PIECE: u64 = 4096;

/// A walk over a volume.
pub struct Walk<'a> {
    pub vol: &'a Volume,
    /// The device with the contents.
    pub data: &'a Overlay,
    /// How the volume is divided, when that is known.
    pub geo: Option<Geometry>,
    /// The volume is sound: nothing may fail, and every file has its own contents.
    pub strict: bool,
}

impl Walk<'_> {
    /// Lists every directory and reads every file.
    pub fn run(&self) {
        let mut dirs = vec![ROOT];
        let (mut seen, mut visits) = (BTreeSet::from([ROOT]), 0);
        while let Some(dir) = dirs.pop() {
            self.attributes(dir);
            for (ino, name) in self.list(dir) {
                visits += 1;
                if visits > VISITS {
                    return;
                }
                let found = self.vol.lookup(&Cred::root(), dir, &name);
                let Some(attr) = self.good(found, "lookup") else { continue };
                assert!(!self.strict || attr.ino == ino, "an entry of {ino} leads to {}", attr.ino);
                // Where two records have one number, the one that the i-node map knows serves.
                let known = self.vol.getattr(attr.ino);
                if let Some(known) = self.good(known, "getattr") {
                    assert!(!self.strict || known == attr, "{attr:?} is {known:?}");
                    self.look(&known);
                }
                if attr.kind() == FileKind::Directory && seen.insert(attr.ino) {
                    dirs.push(attr.ino);
                }
                self.vol.forget(attr.ino, 1);
            }
        }
        let _ = (self.vol.statfs(), self.vol.info(), self.vol.stats());
    }

    /// The value, unless there is an error; on a sound volume POSIX's alone may occur.
    fn good<T>(&self, result: Result<T>, what: &str) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(e) => {
                let posix = matches!(e, Error::Posix(n) if n != 5);
                assert!(!self.strict || posix, "{what} on a sound volume: {e}");
                None
            }
        }
    }

    /// The entries of a directory but `.` and `..`.
    pub fn list(&self, dir: Ino) -> Vec<(Ino, Vec<u8>)> {
        let (mut entries, mut cookie) = (Vec::new(), 0);
        loop {
            let before = cookie;
            let mut given = 0;
            let mut take = |entry: tandem_fs::DirEntry<'_>| {
                assert!(entry.cookie > cookie, "{dir} is listed backwards");
                cookie = entry.cookie;
                given += 1;
                let name = entry.name.to_vec();
                assert!(!name.is_empty() && name.len() <= 255, "{name:?}");
                assert!(!name.contains(&b'/') && !name.contains(&0), "{name:?}");
                if name != b"." && name != b".." {
                    entries.push((entry.ino, name));
                }
                given < 50
            };
            let root = Cred::root();
            let done = match dir % 2 {
                0 => self.vol.readdir(&root, dir, before, &mut take),
                _ => self.vol.readdir_plus(&root, dir, before, &mut |entry, _| take(entry)),
            };
            let failed = self.good(done, "readdir").is_none();
            assert!(entries.len() < MANY, "{dir} has no end");
            if failed || given == 0 {
                return entries;
            }
        }
    }

    fn attributes(&self, ino: Ino) {
        let root = Cred::root();
        let listed = self.vol.listxattr(&root, ino);
        let Some(names) = self.good(listed, "listxattr") else { return };
        for name in names.split(|b| *b == 0).filter(|name| !name.is_empty()) {
            let value = self.vol.getxattr(&root, ino, name);
            let _ = self.good(value, "getxattr");
        }
    }

    fn look(&self, attr: &Attr) {
        self.attributes(attr.ino);
        match attr.kind() {
            FileKind::Symlink => _ = self.good(self.vol.readlink(attr.ino), "readlink"),
            FileKind::Regular => self.contents(attr),
            _ => {}
        }
    }

    fn extents(&self, ino: Ino) -> Option<Vec<FileExtent>> {
        let (mut all, mut from): (Vec<FileExtent>, u64) = (Vec::new(), 0);
        loop {
            let part = self.good(self.vol.extents(ino, from, 100), "extents")?;
            let Some(last) = part.last() else { return Some(all) };
            let end = last.logical.saturating_add(last.len.into());
            assert!(end > from, "extents of {ino} go round");
            from = end;
            all.extend(part);
            assert!(all.len() < MANY, "{ino} has no end");
            if from == u64::MAX {
                return Some(all);
            }
        }
    }

    fn contents(&self, attr: &Attr) {
        let block = u64::from(self.geo.map_or(512, |geo| geo.block_size));
        let Some(extents) = self.extents(attr.ino) else {
            self.read(attr, 0, PIECE);
            return;
        };
        let mut behind = 0;
        for e in extents {
            assert!(e.logical >= behind, "extents of {} overlap", attr.ino);
            self.hole(attr, behind.saturating_mul(block), e.logical.saturating_mul(block));
            behind = e.logical.saturating_add(e.len.into());
            self.extent(attr, &e);
        }
        self.hole(attr, behind.saturating_mul(block), attr.size);
        for whence in [Whence::Data, Whence::Hole] {
            let _ = self.good(self.vol.seek(attr.ino, 0, whence), "seek");
        }
    }

    fn read(&self, attr: &Attr, at: u64, len: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0xee; len as usize];
        let n = self.good(self.vol.read(attr.ino, at, &mut bytes), "read")?;
        let most = attr.size.saturating_sub(at).min(len);
        assert!(n as u64 <= most, "{n} bytes read of {most} at {at} of {}", attr.ino);
        bytes.truncate(n);
        Some(bytes)
    }

    fn hole(&self, attr: &Attr, from: u64, to: u64) {
        let len = to.min(attr.size).saturating_sub(from).min(PIECE);
        if len > 0 && self.geo.is_some() {
            let bytes = self.read(attr, from, len).unwrap_or_default();
            assert!(bytes.iter().all(|b| *b == 0), "something in a hole of {}", attr.ino);
        }
    }

    /// What is read of an extent is what the device has there.
    fn extent(&self, attr: &Attr, e: &FileExtent) {
        let Some(geo) = self.geo else { return };
        let block = u64::from(geo.block_size);
        let at = e.logical.saturating_mul(block);
        let len = u64::from(e.len).saturating_mul(block).min(PIECE);
        let Some(bytes) = self.read(attr, at, len) else { return };
        if e.unwritten {
            assert!(bytes.iter().all(|b| *b == 0), "an unwritten extent of {} shows", attr.ino);
            return;
        }
        let blocks = e.start..e.start.saturating_add((bytes.len() as u64).div_ceil(block));
        assert!(blocks.end <= geo.blocks, "{} has {blocks:?} of {}", attr.ino, geo.blocks);
        let there = self.data.peek(geo.block_offset(e.start), bytes.len());
        assert!(there == bytes, "{} shows other bytes than those of its blocks", attr.ino);
        let words =
            bytes.chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().unwrap_or([0; 8])));
        let foreign = |word: &u64| word >> 32 != 0 && word >> 32 != attr.ino;
        let found = words.enumerate().find(|(_, word)| foreign(word));
        assert!(!self.strict || found.is_none(), "{} shows a foreign {found:x?}", attr.ino);
    }
}
