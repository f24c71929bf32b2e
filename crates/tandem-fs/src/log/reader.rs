//! Reading blocks back: verified against what they must be, decoded once.

use parking_lot::Mutex;
use tandem_device::Device;
use tandem_format::{ExtentNode, ImapBlock, Kind, Leaf, Loc, Table, Words, open};

use crate::cache::{Block, Body, Key};
use crate::error::{Error, Fault, Result};
use crate::state::State;

/// Reads and verifies the bytes of the block `key` at `loc`.
pub(crate) fn read_block(meta: &dyn Device, volume: u64, key: Key, loc: Loc) -> Result<Block> {
    let mut bytes = vec![0; loc.bytes() as usize];
    meta.read_at(&mut bytes, loc.offset()).map_err(|source| Error::Io {
        device: meta.name().into(),
        op: "read",
        offset: loc.offset(),
        len: loc.bytes(),
        source,
    })?;
    decode_block(meta.name(), volume, key, loc.offset(), &bytes)
}

/// Verifies and decodes the block `key` that was read from byte `offset`.
pub(crate) fn decode_block(
    device: &str,
    volume: u64,
    key: Key,
    offset: u64,
    bytes: &[u8],
) -> Result<Block> {
    let bad = |detail: String| Error::Corrupt {
        device: device.into(),
        what: format!("{key:?}"),
        offset,
        detail,
    };
    let (meta, payload) = open(bytes).map_err(|e| bad(e.to_string()))?;
    if meta.volume != volume {
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
    let fail = |e: tandem_format::FormatError| bad(e.to_string());
    let body = match meta.kind {
        Kind::Leaf | Kind::Inode => {
            Body::Leaf(Leaf::decode(payload, meta.count, meta.index).map_err(fail)?)
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

/// Brings a missing block into the cache, together with the IFile blocks that say where it is.
/// The state is locked only before and after the device works.
/// Returns false when there is no such block.
pub(crate) fn load(state: &Mutex<State>, meta: &dyn Device, key: Key) -> Result<bool> {
    let mut wanted = vec![key];
    while let Some(&key) = wanted.last() {
        let (loc, volume) = {
            let mut st = state.lock();
            if st.cache.contains(key) {
                wanted.pop();
                continue;
            }
            let volume = st.sb.volume;
            match st.locate(key) {
                Ok(loc) => (loc, volume),
                Err(Fault::Miss(first)) if !wanted.contains(&first) => {
                    wanted.push(first);
                    continue;
                }
                Err(Fault::Fail(e)) => return Err(e),
                Err(_) => return Err(lost(meta, key, "its address cannot be found")),
            }
        };
        if loc.is_none() {
            return Ok(false);
        }
        let block = read_block(meta, volume, key, loc)?;
        let mut st = state.lock();
        // It may have moved, or been freed, while the device was reading.
        if matches!(st.locate(key), Ok(now) if now == loc) {
            st.cache.insert_clean(key, block);
            wanted.pop();
        }
    }
    Ok(true)
}

pub(crate) fn lost(meta: &dyn Device, key: Key, detail: &str) -> Error {
    Error::Corrupt {
        device: meta.name().into(),
        what: format!("{key:?}"),
        offset: 0,
        detail: detail.into(),
    }
}
