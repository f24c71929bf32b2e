//! Cross-file readahead (SpadFS §IV "Cross-file readahead"): who reads a small file is about to read
//! its neighbours. Their contents are kept by where they lie on D, as ranges of bytes (SpadFS §II),
//! within a bound, and are forgotten as soon as anything is written there.
//!
//! The reader asks [`CrossFile::read`]; for what is missing [`CrossFile::plan`] says what to read
//! instead of the missing bytes alone, and [`CrossFile::fill`] takes it. A write to D that ends while
//! such a read is under way spoils what it has read of that range: nothing stale is ever kept.

mod held;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::VecDeque;

use smallvec::SmallVec;

use crate::sync::Mutex;
use held::{Gone, Held};
use walk::Walks;
pub(crate) use walk::{Directory, FileAt, MIDDLING};

/// What cross-file readahead has done since the mount.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct CrossFileStats {
    /// Requests to D that brought more than was asked for.
    pub reads_ahead: u64,
    /// Bytes that they brought beyond that.
    pub bytes_ahead: u64,
    /// Reads of contents that needed no request.
    pub hits: u64,
    /// Bytes of reads that were in memory.
    pub hit_bytes: u64,
    /// Reads of contents that did need one.
    pub misses: u64,
    /// Bytes dropped from memory that nobody had asked for.
    pub wasted_bytes: u64,
    /// Bytes forgotten because they were written or freed.
    pub forgotten_bytes: u64,
    /// Bytes in memory now.
    pub held_bytes: u64,
    /// Bytes that are read around a small file of a walk now, whosever they are, by what was used.
    pub width: u64,
    /// The same of files of its directory.
    pub directory_width: u64,
}

/// A read of more than was asked for, under way.
#[derive(Debug)]
pub(crate) struct Fetch {
    id: u64,
    /// First byte on D.
    pub from: u64,
    /// End.
    pub to: u64,
    /// The run of the file's directory in it.
    run: (u64, u64),
    /// What of it is of which kind.
    share: Share,
}

/// Bytes of a request.
#[derive(Debug, Clone, Copy)]
struct Share {
    /// Of the file that is read.
    own: u64,
    /// Of the rest of its directory's run.
    siblings: u64,
    /// Of whatever else lies there.
    others: u64,
}

/// Requests after which the use of one is judged.
const LATER: usize = 48;

struct UnderWay {
    id: u64,
    from: u64,
    to: u64,
    spoiled: SmallVec<[(u64, u64); 2]>,
}

#[derive(Default)]
struct Inner {
    held: Held,
    walks: Walks,
    /// Buffers whose use is to be judged.
    trial: VecDeque<(u64, Share)>,
    under_way: SmallVec<[UnderWay; 4]>,
    next: u64,
    stats: CrossFileStats,
}

impl Inner {
    fn gone(&mut self, gone: Gone) {
        self.stats.wasted_bytes += gone.len - gone.used;
    }

    /// What a request for `[from, to)` brings, `own` bytes of it of the file itself. What is there
    /// already does not count: it will hardly be asked for again.
    fn share(&self, own: u64, run: (u64, u64), (from, to): (u64, u64)) -> Share {
        let fresh = |from: u64, to: u64| (to - from).saturating_sub(self.held.bytes_in(from, to));
        let of_run = fresh(run.0, run.1);
        let others = fresh(from, to).saturating_sub(of_run);
        Share { own, siblings: of_run.saturating_sub(own), others }
    }

    /// Has a buffer judged once [`LATER`] others have come after it: who walks here has gone on.
    fn judge(&mut self, id: u64, share: Share) {
        self.trial.push_back((id, share));
        if self.trial.len() <= LATER {
            return;
        }
        let Some((id, share)) = self.trial.pop_front() else { return };
        let Some((run, others)) = self.held.used(id) else { return };
        let siblings = run.saturating_sub(share.own).min(share.siblings);
        if self.walks.siblings.learn(siblings, share.siblings)
            | self.walks.others.learn(others.min(share.others), share.others)
        {
            self.trial.clear();
        }
    }
}

/// Contents that were read before they were asked for. Its lock is taken last, and never held while
/// a device works.
pub(crate) struct CrossFile {
    inner: Mutex<Inner>,
    /// Bytes on D that may be read.
    area: (u64, u64),
}

impl CrossFile {
    /// For a data device whose contents lie in bytes `[from, to)`.
    pub fn new(from: u64, to: u64) -> CrossFile {
        let inner = Inner::default();
        CrossFile { inner: Mutex::new(inner), area: (from, to) }
    }

