//! The cleaner (Rosenblum and Ousterhout's, LFS §3.4 to 3.6, which DualFS §2.1 took over): reads
//! victims in whole segments and hands what is live in them to the next commit, undecoded, which
//! writes it elsewhere, apart from what is fresh; after the checkpoint behind it the victims are
//! clean.

mod choice;

use crate::sync::atomic::{AtomicU64, Ordering};

use tandem_format::{GRAIN, Kind, Loc, Summary};

use crate::cache::Key;
use crate::commit::{Committer, Contents};
use crate::error::{Error, Res, Result};
use crate::state::State;
use crate::volume::Core;

use super::Item;
use super::reader::{decode_block, verify_block};
use super::segments::Thin;
use choice::{PIECE, Standing, choose};

/// Live bytes that a round moves for each byte of the block map, all of which the checkpoint behind
/// it may have to write.
const WORTH: u64 = 8;

/// Why segments are cleaned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// A caller waits for it.
    Now,
    /// Clean segments have become few.
    Soon,
    /// Nothing else is going on.
    Idle,
}

/// What the cleaner has done since the mount.
#[derive(Debug, Default)]
pub(crate) struct CleanerCounters {
    pub segments: AtomicU64,
    pub blocks: AtomicU64,
    pub bytes: AtomicU64,
    pub rounds: AtomicU64,
    pub idle: AtomicU64,
    pub fruitless: AtomicU64,
    /// The log's end when nothing could be gained any more.
    pub stuck: AtomicU64,
}

/// What a round is judged by, in bytes.
struct Account {
    /// Segments that have become clean.
    released: u64,
    /// Logged to move blocks.
    moved: u64,
    /// What the log takes up, with what checkpoints have put apart since the mount.
    spread: u64,
}

impl Account {
    fn of(c: &Committer, st: &State) -> Account {
        let apart = c.log.tables.map_or(0, |(_, filled)| u64::from(filled));
        Account {
            released: st.segs.released() * st.segs.size(),
            moved: c.log.moved,
            spread: st.segs.spread() + apart,
        }
    }

    /// Whether more was gained than it took. In idle time the log must be shorter, so that rounds
    /// come to an end.
    fn is_gain(&self, before: &Account, need: Need) -> bool {
        match need {
            Need::Idle => self.spread < before.spread,
            _ => self.released - before.released > self.moved - before.moved,
        }
    }
}

impl Core {
    /// Whether clean segments have become scarce.
    pub(crate) fn needs_cleaning(&self) -> bool {
        let st = self.state.lock();
        st.segs.clean() < st.segs.low()
    }

    /// The same, unless nothing could be gained the last time and nothing has happened since.
    pub(crate) fn should_clean(&self, st: &State) -> bool {
        st.segs.clean() < st.segs.low()
            && self.counters.cleaner.stuck.load(Ordering::Relaxed) != st.segs.position()
    }

    /// One round: moves what is live out of a few segments, which are clean after the checkpoint that
    /// ends it. A bounded piece of work. Returns whether that gave more than it took.
    pub(crate) fn clean_step(&self, need: Need) -> Result<bool> {
        let mut c = self.commit.lock();
        let before = {
            let mut st = self.state.lock();
            st.segs.take_mean();
            Account::of(&c, &st)
        };
        let mut victims = self.victims(need);
        if victims.is_empty() && need == Need::Now {
            // It makes room for moves, where there was none.
            self.commit_locked(&mut c, Contents::Wanted, true)?;
            victims = self.victims(need);
        }
        if need == Need::Idle && victims.contains(&c.log.segment) {
            c.log.close_segment(&*self.meta, &self.state).map_err(|e| self.poisoned(e))?;
        }
        self.move_out(&mut c, &victims)?;
        let gained = Account::of(&c, &self.state.lock()).is_gain(&before, need);
        let counters = &self.counters.cleaner;
        let count = |counter: &AtomicU64, n: u64| counter.fetch_add(n, Ordering::Relaxed);
        count(&counters.rounds, 1);
        count(&counters.idle, u64::from(need == Need::Idle));
        count(&counters.fruitless, u64::from(!gained));
        if !gained && need != Need::Idle {
            counters.stuck.store(self.state.lock().segs.position(), Ordering::Relaxed);
        }
        Ok(gained)
    }

