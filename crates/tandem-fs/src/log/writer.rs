//! Writing partial segments: a summary, then blocks, in one request.

mod item;

use std::io::IoSlice;

use tandem_device::Device;
use tandem_format::{
    BLOCK, BlockMeta, GRAIN, Implied, Loc, Summary, SummaryEntry, SummaryFlags, Time, seal,
};

use crate::cache::Key;
use crate::error::{Error, Result};
use crate::planted::{Planted, planted};
use crate::state::State;
use crate::sync::Mutex;

pub use item::LoggedBytes;
pub(crate) use item::{Item, Payload};

/// Which of the two places at which segments are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Head {
    /// The end of the log, where roll-forward goes on.
    Log,
    /// Where checkpoints put the IFile's blocks. Only a checkpoint leads to them, and the next one
    /// replaces most: among other blocks they would leave holes that the cleaner has to gather.
    Tables,
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
    /// The same for the IFile's blocks, once a checkpoint has written some.
    pub tables: Option<(u64, u32)>,
    /// Where segments lie.
    pub base: u64,
    pub segment_size: u32,
    /// Partial segments and bytes written since the mount.
    pub partials: u64,
    pub bytes: u64,
    /// Bytes of them that the cleaner moved, their share of summaries and padding included.
    pub moved: u64,
    /// All bytes by what they are.
    pub logged: LoggedBytes,
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

/// What a batch of blocks is written to, and when.
pub(crate) struct Batch<'a> {
    pub meta: &'a dyn Device,
    pub state: &'a Mutex<State>,
    pub commit: u64,
    pub now: Time,
    /// What every partial segment of it says.
    pub flags: SummaryFlags,
}

impl LogWriter {
    /// Writes a batch of blocks as partial segments; all but the last say that they continue.
    /// Returns the blocks' addresses. Durable only after a flush of M.
    pub fn append(
        &mut self,
        batch: &Batch<'_>,
        items: impl Iterator<Item = Item>,
    ) -> Result<Vec<(Key, Loc)>> {
        self.append_at(Head::Log, batch, items)
    }

    /// The same for blocks of the IFile, which the checkpoint that is about to be written leads to.
    pub fn append_tables(
        &mut self,
        batch: &Batch<'_>,
        items: impl Iterator<Item = Item>,
    ) -> Result<Vec<(Key, Loc)>> {
        let apart = batch.state.lock().segs.tables_apart();
        self.append_at(if apart { Head::Tables } else { Head::Log }, batch, items)
    }

