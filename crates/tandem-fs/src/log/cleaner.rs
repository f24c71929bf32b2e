//! The cleaner (Rosenblum and Ousterhout's, LFS §3.4 to 3.6, which DualFS §2.1 took over): reads
//! victims in whole segments and hands what is live in them to the next commit, undecoded, which
//! writes it elsewhere, apart from what is fresh; after the checkpoint behind it the victims are
//! clean.

use crate::sync::atomic::{AtomicU64, Ordering};

use tandem_format::{GRAIN, Kind, Loc, SegEntry, Summary};

use crate::cache::Key;
use crate::commit::{Committer, Contents};
use crate::error::{Error, Res, Result};
use crate::state::State;
use crate::volume::Core;

use super::Item;
use super::reader::{decode_block, verify_block};

/// Live bytes that a round moves for each byte of the block map, all of which the checkpoint behind
/// it may have to write.
const WORTH: u64 = 8;

/// Live bytes that a round moves at most when a caller waits for it.
const PIECE: u64 = 4 << 20;

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

/// How the log stands, as far as the choice of victims depends on it.
#[derive(Debug, Clone, Copy)]
struct Standing {
    /// Bytes of a segment.
    size: u64,
    /// Bytes of it that blocks can count on.
    usable: u64,
    /// Bytes that survivors may take up.
    room: u64,
    /// Bytes that a round moves at most when nobody waits for it.
    round: u64,
    /// Bytes that still fit into the active segment.
    here: u64,
    /// Number of the last commit.
    now: u64,
}

/// Cost and benefit (LFS §3.6): the emptier and the older, the better, but with the cube of the share
/// that is gained: where nothing tells hot from cold, age is chance, and the emptiest are best. As
/// many as a round may move, and none unless they give half a segment more than they take: then it
/// would go on for ever. In idle time only those that give as much as they take. When old ones give
/// too little, the emptiest.
fn choose(segments: &[(u64, SegEntry)], s: Standing, need: Need) -> Vec<u64> {
    let worth = |e: &SegEntry| {
        let u = f64::from(e.live) / s.size as f64;
        let age = s.now.saturating_sub(e.stamp) + 1;
        (1.0 - u).powi(3) * age as f64 / (1.0 + u)
    };
    let taken = take(segments, s, need, worth);
    if !taken.is_empty() || need == Need::Idle {
        return taken;
    }
    take(segments, s, need, |e| -f64::from(e.live))
}

/// As many as a round may move of those that `worth` puts first.
fn take(
    segments: &[(u64, SegEntry)],
    s: Standing,
    need: Need,
    worth: impl Fn(&SegEntry) -> f64,
) -> Vec<u64> {
    let limit = if need == Need::Idle { s.usable / 2 } else { s.usable };
    let mut ranked: Vec<(f64, u64, u64)> = segments
        .iter()
        .filter(|(_, e)| u64::from(e.live) < limit)
        .map(|(n, e)| (worth(e), *n, u64::from(e.live)))
        .collect();
    ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let most = if need == Need::Now { PIECE } else { s.round };
    let (mut taken, mut live, mut gain) = (Vec::new(), 0, s.here);
    for (_, n, bytes) in ranked {
        let enough = live + bytes > most && gain >= s.size / 2;
        if enough || live + bytes > s.room {
            break;
        }
        live += bytes;
        // Blocks come with an entry in a summary.
        gain += s.size.saturating_sub(bytes + bytes / 32);
        taken.push(n);
    }
    if gain < s.size / 2 {
        taken.clear();
    }
    taken
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
            (st.segs.released(), c.log.moved)
        };
        let mut victims = self.victims(need);
        if victims.is_empty() && need == Need::Now {
            // It makes room for moves, where there was none.
            self.commit_locked(&mut c, Contents::Wanted, true)?;
            victims = self.victims(need);
        }
        self.move_out(&mut c, &victims)?;
        let released = self.state.lock().segs.released() - before.0;
        let gained = released * u64::from(self.geo.segment_size) > c.log.moved - before.1;
        let counters = &self.counters.cleaner;
        let count = |counter: &AtomicU64, n: u64| counter.fetch_add(n, Ordering::Relaxed);
        count(&counters.rounds, 1);
        count(&counters.idle, u64::from(need == Need::Idle));
        if !gained {
            count(&counters.fruitless, 1);
            counters.stuck.store(self.state.lock().segs.position(), Ordering::Relaxed);
        }
        Ok(gained)
    }

    fn victims(&self, need: Need) -> Vec<u64> {
        let mut st = self.state.lock();
        let standing = Standing {
            size: st.segs.size(),
            usable: st.segs.usable(),
            room: st.segs.room_for_moves().saturating_sub(st.commit_needs()),
            round: (st.map_bytes() * WORTH).clamp(PIECE, (st.dirty_limit / 2).max(PIECE)),
            here: st.segs.size().saturating_sub(st.segs.filled),
            now: st.commit,
        };
        let all: Vec<_> = st.segs.used().collect();
        let victims = choose(&all, standing, need);
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
