//! Directory leaves and i-node blocks: in memory a header, a heap of records, and slots sorted by
//! key, which can be searched and changed; on the volume packed.

mod entry;
mod packed;
#[cfg(test)]
mod tests;

pub use entry::{Body, Entry, Full};
pub use packed::Implied;

use crate::block::{BlockMeta, Kind};
use crate::bytes::{get_u16, get_u32, get_u48, get_u64};
use crate::error::FormatError;
use crate::units::PAYLOAD;

/// Bytes of a leaf's own header.
const HEAD: usize = 16;
/// Bytes of a slot: the top 32 bits of the key, the record's offset in the heap.
const SLOT: usize = 6;
/// Bytes of a heap record before the name.
const REC: usize = 12;
/// Bytes of an i-node number as a body.
const LINK: usize = 6;
/// Bytes of the shortest entry.
const ENTRY_MIN: usize = SLOT + REC + LINK;
/// In a record's tag: the body is an i-node record.
const EMBEDDED: u8 = 0x80;
const KIND: u8 = 0x0f;
/// Bits of a reversed hash.
const REV_BITS: u8 = 48;

/// A directory leaf or an i-node block.
///
/// The heap has no holes: its records follow one another, in any order.
#[derive(Clone)]
pub struct Leaf {
    bytes: Vec<u8>,
    prefix: u64,
    count: usize,
}

impl Leaf {
    /// Most bytes of a leaf in memory.
    pub const CAPACITY: usize = PAYLOAD;

    /// Most bytes by which [`Leaf::encode`] gives more than [`Leaf::size`].
    pub const PACKING: usize = 32;

    /// An empty leaf for the reversed hashes whose top `depth` bits are those of `prefix`.
    pub fn new(prefix: u64, depth: u8) -> Leaf {
        let mut bytes = vec![0; HEAD];
        bytes[10] = depth;
        Leaf { bytes, prefix, count: 0 }
    }

    /// Checks the payload of a leaf or i-node block with everything in it, and takes it apart.
    pub fn decode(
        payload: &[u8],
        meta: &BlockMeta,
        implied: &Implied,
    ) -> Result<Leaf, FormatError> {
        packed::unpack(payload, meta.count, meta.index, meta.kind != Kind::Inode, implied)
    }

    /// The payload of its block; `kind` is that of the block. Little longer than
    /// [`Leaf::size`] at most, usually much shorter.
    ///
    /// # Errors
    /// When a record in it is none.
    pub fn encode(&self, kind: Kind, implied: &Implied) -> Result<Vec<u8>, FormatError> {
        packed::pack(self, kind != Kind::Inode, implied)
    }

    /// Bytes that it takes up in memory, at most [`Leaf::CAPACITY`].
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Number of entries.
    pub fn count(&self) -> u32 {
        self.count as u32
    }

    /// Hash bits that all entries have in common because of where the leaf is.
    pub fn depth(&self) -> u8 {
        self.bytes[10]
    }

    /// Lowest reversed hash of its range.
    pub fn prefix(&self) -> u64 {
        self.prefix
    }

    /// The next leaf of the chain, or 0.
    pub fn next(&self) -> u64 {
        get_u64(&self.bytes, 0)
    }

    /// Sets the next leaf of the chain.
    pub fn set_next(&mut self, id: u64) {
        self.bytes[..8].copy_from_slice(&id.to_le_bytes());
    }

    fn slots(&self) -> usize {
        self.bytes.len() - self.count * SLOT
    }

    fn set_heap(&mut self, heap: usize) {
        self.bytes[8..10].copy_from_slice(&(heap as u16).to_le_bytes());
    }

    /// Where a slot's record starts in the payload.
    fn record(&self, slot: usize) -> usize {
        HEAD + usize::from(get_u16(&self.bytes, self.slots() + slot * SLOT + 4))
    }

    /// First slot for which `less` does not hold; it is given the slot and the top of its key.
    #[inline]
    fn partition(&self, less: impl Fn(usize, u32) -> bool) -> usize {
        let slots = &self.bytes[self.slots()..];
        let (mut base, mut size) = (0, self.count);
        while size > 0 {
            let half = size / 2;
            let at = base + half;
            let below = less(at, get_u32(slots, at * SLOT));
            base = if below { at + 1 } else { base };
            size = if below { size - half - 1 } else { half };
        }
        base
    }

    /// The slot of a name with the given reversed hash.
    pub fn search(&self, rev: u64, name: &[u8]) -> Option<usize> {
        let top = (rev >> 16) as u32;
        let slots = self.slots();
        for slot in self.partition(|_, t| t < top)..self.count {
            let at = slots + slot * SLOT;
            if get_u32(&self.bytes, at) != top {
                break;
            }
            let record = HEAD + usize::from(get_u16(&self.bytes, at + 4));
            let record = &self.bytes[record..];
            if get_u64(record, 2) >> 15 == rev
                && usize::from(record[11]) == name.len()
                && record[REC..REC + name.len()] == *name
            {
                return Some(slot);
            }
        }
        None
    }

