//! Reading single blocks, and whether they are what they must be.

use tandem_format::{BlockMeta, GRAIN, Geometry, HEADER, Kind, Loc, open};

use crate::cache::Key;
use crate::volume::Core;

/// The longest block in bytes, padding included.
const LONGEST: u64 = 1 << 16;

/// Whether a block can lie at an address.
pub(super) fn check_address(geo: &Geometry, loc: Loc) -> Result<(), String> {
    let (from, to) = (geo.segment_offset(0), geo.segment_offset(geo.segments));
    let size = u64::from(geo.segment_size);
    let (start, end) = (loc.offset(), loc.offset() + loc.bytes());
    if loc.grains() == 0 || loc.bytes() > LONGEST {
        return Err(format!("address {loc:?}: no block has that length"));
    }
    if start < from || end > to || (start - from) / size != (end - 1 - from) / size {
        return Err(format!("address {loc:?}: not within a segment"));
    }
    Ok(())
}

/// Checks the bytes at an address: a block of this volume that takes them all. Returns what it
/// says of itself, and its payload.
pub(super) fn open_block(
    volume: u64,
    loc: Loc,
    bytes: &[u8],
) -> Result<(BlockMeta, &[u8]), String> {
    let (meta, payload) = open(bytes).map_err(|e| e.to_string())?;
    if meta.volume != volume {
        return Err(format!("belongs to volume {:016x}", meta.volume));
    }
    let len = (HEADER + payload.len()).next_multiple_of(GRAIN);
    if len as u64 != loc.bytes() {
        return Err(format!("has {len} bytes, its address says {}", loc.bytes()));
    }
    Ok((meta, payload))
}

/// Reads the bytes at an address.
pub(super) fn read(core: &Core, loc: Loc) -> Result<Vec<u8>, String> {
    check_address(&core.geo, loc)?;
    let mut bytes = vec![0; loc.bytes() as usize];
    core.meta.read_at(&mut bytes, loc.offset()).map_err(|e| format!("cannot be read: {e}"))?;
    Ok(bytes)
}

/// Reads a block of the IFile.
pub(super) fn read_table_block(
    core: &Core,
    key: Key,
    loc: Loc,
) -> Result<(BlockMeta, Vec<u8>), String> {
    let bytes = read(core, loc)?;
    let volume = core.state.lock().sb.volume;
    let (meta, payload) = open_block(volume, loc, &bytes)?;
    if !is_named(&meta, key) {
        return Err(misnamed(&meta));
    }
    Ok((meta, payload.to_vec()))
}

/// Whether a block says that it is the one with this key.
pub(super) fn is_named(meta: &BlockMeta, key: Key) -> bool {
    match key.ifile() {
        Some((kind, level, index)) => meta.kind == kind && meta.level == level && meta.id == index,
        None => Some(meta.id) == key.id() && (meta.kind as u8) < Kind::Delta as u8,
    }
}

/// What to say of a block that is another one.
pub(super) fn misnamed(meta: &BlockMeta) -> String {
    format!("names itself {:?} block {} of level {}", meta.kind, meta.id, meta.level)
}
