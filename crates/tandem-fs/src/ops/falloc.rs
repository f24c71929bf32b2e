//! Space without contents: allocation ahead, holes, and finding them.

use tandem_format::Extent;

use super::attr::without_privileges;
use super::io::check_regular;
use crate::commit::space_fault;
use crate::error::{Error, Fault, Res, Result, fail};
use crate::space::{Goal, Run};
use crate::state::{RECORD_COST, State};
use crate::types::{Cred, FallocFlags, Ino, SIZE_MAX, Whence, WriteFlags};
use crate::volume::Volume;

/// Data blocks that one hold of the lock allocates at most.
const STEP: u64 = 1 << 18;

/// Bytes that one call of copy_range copies at most; the caller goes on.
const COPY_MAX: u64 = 16 << 20;

impl Volume {
    /// Allocates, frees or zeros `[off, off + len)`. Allocated space reads as zeros and survives a
    /// crash; writes into it cannot fail for lack of space on D. Like a write it takes the set-user and
    /// set-group bits away unless the superuser asks.
    ///
    /// # Errors
    /// EOPNOTSUPP for unknown combinations of flags, EFBIG, ENOSPC.
    pub fn fallocate(
        &self,
        cred: &Cred,
        ino: Ino,
        flags: FallocFlags,
        off: u64,
        len: u64,
    ) -> Result<()> {
        if len == 0 {
            return Err(Error::Posix(libc::EINVAL));
        }
        let end = off.checked_add(len).filter(|&end| end <= SIZE_MAX);
        let Some(end) = end else { return Err(Error::Posix(libc::EFBIG)) };
        let keep = flags.contains(FallocFlags::KEEP_SIZE);
        let mode = flags.difference(FallocFlags::KEEP_SIZE);
        if mode == FallocFlags::PUNCH_HOLE && keep {
            return self.punch(cred, ino, off, end, true);
        }
        if mode == FallocFlags::ZERO_RANGE {
            self.punch(cred, ino, off, end, false)?;
        } else if !mode.is_empty() {
            return Err(Error::Posix(libc::EOPNOTSUPP));
        }
        let block = u64::from(self.core.geo.block_size);
        let mut at = off / block;
        while at < end.div_ceil(block) {
            let to = (at + STEP).min(end.div_ceil(block));
            self.core.run(|st| st.preallocate(ino, at, to))?;
            at = to;
        }
        self.core.run(|st| {
            st.claim(RECORD_COST, false)?;
            let size = st.node(ino)?.rec.size;
            if !keep && end > size {
                st.resize(ino, end)?;
            }
            st.touched(cred, ino)
        })
    }

    fn punch(&self, cred: &Cred, ino: Ino, off: u64, end: u64, past_end: bool) -> Result<()> {
        self.core.run(|st| {
            st.writable()?;
            check_regular(&st.node(ino)?.rec)?;
            st.claim(RECORD_COST * 2, true)?;
            let size = st.node(ino)?.rec.size;
            let block = u64::from(st.geo.block_size);
            let end = if past_end { end } else { end.min(size.max(off)) };
            let (first, last) = (off.div_ceil(block), end / block);
            let data = st.node(ino)?.layers();
            if first > last {
                st.zero_mapped(ino, &data, off, end)?;
            } else {
                st.zero_mapped(ino, &data, off, first * block)?;
                st.zero_mapped(ino, &data, last * block, end)?;
                st.free_range(ino, first, last)?;
                st.cut(ino, first * block, last * block, first, last);
            }
            st.touched(cred, ino)
        })
    }

    /// The next data or hole at or after `off`, for lseek(2).
    ///
    /// # Errors
    /// ENXIO when `off` is at or past the end, or no data follows.
    pub fn seek(&self, ino: Ino, off: u64, whence: Whence) -> Result<u64> {
        self.core.run(|st| {
            let rec = &st.node(ino)?.rec;
            check_regular(rec)?;
            let size = rec.size;
            if off >= size {
                return fail(libc::ENXIO);
            }
            match whence {
                Whence::Data => match st.next_data(ino, off)? {
                    Some(at) if at < size => Ok(at),
                    _ => fail(libc::ENXIO),
                },
                Whence::Hole => Ok(st.next_hole(ino, off)?.min(size)),
            }
        })
    }

    /// Copies bytes from one file to another; returns how many, which may be fewer than asked for.
    ///
    /// # Errors
    /// Those of reading and writing; EINVAL for overlapping ranges of one file.
    pub fn copy_range(
        &self,
        cred: &Cred,
        src: Ino,
        src_off: u64,
        dst: Ino,
        dst_off: u64,
        len: u64,
    ) -> Result<u64> {
        let overlap = src == dst
            && src_off < dst_off.saturating_add(len)
            && dst_off < src_off.saturating_add(len);
        if overlap {
            return Err(Error::Posix(libc::EINVAL));
        }
        // The end of the source is where it is now, even if copying moves it.
        let size = self.core.run(|st| {
            let rec = &st.node(src)?.rec;
            check_regular(rec)?;
            Ok(rec.size)
        })?;
        let want = len.min(COPY_MAX).min(size.saturating_sub(src_off));
        let flags = WriteFlags { kill_priv: cred.uid != 0, ..WriteFlags::default() };
        let mut buf = vec![0; (want as usize).min(1 << 20)];
        let mut done = 0;
        while done < want {
            let n = (want - done).min(buf.len() as u64) as usize;
            let got = self.read(src, src_off.saturating_add(done), &mut buf[..n])?;
            if got == 0 {
                break;
            }
            match self.write(cred, dst, dst_off.saturating_add(done), &buf[..got], flags) {
                Ok(_) => done += got as u64,
                Err(e) if done == 0 => return Err(e),
                Err(_) => break,
            }
        }
        Ok(done)
    }
}

