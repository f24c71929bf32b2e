//! Changes of what is packed: taken apart, changed, and packed again.

use arbitrary::{Result, Unstructured};
use tandem_format::{
    Body, Content, DeltaRecord, ImapBlock, Kind, Leaf, Loc, Record, Xattrs, open, seal,
};

use super::base::Base;
use super::edit::{Target, number};

/// A block in use of one of these kinds.
fn pick_kind(u: &mut Unstructured<'_>, base: &Base, kinds: &[Kind]) -> Result<usize> {
    let of = |n: &&usize| kinds.contains(&base.places.blocks[**n].kind);
    let all: Vec<&usize> = base.places.kinds.iter().flatten().filter(of).collect();
    Ok(**u.choose(&all)?)
}

/// Changes an entry of a leaf or i-node block.
pub fn leaf(target: &mut Target, base: &Base, u: &mut Unstructured<'_>) -> Result<()> {
    let n = pick_kind(u, base, &[Kind::Leaf, Kind::Inode])?;
    let bytes = target.block(&base.places.blocks[n]);
    let Ok((mut meta, payload)) = open(&bytes) else { return Ok(()) };
    let implied = &base.places.implied;
    let Ok(mut leaf) = Leaf::decode(payload, &meta, implied) else { return Ok(()) };
    if leaf.count() == 0 || u.ratio(1, 16)? {
        leaf.set_next(number(u, base, leaf.next())?);
    } else {
        entry(&mut leaf, base, u)?;
    }
    if let Ok(packed) = leaf.encode(meta.kind, implied) {
        meta.count = leaf.count();
        let mut out = Vec::new();
        seal(&mut out, &meta, &packed);
        if out.len() <= bytes.len() {
            target.put(base, n, &out);
        }
    }
    Ok(())
}

fn entry(leaf: &mut Leaf, base: &Base, u: &mut Unstructured<'_>) -> Result<()> {
    let slot = u.choose_index(leaf.count() as usize)?;
    let entry = leaf.entry(slot);
    let (key, mut kind, mut name) = (entry.key, entry.kind, entry.name.to_vec());
    let mut body = match entry.body {
        Body::Link(ino) => Err(ino),
        Body::Embedded(bytes) => Ok(Record::decode(bytes).unwrap_or_default()),
    };
    match u.int_in_range(0..=9u8)? {
        0 => kind = u.int_in_range(0..=7)?,
        1 => body = Err(number(u, base, entry_ino(&body))? & ((1 << 48) - 1)),
        2 => {
            leaf.remove(slot);
            return Ok(());
        }
        3 if !name.is_empty() => {
            let at = u.choose_index(name.len())?;
            name[at] = u.arbitrary()?;
        }
        _ => match &mut body {
            Ok(rec) => record(rec, base, u)?,
            Err(ino) => *ino = number(u, base, *ino)? & ((1 << 48) - 1),
        },
    }
    let mut bytes = Vec::new();
    if let Ok(rec) = &body {
        // Another file type needs other contents: what does not go together cannot be packed.
        rec.encode(&mut bytes);
    }
    let body = match body {
        Ok(_) => Body::Embedded(&bytes),
        Err(ino) => Body::Link(ino),
    };
    leaf.remove(slot);
    let _ = leaf.insert(key, kind, &name, body);
    Ok(())
}

fn entry_ino(body: &std::result::Result<Record, u64>) -> u64 {
    match body {
        Ok(rec) => rec.ino,
        Err(ino) => *ino,
    }
}

fn record(rec: &mut Record, base: &Base, u: &mut Unstructured<'_>) -> Result<()> {
    match u.int_in_range(0..=9u8)? {
        0 => rec.ino = (number(u, base, rec.ino)? & ((1 << 48) - 1)).max(1),
        1 => rec.generation = number(u, base, rec.generation.into())? as u32,
        2 => rec.mode = (number(u, base, rec.mode.into())? & 0xffff) as u32,
        3 => rec.nlink = number(u, base, rec.nlink.into())? as u32,
        4 => rec.size = number(u, base, rec.size)?,
        5 => rec.mtime.secs = (number(u, base, rec.mtime.secs as u64)? as i64) >> 24,
        6 => attributes(&mut rec.xattrs, base, u)?,
        _ => content(&mut rec.content, base, u)?,
    }
    Ok(())
}

