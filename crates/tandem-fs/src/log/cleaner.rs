//! The cleaner (Rosenblum and Ousterhout's, as DualFS has it): reads victims in whole segments and
//! marks what is live in them dirty; the next commit and checkpoint write it elsewhere.

use std::sync::atomic::Ordering;

use tandem_format::{Kind, Loc, Summary};

use crate::cache::Key;
use crate::error::{Error, Res, Result};
use crate::state::State;
use crate::volume::Core;

use super::reader::decode_block;

/// Live bytes that one round moves at most.
const ROUND: u64 = 8 << 20;

impl Core {
    /// Whether clean segments have become scarce.
    pub(crate) fn needs_cleaning(&self) -> bool {
        let st = self.state.lock();
        let low = (st.segs.count() / 8).max(st.segs.reserve() * 2);
        st.segs.clean() < low
    }

    /// Marks the live blocks of the segments that gain most dirty. Returns how many segments that
    /// will empty; a checkpoint makes them clean. When it is urgent, only what is gained at once
    /// counts.
    pub(crate) fn clean_round(&self, urgent: bool) -> Result<u64> {
        let victims = self.victims(urgent);
        for &segment in &victims {
            self.clean_segment(segment)?;
        }
        let n = victims.len() as u64;
        self.counters.cleaned.fetch_add(n, Ordering::Relaxed);
        Ok(n)
    }

    /// Cost and benefit: the emptier and the older (the emptiest, when it is urgent), the better; as
    /// many as one round can move and the clean segments can take beside what is dirty already.
    fn victims(&self, urgent: bool) -> Vec<u64> {
        let st = self.state.lock();
        let (size, usable) = (st.segs.size(), st.segs.usable());
        let now = st.commit;
        let mut ranked: Vec<(f64, u64, u64)> = st
            .segs
            .used()
            .filter(|(_, e)| u64::from(e.live) < usable)
            .map(|(n, e)| {
                let u = f64::from(e.live) / size as f64;
                let age = if urgent { 1 } else { now.saturating_sub(e.stamp) + 1 };
                ((1.0 - u) * age as f64 / (1.0 + u), n, u64::from(e.live))
            })
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (dirty, adds) = (st.cache.dirty_bytes() as u64, st.commit_adds());
        let budget = ROUND.min(st.segs.room_for_writes(true).saturating_sub(dirty + adds));
        let mut live = 0;
        ranked.retain(|(_, _, bytes)| {
            let fits = live + bytes <= budget;
            live += if fits { *bytes } else { 0 };
            fits
        });
        ranked.into_iter().map(|(_, n, _)| n).collect()
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
            let len = summary.total as usize * tandem_format::GRAIN;
            if summary.volume != volume || !follows || len == 0 || at + len > size {
                break;
            }
            serial = Some(summary.serial);
            for (offset, entry) in summary.blocks() {
                let from = at + offset as usize * tandem_format::GRAIN;
                let to = from + usize::from(entry.grains) * tandem_format::GRAIN;
                let loc =
                    Loc::new((base + from as u64) / tandem_format::GRAIN as u64, entry.grains);
                let key = match entry.kind {
                    Kind::Delta => continue,
                    kind if (kind as u8) < Kind::Delta as u8 => Key::block(entry.id),
                    kind => Key::table(kind, entry.level, entry.id),
                };
                let block = &bytes[from..to.min(size)];
                let moved = self.run(|st| self.rescue(st, key, loc, block))?;
                self.counters.moved.fetch_add(u64::from(moved), Ordering::Relaxed);
            }
            at += len;
        }
        Ok(())
    }

    /// Marks a block dirty if this is where it lives.
    fn rescue(&self, st: &mut State, key: Key, loc: Loc, bytes: &[u8]) -> Res<bool> {
        if st.locate(key)? != loc {
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
            _ => {
                if !st.cache.contains(key) {
                    let block =
                        decode_block(self.meta.name(), st.sb.volume, key, loc.offset(), bytes)?;
                    st.cache.insert_clean(key, block);
                }
                st.cache.touch(key)?;
            }
        }
        Ok(true)
    }
}
