//! Checkpoints: the IFile's changed blocks into the log, then one block in one of two fixed places.
//! After it, recovery needs nothing older, and the other place gets the same block.

use std::sync::atomic::Ordering;

use tandem_device::Device;
use tandem_format::{
    CHECKPOINTS, Checkpoint, CheckpointRoot, FREE_CHUNK, GROUP_PER_BLOCK, GroupEntry, Kind,
    SegEntry, SummaryFlags,
};

use super::writer::{Batch, Item, Payload};
use crate::cache::Key;
use crate::commit::{Committer, Tables};
use crate::error::{Error, Result};
use crate::planted::{Planted, planted};
use crate::volume::Core;

/// Reads one of the two checkpoint areas.
pub(crate) fn read_checkpoint(meta: &dyn Device, area: usize) -> Result<Checkpoint> {
    let offset = CHECKPOINTS[area & 1];
    let mut bytes = vec![0; 4096];
    meta.read_at(&mut bytes, offset).map_err(|source| Error::Io {
        device: meta.name().into(),
        op: "read",
        offset,
        len: 4096,
        source,
    })?;
    Checkpoint::decode(&bytes).map_err(|e| Error::format(meta.name(), "checkpoint", offset, &e))
}

impl Core {
    /// Writes the IFile's changes and a checkpoint. The commit that `tables` belongs to is durable.
    pub(crate) fn write_checkpoint(&self, c: &mut Committer, mut tables: Tables) -> Result<()> {
        let imap = std::mem::take(&mut tables.imap);
        let mut items: Vec<Item> =
            imap.into_iter().map(|(key, block)| Item::of_block(key, block)).collect();
        let map =
            self.state.lock().cache.freeze(|key| matches!(key.ifile(), Some((Kind::Map, 0, _))));
        items.extend(map.into_iter().map(|(key, block)| Item::of_block(key, block)));
        items.extend(self.free_items(&tables.groups)?);
        items.extend(self.group_items(&tables));
        self.append_tables(c, items)?;
        for kinds in [&[Kind::Map, Kind::Imap, Kind::Group, Kind::Free][..], &[Kind::Seg][..]] {
            if kinds == [Kind::Seg] {
                let items = self.seg_items();
                self.append_tables(c, items)?;
            }
            for level in 1..16 {
                let nodes = self.state.lock().cache.freeze(
                    |key| matches!(key.ifile(), Some((kind, l, _)) if l == level && kinds.contains(&kind)),
                );
                self.append_tables(
                    c,
                    nodes.into_iter().map(|(k, b)| Item::of_block(k, b)).collect(),
                )?;
            }
        }
        if !planted(Planted::NoTableFlush) {
            self.flush_meta()?;
        }
        self.put_checkpoint(c, &tables)
    }

    fn append_tables(&self, c: &mut Committer, items: Vec<Item>) -> Result<()> {
        if items.is_empty() {
            return Ok(());
        }
        let (commit, now) = (self.state.lock().commit, self.env.now());
        let flags = SummaryFlags::CHECKPOINT;
        let batch = Batch { meta: &*self.meta, state: &self.state, commit, now, flags };
        let placed = c.log.append_tables(&batch, items.into_iter())?;
        self.settle_blocks(&placed)
    }