    fn victims(&self, need: Need) -> Vec<u64> {
        let mut st = self.state.lock();
        let thin = st.segs.thin().unwrap_or(Thin::Half);
        let close = need == Need::Idle && st.segs.is_active_thin(thin);
        let size = st.segs.size();
        // What is live in the active segment goes first, and what is left of its room is given up.
        let (kept, here) =
            if close { (2 * size, 0) } else { (0, size.saturating_sub(st.segs.filled)) };
        let standing = Standing {
            size,
            usable: st.segs.usable(),
            thin,
            room: st.segs.room_for_moves().saturating_sub(st.commit_needs() + kept),
            round: (st.map_bytes() * WORTH).clamp(PIECE, (st.dirty_limit / 2).max(PIECE)),
            here,
            now: st.commit,
        };
        let all: Vec<_> = st.segs.used().collect();
        let mut victims = choose(&all, standing, need);
        victims.extend(close.then_some(st.segs.active));
        st.moving = victims.iter().map(|&n| u64::from(st.segs.entry(n).live)).sum();
        victims
    }

    /// The commit's lock is held: no segment is used again while it is read.
    fn move_out(&self, c: &mut Committer, victims: &[u64]) -> Result<()> {
        if victims.is_empty() {
            return Ok(());
        }
        for &segment in victims {
            if self.state.lock().segs.entry(segment).live > 0 {
                self.clean_segment(segment)?;
            }
        }
        self.counters.cleaner.segments.fetch_add(victims.len() as u64, Ordering::Relaxed);
        self.commit_locked(c, Contents::Wanted, true)
    }

    fn clean_segment(&self, segment: u64) -> Result<()> {
        let size = self.geo.segment_size as usize;
        let base = self.geo.segment_offset(segment);
        let mut bytes = vec![0; size];
        self.meta.read_at(&mut bytes, base).map_err(|source| Error::Io {
            device: self.meta.name().into(),
            op: "read",
            offset: base,
            len: size as u64,
            source,
        })?;
        let volume = self.state.lock().sb.volume;
        let mut at = 0;
        let mut serial = None;
        while at + 4096 <= size {
            let Ok(summary) = Summary::decode(&bytes[at..]) else { break };
            // Checkpoints and mounts leave gaps.
            let follows = serial.is_none_or(|s: u64| s < summary.serial);
            let len = summary.total as usize * GRAIN;
            if summary.volume != volume || !follows || len == 0 || at + len > size {
                break;
            }
            serial = Some(summary.serial);
            for (offset, entry) in summary.blocks() {
                let from = at + offset as usize * GRAIN;
                let to = from + usize::from(entry.grains) * GRAIN;
                let loc = Loc::new((base + from as u64) / GRAIN as u64, entry.grains);
                let key = match entry.kind {
                    Kind::Delta => continue,
                    kind if (kind as u8) < Kind::Delta as u8 => Key::block(entry.id),
                    kind => Key::table(kind, entry.level, entry.id),
                };
                let block = &bytes[from..to.min(size)];
                let moved = self.run(|st| self.rescue(st, key, loc, block))?;
                if moved {
                    let counters = &self.counters.cleaner;
                    counters.blocks.fetch_add(1, Ordering::Relaxed);
                    counters.bytes.fetch_add(loc.bytes(), Ordering::Relaxed);
                }
            }
            at += len;
        }
        Ok(())
    }

    /// Has a block written again if this is where it lives.
    fn rescue(&self, st: &mut State, key: Key, loc: Loc, bytes: &[u8]) -> Res<bool> {
        if st.locate(key)? != loc || key.id().is_some_and(|id| st.going.contains(&id)) {
            return Ok(false);
        }
        match key.ifile() {
            Some((Kind::Seg, 0, index)) => st.segs.touch(index),
            Some((Kind::Group, 0, index)) => {
                let first = index as u32 * tandem_format::GROUP_PER_BLOCK as u32;
                st.space.mark_entry_dirty(first);
            }
            Some((Kind::Free, 0, index)) => {
                let group = (index / self.geo.free_chunks()) as u32;
                if !st.space.is_loaded(group) {
                    return Err(crate::error::Fault::Load(group));
                }
                st.space.mark_dirty(group);
            }
            Some(_) => {
                if !st.cache.contains(key) {
                    let block = decode_block(self.meta.name(), &st.sb, key, loc.offset(), bytes)?;
                    st.cache.insert_clean(key, block);
                }
                st.cache.touch(key)?;
            }
            None if st.cache.is_dirty(key) => {}
            None => {
                let (meta, payload) =
                    verify_block(self.meta.name(), &st.sb, key, loc.offset(), bytes)?;
                let stamp = st.segs.stamp_of(loc).unwrap_or(0);
                st.rescued.push(Item::rescued(key, &meta, payload, stamp));
            }
        }
        Ok(true)
    }
}

impl State {
    /// The blocks that the cleaner moves, without those that have changed or gone since.
    pub(crate) fn take_rescued(&mut self) -> Vec<Item> {
        let mut items = std::mem::take(&mut self.rescued);
        items.retain(|item| {
            !self.going.contains(&item.id) && !self.cache.is_dirty(Key::block(item.id))
        });
        items
    }
}

#[cfg(test)]
mod tests;
