//! Writing partial segments: a summary, then blocks, in one request.

use std::io::IoSlice;

use tandem_device::Device;
use tandem_format::{
    BLOCK, BlockMeta, FormatError, GRAIN, Implied, Kind, Loc, Summary, SummaryEntry, SummaryFlags,
    Time, seal,
};

use crate::cache::{Block, Body, Key};
use crate::error::{Error, Result};
use crate::planted::{Planted, planted};
use crate::state::State;
use crate::sync::Mutex;

/// A block on its way to the log.
pub(crate) struct Item {
    /// What to call it when it has its address; `None` for a delta, which nothing refers to.
    pub key: Option<Key>,
    pub id: u64,
    pub owner: u64,
    pub index: u64,
    pub kind: Kind,
    pub level: u8,
    pub count: u32,
    pub payload: Payload,
    /// The commit that last changed it, when that is not the one that writes it, or when it is not
    /// expected to be changed soon.
    pub stamp: Option<u64>,
    /// Whether the cleaner moves it.
    pub moved: bool,
}

/// A block's bytes, encoded when they are written.
pub(crate) enum Payload {
    Bytes(Vec<u8>),
    Shared(std::sync::Arc<Block>),
}

impl Item {
    /// A block of the cache.
    pub fn of_block(key: Key, block: std::sync::Arc<Block>) -> Item {
        let count = match &block.body {
            Body::Leaf(leaf) => leaf.count(),
            Body::Table(t) => t.count(),
            Body::Extent(n) => n.count(),
            Body::Words(w) => w.count(),
            Body::Imap(i) => i.count(),
            Body::Raw(_) => 0,
        };
        let id = key.id().or(key.ifile().map(|(_, _, index)| index)).unwrap_or(0);
        Item {
            key: Some(key),
            id,
            owner: block.owner,
            index: block.index,
            kind: block.kind,
            level: block.level,
            count,
            payload: Payload::Shared(block),
            stamp: None,
            moved: false,
        }
    }
}

impl Payload {
    fn with<R>(
        &self,
        implied: &Implied,
        f: impl FnOnce(&[u8]) -> R,
    ) -> std::result::Result<R, FormatError> {
        Ok(match self {
            Payload::Bytes(bytes) => f(bytes),
            Payload::Shared(block) => match &block.body {
                Body::Leaf(leaf) => f(&leaf.encode(block.kind, implied)?),
                Body::Raw(bytes) => f(bytes),
                Body::Table(t) => f(&t.encode()),
                Body::Extent(n) => f(&n.encode()),
                Body::Words(w) => f(&w.encode()),
                Body::Imap(i) => f(&i.encode()),
            },
        })
    }
}

/// The end of the log. Only the commit under way writes.
pub(crate) struct LogWriter {
    pub volume: u64,
    pub implied: Implied,
    pub crash: u64,
    /// Serial of the next partial segment.
    pub serial: u64,
    /// Segment and byte offset in it where the next partial segment goes.
    pub segment: u64,
    pub offset: u32,
    /// Where segments lie.
    pub base: u64,
    pub segment_size: u32,
    /// Partial segments and bytes written since the mount.
    pub partials: u64,
    pub bytes: u64,
    /// Bytes of them that the cleaner moved, their share of summaries and padding included.
    pub moved: u64,
}

struct Partial {
    /// Commit of the youngest block.
    youngest: u64,
    /// Bytes of blocks that the cleaner moves.
    moved: usize,
    entries: Vec<SummaryEntry>,
    keys: Vec<Option<Key>>,
    payload: Vec<u8>,
}

impl Partial {
    fn new() -> Partial {
        Partial {
            youngest: 0,
            moved: 0,
            entries: Vec::new(),
            keys: Vec::new(),
            payload: Vec::new(),
        }
    }

    fn len_with(&self, blocks: usize, bytes: usize) -> usize {
        (Summary::len_for(self.entries.len() + blocks) + self.payload.len() + bytes)
            .next_multiple_of(BLOCK)
    }
}

