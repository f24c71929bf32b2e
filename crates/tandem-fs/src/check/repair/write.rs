//! Making the repairs: what stays keeps its place in the log, everything else is written behind it,
//! into clean segments, by the engine's own commit. Nothing of that counts before the one checkpoint
//! at its end, so a crash before it leaves the volume as it was, and there is always one to start
//! from again.

mod contents;
mod directories;
mod lost;
mod setup;

use std::sync::atomic::Ordering;

use super::super::Progress;
use super::report::Repairs;
use super::survey::{CONTENTS, MADE, MEND, ORPHAN, Survey};
use crate::commit::Contents;
use crate::error::{Error, Result};
use crate::types::{FileKind, LIMBO, ROOT};
use crate::volume::Core;

/// Of the memory allowed, the part that dirty blocks may take before they are logged.
const DIRTY_SHARE: u64 = 8;

/// A repair under way.
pub(super) struct Writer<'a> {
    survey: Survey<'a>,
    core: Core,
    /// lost+found, once there is one.
    lost: u64,
    /// What found its name taken.
    displaced: Vec<lost::Displaced>,
    /// Data blocks that their keeper has been given, of those that several claim.
    given: super::claims::Claims,
}

impl<'a> Writer<'a> {
    /// Makes all repairs, up to the checkpoint that makes them count. Returns what there was to do.
    ///
    /// # Errors
    /// When a device fails or M has not enough clean segments: nothing is changed then.
    pub fn run(survey: Survey<'a>) -> Result<Repairs> {
        let core = setup::core(&survey)?;
        let mut writer = Writer {
            survey,
            core,
            lost: 0,
            displaced: Vec::new(),
            given: super::claims::Claims::default(),
        };
        writer.write().map_err(|e| writer.explained(e))?;
        Ok(writer.survey.repairs)
    }

    fn write(&mut self) -> Result<()> {
        self.enter_tables()?;
        self.drop_records()?;
        self.move_unlisted()?;
        self.make_records()?;
        self.ready(ROOT)?;
        self.ready(LIMBO)?;
        self.reconnect()?;
        self.rebuild_directories()?;
        self.correct_records()?;
        self.enter_displaced()?;
        self.core.data_written.store(true, Ordering::SeqCst);
        let mut c = self.core.commit.lock();
        self.core.commit_locked(&mut c, Contents::All, true)
    }

    /// Builds all directories anew that have to be, those above before those below them.
    fn rebuild_directories(&mut self) -> Result<()> {
        let all = self.survey.dirs.iter().filter(|(_, dir)| dir.rebuild);
        let mut dirs: Vec<(u32, u64)> = all.map(|(ino, dir)| (dir.depth, *ino)).collect();
        dirs.sort_unstable();
        dirs.retain(|(_, ino)| ![ROOT, LIMBO, self.lost].contains(ino));
        let total = dirs.len() as u64;
        for (done, (_, ino)) in (0..).zip(dirs) {
            self.report("building directories", done, total);
            self.rebuild(ino)?;
        }
        Ok(())
    }

    /// Corrects all records that have to be.
    fn correct_records(&mut self) -> Result<()> {
        let total = self.survey.inodes.len() as u64;
        for n in 0..self.survey.inodes.len() {
            let inode = self.survey.inodes[n];
            self.report("correcting records", n as u64, total);
            let moved = inode.is(ORPHAN) && inode.kind == FileKind::Directory;
            let ready = [ROOT, LIMBO, self.lost].contains(&inode.ino);
            if !ready && (inode.is(MEND) || moved && !inode.is(MADE)) {
                self.mend(inode.ino)?;
            }
            if inode.is(CONTENTS) {
                self.put_contents(inode.ino)?;
            }
            self.relieve()?;
        }
        Ok(())
    }

    /// Brings a directory into order that others are entered into.
    fn ready(&mut self, ino: u64) -> Result<()> {
        let rebuild = self.survey.dirs.get(&ino).is_some_and(|dir| dir.rebuild);
        if rebuild {
            self.rebuild(ino)?;
        }
        if self.survey.inode(ino).is_some_and(|inode| inode.is(MEND)) {
            self.mend(ino)?;
        }
        Ok(())
    }

    /// Logs what is dirty when it takes up too much memory; it counts no more than before.
    fn relieve(&self) -> Result<()> {
        let dirty = {
            let st = self.core.state.lock();
            let tables = st.cache.dirty_tables() * 4096;
            (st.cache.dirty_bytes().saturating_sub(tables) + st.nodes.dirty_len() * 512) as u64
        };
        if dirty < self.survey.source.options.memory / DIRTY_SHARE {
            return Ok(());
        }
        let mut c = self.core.commit.lock();
        self.core.commit_locked(&mut c, Contents::All, false)
    }

    fn report(&self, phase: &'static str, done: u64, total: u64) {
        (self.survey.source.progress)(Progress { phase, done, total });
    }

    /// What to do when there is no room.
    fn explained(&self, e: Error) -> Error {
        // A commit that fails no longer says with what.
        let exhausted = self.core.state.lock().segs.clean() == 0;
        if e.errno() != libc::ENOSPC && !exhausted {
            return e;
        }
        let meta = &self.survey.base.meta;
        setup::no_room(&**meta)
    }
}
