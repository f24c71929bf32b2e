//! The state that repairs are made in: the blocks that stay, under new, empty tables.

use std::sync::Arc;
use std::time::Duration;

use tandem_device::Device;
use tandem_format::{
    Checkpoint, CheckpointRoot, GROUP_PER_BLOCK, ID_LIMIT, INO_LIMIT, Kind, Loc, SegEntry,
};

use super::super::index::Role;
use super::super::survey::{MADE, Survey};
use super::Writer;
use crate::cache::Key;
use crate::commit::space_fault;
use crate::error::{Error, Res, Result};
use crate::ifile::{Home, top_of};
use crate::log::Segments;
use crate::options::MountOptions;
use crate::space::Space;
use crate::types::LIMBO;
use crate::volume::{Core, volume_error};

/// Entries that are made under one hold of the lock.
const FEW: usize = 1024;

/// What to say when M has no clean segments left.
pub(super) fn no_room(meta: &dyn Device) -> Error {
    let detail = "has not enough clean segments for the repair, and nothing was changed: mount the volume read-only (-o ro), if it can be, and copy its files to another one";
    volume_error(meta, detail.into())
}

/// The lowest number never used: what is said, unless that cannot be.
fn next(said: u64, highest: u64, limit: u64) -> u64 {
    if said > highest && said < limit / 2 { said } else { highest + 1 }
}

/// A core whose tables are empty, and whose log begins in a clean segment.
pub(super) fn core(survey: &Survey<'_>) -> Result<Core> {
    let base = &survey.base;
    let entry = |&used: &bool| SegEntry { used, ..SegEntry::default() };
    let mut segs = Segments::new(&base.geo, base.kept.iter().map(entry).collect());
    (segs.active, segs.next) = (u64::MAX, u64::MAX);
    let full = || no_room(&*base.meta);
    let first = segs.pick_clean().ok_or_else(full)?;
    segs.mark_used(first, base.commit);
    segs.active = first;
    segs.next = segs.pick_clean().ok_or_else(full)?;
    let highest = survey.inodes.last().map_or(LIMBO, |inode| inode.ino);
    let highest_id = survey.index.blocks.last().map_or(0, |info| info.id);
    let cp = Checkpoint {
        volume: base.sb.volume,
        crash: base.crash,
        serial: base.serial,
        commit: base.commit,
        clean: false,
        time: survey.source.env.now(),
        segment: first,
        offset: 0,
        next_segment: segs.next,
        next_serial: base.serial.saturating_add(1),
        roots: [CheckpointRoot { loc: Loc::NONE, height: 0 }; 5],
        next_ino: next(base.next_ino, highest, INO_LIMIT),
        next_id: next(base.next_id, highest_id, ID_LIMIT),
        inodes: survey.inodes.len() as u64,
        live_bytes: 0,
        mapped: 0,
        free_blocks: 0,
        meta_size: base.sb.meta_size,
    };
    let opts = MountOptions {
        background: false,
        discard: false,
        relocate: false,
        prefetch: 0,
        cache: survey.source.options.memory.max(1 << 20),
        checkpoint: Duration::from_secs(1 << 30),
        ..MountOptions::default()
    };
    let (meta, data) = (Arc::clone(&base.meta), Arc::clone(&base.data));
    let env = Arc::clone(survey.source.env);
    let area = base.area.unwrap_or(1);
    let core = Core::assemble(meta, data, base.sb.clone(), opts, Arc::clone(&env), area, cp)?;
    {
        let mut c = core.commit.lock();
        let used_up = || Error::Invalid("crash counts or serial numbers are used up".into());
        c.log.crash = base.crash.checked_add(1).ok_or_else(used_up)?;
        let gap = 1 + (env.random() & 0xffff_ffff);
        c.log.serial = base.serial.checked_add(gap).ok_or_else(used_up)?;
        c.repairing = true;
        core.state.lock().segs = segs;
    }
    Ok(core)
}

impl Writer<'_> {
    /// Enters what stays into the tables.
    pub(super) fn enter_tables(&mut self) -> Result<()> {
        let base = &self.survey.base;
        let blocks = self.survey.index.places(|info| info.role == Role::Kept);
        for few in blocks.chunks(FEW) {
            self.core.run(|st| {
                for &(id, loc) in few {
                    st.map_set(id, loc)?;
                }
                Ok(())
            })?;
        }
        for few in self.survey.inodes.chunks(FEW) {
            self.core.run(|st| {
                for inode in few.iter().filter(|inode| !inode.is(MADE)) {
                    let info = self.survey.index.get(inode.block);
                    let home = match info.map(|info| (info.kind, info.role, info.owner)) {
                        Some((Kind::Inode, ..)) => Home::Block(inode.block),
                        Some((Kind::Leaf, Role::Kept, dir)) => {
                            Home::Entry { dir, top: top_of(inode.key) }
                        }
                        // It is entered again.
                        _ => continue,
                    };
                    st.imap_put(inode.ino, home.words())?;
                }
                Ok(())
            })?;
        }
        let groups = base.geo.groups;
        self.core.run(|st| {
            st.space = space_of(&self.survey)?;
            for g in (0..groups).step_by(GROUP_PER_BLOCK) {
                st.space.mark_entry_dirty(g);
            }
            Ok(())
        })
    }

    /// Has blocks written again that the log does not list.
    pub(super) fn move_unlisted(&mut self) -> Result<()> {
        for &id in &self.survey.moved {
            self.core.run(|st| st.cache.touch(Key::block(id)))?;
            self.relieve()?;
        }
        Ok(())
    }

    /// Takes records that do not count out of the i-node blocks that stay.
    pub(super) fn drop_records(&mut self) -> Result<()> {
        for &(block, key) in &self.survey.dropped {
            if self.survey.index.get(block).is_none_or(|info| info.role != Role::Kept) {
                continue;
            }
            self.core.run(|st| match st.leaf(block)?.find_key(key) {
                Some(slot) => st.remove_from_block(block, slot),
                None => Ok(()),
            })?;
        }
        Ok(())
    }
}

/// The free space: what nobody claims; and what each group counts.
fn space_of(survey: &Survey<'_>) -> Res<Space> {
    let geo = survey.base.geo;
    let mut space =
        Space::format(geo.blocks, geo.group_blocks).map_err(|e| Error::Invalid(e.to_string()))?;
    for run in survey.claims.runs() {
        space.reserve_exact(run).map_err(space_fault)?;
    }
    for (ino, dir) in &survey.dirs {
        let group = if dir.said.group < geo.groups { dir.said.group } else { 0 };
        let entries = if dir.rebuild { 0 } else { i64::try_from(dir.entries).unwrap_or(0) };
        let made = survey.inode(*ino).is_some_and(|inode| inode.is(MADE));
        space.count(if made { 0 } else { group }, 1, entries);
    }
    Ok(space)
}