    fn append_at(
        &mut self,
        head: Head,
        batch: &Batch<'_>,
        items: impl Iterator<Item = Item>,
    ) -> Result<Vec<(Key, Loc)>> {
        let mut placed = Vec::new();
        let mut partial = Partial::new();
        let mut block = Vec::with_capacity(BLOCK * 2);
        for item in items {
            block.clear();
            let mut crc = self.seal(batch.meta.name(), &item, &mut block)?;
            if partial.len_with(1, block.len()) > self.room(head) {
                let full = std::mem::replace(&mut partial, Partial::new());
                if !full.entries.is_empty() {
                    let more = !planted(Planted::NoContinues);
                    let more = if more { SummaryFlags::CONTINUES } else { SummaryFlags::empty() };
                    self.write(head, batch, batch.flags | more, full, &mut placed)?;
                }
                if partial.len_with(1, block.len()) > self.room(head) {
                    self.advance(head, batch.meta, batch.state)?;
                }
                // The header names the partial segment that the block is in.
                block.clear();
                crc = self.seal(batch.meta.name(), &item, &mut block)?;
            }
            partial.entries.push(SummaryEntry {
                id: item.id,
                owner: item.owner,
                crc,
                grains: (block.len() / GRAIN) as u16,
                kind: item.kind,
                level: item.level,
            });
            partial.keys.push(item.key);
            partial.youngest = partial.youngest.max(item.stamp.unwrap_or(batch.commit));
            partial.moved += if item.moved { block.len() } else { 0 };
            partial.payload.extend_from_slice(&block);
            self.logged.count(&item, block.len() as u64);
        }
        if !partial.entries.is_empty() {
            self.write(head, batch, batch.flags, partial, &mut placed)?;
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

    /// Where the next partial segment goes: segment, and byte offset in it.
    fn place(&self, head: Head) -> (u64, u32) {
        match head {
            Head::Log => (self.segment, self.offset),
            Head::Tables => self.tables.unwrap_or((0, self.segment_size)),
        }
    }

    fn set_place(&mut self, head: Head, segment: u64, offset: u32) {
        match head {
            Head::Log => (self.segment, self.offset) = (segment, offset),
            Head::Tables => self.tables = Some((segment, offset)),
        }
    }

    fn room(&self, head: Head) -> usize {
        (self.segment_size - self.place(head).1) as usize
    }

    /// The log goes on in the next segment, whatever room there is in this one. Roll-forward finds it
    /// as it does when a block was too long for the rest.
    pub fn close_segment(&mut self, meta: &dyn Device, state: &Mutex<State>) -> Result<()> {
        self.advance(Head::Log, meta, state)
    }

    /// Goes on in the next segment.
    fn advance(&mut self, head: Head, meta: &dyn Device, state: &Mutex<State>) -> Result<()> {
        let next = {
            let mut st = state.lock();
            match head {
                Head::Log => st.segs.advance(),
                Head::Tables => st.segs.advance_tables(),
            }
        };
        let Some(next) = next else {
            return Err(Error::Io {
                device: meta.name().into(),
                op: "write",
                offset: 0,
                len: 0,
                source: std::io::Error::from_raw_os_error(libc::ENOSPC),
            });
        };
        self.set_place(head, next, 0);
        Ok(())
    }

    fn write(
        &mut self,
        head: Head,
        batch: &Batch<'_>,
        flags: SummaryFlags,
        partial: Partial,
        placed: &mut Vec<(Key, Loc)>,
    ) -> Result<()> {
        let mut payload = partial.payload;
        let (segment, offset) = self.place(head);
        let front = Summary::len_for(partial.entries.len());
        let (moved, blocks) = (partial.moved as u64, payload.len().max(1) as u64);
        let mut flags = flags;
        flags.set(SummaryFlags::CLEANER, moved == blocks);
        let total = (front + payload.len()).next_multiple_of(BLOCK);
        self.logged.framing += (total - payload.len()) as u64;
        payload.resize(total - front, 0);
        let next_segment = {
            let mut st = batch.state.lock();
            st.segs.mark_used(segment, partial.youngest);
            if head == Head::Log {
                st.segs.filled = u64::from(offset) + total as u64;
            }
            // What is in the log takes up no room that is still to be found.
            st.committing_bytes = st.committing_bytes.saturating_sub(total as u64);
            st.segs.next
        };
        let summary = Summary {
            volume: self.volume,
            crash: self.crash,
            serial: self.serial,
            commit: batch.commit,
            time: nanoseconds(batch.now),
            flags,
            total: (total / GRAIN) as u32,
            payload_crc: tandem_format::crc(&payload),
            next_segment,
            entries: partial.entries,
        };
        let start = self.base + segment * u64::from(self.segment_size) + u64::from(offset);
        let bytes = summary.encode();
        debug_assert_eq!(bytes.len(), front);
        let mut at = (start + front as u64) / GRAIN as u64;
        for (entry, key) in summary.entries.iter().zip(&partial.keys) {
            if let Some(key) = key {
                placed.push((*key, Loc::new(at, entry.grains)));
            }
            at += u64::from(entry.grains);
        }
        let both = [IoSlice::new(&bytes), IoSlice::new(&payload)];
        let done = batch.meta.write_vectored_at(&both, start);
        if !planted(Planted::LogErrorIgnored) {
            done.map_err(|source| Error::Io {
                device: batch.meta.name().into(),
                op: "write",
                offset: start,
                len: total as u64,
                source,
            })?;
        }
        self.set_place(head, segment, offset + total as u32);
        self.serial += 1;
        self.partials += 1;
        self.bytes += total as u64;
        self.moved += total as u64 * moved / blocks;
        Ok(())
    }
}

fn nanoseconds(time: Time) -> i64 {
    time.secs.saturating_mul(1_000_000_000).saturating_add(i64::from(time.nanos))
}
