//! Changes of a volume: of bytes, fields, blocks and pages, as choices say. Checksums are made
//! right afterwards, so that the changes get past them, but where a choice wants them wrong.

use std::collections::BTreeSet;

use arbitrary::{Result, Unstructured};
use tandem_format::{CHECKPOINTS, Loc};

use super::base::Base;
use super::overlay::Overlay;
use super::places::Block;
use super::typed;
use crate::structures::{seal_block, seal_page, seal_summary};

/// Changes of one volume at most.
pub const EDITS_MAX: usize = 12;

/// A volume that is being changed.
pub struct Target {
    pub meta: Overlay,
    pub data: Option<Overlay>,
    /// Blocks, partial segments and pages whose checksums are to be made right.
    blocks: BTreeSet<usize>,
    partials: BTreeSet<usize>,
    pages: BTreeSet<usize>,
}

/// Superblocks, checkpoints, label.
const PAGES: usize = 5;

impl Target {
    pub fn new(meta: Overlay, data: Option<Overlay>) -> Target {
        let (blocks, partials, pages) = Default::default();
        Target { meta, data, blocks, partials, pages }
    }

    fn page(&self, base: &Base, n: usize) -> (&Overlay, u64) {
        let sb = &base.places.sb;
        let fixed = [0, CHECKPOINTS[0], CHECKPOINTS[1], sb.geometry().superblock_b()];
        match (fixed.get(n), &self.data) {
            (Some(&at), _) => (&self.meta, at),
            (None, Some(data)) => (data, 0),
            (None, None) => (&self.meta, sb.data_offset),
        }
    }

    pub fn block(&self, block: &Block) -> Vec<u8> {
        self.meta.peek(block.offset, block.len)
    }

    /// Puts a block's bytes back, changed, as far as they fit.
    pub fn put(&mut self, base: &Base, n: usize, bytes: &[u8]) {
        let block = &base.places.blocks[n];
        self.meta.poke(&bytes[..bytes.len().min(block.len)], block.offset);
        self.blocks.insert(n);
        self.partials.insert(block.partial);
    }

    /// Makes the checksums right, of blocks first, then of what has them in it.
    pub fn seal(&self, base: &Base) {
        for &n in &self.blocks {
            let block = &base.places.blocks[n];
            let mut bytes = self.block(block);
            seal_block(&mut bytes);
            self.meta.poke(&bytes, block.offset);
            if let [_, _, _, _, c0, c1, c2, c3, ..] = bytes[..] {
                let at = base.places.partials[block.partial].start + block.entry as u64;
                self.meta.poke(&[c0, c1, c2, c3], at + 24);
            }
        }
        for &n in &self.partials {
            let partial = &base.places.partials[n];
            let mut bytes = self.meta.peek(partial.start, partial.len);
            if let Some(payload) = bytes.get(partial.summary_len..) {
                let sum = tandem_format::crc(payload);
                bytes[60..64].copy_from_slice(&sum.to_le_bytes());
                seal_summary(&mut bytes, partial.summary_len);
                self.meta.poke(&bytes[..partial.summary_len], partial.start);
            }
        }
        for &n in &self.pages {
            let (device, at) = self.page(base, n);
            let mut bytes = device.peek(at, 4096);
            if bytes.len() == 4096 {
                seal_page(&mut bytes);
                device.poke(&bytes, at);
            }
        }
    }
}

