//! Extended attributes and access control lists.

use tandem_format::{ID_LIMIT, Kind, Record, Xattrs};

use super::directory::text;
use super::pass::Pass;
use super::place::Place;
use super::report::ProblemKind;
use crate::ifile::Home;

/// All attributes of an i-node together, in bytes.
const TOTAL_MAX: u32 = 1 << 20;

/// The longest value in bytes.
const VALUE_MAX: usize = 65536;

const CLASSES: std::ops::RangeInclusive<u8> = 1..=4;
const SYSTEM: u8 = 4;

impl Pass<'_> {
    /// Attributes in blocks of their own.
    pub fn attribute_blocks(&self, rec: &Record, len: u32, ids: &[u64], home: Home) {
        let wrong = |detail: String| {
            self.findings.add(ProblemKind::Attribute, self.inode_name(rec.ino), detail);
        };
        for (n, &id) in (0..).zip(ids) {
            if id >= ID_LIMIT {
                return wrong(format!("attribute block {id}: a number that cannot be"));
            }
            let place = Place { index: n, ..Place::new(Kind::Xattr, rec.ino) };
            self.books.refer(id, place, rec.ino);
        }
        if len > TOTAL_MAX {
            return wrong(format!("{len} bytes of attributes"));
        }
        if !self.is_home(rec.ino, home) {
            return;
        }
        let mut bytes = Vec::new();
        for (n, &id) in (0..).zip(ids) {
            // What cannot be read is reported elsewhere.
            let Some((meta, payload)) = self.fetch(id) else { return };
            if (meta.kind, meta.owner, meta.index) != (Kind::Xattr, rec.ino, n) {
                return;
            }
            bytes.extend_from_slice(&payload);
            if bytes.len() > len as usize {
                break;
            }
        }
        if bytes.len() != len as usize {
            return wrong(format!("{len} bytes of attributes, its blocks hold others"));
        }
        self.attributes(rec, &bytes);
    }

    /// Attribute bytes.
    pub fn attributes(&self, rec: &Record, mut bytes: &[u8]) {
        let wrong = |kind, detail: String| {
            self.findings.add(kind, self.inode_name(rec.ino), detail);
        };
        let mut names: Vec<(u8, &[u8])> = Vec::new();
        while !bytes.is_empty() {
            let Some(Attribute { class, name, value }) = take(&mut bytes) else {
                return wrong(ProblemKind::Attribute, "its attributes are cut short".into());
            };
            names.push((class, name));
            if !CLASSES.contains(&class) || name.is_empty() || value.len() > VALUE_MAX {
                let detail = format!("attribute {} of class {class} cannot be", text(name));
                wrong(ProblemKind::Attribute, detail);
            }
            let directory = rec.mode & libc::S_IFMT == libc::S_IFDIR;
            let list = match (class, name) {
                (SYSTEM, b"posix_acl_access") => true,
                (SYSTEM, b"posix_acl_default") if directory => true,
                (SYSTEM, _) => {
                    wrong(ProblemKind::Attribute, format!("system attribute {}", text(name)));
                    false
                }
                _ => false,
            };
            if list && !is_acl(value) {
                wrong(ProblemKind::Acl, format!("{} is no access control list", text(name)));
            }
        }
        names.sort_unstable();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            wrong(ProblemKind::Attribute, "an attribute twice".into());
        }
        if matches!(&rec.xattrs, Xattrs::Inline(bytes) if bytes.is_empty()) {
            wrong(ProblemKind::Attribute, "attributes of no bytes".into());
        }
    }
}

/// Of attribute bytes, those of the attributes that are as they must be.
pub(super) fn sound(directory: bool, mut bytes: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut names: Vec<(u8, &[u8])> = Vec::new();
    let mut from = bytes;
    while let Some(Attribute { class, name, value }) = take(&mut bytes) {
        let taken = from.len() - bytes.len();
        let list = match (class, name) {
            (SYSTEM, b"posix_acl_access") => is_acl(value),
            (SYSTEM, b"posix_acl_default") => directory && is_acl(value),
            _ => class != SYSTEM,
        };
        let fits = CLASSES.contains(&class) && !name.is_empty() && value.len() <= VALUE_MAX;
        let fits = fits && kept.len() + taken <= TOTAL_MAX as usize;
        if list && fits && !names.contains(&(class, name)) {
            kept.extend_from_slice(&from[..taken]);
            names.push((class, name));
        }
        from = bytes;
    }
    kept
}

struct Attribute<'a> {
    class: u8,
    name: &'a [u8],
    value: &'a [u8],
}

/// Takes the first attribute off.
fn take<'a>(bytes: &mut &'a [u8]) -> Option<Attribute<'a>> {
    let (head, rest) = bytes.split_first_chunk::<6>()?;
    let value_len = u32::from_le_bytes([head[2], head[3], head[4], head[5]]) as usize;
    let (name, rest) = rest.split_at_checked(usize::from(head[1]))?;
    let (value, rest) = rest.split_at_checked(value_len)?;
    *bytes = rest;
    Some(Attribute { class: head[0], name, value })
}

/// Whether bytes are an access control list as the kernel passes them, version 2: one entry each
/// for owner, group and others; one mask at most, and there must be one when there are named
/// entries.
fn is_acl(value: &[u8]) -> bool {
    let Some((2, entries)) =
        value.split_first_chunk().map(|(v, rest)| (u32::from_le_bytes(*v), rest))
    else {
        return false;
    };
    let mut counts = [0u32; 6];
    for e in entries.chunks(8) {
        let (Some(&[tag, 0]), Some(&[perm, 0])) = (e.get(..2), e.get(2..4)) else { return false };
        let bit = tag.trailing_zeros() as usize;
        match counts.get_mut(bit) {
            Some(count) if tag == 1 << bit && perm < 8 && e.len() == 8 => *count += 1,
            _ => return false,
        }
    }
    let [owner, users, group, groups, mask, others] = counts;
    let named = users + groups > 0;
    entries.is_empty() || ([owner, group, others] == [1; 3] && mask <= 1 && (!named || mask == 1))
}