    fn put_checkpoint(&self, c: &mut Committer, tables: &Tables) -> Result<()> {
        self.fence(c)?;
        // A checkpoint uses up a serial, so that of any two one is newer.
        let serial = c.log.serial;
        c.log.serial += 1;
        let checkpoint = {
            let st = self.state.lock();
            let crash = c.log.crash.saturating_sub(c.closing.into());
            Checkpoint {
                volume: st.sb.volume,
                crash,
                serial,
                commit: st.commit,
                clean: c.closing,
                time: self.env.now(),
                segment: c.log.segment,
                offset: c.log.offset,
                next_segment: st.segs.next,
                next_serial: c.log.serial,
                roots: st.roots.map(|r| CheckpointRoot { loc: r.loc, height: r.height }),
                next_ino: tables.next_ino,
                next_id: tables.next_id,
                inodes: tables.inodes,
                live_bytes: st.segs.live_bytes(),
                mapped: st.ids.mapped,
                free_blocks: tables.free_blocks,
                meta_size: st.sb.meta_size,
            }
        };
        let area = 1 - c.area;
        self.write_area(area, &checkpoint)?;
        self.flush_meta()?;
        // A copy, so that no single page can take the volume back to the checkpoint before. Nothing
        // waits for it: until it is durable, the first one serves.
        self.write_area(1 - area, &checkpoint)?;
        c.area = area;
        c.checkpoint = checkpoint;
        c.checkpoint_at = self.env.monotonic();
        c.checkpoint_bytes = c.log.bytes;
        c.logged = false;
        self.state.lock().segs.release_dead();
        self.counters.checkpoints.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn write_area(&self, area: usize, checkpoint: &Checkpoint) -> Result<()> {
        let offset = CHECKPOINTS[area & 1];
        self.meta.write_at(&checkpoint.encode(), offset).map_err(|source| Error::Io {
            device: self.meta.name().into(),
            op: "write",
            offset,
            len: 4096,
            source,
        })
    }

    /// Two writers of one volume can never both commit: the newest checkpoint on M must be ours.
    fn fence(&self, c: &Committer) -> Result<()> {
        if c.repairing {
            return Ok(());
        }
        let newest = read_checkpoint(&*self.meta, c.area)?;
        let other = read_checkpoint(&*self.meta, 1 - c.area).ok();
        let overtaken = other.is_some_and(|o| o.order() > c.checkpoint.order());
        if newest != c.checkpoint || overtaken {
            return Err(Error::Volume {
                device: self.meta.name().into(),
                detail: "another writer has taken this volume over; nothing more is written".into(),
            });
        }
        Ok(())
    }

    /// Chunks of the free space of changed groups; chunks that a group no longer has are let go.
    fn free_items(&self, groups: &[(u32, crate::space::EncodedGroup)]) -> Result<Vec<Item>> {
        let per_group = self.geo.free_chunks();
        let mut items = Vec::new();
        for (group, encoded) in groups {
            let first = u64::from(*group) * per_group;
            let mut chunks = 0;
            for (n, bytes) in encoded.bytes.chunks(FREE_CHUNK as usize).enumerate() {
                let index = first + n as u64;
                items.push(table_item(Kind::Free, index, bytes.to_vec()));
                chunks += 1;
            }
            let had = self.state.lock().group_entries.get(*group as usize).map_or(0, |e| e.chunks);
            for n in chunks..had {
                let (index, none) = (first + u64::from(n), tandem_format::Loc::NONE);
                self.run(|st| st.table_written(Kind::Free, 0, index, none))?;
            }
            let mut st = self.state.lock();
            if let Some(slot) = st.group_entries.get_mut(*group as usize) {
                *slot = encoded.entry;
                slot.chunks = chunks;
            }
        }
        Ok(items)
    }

    /// Blocks of the group descriptor table in which something has changed.
    fn group_items(&self, tables: &Tables) -> Vec<Item> {
        let mut st = self.state.lock();
        let mut blocks = std::collections::BTreeSet::new();
        for (g, entry) in &tables.entries {
            if let Some(slot) = st.group_entries.get_mut(*g as usize) {
                (slot.dirs, slot.inodes) = (entry.dirs, entry.inodes);
            }
            blocks.insert(*g as usize / GROUP_PER_BLOCK);
        }
        blocks.extend(tables.groups.iter().map(|(g, _)| *g as usize / GROUP_PER_BLOCK));
        blocks
            .into_iter()
            .map(|n| {
                let to = ((n + 1) * GROUP_PER_BLOCK).min(st.group_entries.len());
                let bytes = GroupEntry::encode_all(&st.group_entries[n * GROUP_PER_BLOCK..to]);
                table_item(Kind::Group, n as u64, bytes)
            })
            .collect()
    }

    /// Changed blocks of the segment usage table. What the table's own blocks take up is left out:
    /// a mount that reads them adds it.
    fn seg_items(&self) -> Vec<Item> {
        let mut st = self.state.lock();
        let dirty = st.segs.take_dirty();
        dirty
            .into_iter()
            .map(|n| table_item(Kind::Seg, n, SegEntry::encode_all(&st.segs.table_block(n))))
            .collect()
    }
}

fn table_item(kind: Kind, index: u64, bytes: Vec<u8>) -> Item {
    Item {
        key: Some(Key::table(kind, 0, index)),
        id: index,
        owner: 0,
        index,
        kind,
        level: 0,
        count: 0,
        payload: Payload::Bytes(bytes),
        stamp: None,
        moved: false,
    }
}
