//! Reading blocks back: verified against what they must be, decoded once.

use tandem_device::Device;
use tandem_format::{
    BlockMeta, ExtentNode, FANOUT, GRAIN, ImapBlock, Kind, Leaf, Loc, Superblock, Table, Words,
    open, peek,
};

use super::prefetch::Window;
use crate::cache::{Block, Body, Brought, FirstUse, Key};
use crate::error::{Error, Fault, Result};
use crate::state::State;
use crate::volume::Core;

/// Reads and verifies the bytes of the block `key` at `loc`.
pub(crate) fn read_block(meta: &dyn Device, sb: &Superblock, key: Key, loc: Loc) -> Result<Block> {
    let mut bytes = vec![0; loc.bytes() as usize];
    meta.read_at(&mut bytes, loc.offset()).map_err(|source| Error::Io {
        device: meta.name().into(),
        op: "read",
        offset: loc.offset(),
        len: loc.bytes(),
        source,
    })?;
    decode_block(meta.name(), sb, key, loc.offset(), &bytes)
}

/// Verifies and decodes the block `key` that was read from byte `offset`.
pub(crate) fn decode_block(
    device: &str,
    sb: &Superblock,
    key: Key,
    offset: u64,
    bytes: &[u8],
) -> Result<Block> {
    let (meta, payload) = verify_block(device, sb, key, offset, bytes)?;
    let fail = |e: tandem_format::FormatError| corrupt(device, key, offset, e.to_string());
    let body = match meta.kind {
        Kind::Leaf | Kind::Inode => {
            Body::Leaf(Leaf::decode(payload, &meta, &sb.implied()).map_err(fail)?)
        }
        Kind::Table => Body::Table(Table::decode(payload).map_err(fail)?),
        Kind::Extent => Body::Extent(ExtentNode::decode(payload, meta.level).map_err(fail)?),
        Kind::Imap if meta.level == 0 => Body::Imap(ImapBlock::decode(payload).map_err(fail)?),
        Kind::Map | Kind::Imap => Body::Words(Words::decode(payload).map_err(fail)?),
        _ if meta.level > 0 => Body::Words(Words::decode(payload).map_err(fail)?),
        _ => Body::Raw(payload.to_vec()),
    };
    Ok(Block { kind: meta.kind, owner: meta.owner, index: meta.index, level: meta.level, body })
}

fn corrupt(device: &str, key: Key, offset: u64, detail: String) -> Error {
    Error::Corrupt { device: device.into(), what: format!("{key:?}"), offset, detail }
}

/// Verifies the block `key` that was read from byte `offset`: its checksum, and that it is the one.
/// Returns what it says of itself, and its payload.
pub(super) fn verify_block<'a>(
    device: &str,
    sb: &Superblock,
    key: Key,
    offset: u64,
    bytes: &'a [u8],
) -> Result<(BlockMeta, &'a [u8])> {
    let bad = |detail: String| corrupt(device, key, offset, detail);
    let (meta, payload) = open(bytes).map_err(|e| bad(e.to_string()))?;
    if meta.volume != sb.volume {
        return Err(bad(format!("belongs to volume {:016x}", meta.volume)));
    }
    let right = match key.ifile() {
        Some((kind, level, index)) => meta.kind == kind && meta.level == level && meta.id == index,
        None => Some(meta.id) == key.id() && (meta.kind as u8) < Kind::Delta as u8,
    };
    if !right {
        return Err(bad(format!(
            "names itself {:?} {} of level {}",
            meta.kind, meta.id, meta.level
        )));
    }
    Ok((meta, payload))
}

/// Brings a missing block into the cache, together with the IFile blocks that say where it is, and
/// with what lies around them. The state is locked only before and after the device works.
/// Returns false when there is no such block.
pub(crate) fn load(core: &Core, key: Key) -> Result<bool> {
    let mut wanted = vec![key];
    while let Some(&key) = wanted.last() {
        let (loc, window) = {
            let mut st = core.state.lock();
            if st.cache.contains(key) {
                wanted.pop();
                continue;
            }
            let loc = match st.locate(key) {
                Ok(loc) => loc,
                Err(Fault::Miss(first)) if !wanted.contains(&first) => {
                    wanted.push(first);
                    continue;
                }
                Err(Fault::Fail(e)) => return Err(e.on(core.meta.name())),
                Err(_) => return Err(lost(&*core.meta, key, "its address cannot be found")),
            };
            if loc.is_none() {
                return Ok(false);
            }
            if let Some((request, block)) = st.unstash(key, loc) {
                let brought = Brought { request, grains: loc.grains() };
                st.cache.insert_ahead(key, block, brought);
                st.prefetch.prefetched += 1;
                continue;
            }
            (loc, st.plan(core, loc))
        };
        let read = fetch(core, key, loc, &window);
        let mut st = core.state.lock();
        // It may have moved, or been freed, while the device was reading.
        if !matches!(st.locate(key), Ok(now) if now == loc) {
            continue;
        }
        st.cache.insert_read(key, read?, window.again);
        let brought = Brought { request: window.number, grains: loc.grains() };
        st.cache.ahead.note(FirstUse { key, brought });
        if key.id().is_some() {
            let now = core.env.monotonic();
            st.asked(&window, now);
        }
    }
    Ok(true)
}

/// Reads an IFile table block that the cache does not hold, with what lies around it.
pub(crate) fn read_table(core: &Core, key: Key, loc: Loc) -> Result<Block> {
    let window = {
        let mut st = core.state.lock();
        if let Some((_, block)) = st.unstash(key, loc) {
            return Ok(block);
        }
        st.plan(core, loc)
    };
    fetch(core, key, loc, &window)
}