/// A number that is likely to be somewhere near a border, or to mean something on this volume.
pub fn number(u: &mut Unstructured<'_>, base: &Base, old: u64) -> Result<u64> {
    let some =
        |u: &mut Unstructured<'_>| u.choose_iter(base.places.blocks[..base.places.live].iter());
    Ok(match u.int_in_range(0..=15u8)? {
        0 => old.wrapping_add(1),
        1 => old.wrapping_sub(1),
        2 => old ^ 1 << u.int_in_range(0..=63u32)?,
        3 => 0,
        4 => u64::MAX >> u.int_in_range(0..=63u32)?,
        5 => 1 << u.int_in_range(0..=63u32)?,
        6 => some(u)?.id,
        7 => some(u)?.id | 1 << 63,
        8 => {
            let block = some(u)?;
            Loc::new(block.offset / 64, (block.len / 64) as u16).raw()
        }
        9 => (1u64 << u.int_in_range(0..=63u32)?).wrapping_sub(1 + u64::from(u.arbitrary::<u8>()?)),
        10 => u64::MAX - u64::from(u.arbitrary::<u8>()?),
        11 | 12 => u.arbitrary::<u8>()?.into(),
        13 => u.arbitrary::<u16>()?.into(),
        14 => u.arbitrary::<u32>()?.into(),
        _ => u.arbitrary()?,
    })
}

/// A block that is in use, mostly; of a rare kind as likely as of any other.
pub fn pick(u: &mut Unstructured<'_>, base: &Base) -> Result<usize> {
    if u.ratio(1, 16)? {
        return u.choose_index(base.places.blocks.len());
    }
    let of_kind = &base.places.kinds[u.choose_index(base.places.kinds.len())?];
    Ok(of_kind[u.choose_index(of_kind.len())?])
}

/// Puts a number of 1, 2, 4 or 8 bytes somewhere, where numbers of that width lie.
fn put_number(u: &mut Unstructured<'_>, base: &Base, bytes: &mut [u8]) -> Result<()> {
    let width = 1usize << u.int_in_range(0..=3u32)?;
    if bytes.len() >= width {
        let at = u.choose_index(bytes.len() / width)? * width;
        let field = &mut bytes[at..at + width];
        let mut word = [0; 8];
        word[..width].copy_from_slice(field);
        let new = number(u, base, u64::from_le_bytes(word))?;
        field.copy_from_slice(&new.to_le_bytes()[..width]);
    }
    Ok(())
}

/// Changes the volume once. Choices that have run out change nothing more.
pub fn edit(target: &mut Target, base: &Base, u: &mut Unstructured<'_>) {
    // What is missing reads as zeros, so that there is hardly an error.
    let _ = try_edit(target, base, u);
}

fn try_edit(target: &mut Target, base: &Base, u: &mut Unstructured<'_>) -> Result<()> {
    match u.int_in_range(0..=19u8)? {
        0..=2 => in_block(target, base, u, 64..usize::MAX),
        3 => in_block(target, base, u, 0..64),
        4 => flip(target, base, u),
        5 => copy(target, base, u),
        6 => swap(target, base, u),
        7 => splice(target, base, u),
        8 | 9 => in_page(target, base, u),
        10 => in_summary(target, base, u),
        11 => partial(target, base, u),
        12 => cut(target, base, u),
        13..=16 => typed::leaf(target, base, u),
        17 => typed::imap(target, base, u),
        18 => typed::delta(target, base, u),
        _ => typed::remap(target, base, u),
    }
}

fn in_block(
    target: &mut Target,
    base: &Base,
    u: &mut Unstructured<'_>,
    range: std::ops::Range<usize>,
) -> Result<()> {
    let n = pick(u, base)?;
    let mut bytes = target.block(&base.places.blocks[n]);
    let end = range.end.min(bytes.len());
    if let Some(part) = bytes.get_mut(range.start..end) {
        put_number(u, base, part)?;
    }
    target.put(base, n, &bytes);
    Ok(())
}

/// Flips a bit, under a wrong checksum half of the time.
fn flip(target: &mut Target, base: &Base, u: &mut Unstructured<'_>) -> Result<()> {
    let n = pick(u, base)?;
    let block = &base.places.blocks[n];
    let mut bytes = target.block(block);
    if !bytes.is_empty() {
        let at = u.choose_index(bytes.len())?;
        bytes[at] ^= 1 << u.int_in_range(0..=7u32)?;
    }
    if u.arbitrary()? {
        target.put(base, n, &bytes);
    } else {
        target.meta.poke(&bytes, block.offset);
    }
    Ok(())
}