    /// First slot whose key is not below `key`; the number of entries when there is none.
    pub fn lower_bound(&self, key: u64) -> usize {
        let top = key >> 31;
        self.partition(|slot, t| {
            let t = u64::from(t);
            t < top || (t == top && self.key(slot) < key)
        })
    }

    fn key(&self, slot: usize) -> u64 {
        get_u64(&self.bytes, self.record(slot) + 2)
    }

    /// The slot with exactly this key.
    pub fn find_key(&self, key: u64) -> Option<usize> {
        let slot = self.lower_bound(key);
        (slot < self.count && self.key(slot) == key).then_some(slot)
    }

    /// The entry in a slot.
    ///
    /// # Panics
    /// When there is no such slot.
    pub fn entry(&self, slot: usize) -> Entry<'_> {
        assert!(slot < self.count, "slot {slot} of {}", self.count);
        let at = self.record(slot);
        let record = &self.bytes[at..at + usize::from(get_u16(&self.bytes, at))];
        let (name, body) = record[REC..].split_at(usize::from(record[11]));
        let embedded = record[10] & EMBEDDED != 0;
        Entry {
            key: get_u64(record, 2),
            kind: record[10] & 0x0f,
            name,
            body: if embedded { Body::Embedded(body) } else { Body::Link(get_u48(body, 0)) },
        }
    }

    /// The smallest sequence number above those that entries with this reversed hash use here.
    pub fn free_seq(&self, rev: u64) -> u16 {
        let behind = self.lower_bound((rev + 1) << 15);
        match behind.checked_sub(1).map(|slot| self.key(slot)) {
            Some(key) if key >> 15 == rev => (key & 0x7fff) as u16 + 1,
            _ => 0,
        }
    }

    /// Whether an entry with a name and a body of these lengths in bytes fits.
    pub fn fits(&self, name_len: usize, body_len: usize) -> bool {
        name_len <= 255 && self.bytes.len() + SLOT + REC + name_len + body_len <= Leaf::CAPACITY
    }

    /// Enters an entry with a key that is not there; returns its slot.
    pub fn insert(
        &mut self,
        key: u64,
        kind: u8,
        name: &[u8],
        body: Body<'_>,
    ) -> Result<usize, Full> {
        if !self.fits(name.len(), body.len()) {
            return Err(Full);
        }
        let slot = self.lower_bound(key);
        debug_assert!(slot == self.count || self.key(slot) != key, "key {key:#x} twice");
        let len = REC + name.len() + body.len();
        let old = self.slots();
        let from = old + slot * SLOT;
        let end = self.bytes.len();
        self.grow(len + SLOT);
        self.bytes.copy_within(from..end, from + len + SLOT);
        self.bytes.copy_within(old..from, old + len);
        write_record(&mut self.bytes[old..old + len], key, kind, name, body);
        self.set_slot(from + len, key, old - HEAD);
        self.count += 1;
        self.set_heap(old - HEAD + len);
        Ok(slot)
    }

    /// Enters a record without a slot; returns its offset. [`Leaf::set_slots`] must follow.
    fn append(&mut self, key: u64, kind: u8, name: &[u8], body: Body<'_>) -> Result<u16, Full> {
        let (at, len) = (self.bytes.len(), REC + name.len() + body.len());
        self.count += 1;
        if at + len + self.count * SLOT > Leaf::CAPACITY {
            return Err(Full);
        }
        self.grow(len);
        write_record(&mut self.bytes[at..], key, kind, name, body);
        self.set_heap(at - HEAD + len);
        Ok((at - HEAD) as u16)
    }

    /// Enters the slots of all records that were appended: keys and offsets, sorted.
    fn set_slots(&mut self, slots: &[(u64, u16)]) {
        let mut at = self.bytes.len();
        self.grow(slots.len() * SLOT);
        for &(key, offset) in slots {
            self.set_slot(at, key, offset.into());
            at += SLOT;
        }
    }

    fn set_slot(&mut self, at: usize, key: u64, offset: usize) {
        let slot = &mut self.bytes[at..at + SLOT];
        slot[..4].copy_from_slice(&((key >> 31) as u32).to_le_bytes());
        slot[4..].copy_from_slice(&(offset as u16).to_le_bytes());
    }

    fn grow(&mut self, by: usize) {
        let need = self.bytes.len() + by;
        if need > self.bytes.capacity() {
            let want = (self.bytes.capacity() * 2).clamp(256, Leaf::CAPACITY).max(need);
            self.bytes.reserve_exact(want - self.bytes.len());
        }
        self.bytes.resize(need, 0);
    }

    /// Adds `by` (may be negative) to the heap offsets beyond `offset`.
    fn shift(&mut self, offset: usize, by: isize) {
        let slots = self.slots();
        for slot in self.bytes[slots..].chunks_exact_mut(SLOT) {
            let old = usize::from(get_u16(slot, 4));
            if old > offset {
                slot[4..].copy_from_slice(&(old.wrapping_add_signed(by) as u16).to_le_bytes());
            }
        }
    }

    /// Changes what an entry leads to; in place when the length stays.
    ///
    /// # Panics
    /// When there is no such slot.
    pub fn replace(&mut self, slot: usize, body: Body<'_>) -> Result<(), Full> {
        assert!(slot < self.count, "slot {slot} of {}", self.count);
        let at = self.record(slot);
        let was = usize::from(get_u16(&self.bytes, at));
        let from = at + REC + usize::from(self.bytes[at + 11]);
        let len = from - at + body.len();
        if len != was {
            let end = self.bytes.len();
            if end - was + len > Leaf::CAPACITY {
                return Err(Full);
            }
            let heap = self.slots() - HEAD - was + len;
            if len > was {
                self.grow(len - was);
            }
            self.bytes.copy_within(at + was..end, at + len);
            self.bytes.truncate(end - was + len);
            self.shift(at - HEAD, len as isize - was as isize);
            self.set_heap(heap);
            self.bytes[at..at + 2].copy_from_slice(&(len as u16).to_le_bytes());
        }
        self.bytes[at + 10] = self.bytes[at + 10] & !EMBEDDED | body.flag();
        body.write(&mut self.bytes[from..at + len]);
        Ok(())
    }

    /// Changes the type of file that an entry says.
    ///
    /// # Panics
    /// When there is no such slot.
    pub fn set_kind(&mut self, slot: usize, kind: u8) {
        assert!(slot < self.count, "slot {slot} of {}", self.count);
        let at = self.record(slot) + 10;
        self.bytes[at] = self.bytes[at] & !KIND | kind & KIND;
    }

    /// Removes an entry.
    ///
    /// # Panics
    /// When there is no such slot.
    pub fn remove(&mut self, slot: usize) {
        assert!(slot < self.count, "slot {slot} of {}", self.count);
        let at = self.record(slot);
        let len = usize::from(get_u16(&self.bytes, at));
        let (slots, end) = (self.slots(), self.bytes.len());
        let gone = slots + slot * SLOT;
        self.bytes.copy_within(at + len..gone, at);
        self.bytes.copy_within(gone + SLOT..end, gone - len);
        self.bytes.truncate(end - len - SLOT);
        self.count -= 1;
        self.shift(at - HEAD, -(len as isize));
        self.set_heap(slots - HEAD - len);
    }

    /// Splits by one more hash bit: keeps the lower half of the range and the chain, returns the
    /// upper half. At the full depth there is nothing to split by: what is returned is empty.
    pub fn split(&mut self) -> Leaf {
        let depth = self.depth();
        if depth >= REV_BITS {
            return Leaf::new(self.prefix, depth);
        }
        let middle = self.prefix | 1 << (REV_BITS - 1 - depth);
        let at = self.lower_bound(middle << 15);
        let upper = self.part(at, self.count, middle, depth + 1);
        let mut lower = self.part(0, at, self.prefix, depth + 1);
        lower.set_next(self.next());
        *self = lower;
        upper
    }

    fn part(&self, from: usize, to: usize, prefix: u64, depth: u8) -> Leaf {
        let mut leaf = Leaf::new(prefix, depth);
        leaf.bytes.reserve_exact(self.bytes.len() - HEAD);
        for slot in from..to {
            let at = self.record(slot);
            leaf.bytes
                .extend_from_slice(&self.bytes[at..at + usize::from(get_u16(&self.bytes, at))]);
        }
        let heap = leaf.bytes.len() - HEAD;
        leaf.set_heap(heap);
        let mut at = HEAD;
        for _ in from..to {
            let end = leaf.bytes.len();
            let key = get_u64(&leaf.bytes, at + 2);
            leaf.bytes.resize(end + SLOT, 0);
            leaf.set_slot(end, key, at - HEAD);
            at += usize::from(get_u16(&leaf.bytes, at));
        }
        leaf.count = to - from;
        leaf
    }
}

fn write_record(to: &mut [u8], key: u64, kind: u8, name: &[u8], body: Body<'_>) {
    let len = to.len() as u16;
    to[..2].copy_from_slice(&len.to_le_bytes());
    to[2..10].copy_from_slice(&key.to_le_bytes());
    to[10] = kind & KIND | body.flag();
    to[11] = name.len() as u8;
    to[REC..REC + name.len()].copy_from_slice(name);
    body.write(&mut to[REC + name.len()..]);
}

/// The order in the heap does not count.
impl PartialEq for Leaf {
    fn eq(&self, other: &Leaf) -> bool {
        let head = |leaf: &Leaf| (leaf.prefix, leaf.depth(), leaf.next(), leaf.count);
        head(self) == head(other)
            && (0..self.count).all(|slot| self.entry(slot) == other.entry(slot))
    }
}

impl Eq for Leaf {}

impl std::fmt::Debug for Leaf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Leaf")
            .field("prefix", &self.prefix)
            .field("depth", &self.depth())
            .field("next", &self.next())
            .field("count", &self.count)
            .field("bytes", &self.bytes.len())
            .finish()
    }
}
