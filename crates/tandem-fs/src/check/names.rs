//! What people call an i-node. On a damaged volume there may be no answer; nothing here takes long
//! or fails.

use tandem_format::{BlockMeta, Body, Content, Kind, Leaf, Record, Table};

use super::blocks::{is_named, open_block, read};
use crate::cache::Key;
use crate::dir::{REV_BITS, TABLE_FLAG, table_slot};
use crate::ifile::{Home, revs_of};
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
            Home::Entry { dir, top } if up.len() < FAR => {
                up.push((top, at));
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
    while let Some((top, ino)) = up.pop() {
        let Some(Content::Dir(dir)) = rec.take().map(|rec| rec.content) else { return None };
        let (name, found) = entry_of(core, dir.root, top, ino)?;
        path.push('/');
        path.extend(name.escape_ascii().map(char::from));
        rec = Some(found);
    }
    Some(path)
}

/// Name and record of an i-node in a directory, among the first entries that it may be in.
fn entry_of(core: &Core, root: u64, top: u32, ino: u64) -> Option<(Vec<u8>, Record)> {
    let (mut from, end) = revs_of(top);
    let mut steps = 0;
    while from < end {
        let head = leaf_of(core, root, from)?;
        let mut next = head;
        while next != 0 && steps < FAR {
            steps += 1;
            let leaf = leaf(core, next, Kind::Leaf)?;
            let mut entries =
                (leaf.lower_bound(from << 15)..leaf.count() as usize).map(|slot| leaf.entry(slot));
            let found = entries.find_map(|entry| {
                record(entry.body)
                    .filter(|rec| rec.ino == ino)
                    .map(|rec| (entry.name.to_vec(), rec))
            });
            if found.is_some() {
                return found;
            }
            next = leaf.next();
        }
        let head = leaf(core, head, Kind::Leaf)?;
        from = (head.prefix() + (1 << (REV_BITS - head.depth()))).max(from + 1);
        if steps >= FAR {
            return None;
        }
    }
    None
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
        let table = Table::decode(&block(core, at & !TABLE_FLAG, Kind::Table)?.1).ok()?;
        if consumed + table.depth > REV_BITS {
            return None;
        }
        at = *table.entries.get(table_slot(rev, consumed, table.depth))?;
        consumed += table.depth;
    }
    Some(at)
}

fn leaf(core: &Core, id: u64, kind: Kind) -> Option<Leaf> {
    let (meta, payload) = block(core, id, kind)?;
    Leaf::decode(&payload, &meta, &core.state.lock().sb.implied()).ok()
}

/// A block's header and its payload.
fn block(core: &Core, id: u64, kind: Kind) -> Option<(BlockMeta, Vec<u8>)> {
    let (loc, volume) = core.run(|st| Ok((st.map_get(id)?, st.sb.volume))).ok()?;
    let bytes = read(core, loc).ok()?;
    let (meta, payload) = open_block(volume, loc, &bytes).ok()?;
    (is_named(&meta, Key::block(id)) && meta.kind == kind).then(|| (meta, payload.to_vec()))
}