    /// Fills `buf` with what there is from byte `at` of D on; returns how many bytes. `file` is
    /// what they belong to.
    pub fn read(&self, at: u64, buf: &mut [u8], file: FileAt) -> usize {
        let mut inner = self.inner.lock();
        let found = inner.held.find(at, buf.len());
        let n: usize = found.iter().map(|(_, _, inside)| inside.len()).sum();
        inner.stats.hit_bytes += n as u64;
        if n > 0 {
            inner.walks.note(at, at + n as u64, file);
            inner.walks.goes_on(file, at + n as u64);
        }
        match n == buf.len() {
            true => inner.stats.hits += 1,
            false => inner.stats.misses += 1,
        }
        drop(inner);
        for (to, bytes, inside) in found {
            buf[to..to + inside.len()].copy_from_slice(&bytes[inside]);
        }
        n
    }

    /// What to read instead of bytes `[at, at + len)` of D; at most `limit` bytes. None when just these
    /// are to be read. `dir` is the file's directory.
    pub fn plan(
        &self,
        at: u64,
        len: u64,
        file: FileAt,
        dir: &Directory,
        limit: u64,
    ) -> Option<Fetch> {
        let mut inner = self.inner.lock();
        let end = at.saturating_add(len).min(self.area.1);
        let files = inner.walks.note(at, end, file);
        let goes_on = inner.walks.goes_on(file, end);
        let of_dir = if goes_on { inner.walks.visit(dir.ino, file) } else { 0 };
        let files = files.max(of_dir);
        let ahead = if goes_on { inner.walks.ahead(len, file, files) } else { 0 };
        let own = (at, end.saturating_add(ahead));
        let run = inner.walks.directory(own, files, &dir.runs);
        let (from, to) = inner.walks.window(run, files);
        let (from, to) = (from.max(self.area.0).min(at), to.min(self.area.1));
        // What is there already need not be read again, at the window's ends.
        let from = inner.held.covered_to(from).min(at);
        let to = inner.held.covered_from(to).max(end);
        if to - from <= len || to - from > limit {
            return None;
        }
        let run = (run.0.max(from), run.1.min(to));
        let share = inner.share(len + file.ahead.min(to - end), run, (from, to));
        let id = inner.next;
        inner.next += 1;
        inner.under_way.push(UnderWay { id, from, to, spoiled: SmallVec::new() });
        inner.stats.reads_ahead += 1;
        inner.stats.bytes_ahead += to - from - len;
        Some(Fetch { id, from, to, run, share })
    }

    /// Takes what a planned read has brought, `used` bytes of which were asked for, and keeps at most
    /// `limit` bytes in all. None: the read has failed.
    pub fn fill(&self, fetch: Fetch, bytes: Option<Vec<u8>>, used: u64, limit: u64) {
        let mut inner = self.inner.lock();
        let Some(at) = inner.under_way.iter().position(|u| u.id == fetch.id) else { return };
        let done = inner.under_way.swap_remove(at);
        let Some(bytes) = bytes else { return };
        while inner.held.bytes() + bytes.len() as u64 > limit {
            let Some(gone) = inner.held.evict() else { return };
            inner.gone(gone);
        }
        for gone in inner.held.cut(done.from, done.to) {
            inner.gone(gone);
        }
        let id = inner.held.insert(done.from, bytes, &done.spoiled, fetch.run, used);
        if fetch.share.siblings + fetch.share.others > 0 {
            inner.judge(id, fetch.share);
        }
    }

    /// Bytes `[from, to)` of D have been written, or belong to nobody any more.
    pub fn forget(&self, from: u64, to: u64) {
        let mut inner = self.inner.lock();
        for read in &mut inner.under_way {
            if from < read.to && to > read.from {
                read.spoiled.push((from.max(read.from), to.min(read.to)));
            }
        }
        for gone in inner.held.cut(from, to) {
            inner.stats.forgotten_bytes += gone.len;
        }
    }

    /// Keeps at most `limit` bytes.
    pub fn shrink(&self, limit: u64) {
        let mut inner = self.inner.lock();
        while inner.held.bytes() > limit {
            let Some(gone) = inner.held.evict() else { return };
            inner.gone(gone);
        }
    }

    /// What it has done.
    pub fn stats(&self) -> CrossFileStats {
        let inner = self.inner.lock();
        CrossFileStats {
            held_bytes: inner.held.bytes(),
            width: inner.walks.others.width(),
            directory_width: inner.walks.siblings.width(),
            ..inner.stats
        }
    }
}
