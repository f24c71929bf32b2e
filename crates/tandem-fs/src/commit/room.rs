//! Making room when there is none, and the thread that sees to it before that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Contents;
use crate::error::{Fault, Result};
use crate::volume::Core;

impl Core {
    /// Too much is dirty: commits, unless somebody else has done so while this waited its turn.
    pub(crate) fn relieve(&self) -> Result<()> {
        if self.state.lock().dirty_bytes > self.opts.cache / 4 {
            return self.write_back(self.opts.cache / 8);
        }
        let mut committer = self.commit.lock();
        let pressed = {
            let st = self.state.lock();
            st.cache.dirty_bytes() as u64 + st.committing_bytes > st.dirty_limit
        };
        if pressed {
            self.commit_locked(&mut committer, Contents::Wanted, false)?;
        }
        Ok(())
    }

    /// Brings contents to D until at most `left` bytes are dirty. The metadata follows with the
    /// next commit.
    fn write_back(&self, left: u64) -> Result<()> {
        loop {
            let committer = self.commit.lock();
            if self.state.lock().dirty_bytes <= left {
                return Ok(());
            }
            self.sound()?;
            let batch = self.next_batch();
            if batch.is_empty() {
                return Ok(());
            }
            let done = self.flush_files(batch).map_err(|e| self.poisoned(e));
            parking_lot::MutexGuard::unlock_fair(committer);
            done?;
        }
    }

    /// Frees what can be freed: a commit releases data blocks, a checkpoint empty segments, the
    /// cleaner makes more of them empty.
    pub(crate) fn make_room(&self, log: bool, attempt: u32) -> Result<()> {
        self.await_forgets(attempt);
        self.reclaim(false)?;
        self.commit_all(log)?;
        if log {
            for _ in 0..attempt * 4 {
                if !self.needs_cleaning() || self.clean_round(true)? == 0 {
                    break;
                }
                let mut committer = self.commit.lock();
                self.commit_locked(&mut committer, Contents::Wanted, true)?;
                drop(committer);
            }
        }
        Ok(())
    }

    /// What has just been unlinked may still be held for the moment it takes the door to say that
    /// nobody does: worth waiting for before saying that there is no space.
    fn await_forgets(&self, attempt: u32) {
        for _ in 0..attempt * 10 {
            let held = {
                let st = self.state.lock();
                st.orphans.iter().any(|&ino| st.holds.get(ino) > 0)
            };
            if !held {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Frees all i-nodes that are unlinked and that nobody holds.
    pub(crate) fn reclaim_all(&self) -> Result<()> {
        self.reclaim(true)
    }

    /// The same; stops where it would have to make room first, unless it may.
    fn reclaim(&self, may_make_room: bool) -> Result<()> {
        loop {
            let Some(ino) = self.state.lock().reclaim.pop() else { return Ok(()) };
            loop {
                let gone = self.run(|st| {
                    match st.claim(4096, true) {
                        Err(Fault::LogFull) if !may_make_room => return Ok(None),
                        claimed => claimed?,
                    }
                    if st.holds.get(ino) > 0 || !st.orphans.contains(&ino) {
                        Ok(Some(true))
                    } else {
                        st.free_inode(ino).map(Some)
                    }
                });
                match gone {
                    Ok(Some(true)) => break,
                    Ok(Some(false)) => {}
                    Ok(None) => {
                        self.state.lock().reclaim.push(ino);
                        return Ok(());
                    }
                    Err(e) => {
                        self.state.lock().reclaim.push(ino);
                        return Err(e);
                    }
                }
            }
        }
    }

    /// The background thread: commits every interval and under pressure, reclaims, cleans.
    pub(crate) fn background(self: &Arc<Core>) {
        let interval = self.opts.flush.max(Duration::from_millis(10));
        let mut due = Instant::now() + interval;
        loop {
            {
                let mut signal = self.signal.lock();
                if !signal.stop && !signal.pressed {
                    self.wake.wait_until(&mut signal, due);
                }
                signal.pressed = false;
                if signal.stop {
                    return;
                }
            }
            if self.sound().is_err() {
                continue;
            }
            let whole = Instant::now() >= due || self.metadata_presses();
            if let Err(e) = self.tend(whole) {
                tracing::error!("{e}");
            }
            if whole {
                due = Instant::now() + interval;
            }
        }
    }

    fn metadata_presses(&self) -> bool {
        self.state.lock().cache.dirty_bytes() as u64 > self.opts.cache / 8
    }

    fn tend(&self, whole: bool) -> Result<()> {
        self.reclaim_all()?;
        self.write_back(self.opts.cache / 16)?;
        if !whole {
            return Ok(());
        }
        self.commit_all(false)?;
        if self.needs_cleaning() && self.clean_round(false)? > 0 {
            let mut committer = self.commit.lock();
            self.commit_locked(&mut committer, Contents::Wanted, true)?;
        }
        Ok(())
    }
}