/// One block's bytes over another's, with its own id or the other's.
fn copy(target: &mut Target, base: &Base, u: &mut Unstructured<'_>) -> Result<()> {
    let (from, to) = (pick(u, base)?, pick(u, base)?);
    let old = target.block(&base.places.blocks[to]);
    let mut bytes = target.block(&base.places.blocks[from]);
    if u.arbitrary()? && old.len() >= 64 && bytes.len() >= 64 {
        bytes[16..32].copy_from_slice(&old[16..32]);
        bytes[56..64].copy_from_slice(&old[56..64]);
    }
    target.put(base, to, &bytes);
    Ok(())
}

fn swap(target: &mut Target, base: &Base, u: &mut Unstructured<'_>) -> Result<()> {
    let (a, b) = (pick(u, base)?, pick(u, base)?);
    let (first, second) =
        (target.block(&base.places.blocks[a]), target.block(&base.places.blocks[b]));
    target.put(base, a, &second);
    target.put(base, b, &first);
    Ok(())
}

/// A part of one block's payload into another's.
fn splice(target: &mut Target, base: &Base, u: &mut Unstructured<'_>) -> Result<()> {
    let (from, to) = (pick(u, base)?, pick(u, base)?);
    let part = target.block(&base.places.blocks[from]);
    let mut bytes = target.block(&base.places.blocks[to]);
    let unit = if u.arbitrary()? { 8 } else { 1 };
    let (src, dst) =
        (u.choose_index(part.len() / unit)? * unit, u.choose_index(bytes.len() / unit)? * unit);
    let len = (usize::from(u.arbitrary::<u8>()?) + 1) * unit;
    let len = len.min(part.len() - src).min(bytes.len() - dst);
    bytes[dst..dst + len].copy_from_slice(&part[src..src + len]);
    target.put(base, to, &bytes);
    Ok(())
}

fn in_page(target: &mut Target, base: &Base, u: &mut Unstructured<'_>) -> Result<()> {
    let n = u.choose_index(PAGES)?;
    let (device, at) = target.page(base, n);
    let mut bytes = device.peek(at, 4096);
    let sealed = !u.ratio(1, 8)?;
    if let Some(fields) = bytes.get_mut(..224) {
        put_number(u, base, fields)?;
    }
    device.poke(&bytes, at);
    if sealed {
        target.pages.insert(n);
    }
    Ok(())
}

fn in_summary(target: &mut Target, base: &Base, u: &mut Unstructured<'_>) -> Result<()> {
    let n = u.choose_index(base.places.partials.len())?;
    let partial = &base.places.partials[n];
    let mut bytes = target.meta.peek(partial.start, partial.summary_len);
    let header = bytes.len().min(96);
    let range = if u.arbitrary()? { &mut bytes[..header] } else { &mut bytes[..] };
    put_number(u, base, range)?;
    target.meta.poke(&bytes, partial.start);
    target.partials.insert(n);
    Ok(())
}

/// A partial segment over another place of the log.
fn partial(target: &mut Target, base: &Base, u: &mut Unstructured<'_>) -> Result<()> {
    let (from, to) =
        (u.choose_iter(base.places.partials.iter())?, u.choose_iter(base.places.partials.iter())?);
    let bytes = target.meta.peek(from.start, from.len);
    let behind = if u.arbitrary()? { to.len as u64 } else { 0 };
    target.meta.poke(&bytes, to.start + behind);
    Ok(())
}

/// Zeros over a range, or the end of a device gone.
fn cut(target: &mut Target, base: &Base, u: &mut Unstructured<'_>) -> Result<()> {
    let at = u64::from(u.arbitrary::<u16>()?) << u.int_in_range(6..=9u32)?;
    if u.ratio(1, 4)? {
        let device = target.data.as_mut().unwrap_or(&mut target.meta);
        device.truncate(at << 3);
        return Ok(());
    }
    let zeros = vec![0; usize::from(u.arbitrary::<u8>()?) * 64];
    target.meta.poke(&zeros, at.min(base.meta.len() as u64));
    Ok(())
}
