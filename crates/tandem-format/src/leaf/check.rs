//! Whether bytes are a leaf.

use super::{EMBEDDED, HEAD, LINK, Leaf, REC, REV_BITS, SLOT};
use crate::bytes::{get_u16, get_u32, get_u48, get_u64};
use crate::error::FormatError;

const STRUCTURE: &str = "leaf";

fn invalid(field: &'static str, detail: impl Into<std::borrow::Cow<'static, str>>) -> FormatError {
    FormatError::invalid(STRUCTURE, field, detail)
}

/// Checks everything that the methods of [`Leaf`] rely on; returns the number of entries.
pub(super) fn check(payload: &[u8], count: u32, prefix: u64) -> Result<usize, FormatError> {
    if payload.len() < HEAD {
        return Err(FormatError::truncated(STRUCTURE, "header"));
    }
    if payload.len() > Leaf::CAPACITY {
        return Err(invalid("len", format!("{} bytes", payload.len())));
    }
    let heap_len = usize::from(get_u16(payload, 8));
    let depth = payload[10];
    if depth > REV_BITS {
        return Err(invalid("depth", format!("{depth}")));
    }
    let below = (1u64 << (REV_BITS - depth)) - 1;
    if prefix >> REV_BITS != 0 || (depth > 0 && prefix & below != 0) {
        return Err(invalid("prefix", format!("{prefix:#x} at depth {depth}")));
    }
    let count = count as usize;
    let slots_len = payload.len() - HEAD;
    if heap_len > slots_len || count.checked_mul(SLOT) != Some(slots_len - heap_len) {
        let detail = format!("{heap_len} of {slots_len} bytes, with {count} slots");
        return Err(invalid("heap", detail));
    }
    let (heap, slots) = payload[HEAD..].split_at(heap_len);
    let mut starts = check_heap(heap, count)?;
    let mut last = None;
    for slot in slots.chunks_exact(SLOT) {
        let offset = usize::from(get_u16(slot, 4));
        let bit = 1u64 << (offset % 64);
        match starts.get_mut(offset / 64) {
            Some(word) if *word & bit != 0 => *word &= !bit,
            _ => return Err(invalid("slot", format!("no record of its own at {offset}"))),
        }
        let key = get_u64(heap, offset + 2);
        if key >> 63 != 0 || (key >> 31) as u32 != get_u32(slot, 0) {
            return Err(invalid("slot", format!("not that of key {key:#x}")));
        }
        if last.is_some_and(|last| last >= key) {
            return Err(invalid("slot", format!("key {key:#x} out of order")));
        }
        if depth > 0 && key >> 15 & !below != prefix {
            return Err(invalid("slot", format!("key {key:#x} outside the leaf's range")));
        }
        last = Some(key);
    }
    Ok(count)
}

/// Checks that the heap is a sequence of `count` records; returns one bit for each start.
fn check_heap(heap: &[u8], count: usize) -> Result<[u64; Leaf::CAPACITY / 64], FormatError> {
    let mut starts = [0; Leaf::CAPACITY / 64];
    let (mut at, mut found) = (0, 0);
    while at < heap.len() {
        let rest = &heap[at..];
        if rest.len() < REC {
            return Err(FormatError::truncated(STRUCTURE, "record"));
        }
        let len = usize::from(get_u16(rest, 0));
        let name_len = usize::from(rest[11]);
        if len > rest.len() || len < REC + name_len {
            return Err(invalid("reclen", format!("{len} bytes at {at}")));
        }
        let tag = rest[10];
        if tag & !EMBEDDED > 7 {
            return Err(invalid("tag", format!("{tag:#x}")));
        }
        let body = &rest[REC + name_len..len];
        if tag & EMBEDDED == 0 && (body.len() != LINK || get_u48(body, 0) == 0) {
            return Err(invalid("body", "not an i-node number"));
        }
        starts[at / 64] |= 1u64 << (at % 64);
        found += 1;
        at += len;
    }
    if found != count {
        return Err(invalid("heap", format!("{found} records for {count} slots")));
    }
    Ok(starts)
}
