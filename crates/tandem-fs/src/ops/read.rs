//! Reading contents: from memory, from D, or from what was read of D ahead.

use smallvec::SmallVec;
use tandem_format::{Extent, Geometry};

use super::io::check_regular;
use crate::cache::{Directory, FileAt, MIDDLING};
use crate::error::{Error, Result};
use crate::types::Ino;
use crate::volume::{Core, Volume};

/// Where the bytes of a read lie on D: offset in the buffer, length, offset on D.
type Parts = SmallVec<[(usize, usize, u64); 4]>;

/// What a read needs to know once the lock is released.
#[derive(Default)]
struct Plan {
    len: usize,
    parts: Parts,
    /// The file's size in bytes.
    size: u64,
    /// Bytes that lie on D behind those that are read, without a gap.
    ahead: u64,
    /// Where on D what precedes them in the file ends, if anything does.
    before: Option<u64>,
    /// Bytes that may be kept of D.
    limit: u64,
}

/// Files of a directory that are looked at to see where its run ends.
const SIBLINGS: usize = 512;

impl Volume {
    /// Reads from a regular file; returns how many bytes there were. Holes read as zeros.
    ///
    /// # Errors
    /// EISDIR, EINVAL for what has no contents, and the device's.
    pub fn read(&self, ino: Ino, off: u64, buf: &mut [u8]) -> Result<usize> {
        let side = self.core.epochs.enter();
        let done = self.core.read(ino, off, buf);
        self.core.epochs.leave(side);
        done
    }
}

impl Core {
    fn read(&self, ino: Ino, off: u64, buf: &mut [u8]) -> Result<usize> {
        let block = u64::from(self.geo.block_size);
        let plan = self.run(|st| {
            let rec = &st.node(ino)?.rec;
            check_regular(rec)?;
            let size = rec.size;
            let len = size.saturating_sub(off).min(buf.len() as u64) as usize;
            st.read_accessed(ino)?;
            if len == 0 {
                return Ok(Plan::default());
            }
            let end = off + len as u64;
            // What is read ahead of a file must be known to be its own.
            let known = if self.opts.cross_file && size < MIDDLING { size } else { end };
            let first = (off / block).saturating_sub(u64::from(off.is_multiple_of(block)));
            let mapped = st.located(ino, first, known.div_ceil(block))?;
            let covered = match st.nodes.get(ino).and_then(|n| n.data.as_ref()) {
                Some(data) => data.layers.lock().copy_to(off, &mut buf[..len]),
                None => Vec::new(),
            };
            let mut parts = Parts::new();
            let mut at = off;
            for (from, to) in covered.into_iter().chain([(end, end)]) {
                if at < from {
                    locate(&mapped, at, from, off, &self.geo, &mut buf[..len], &mut parts);
                }
                at = at.max(to);
            }
            let ahead = follows(&mapped, end, block).min(known - end);
            let before = mapped.iter().find(|e| (e.logical + u64::from(e.len)) * block == off);
            let before = before.map(|e| self.geo.block_offset(e.start + u64::from(e.len)));
            let limit = self.read_cache_limit(st.dirty_bytes);
            Ok(Plan { len, parts, size, ahead, before, limit })
        })?;
        let mut before = plan.before;
        for &(at, n, on_d) in &plan.parts {
            let ahead = if at + n == plan.len { plan.ahead } else { 0 };
            let off = off + at as u64;
            let file = FileAt { size: plan.size, off, ahead, before: before.unwrap_or(on_d) };
            self.read_contents(&mut buf[at..at + n], on_d, ino, file, plan.limit)?;
            before = Some(on_d + n as u64);
        }
        Ok(plan.len)
    }

    /// Bytes of D that may be kept in memory: their own share, and what dirty contents leave of theirs.
    pub(crate) fn read_cache_limit(&self, dirty: u64) -> u64 {
        self.opts.cache / 16 + (self.opts.cache / 4).saturating_sub(dirty)
    }

