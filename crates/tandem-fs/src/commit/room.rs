//! Making room when there is none, and the thread that sees to it before that.

use std::sync::Arc;
use std::time::Duration;

use super::Contents;
use crate::error::{Fault, Result};
use crate::log::Need;
use crate::state::State;
use crate::sync::{MutexGuard, thread};
use crate::volume::Core;

/// How often everything is tried before a caller is told that there is no space.
const ATTEMPTS: u32 = 3;

/// Pieces of room that one operation waits for at most before that.
const PIECES: u32 = 64;

/// Rounds of the cleaner between two looks at what else there is to do.
const ROUNDS: u32 = 16;

/// Intervals without a change after which the volume counts as idle.
const IDLE: u32 = 2;

/// What an operation that found no room has tried so far.
#[derive(Debug, Default)]
pub(crate) struct Full {
    pieces: u32,
    attempts: u32,
}

/// How long nothing has changed.
#[derive(Debug, Default)]
pub(crate) struct Quiet {
    /// The log's end.
    position: u64,
    intervals: u32,
    /// Where it was after a round that was of no use.
    settled: Option<u64>,
}

impl Core {
    /// Too much is dirty: commits, unless somebody else has done so while this waited its turn.
    pub(crate) fn relieve(&self) -> Result<()> {
        if self.state.lock().dirty_bytes > self.opts.cache / 4 {
            return self.write_back(self.opts.cache / 8);
        }
        if self.await_ease()? {
            return Ok(());
        }
        let mut committer = self.commit.lock();
        if self.state.lock().is_pressed() {
            self.commit_locked(&mut committer, Contents::Wanted, false)?;
        }
        Ok(())
    }

    /// Whether there is a background thread, and this is not it.
    fn is_kept(&self) -> bool {
        self.keeper.lock().is_some_and(|keeper| keeper != thread::current().id())
    }

    /// Waits until the background thread has logged enough. What is dirty becomes less with every
    /// partial segment, so this is no wait for a whole commit. False when nobody else will: the
    /// background thread, which frees i-nodes too, must not wait for itself.
    fn await_ease(&self) -> Result<bool> {
        while self.is_kept() {
            self.sound()?;
            self.press();
            let mut st = self.state.lock();
            if !st.is_pressed() {
                return Ok(true);
            }
            self.eased.wait_for(&mut st, Duration::from_millis(2));
        }
        Ok(false)
    }

    /// Brings contents to D until at most `left` bytes are dirty. The metadata follows with the
    /// next commit.
    fn write_back(&self, left: u64) -> Result<()> {
        loop {
            let mut committer = self.commit.lock();
            if self.state.lock().dirty_bytes <= left {
                return Ok(());
            }
            self.sound()?;
            self.release_first(&mut committer)?;
            let batch = self.next_batch();
            if batch.is_empty() {
                return Ok(());
            }
            let done = self.flush_files(batch).map_err(|e| self.poisoned(e));
            MutexGuard::unlock_fair(committer);
            done?;
        }
    }

    /// Frees what can be freed: a commit releases data blocks, a checkpoint empty segments, the
    /// cleaner makes more of them empty.
    ///
    /// First a piece at a time, as long as each gains something: a caller does not wait for more
    /// than it needs. Returns false when everything has been tried.
    pub(crate) fn make_room(&self, log: bool, full: &mut Full) -> Result<bool> {
        if log && full.pieces < PIECES && full.attempts == 0 {
            full.pieces += 1;
            if self.make_some_room()? {
                return Ok(true);
            }
        }
        full.attempts += 1;
        if full.attempts > ATTEMPTS {
            return Ok(false);
        }
        self.await_forgets(full.attempts);
        self.reclaim(false)?;
        self.commit_all(log)?;
        if log {
            for _ in 0..full.attempts * 4 {
                if !self.needs_cleaning() || !self.clean_step(Need::Now)? {
                    break;
                }
            }
        }
        Ok(true)
    }

