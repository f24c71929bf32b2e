//! I-nodes: records wherever they lie, what they say of themselves and of others; the i-node map;
//! blocks that belong to one i-node.

use std::sync::atomic::Ordering;

use tandem_format::{
    BlockMeta, Body, Content, DirRoot, ExtentNode, FormatError, GroupEntry, ID_LIMIT, INO_LIMIT,
    ImapBlock, Kind, Leaf, Record, SegEntry, Words, Xattrs,
};

use super::books::{Fact, NO, Subject};
use super::pass::{Pass, add};
use super::place::{Place, home_words};
use super::report::ProblemKind;
use super::scan::Met;
use crate::ifile::Home;
use crate::types::{FileKind, LIMBO, ROOT, SIZE_MAX};

/// The longest target of a symbolic link, in bytes.
pub(super) const TARGET_MAX: u64 = 4095;

/// Where a record was found.
pub(super) struct Source<'a> {
    pub home: Home,
    pub met: &'a Met<'a>,
    /// Its one entry and its one link cancel out.
    pub linked: bool,
}

impl Pass<'_> {
    /// A block of records that do not lie in entries.
    pub fn inode_block(
        &self,
        met: &Met<'_>,
        meta: &BlockMeta,
        payload: &[u8],
    ) -> Result<(), FormatError> {
        let leaf = Leaf::decode(payload, meta, &self.opened.sb.implied())?;
        if (meta.owner, meta.index, leaf.next(), leaf.depth()) != (0, 0, 0, 0) {
            self.ill(met, ProblemKind::Damaged, "not formed as a block of i-nodes is");
        }
        if leaf.count() == 0 {
            // Nothing leads to it, then.
            self.books.found(meta.id, Place::new(Kind::Inode, 0));
        }
        for slot in 0..leaf.count() as usize {
            let entry = leaf.entry(slot);
            let wrong = |detail: &str| {
                let detail = format!("record of i-node {}: {detail}", entry.key);
                self.ill(met, ProblemKind::Record, detail);
            };
            let Body::Embedded(bytes) = entry.body else {
                wrong("a link in place of a record");
                continue;
            };
            match Record::decode(bytes) {
                Ok(rec) => {
                    if rec.ino != entry.key || !entry.name.is_empty() {
                        wrong("it is that of another, or has a name");
                    }
                    if FileKind::of_tag(entry.kind) != FileKind::of_mode(rec.mode) {
                        wrong("its type is not that of its mode");
                    }
                    self.record(&rec, &Source { home: Home::Block(meta.id), met, linked: false });
                }
                Err(e) => wrong(&e.to_string()),
            }
        }
        Ok(())
    }

    /// A record that was found somewhere.
    pub fn record(&self, rec: &Record, from: &Source<'_>) {
        let subject = Subject::Inode(rec.ino);
        let by = from.met.key.id().unwrap_or(0);
        self.books.enter(subject, Fact::Home, home_words(from.home), -1, by);
        let counts = self.counts;
        add(&counts.inodes, 1);
        counts.highest_ino.fetch_max(rec.ino, Ordering::Relaxed);
        let kind = FileKind::of_mode(rec.mode);
        if !from.linked {
            let links = match rec.content {
                Content::Dir(_) => u32::from(rec.nlink > 0 && rec.ino != ROOT && rec.ino != LIMBO),
                _ => rec.nlink,
            };
            self.books.enter(subject, Fact::Link, [kind as u64, 0], -i64::from(links), by);
            if rec.nlink == 0 {
                self.books.enter(subject, Fact::Hidden, NO, -1, by);
                add(&counts.orphans, 1);
            }
        }
        let wrong =
            |kind, detail: String| self.findings.add(kind, self.inode_name(rec.ino), detail);
        if kind == FileKind::Regular && rec.mode & libc::S_IFMT != libc::S_IFREG {
            wrong(ProblemKind::Record, format!("mode {:o} is no type of file", rec.mode));
        }
        if rec.size > SIZE_MAX {
            wrong(ProblemKind::Record, format!("{} bytes are more than a file can have", rec.size));
        }
        let fits = match &rec.content {
            Content::None => !matches!(
                kind,
                FileKind::Directory
                    | FileKind::Symlink
                    | FileKind::CharDevice
                    | FileKind::BlockDevice
            ),
            Content::Extents(_) | Content::Tree { .. } => kind == FileKind::Regular,
            Content::Dir(_) => kind == FileKind::Directory,
            Content::Symlink(_) | Content::SymlinkBlock(_) => kind == FileKind::Symlink,
            Content::Device(_) => matches!(kind, FileKind::CharDevice | FileKind::BlockDevice),
        };
        if !fits {
            wrong(ProblemKind::Record, format!("mode {:o} does not go with its content", rec.mode));
        }
        add(&counts.files, u64::from(kind == FileKind::Regular));
        match &rec.content {
            Content::Extents(list) => list.iter().for_each(|e| self.extent(rec.ino, e)),
            &Content::Tree { root, height, blocks, extents }
                if self.is_home(rec.ino, from.home) =>
            {
                self.tree(rec.ino, root, height, blocks, extents);
            }
            Content::Dir(root) => self.dir_record(rec, root, by),
            Content::Symlink(target) if !(1..=TARGET_MAX).contains(&(target.len() as u64)) => {
                wrong(ProblemKind::Symlink, format!("a target of {} bytes", target.len()));
            }
            &Content::SymlinkBlock(id) => {
                if !(1..=TARGET_MAX).contains(&rec.size) || id >= ID_LIMIT {
                    wrong(ProblemKind::Symlink, format!("a target of {} bytes in {id}", rec.size));
                } else {
                    let place = Place { index: rec.size, ..Place::new(Kind::Symlink, rec.ino) };
                    self.books.refer(id, place, rec.ino);
                }
            }
            _ => {}
        }
        match &rec.xattrs {
            Xattrs::None => {}
            Xattrs::Inline(bytes) => self.attributes(rec, bytes),
            Xattrs::Blocks { len, ids } => self.attribute_blocks(rec, *len, ids, from.home),
        }
    }

    /// Whether the i-node map knows a record at this place: what it leads to is looked at once,
    /// whatever else claims to be the same i-node.
    pub fn is_home(&self, ino: u64, home: Home) -> bool {
        matches!(self.opened.core.run(|st| st.imap_get(ino)), Ok(Some(known)) if known == home)
    }

    fn dir_record(&self, rec: &Record, dir: &DirRoot, by: u64) {
        let subject = Subject::Inode(rec.ino);
        let wrong =
            |kind, detail: String| self.findings.add(kind, self.inode_name(rec.ino), detail);
        add(&self.counts.directories, 1);
        if rec.nlink != 0 && u64::from(rec.nlink) != u64::from(dir.subdirs) + 2 {
            let detail = format!("{} links, with {} directories in it", rec.nlink, dir.subdirs);
            wrong(ProblemKind::LinkCount, detail);
        }
        match self.counts.groups.get(dir.group as usize) {
            Some([dirs, entries]) => {
                add(dirs, 1);
                add(entries, dir.entries);
            }
            None => wrong(ProblemKind::Record, format!("group {} does not exist", dir.group)),
        }
        if rec.ino == ROOT || rec.ino == LIMBO {
            self.counts.roots.fetch_or(1 << rec.ino, Ordering::Relaxed);
            if dir.parent != ROOT || rec.nlink == 0 {
                wrong(ProblemKind::Parent, format!("its parent is {}", dir.parent));
            }
        } else if rec.nlink != 0 {
            self.books.enter(subject, Fact::Parent, [dir.parent, 0], -1, by);
            if !self.books.in_detail() {
                self.lists.parent(rec.ino, dir.parent);
            }
        }
        let entries = i64::try_from(dir.entries).unwrap_or(i64::MAX);
        self.books.enter(subject, Fact::Entries, NO, -entries, by);
        self.books.enter(subject, Fact::Subdirs, NO, -i64::from(dir.subdirs), by);
        if dir.root != 0 && !self.refer_below(dir.root, rec.ino, 0, 0, rec.ino) {
            wrong(ProblemKind::Directory, "its root is a block number that cannot be".into());
        }
    }

    /// A block of a target or of attributes.
    pub fn raw(&self, _: &Met<'_>, meta: &BlockMeta, payload: &[u8]) -> Result<(), FormatError> {
        let index = if meta.kind == Kind::Symlink { payload.len() as u64 } else { meta.index };
        self.books.found(meta.id, Place { index, ..Place::new(meta.kind, meta.owner) });
        Ok(())
    }

    /// A node of an extent tree: the file's record leads to what is in it.
    pub fn extent_node(
        &self,
        met: &Met<'_>,
        meta: &BlockMeta,
        payload: &[u8],
    ) -> Result<(), FormatError> {
        let node = ExtentNode::decode(payload, meta.level)?;
        if node.count() != meta.count {
            self.ill(met, ProblemKind::ExtentTree, "its header counts other entries");
        }
        let place = Place { level: meta.level, ..Place::new(Kind::Extent, meta.owner) };
        self.books.found(meta.id, place);
        Ok(())
    }

    /// A block of the IFile.
    pub fn table_block(
        &self,
        met: &Met<'_>,
        meta: &BlockMeta,
        payload: &[u8],
    ) -> Result<(), FormatError> {
        let counted = match (meta.kind, meta.level) {
            (Kind::Imap, 0) => {
                let block = ImapBlock::decode(payload)?;
                self.inode_map(meta.id, &block);
                block.count() as usize
            }
            (Kind::Map, _) | (_, 1..) => Words::decode(payload)?.count() as usize,
            (Kind::Seg, _) => SegEntry::decode_all(payload).map(|_| 0)?,
            (Kind::Group, _) => GroupEntry::decode_all(payload).map(|_| 0)?,
            _ => 0,
        };
        if meta.count as usize != counted {
            self.ill(met, ProblemKind::Damaged, "its header counts other entries");
        }
        Ok(())
    }

    /// A block of the i-node map as of the checkpoint.
    fn inode_map(&self, index: u64, block: &ImapBlock) {
        let newer = &self.opened.map.inodes;
        if newer.binary_search_by_key(&index, |(index, _)| *index).is_err() {
            self.inode_map_entries(index, block);
        }
    }

    /// A block of the i-node map.
    pub fn inode_map_entries(&self, index: u64, block: &ImapBlock) {
        let first = index * block.entries.len() as u64;
        for (ino, words) in (first..).zip(&block.entries) {
            let Some(home) = Home::of(*words) else { continue };
            let known = match home {
                Home::Entry { dir, .. } => dir < INO_LIMIT,
                Home::Block(id) => id < ID_LIMIT,
            };
            if ino == 0 || !known {
                let what =
                    format!("{}: i-node {ino} in the i-node map", self.opened.core.meta.name());
                self.findings.add(ProblemKind::InodeMap, what, format!("{home:?} cannot be"));
            }
            self.books.enter(Subject::Inode(ino), Fact::Home, home_words(home), 1, index);
        }
    }
}