impl LogWriter {
    /// Writes a batch of blocks as partial segments; all but the last say that they continue.
    /// Returns the blocks' addresses. Durable only after a flush of M.
    pub fn append(
        &mut self,
        meta: &dyn Device,
        state: &Mutex<State>,
        commit: u64,
        now: Time,
        flags: SummaryFlags,
        items: impl Iterator<Item = Item>,
    ) -> Result<Vec<(Key, Loc)>> {
        let mut placed = Vec::new();
        let mut partial = Partial::new();
        let mut block = Vec::with_capacity(BLOCK * 2);
        for item in items {
            block.clear();
            let mut crc = self.seal(meta.name(), &item, &mut block)?;
            if partial.len_with(1, block.len()) > self.room() {
                let full = std::mem::replace(&mut partial, Partial::new());
                if !full.entries.is_empty() {
                    let more = !planted(Planted::NoContinues);
                    let flags = if more { flags | SummaryFlags::CONTINUES } else { flags };
                    self.write(meta, state, commit, now, flags, full, &mut placed)?;
                }
                if partial.len_with(1, block.len()) > self.room() {
                    self.advance(meta.name(), state)?;
                }
                // The header names the partial segment that the block is in.
                block.clear();
                crc = self.seal(meta.name(), &item, &mut block)?;
            }
            partial.entries.push(SummaryEntry {
                id: item.id,
                owner: item.owner,
                index: item.index,
                crc,
                grains: (block.len() / GRAIN) as u16,
                kind: item.kind,
                level: item.level,
            });
            partial.keys.push(item.key);
            partial.youngest = partial.youngest.max(item.stamp.unwrap_or(commit));
            partial.moved += if item.moved { block.len() } else { 0 };
            partial.payload.extend_from_slice(&block);
        }
        if !partial.entries.is_empty() {
            self.write(meta, state, commit, now, flags, partial, &mut placed)?;
        }
        Ok(placed)
    }

    fn seal(&self, device: &str, item: &Item, out: &mut Vec<u8>) -> Result<u32> {
        let meta = BlockMeta {
            volume: self.volume,
            id: item.id,
            owner: item.owner,
            crash: self.crash,
            serial: self.serial,
            index: item.index,
            kind: item.kind,
            level: item.level,
            count: item.count,
        };
        item.payload.with(&self.implied, |payload| seal(out, &meta, payload)).map_err(|e| {
            Error::Corrupt {
                device: device.into(),
                what: format!("block {} in memory", item.id),
                offset: 0,
                detail: e.to_string(),
            }
        })
    }

    fn room(&self) -> usize {
        (self.segment_size - self.offset) as usize
    }

    /// Goes on in the next segment.
    fn advance(&mut self, device: &str, state: &Mutex<State>) -> Result<()> {
        let mut st = state.lock();
        let next = st.segs.next;
        st.segs.active = next;
        st.segs.filled = 0;
        st.segs.mark_used(next, 0);
        let Some(after) = st.segs.pick_clean() else {
            return Err(Error::Io {
                device: device.into(),
                op: "write",
                offset: 0,
                len: 0,
                source: std::io::Error::from_raw_os_error(libc::ENOSPC),
            });
        };
        st.segs.next = after;
        self.segment = next;
        self.offset = 0;
        Ok(())
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "one call site; a struct would only name them twice"
    )]
    fn write(
        &mut self,
        meta: &dyn Device,
        state: &Mutex<State>,
        commit: u64,
        now: Time,
        flags: SummaryFlags,
        partial: Partial,
        placed: &mut Vec<(Key, Loc)>,
    ) -> Result<()> {
        let mut payload = partial.payload;
        let head = Summary::len_for(partial.entries.len());
        let (moved, blocks) = (partial.moved as u64, payload.len().max(1) as u64);
        let all_moved = moved == blocks;
        let total = (head + payload.len()).next_multiple_of(BLOCK);
        payload.resize(total - head, 0);
        let next_segment = {
            let mut st = state.lock();
            let segment = self.segment;
            st.segs.mark_used(segment, partial.youngest);
            st.segs.filled = u64::from(self.offset) + total as u64;
            // What is in the log takes up no room that is still to be found.
            st.committing_bytes = st.committing_bytes.saturating_sub(total as u64);
            st.segs.next
        };
        let summary = Summary {
            volume: self.volume,
            crash: self.crash,
            serial: self.serial,
            commit,
            time: now.secs.saturating_mul(1_000_000_000).saturating_add(i64::from(now.nanos)),
            flags: if all_moved { flags | SummaryFlags::CLEANER } else { flags },
            total: (total / GRAIN) as u32,
            payload_crc: tandem_format::crc(&payload),
            next_segment,
            entries: partial.entries,
        };
        let start =
            self.base + self.segment * u64::from(self.segment_size) + u64::from(self.offset);
        let bytes = summary.encode();
        debug_assert_eq!(bytes.len(), head);
        let mut at = (start + head as u64) / GRAIN as u64;
        for (entry, key) in summary.entries.iter().zip(&partial.keys) {
            if let Some(key) = key {
                placed.push((*key, Loc::new(at, entry.grains)));
            }
            at += u64::from(entry.grains);
        }
        let done = meta.write_vectored_at(&[IoSlice::new(&bytes), IoSlice::new(&payload)], start);
        if !planted(Planted::LogErrorIgnored) {
            done.map_err(|source| Error::Io {
                device: meta.name().into(),
                op: "write",
                offset: start,
                len: total as u64,
                source,
            })?;
        }
        self.offset += total as u32;
        self.serial += 1;
        self.partials += 1;
        self.bytes += total as u64;
        self.moved += total as u64 * moved / blocks;
        Ok(())
    }
}