fn attributes(xattrs: &mut Xattrs, base: &Base, u: &mut Unstructured<'_>) -> Result<()> {
    match xattrs {
        Xattrs::None => {
            *xattrs = Xattrs::Blocks {
                len: number(u, base, 0)? as u32,
                ids: vec![number(u, base, 0)?; usize::from(u.arbitrary::<u8>()? % 4)],
            }
        }
        Xattrs::Inline(bytes) if !bytes.is_empty() => {
            let at = u.choose_index(bytes.len())?;
            bytes[at] = u.arbitrary()?;
        }
        Xattrs::Blocks { len, ids } if ids.is_empty() || u.arbitrary()? => {
            *len = number(u, base, (*len).into())? as u32;
        }
        Xattrs::Blocks { ids, .. } => {
            let at = u.choose_index(ids.len())?;
            ids[at] = number(u, base, ids[at])?;
        }
        Xattrs::Inline(_) => {}
    }
    Ok(())
}

fn content(content: &mut Content, base: &Base, u: &mut Unstructured<'_>) -> Result<()> {
    match content {
        Content::None => {
            let extent = tandem_format::Extent { len: 1, ..Default::default() };
            *content = Content::Extents([extent].into_iter().collect());
        }
        Content::Extents(list) if !list.is_empty() => {
            let at = u.choose_index(list.len())?;
            let e = &mut list[at];
            match u.int_in_range(0..=3u8)? {
                0 => e.logical = number(u, base, e.logical)?,
                1 => e.start = number(u, base, e.start)?,
                2 => e.len = number(u, base, e.len.into())? as u32,
                _ => e.unwritten ^= true,
            }
        }
        Content::Tree { root, height, blocks, extents } => match u.int_in_range(0..=3u8)? {
            0 => *root = number(u, base, *root)?,
            1 => *height = u.arbitrary()?,
            2 => *blocks = number(u, base, *blocks)?,
            _ => *extents = number(u, base, *extents)?,
        },
        Content::Dir(dir) => match u.int_in_range(0..=4u8)? {
            0 => dir.parent = number(u, base, dir.parent)? & ((1 << 48) - 1),
            1 => dir.entries = number(u, base, dir.entries)?,
            2 => dir.subdirs = number(u, base, dir.subdirs.into())? as u32,
            3 => dir.root = number(u, base, dir.root)?,
            _ => dir.group = number(u, base, dir.group.into())? as u32,
        },
        Content::Symlink(_) | Content::Extents(_) => {
            *content = Content::SymlinkBlock(number(u, base, 0)?);
        }
        Content::SymlinkBlock(id) => *id = number(u, base, *id)?,
        Content::Device(dev) => *dev = u.arbitrary()?,
    }
    Ok(())
}

/// Changes an entry of the i-node map.
pub fn imap(target: &mut Target, base: &Base, u: &mut Unstructured<'_>) -> Result<()> {
    let kind = Kind::Imap;
    let n = pick_kind(u, base, &[kind])?;
    let bytes = target.block(&base.places.blocks[n]);
    let Ok((mut meta, payload)) = open(&bytes) else { return Ok(()) };
    let Ok(mut block) = ImapBlock::decode(payload) else { return Ok(()) };
    let most = (block.count() as usize + 2).min(block.entries.len());
    let at = u.choose_index(most)?;
    match u.int_in_range(0..=2u8)? {
        0 => block.entries[at][0] = number(u, base, block.entries[at][0])?,
        1 => block.entries[at][1] = number(u, base, block.entries[at][1])?,
        _ => block.entries[at] = block.entries[u.choose_index(most)?],
    }
    meta.count = block.count();
    let mut out = Vec::new();
    seal(&mut out, &meta, &block.encode());
    if out.len() <= bytes.len() {
        target.put(base, n, &out);
    }
    Ok(())
}

