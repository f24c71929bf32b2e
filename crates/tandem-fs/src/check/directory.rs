//! Directories: tables, leaves, and their entries.

use tandem_format::{BlockMeta, Body, Entry, FormatError, ID_LIMIT, Kind, Leaf, Record, Table};

use super::books::{Fact, NO, Subject};
use super::inode::Source;
use super::pass::{Pass, add};
use super::place::{Place, range};
use super::report::ProblemKind;
use super::scan::Met;
use crate::dir::{REV_BITS, TABLE_FLAG, rev_of};
use crate::ifile::{Home, top_of};
use crate::inode::limbo_name;
use crate::types::{FileKind, LIMBO};

/// Sequence numbers of equal hashes end here; cookies need the three above.
pub(super) const SEQ_MAX: u64 = (1 << 15) - 4;

/// Why a name cannot be.
pub(super) fn bad_name(name: &[u8]) -> Option<&'static str> {
    match name {
        b"" => Some("an empty name"),
        b"." | b".." => Some("a name that every directory has"),
        _ if name.contains(&b'/') || name.contains(&0) => Some("a slash or a NUL in a name"),
        _ => None,
    }
}

impl Pass<'_> {
    /// A reference from a directory's record or table: to the table or leaf of the hashes that
    /// begin with the top `bits` of `prefix`.
    pub fn refer_below(&self, entry: u64, dir: u64, prefix: u64, bits: u8, by: u64) -> bool {
        let id = entry & !TABLE_FLAG;
        if id == 0 || id >= ID_LIMIT {
            return false;
        }
        if entry & TABLE_FLAG != 0 {
            let place = Place { kind: Kind::Table, owner: dir, level: bits, index: prefix };
            self.books.refer(id, place, by);
        } else {
            self.books.refer(id, Place::new(Kind::Leaf, dir), by);
            self.books.enter(Subject::Block(id), Fact::Range, range(prefix, bits), 1, by);
        }
        true
    }

    /// A table: every leaf of depth d is in all 2^(bits - d) slots that it covers, every table in
    /// one.
    pub fn table(
        &self,
        met: &Met<'_>,
        meta: &BlockMeta,
        payload: &[u8],
    ) -> Result<(), FormatError> {
        let table = Table::decode(payload)?;
        let (dir, prefix) = (meta.owner, meta.index);
        let place = Place { kind: Kind::Table, owner: dir, level: meta.level, index: prefix };
        self.books.found(meta.id, place);
        let wrong = |detail: &str| self.ill(met, ProblemKind::Directory, detail);
        let bits = meta.level.saturating_add(table.depth);
        if bits > REV_BITS {
            wrong("resolves more bits than the hash has");
            return Ok(());
        }
        let above = u64::MAX >> (64 - REV_BITS) >> meta.level;
        if prefix >> REV_BITS != 0 || prefix & above != 0 {
            wrong("its prefix has bits below its level");
            return Ok(());
        }
        if meta.count != table.count() {
            wrong("its header counts other entries");
        }
        let mut first = 0;
        for run in table.entries.chunk_by(|a, b| a == b) {
            let from = prefix | (first as u64) << (REV_BITS - bits);
            let spread = run.len().trailing_zeros() as u8;
            let aligned = run.len().is_power_of_two() && first % run.len() == 0;
            if !aligned || (spread > 0 && run[0] & TABLE_FLAG != 0) {
                wrong("a leaf or table lies in slots that do not make one range");
            }
            if !self.refer_below(run[0], dir, from, bits - spread.min(bits), meta.id) {
                wrong("refers to a block number that cannot be");
            }
            first += run.len();
        }
        Ok(())
    }

    /// A leaf with its entries.
    pub fn leaf(&self, met: &Met<'_>, meta: &BlockMeta, payload: &[u8]) -> Result<(), FormatError> {
        let leaf = Leaf::decode(payload, meta, &self.opened.sb.implied())?;
        let (id, dir) = (meta.id, meta.owner);
        self.books.found(id, Place::new(Kind::Leaf, dir));
        let words = range(leaf.prefix(), leaf.depth());
        self.books.enter(Subject::Block(id), Fact::Range, words, -1, id);
        if leaf.next() != 0 {
            self.chained(met, dir, id, leaf.next());
        }
        let mut subdirs = 0;
        let mut equal = 0;
        for slot in 0..leaf.count() as usize {
            let entry = leaf.entry(slot);
            if rev_of(entry.key) != rev_of(leaf.entry(equal).key) {
                equal = slot;
            }
            if (equal..slot).any(|other| leaf.entry(other).name == entry.name) {
                self.ill(met, ProblemKind::Name, format!("the name {} twice", text(entry.name)));
            }
            subdirs += i64::from(FileKind::of_tag(entry.kind) == FileKind::Directory);
            self.entry(met, dir, &entry);
        }
        self.books.enter(Subject::Inode(dir), Fact::Entries, NO, leaf.count().into(), id);
        if dir != LIMBO {
            self.books.enter(Subject::Inode(dir), Fact::Subdirs, NO, subdirs, id);
            add(&self.counts.links, leaf.count().into());
        }
        Ok(())
    }

    fn chained(&self, met: &Met<'_>, dir: u64, id: u64, next: u64) {
        if next >= ID_LIMIT {
            self.ill(met, ProblemKind::Directory, "chained to a block number that cannot be");
            return;
        }
        self.books.refer(next, Place::new(Kind::Leaf, dir), id);
        self.lists.chain(id, next);
    }

    fn entry(&self, met: &Met<'_>, dir: u64, entry: &Entry<'_>) {
        let ill = |kind, detail: &str| {
            self.ill(met, kind, format!("entry {}: {detail}", text(entry.name)));
        };
        if let Some(why) = bad_name(entry.name) {
            ill(ProblemKind::Name, why);
        }
        if entry.key & 0x7fff > SEQ_MAX {
            ill(ProblemKind::Directory, "a sequence number that is too large");
        }
        let kind = FileKind::of_tag(entry.kind);
        match entry.body {
            Body::Link(ino) => {
                self.named(dir, ino, kind, met);
                if dir == LIMBO && entry.name != limbo_name(ino) {
                    ill(ProblemKind::HiddenDirectory, "not the number of its i-node");
                }
            }
            Body::Embedded(bytes) => match Record::decode(bytes) {
                Ok(rec) => {
                    if dir == LIMBO && entry.name != limbo_name(rec.ino) {
                        ill(ProblemKind::HiddenDirectory, "not the number of its i-node");
                    }
                    let plain = rec.nlink == 1
                        && kind != FileKind::Directory
                        && kind == FileKind::of_mode(rec.mode)
                        && dir != LIMBO
                        && !self.books.in_detail();
                    if !plain {
                        self.named(dir, rec.ino, kind, met);
                    }
                    let home = Home::Entry { dir, top: top_of(entry.key) };
                    self.record(&rec, &Source { home, met, linked: plain });
                }
                Err(e) => ill(ProblemKind::Record, &e.to_string()),
            },
        }
    }

    /// An entry leads to an i-node.
    fn named(&self, dir: u64, ino: u64, kind: FileKind, met: &Met<'_>) {
        let subject = Subject::Inode(ino);
        let by = if dir == LIMBO { met.key.id().unwrap_or(0) } else { dir };
        if dir == LIMBO {
            return self.books.enter(subject, Fact::Hidden, NO, 1, by);
        }
        self.books.enter(subject, Fact::Link, [kind as u64, 0], 1, by);
        if kind == FileKind::Directory {
            self.books.enter(subject, Fact::Parent, [dir, 0], 1, by);
        }
    }
}

/// A name as messages show it.
pub(super) fn text(name: &[u8]) -> String {
    format!("\"{}\"", name.escape_ascii())
}
