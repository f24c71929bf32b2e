//! What people call an i-node. On a damaged volume there may be no answer; nothing here takes long
//! or fails.

use tandem_format::{Body, Content, Kind, Leaf, Record, Table};

use super::blocks::{is_named, open_block, read};
use crate::cache::Key;
use crate::dir::{REV_BITS, TABLE_FLAG, rev_of, table_slot};
use crate::ifile::Home;
use crate::types::{LIMBO, ROOT};
use crate::volume::Core;

/// Directories of a path, and leaves of a chain, that are followed.
const FAR: usize = 100;

/// An i-node's number, and its path if it can be found.
pub(super) fn inode(core: &Core, ino: u64) -> String {
    let device = core.meta.name();
    match path(core, ino) {
        Some(path) => format!("{device}: i-node {ino} ({path})"),
        None => format!("{device}: i-node {ino}"),
    }
}

/// The path of an i-node whose record lies in a directory.
fn path(core: &Core, ino: u64) -> Option<String> {
    let mut up = Vec::new();
    let (mut at, mut rec) = (ino, None);
    while rec.is_none() {
        match core.run(|st| st.imap_get(at)).ok()?? {
            Home::Entry { dir, key } if up.len() < FAR => {
                up.push((dir, key));
                at = dir;
            }
            Home::Block(id) if !up.is_empty() || at == ROOT => {
                let leaf = leaf(core, id, Kind::Inode)?;
                rec = Some(record(leaf.entry(leaf.find_key(at)?).body)?);
            }
            _ => return None,
        }
    }
    let mut path = match at {
        ROOT if up.is_empty() => "/".into(),
        ROOT => String::new(),
        LIMBO => "unlinked: ".into(),
        _ => format!("directory {at}: "),
    };
    while let Some((_, key)) = up.pop() {
        let Some(Content::Dir(dir)) = rec.take().map(|rec| rec.content) else { return None };
        let mut next = leaf_of(core, dir.root, rev_of(key))?;
        for _ in 0..FAR {
            let leaf = leaf(core, next, Kind::Leaf)?;
            if let Some(slot) = leaf.find_key(key) {
                let entry = leaf.entry(slot);
                path.push('/');
                path.extend(entry.name.escape_ascii().map(char::from));
                rec = record(entry.body);
                break;
            }
            next = leaf.next();
        }
    }
    Some(path)
}

fn record(body: Body<'_>) -> Option<Record> {
    match body {
        Body::Embedded(bytes) => Record::decode(bytes).ok(),
        Body::Link(_) => None,
    }
}

/// The leaf in which a directory has a hash.
fn leaf_of(core: &Core, root: u64, rev: u64) -> Option<u64> {
    let (mut at, mut consumed) = (root, 0);
    while at & TABLE_FLAG != 0 {
        let table = Table::decode(&block(core, at & !TABLE_FLAG, Kind::Table)?.2).ok()?;
        if consumed + table.depth > REV_BITS {
            return None;
        }
        at = *table.entries.get(table_slot(rev, consumed, table.depth))?;
        consumed += table.depth;
    }
    Some(at)
}

fn leaf(core: &Core, id: u64, kind: Kind) -> Option<Leaf> {
    let (count, index, payload) = block(core, id, kind)?;
    Leaf::decode(&payload, count, index).ok()
}

/// Count and index of a block's header, and its payload.
fn block(core: &Core, id: u64, kind: Kind) -> Option<(u32, u64, Vec<u8>)> {
    let (loc, volume) = core.run(|st| Ok((st.map_get(id)?, st.sb.volume))).ok()?;
    let bytes = read(core, loc).ok()?;
    let (meta, payload) = open_block(volume, loc, &bytes).ok()?;
    (is_named(&meta, Key::block(id)) && meta.kind == kind)
        .then(|| (meta.count, meta.index, payload.to_vec()))
}