/// Changes a record of a delta, repeats it or leaves it out.
pub fn delta(target: &mut Target, base: &Base, u: &mut Unstructured<'_>) -> Result<()> {
    let n = pick_kind(u, base, &[Kind::Delta])?;
    let bytes = target.block(&base.places.blocks[n]);
    let Ok((meta, payload)) = open(&bytes) else { return Ok(()) };
    let mut records: Vec<DeltaRecord> = DeltaRecord::read(payload).flatten().collect();
    if records.is_empty() {
        return Ok(());
    }
    let at = u.choose_index(records.len())?;
    match u.int_in_range(0..=7u8)? {
        0 => _ = records.remove(at),
        1 => records.push(records[at]),
        2 => {
            records[at] = DeltaRecord::Free { start: number(u, base, 0)?, len: number(u, base, 1)? }
        }
        3 => records[at] = DeltaRecord::ImapClear { ino: number(u, base, 0)?, n: 4096 },
        _ => change(&mut records[at], base, u)?,
    }
    let mut payload = Vec::new();
    records.iter().for_each(|record| record.encode(&mut payload));
    let mut out = Vec::new();
    if payload.len() + 64 <= bytes.len() {
        seal(&mut out, &meta, &payload);
        target.put(base, n, &out);
    }
    Ok(())
}

fn change(record: &mut DeltaRecord, base: &Base, u: &mut Unstructured<'_>) -> Result<()> {
    let which = u.int_in_range(0..=2u8)?;
    let mut to = |old: u64| number(u, base, old);
    match (record, which) {
        (DeltaRecord::ImapSet { ino, .. }, 0) => *ino = to(*ino)?,
        (DeltaRecord::ImapSet { w0, .. }, 1) => *w0 = to(*w0)?,
        (DeltaRecord::ImapSet { w1, .. }, _) => *w1 = to(*w1)?,
        (DeltaRecord::ImapClear { ino, .. }, 0) => *ino = to(*ino)?,
        (DeltaRecord::ImapClear { n, .. }, _) => *n = to(*n)?,
        (DeltaRecord::IdFree { id }, _) => *id = to(*id)?,
        (DeltaRecord::Alloc { start, .. } | DeltaRecord::Free { start, .. }, 0) => {
            *start = to(*start)?;
        }
        (DeltaRecord::Alloc { len, .. } | DeltaRecord::Free { len, .. }, _) => *len = to(*len)?,
        (DeltaRecord::Counters { next_ino, .. }, 0) => *next_ino = to(*next_ino)?,
        (DeltaRecord::Counters { next_id, .. }, 1) => *next_id = to(*next_id)?,
        (DeltaRecord::Counters { inodes, .. }, _) => *inodes = to(*inodes)?,
        (DeltaRecord::GroupCounts { group, .. }, 0) => *group = to((*group).into())? as u32,
        (DeltaRecord::GroupCounts { dirs, .. }, 1) => *dirs = to(*dirs as u64)? as i64,
        (DeltaRecord::GroupCounts { inodes, .. }, _) => *inodes = to(*inodes as u64)? as i64,
    }
    Ok(())
}

/// Gives an id the address of another block, or another address.
pub fn remap(target: &mut Target, base: &Base, u: &mut Unstructured<'_>) -> Result<()> {
    let n = pick_kind(u, base, &[Kind::Map])?;
    let mut bytes = target.block(&base.places.blocks[n]);
    let words = bytes.len().saturating_sub(64) / 8;
    if words > 0 {
        let at = 64 + 8 * u.choose_index(words)?;
        let block = u.choose_iter(base.places.blocks.iter())?;
        let loc = Loc::new(block.offset / 64, (block.len / 64) as u16).raw();
        let to = number(u, base, loc)?;
        let new = if u.arbitrary()? { loc } else { to };
        bytes[at..at + 8].copy_from_slice(&new.to_le_bytes());
    }
    target.put(base, n, &bytes);
    Ok(())
}