impl State {
    fn touched(&mut self, cred: &Cred, ino: Ino) -> Res<()> {
        let now = self.now;
        let rec = &mut self.change(ino)?.rec;
        if cred.uid != 0 {
            rec.mode = without_privileges(rec.mode);
        }
        rec.mtime = now;
        rec.ctime = now;
        Ok(())
    }

    /// Allocates the unmapped blocks among `[from, to)` as unwritten.
    fn preallocate(&mut self, ino: Ino, from: u64, to: u64) -> Res<()> {
        self.writable()?;
        check_regular(&self.node(ino)?.rec)?;
        let block = u64::from(self.geo.block_size);
        let mut gaps = vec![(from, to)];
        if let Some(data) = self.nodes.get(ino).and_then(|n| n.data.clone()) {
            gaps = data.layers.lock().uncovered(from, to, block);
        }
        let mut holes = Vec::new();
        for (from, to) in gaps {
            let mut at = from;
            for e in self.map_range(ino, from, to)? {
                if e.logical > at {
                    holes.push((at, e.logical));
                }
                at = e.logical + u64::from(e.len);
            }
            if at < to {
                holes.push((at, to));
            }
        }
        let parent = self.nodes.get(ino).map_or(0, |n| n.parent);
        let group = match self.nodes.get(parent).map(|n| &n.rec.content) {
            Some(tandem_format::Content::Dir(root)) => root.group,
            _ => 0,
        };
        for (from, to) in holes {
            let want = to - from;
            self.claim(RECORD_COST * 2, false)?;
            if self.reserved + want > self.space.free_blocks() {
                return Err(Fault::DataFull);
            }
            // Touched before anything is allocated: entering the extents cannot miss after that.
            self.map_range(ino, from.saturating_sub(1), to.saturating_add(1))?;
            let runs =
                self.space.allocate(Goal { group, near: None }, want, true).map_err(space_fault)?;
            let mut logical = from;
            for run in runs {
                let mut start = run.start;
                let mut left = run.len;
                while left > 0 {
                    let len = left.min(u64::from(u32::MAX >> 1)) as u32;
                    self.map_insert(ino, Extent { logical, start, len, unwritten: true })?;
                    self.apply_run(Run { start, len: u64::from(len) });
                    logical += u64::from(len);
                    start += u64::from(len);
                    left -= u64::from(len);
                }
            }
        }
        Ok(())
    }

    fn next_data(&mut self, ino: Ino, off: u64) -> Res<Option<u64>> {
        let block = u64::from(self.geo.block_size);
        let mut best: Option<u64> = None;
        self.map_visit(ino, off / block, u64::MAX, &mut |e| {
            if e.unwritten {
                return true;
            }
            best = Some((e.logical * block).max(off));
            false
        })?;
        if let Some(data) = self.nodes.get(ino).and_then(|n| n.data.clone()) {
            let layers = data.layers.lock();
            let pieces = [&layers.dirty, &layers.flushing]
                .into_iter()
                .filter_map(|layer| layer.touching(off, u64::MAX).next().map(|(at, _)| at));
            let staged = layers.staged_in(off / block, u64::MAX).map(|e| e.logical * block);
            for at in pieces.chain(staged) {
                // Data is told block-wise, as the device will have it.
                let at = (at / block * block).max(off);
                best = Some(best.map_or(at, |b| b.min(at)));
            }
        }
        Ok(best)
    }

    fn next_hole(&mut self, ino: Ino, off: u64) -> Res<u64> {
        let block = u64::from(self.geo.block_size);
        let data = self.nodes.get(ino).and_then(|n| n.data.clone());
        let mut at = off;
        loop {
            let before = at;
            self.map_visit(ino, at / block, u64::MAX, &mut |e| {
                let (from, to) =
                    (e.logical * block, (e.logical + u64::from(e.len)).saturating_mul(block));
                if e.unwritten || from > at {
                    return false;
                }
                at = at.max(to);
                true
            })?;
            if let Some(data) = &data {
                let layers = data.layers.lock();
                for e in layers.staged_in(at / block, u64::MAX) {
                    if e.logical * block <= at {
                        at = at.max(crate::extents::end(&e).saturating_mul(block));
                    }
                }
                for layer in [&layers.dirty, &layers.flushing] {
                    for (from, piece) in layer.touching(at / block * block, u64::MAX) {
                        if from / block * block > at {
                            break;
                        }
                        at = at.max((from + piece.len()).next_multiple_of(block));
                    }
                }
            }
            if at == before {
                return Ok(at);
            }
        }
    }
}