    /// Reads contents of a file from byte `on_d` of D: the one place that does. At most `limit` bytes
    /// are kept of what is read ahead.
    fn read_contents(
        &self,
        buf: &mut [u8],
        on_d: u64,
        ino: Ino,
        file: FileAt,
        limit: u64,
    ) -> Result<()> {
        if !self.opts.cross_file {
            return self.read_data(buf, on_d);
        }
        let done = self.cross_file.read(on_d, buf, file);
        let (buf, on_d) = (&mut buf[done..], on_d + done as u64);
        let len = buf.len() as u64;
        if len == 0 {
            return Ok(());
        }
        let before = if done > 0 { on_d } else { file.before };
        let file = FileAt { off: file.off + done as u64, before, ..file };
        let dir = self.directory(ino, file.size);
        let plan = self.cross_file.plan(on_d, len, file, &dir, limit / 4);
        let Some(fetch) = plan else {
            return self.read_data(buf, on_d);
        };
        let mut bytes = vec![0; (fetch.to - fetch.from) as usize];
        let read = self.data.read_at(&mut bytes, fetch.from).is_ok();
        if read {
            let at = (on_d - fetch.from) as usize;
            buf.copy_from_slice(&bytes[at..at + buf.len()]);
        }
        self.cross_file.fill(fetch, read.then_some(bytes), len, limit);
        // What lies around it may be what cannot be read.
        if read { Ok(()) } else { self.read_data(buf, on_d) }
    }

    /// Where the files of the same directory as one that is not large lie: a hint, of what is in
    /// memory, so that a request can bring what will be asked for next, and end where the directory's
    /// run does.
    fn directory(&self, ino: Ino, size: u64) -> Directory {
        if size >= MIDDLING {
            return Directory::default();
        }
        let known = self.state.lock().directory_extents(ino, SIBLINGS).unwrap_or_default();
        let byte = |block| self.geo.block_offset(block);
        let mut runs: Vec<_> = known.found.iter().map(|&(a, b)| (byte(a), byte(b))).collect();
        runs.sort_unstable();
        Directory { ino: if known.large { 0 } else { known.dir }, runs }
    }

    fn read_data(&self, buf: &mut [u8], on_d: u64) -> Result<()> {
        match self.data.read_at(buf, on_d) {
            Ok(()) => Ok(()),
            Err(e) => self.read_blocks(buf, on_d, e),
        }
    }

    /// Reads block by block what could not be read at once, up to the first that cannot be.
    fn read_blocks(&self, buf: &mut [u8], on_d: u64, whole: std::io::Error) -> Result<()> {
        let (block, first) = (u64::from(self.geo.block_size), self.geo.block_offset(0));
        let bad = |at: u64, source| Error::Unreadable {
            device: self.data.name().into(),
            block: (at - first) / block,
            offset: at,
            source,
        };
        let mut at = on_d;
        for part in buf.chunks_mut(block as usize) {
            // What begins within a block, as O_DIRECT's do, is as good as one that does not.
            self.data.read_at(part, at).map_err(|e| bad(at, e))?;
            at += part.len() as u64;
        }
        tracing::warn!("{}: {whole}; reading again succeeded", self.data.name());
        Ok(())
    }
}

/// Bytes that lie on D behind byte `end` of a file without a gap, as far as its extents are given.
fn follows(mapped: &[Extent], end: u64, block: u64) -> u64 {
    let (mut at, mut next) = (end, None);
    for e in mapped.iter().filter(|e| (e.logical + u64::from(e.len)) * block >= end) {
        let here = e.logical * block <= at && next.is_none_or(|next| next == e.start);
        if !here || e.unwritten {
            break;
        }
        at = (e.logical + u64::from(e.len)) * block;
        next = Some(e.start + u64::from(e.len));
    }
    at - end
}

/// Splits bytes `[from, to)` of a file into what lies on D and zeros.
fn locate(
    mapped: &[Extent],
    from: u64,
    to: u64,
    off: u64,
    geo: &Geometry,
    buf: &mut [u8],
    parts: &mut Parts,
) {
    let block = u64::from(geo.block_size);
    let mut at = from;
    let zero = |buf: &mut [u8], a: u64, b: u64| buf[(a - off) as usize..(b - off) as usize].fill(0);
    for e in mapped.iter().filter(|e| !e.unwritten) {
        let (a, b) =
            ((e.logical * block).max(at), ((e.logical + u64::from(e.len)) * block).min(to));
        if a >= b {
            continue;
        }
        zero(buf, at, a);
        let on_d = geo.block_offset(e.start) + (a - e.logical * block);
        match parts.last_mut() {
            Some((s, n, d)) if *s + *n == (a - off) as usize && *d + *n as u64 == on_d => {
                *n += (b - a) as usize
            }
            _ => parts.push(((a - off) as usize, (b - a) as usize, on_d)),
        }
        at = b;
    }
    if at < to {
        zero(buf, at, to);
    }
}