    /// A bounded piece of it: one commit, or one round of the cleaner; nothing, when others have
    /// made room while this waited for its turn.
    fn make_some_room(&self) -> Result<bool> {
        let room = |core: &Core| {
            let st = core.state.lock();
            st.segs.room_for_writes(false).saturating_sub(st.commit_needs())
        };
        let before = room(self);
        {
            let mut committer = self.commit.lock();
            if room(self) > before {
                return Ok(true);
            }
            self.commit_locked(&mut committer, Contents::Wanted, false)?;
        }
        if room(self) > before {
            return Ok(true);
        }
        Ok(self.needs_cleaning() && self.clean_step(Need::Now)?)
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
            thread::sleep(Duration::from_millis(5));
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

    /// The background thread: commits every interval and under pressure, reclaims, cleans. What time
    /// it is [`crate::Env`] says, so that a simulation decides when it is late.
    pub(crate) fn background(self: &Arc<Core>) {
        let interval = self.opts.flush.max(Duration::from_millis(10)).as_nanos() as u64;
        let later = || self.env.monotonic().saturating_add(interval);
        let mut due = later();
        let mut quiet = Quiet::default();
        while self.await_work(due) {
            if self.sound().is_err() {
                due = later();
                continue;
            }
            let late = self.env.monotonic() >= due;
            let whole = late || self.metadata_presses();
            let done = self.tend(whole).and_then(|()| match late {
                true => self.idle(&mut quiet),
                false => Ok(()),
            });
            if let Err(e) = done
                && e.is_fault()
            {
                tracing::error!("{e}");
            }
            if whole {
                due = later();
            }
        }
    }

    /// Waits until the background thread is called, or until its time has come. False when it is to
    /// end.
    fn await_work(&self, due: u64) -> bool {
        let mut signal = self.signal.lock();
        while !signal.stop && !signal.pressed {
            let left = due.saturating_sub(self.env.monotonic());
            if left == 0 {
                break;
            }
            self.wake.wait_for(&mut signal, Duration::from_nanos(left));
        }
        signal.pressed = false;
        !signal.stop
    }

    fn metadata_presses(&self) -> bool {
        let st = self.state.lock();
        st.cache.dirty_bytes() as u64 > self.opts.cache / 8 || self.log_presses(&st)
    }

    fn tend(&self, whole: bool) -> Result<()> {
        self.reclaim_all()?;
        self.write_back(self.opts.cache / 16)?;
        if !whole {
            return Ok(());
        }
        self.commit_all(false)?;
        for _ in 0..ROUNDS {
            let wanted = self.should_clean(&self.state.lock());
            if !wanted || !self.clean_step(Need::Soon)? {
                break;
            }
        }
        Ok(())
    }

    /// Called once an interval. When nothing has changed for a while, cleans ahead: a round an
    /// interval, until there is plenty and what is live does not lie thin. It ends by itself: after a
    /// round that has not made the log shorter there is none until somebody else has logged something.
    pub(crate) fn idle(&self, quiet: &mut Quiet) -> Result<()> {
        let (position, wanted) = {
            let st = self.state.lock();
            let calm = st.cache.dirty_bytes() == 0 && st.dirty_bytes == 0 && !st.read_only;
            let few = |st: &State| st.segs.clean() < st.segs.plenty();
            (st.segs.position(), calm && (few(&st) || st.segs.thin().is_some()))
        };
        quiet.intervals = if quiet.position == position { quiet.intervals + 1 } else { 0 };
        quiet.position = position;
        if !wanted || quiet.intervals < IDLE || quiet.settled == Some(position) {
            return Ok(());
        }
        let gained = self.clean_step(Need::Idle)?;
        // What it has committed itself is no change.
        quiet.position = self.state.lock().segs.position();
        quiet.settled = (!gained).then_some(quiet.position);
        Ok(())
    }
}