/// Reads a window, and the block at `loc` out of it; enters what else lives there.
fn fetch(core: &Core, key: Key, loc: Loc, window: &Window) -> Result<Block> {
    let meta = &*core.meta;
    let sb = &core.state.lock().sb.clone();
    let mut bytes = vec![0; window.len];
    if !window.is_more_than(loc) || meta.read_at(&mut bytes, window.from).is_err() {
        // Also when it is a neighbour that cannot be read.
        return read_block(meta, sb, key, loc);
    }
    let at = (loc.offset() - window.from) as usize;
    let own = bytes.get(at..at + loc.bytes() as usize).unwrap_or_default();
    let block = decode_block(meta.name(), sb, key, loc.offset(), own)?;
    let (found, cut) = claims(window.from, &bytes);
    let living = {
        let st = core.state.lock();
        found.into_iter().filter(|&(k, at)| k != key && st.may_live(k, at)).collect::<Vec<_>>()
    };
    let mut blocks = Vec::with_capacity(living.len());
    for (key, loc) in living {
        let at = (loc.offset() - window.from) as usize;
        let bytes = bytes.get(at..at + loc.bytes() as usize).unwrap_or_default();
        if let Ok(block) = decode_block(meta.name(), sb, key, loc.offset(), bytes) {
            blocks.push((key, loc, block));
        }
    }
    core.state.lock().enter_window(window, blocks, cut);
    Ok(block)
}

/// What may be whole blocks among the bytes read from byte `from`, unverified; and whether there
/// are parts of blocks in the first page and in the last one.
fn claims(from: u64, bytes: &[u8]) -> (Vec<(Key, Loc)>, (bool, bool)) {
    let mut found = Vec::new();
    let mut cut = (peek(bytes).is_none(), false);
    let grain = from / GRAIN as u64;
    for (n, head) in bytes.chunks_exact(GRAIN).enumerate() {
        let Some(claim) = peek(head) else { continue };
        let left = bytes.len() / GRAIN - n;
        if usize::from(claim.grains) > left {
            cut.1 = true;
            continue;
        }
        let key = match claim.kind {
            Kind::Delta => continue,
            kind if (kind as u8) < Kind::Delta as u8 => Key::block(claim.id),
            kind => Key::table(kind, claim.level, claim.id),
        };
        found.push((key, Loc::new(grain + n as u64, claim.grains)));
    }
    if found.first().is_some_and(|(_, loc)| loc.grain() == grain) {
        cut.0 = false;
    }
    (found, cut)
}

impl State {
    fn plan(&mut self, core: &Core, loc: Loc) -> Window {
        let counts = (self.cache.ahead.used, self.cache.ahead.wasted);
        self.prefetch.plan(&core.geo, &self.segs, loc, counts, core.opts.cache / 2)
    }

    fn unstash(&mut self, key: Key, loc: Loc) -> Option<(u32, Block)> {
        self.prefetch.unstash(&self.segs, key, loc)
    }

    /// Whether a block lives at `loc`, as far as that can be said without reading anything.
    fn lives_at(&self, key: Key, loc: Loc) -> Option<bool> {
        let (parent, slot) = match (key.id(), key.ifile()) {
            (Some(id), _) if self.going.contains(&id) => return Some(false),
            (Some(id), _) => {
                (Key::table(Kind::Map, 0, id / FANOUT as u64), (id % FANOUT as u64) as usize)
            }
            (None, Some((kind, level, index))) => {
                let root = self.roots[crate::ifile::root_of(kind)];
                if level >= root.height {
                    return Some(level == root.height && index == 0 && root.loc == loc);
                }
                (
                    Key::table(kind, level + 1, index / FANOUT as u64),
                    (index % FANOUT as u64) as usize,
                )
            }
            (None, None) => return Some(false),
        };
        match &self.cache.peek(parent)?.body {
            Body::Words(words) => Some(words.0.get(slot) == Some(&loc.raw())),
            _ => Some(false),
        }
    }

    /// Whether a block that was read at `loc` may be of use.
    fn may_live(&self, key: Key, loc: Loc) -> bool {
        !self.cache.contains(key) && self.lives_at(key, loc) != Some(false)
    }

    /// Enters what was read beside a block. What was written over meanwhile is not believed: then
    /// the segment bears another commit's number.
    fn enter_window(&mut self, window: &Window, blocks: Vec<(Key, Loc, Block)>, cut: (bool, bool)) {
        if self.segs.writes(window.segment) != window.stamp {
            return;
        }
        for (key, loc, block) in blocks {
            // The cache does not have these tables' lowest blocks: their contents are in memory in
            // another form.
            let outside = matches!(key.ifile(), Some((Kind::Seg | Kind::Group | Kind::Free, 0, _)));
            match self.lives_at(key, loc) {
                Some(true) if !outside => {
                    let brought = Brought { request: window.number, grains: loc.grains() };
                    let new = self.cache.insert_ahead(key, block, brought);
                    self.prefetch.prefetched += u64::from(new);
                }
                Some(true) | None if !self.cache.contains(key) => {
                    self.prefetch.stash(key, loc, window, block);
                }
                _ => {}
            }
        }
        self.prefetch.done(window, cut);
    }
}

pub(crate) fn lost(meta: &dyn Device, key: Key, detail: &str) -> Error {
    Error::Corrupt {
        device: meta.name().into(),
        what: format!("{key:?}"),
        offset: 0,
        detail: detail.into(),
    }
}
