//! Writing, sizes, durability.

use std::sync::Arc;

use tandem_format::{Content, Record};

use super::attr::without_privileges;
use crate::cache::{FileData, Layers};
use crate::error::{Error, Fault, Res, Result, fail};
use crate::inode::Mapping;
use crate::options::Atime;
use crate::space::Run;
use crate::state::{RECORD_COST, State};
use crate::types::{Cred, Ino, SIZE_MAX, SyncKind, WriteFlags};
use crate::volume::Volume;

/// Data of this length is copied before the lock is taken, and then kept without another copy.
const COPY_FIRST: usize = 16 << 10;

/// An access time older than this, in seconds, is renewed whatever else.
const DAY: i64 = 24 * 60 * 60;

impl Volume {
    /// Writes to a regular file: all of `data` or nothing.
    ///
    /// # Errors
    /// ENOSPC, EFBIG past 2^63 - 1, EROFS, EISDIR.
    pub fn write(
        &self,
        cred: &Cred,
        ino: Ino,
        off: u64,
        data: &[u8],
        flags: WriteFlags,
    ) -> Result<usize> {
        if data.is_empty() {
            return Ok(0);
        }
        let end = off.checked_add(data.len() as u64).filter(|&end| end <= SIZE_MAX);
        let Some(end) = end else { return Err(Error::Posix(libc::EFBIG)) };
        let mut owned = (data.len() >= COPY_FIRST).then(|| data.to_vec());
        self.core.run(|st| {
            let layers = st.writer(cred, ino)?;
            st.claim(RECORD_COST, false)?;
            if st.dirty_bytes > st.dirty_limit {
                return Err(Fault::Pressure);
            }
            st.drop_capabilities(ino)?;
            st.zero_tail(ino, &layers, off)?;
            st.write_dirty(ino, &layers, off, data, &mut owned)?;
            let now = st.now;
            let rec = &mut st.change(ino)?.rec;
            rec.size = rec.size.max(end);
            rec.mtime = now;
            rec.ctime = now;
            if flags.kill_priv
                || rec.mode & (libc::S_ISUID | libc::S_ISGID) != 0 && cred.enforce && cred.uid != 0
            {
                rec.mode = without_privileges(rec.mode);
            }
            Ok(())
        })?;
        if flags.sync != SyncKind::None {
            self.fsync(ino, flags.sync == SyncKind::Data)?;
        }
        Ok(data.len())
    }

    /// Makes a file or directory durable: contents, attributes, name. A commit carries both kinds
    /// of change, so `datasync` costs the same.
    ///
    /// # Errors
    /// EIO when it cannot be; it stays reported.
    pub fn fsync(&self, ino: Ino, _datasync: bool) -> Result<()> {
        self.core.commit_file(Some(ino))
    }

    /// Makes everything durable.
    ///
    /// # Errors
    /// As [`Volume::fsync`].
    pub fn sync(&self) -> Result<()> {
        self.core.reclaim_all()?;
        self.core.commit_all(false)
    }
}

/// Fails unless the i-node has contents.
pub(super) fn check_regular(rec: &Record) -> Res<()> {
    match rec.content {
        Content::Dir(_) => fail(libc::EISDIR),
        _ if rec.mode & libc::S_IFMT == libc::S_IFREG => Ok(()),
        _ => fail(libc::EINVAL),
    }
}

impl State {
    /// Where blocks `[from, to)` lie on D: what the metadata has, and what is written, but not known
    /// to it yet.
    pub(crate) fn located(&mut self, ino: Ino, from: u64, to: u64) -> Res<Mapping> {
        let mut known = self.map_range(ino, from, to)?;
        if let Some(data) = self.nodes.get(ino).and_then(|n| n.data.as_ref()) {
            let staged: Mapping = data.layers.lock().staged_in(from, to).collect();
            if !staged.is_empty() {
                for s in &staged {
                    // A staged conversion overlays the unwritten extent that it converts.
                    known = known.iter().flat_map(|e| crate::extents::minus(e, s)).collect();
                }
                known.extend(staged);
                known.sort_unstable_by_key(|e| e.logical);
            }
        }
        Ok(known)
    }

    /// A file that is about to be written: its layers.
    pub(super) fn writer(&mut self, cred: &Cred, ino: Ino) -> Res<Arc<FileData>> {
        self.writable()?;
        check_regular(&self.node(ino)?.rec)?;
        self.may(cred, ino, super::access::MAY_WRITE)?;
        Ok(self.node(ino)?.layers())
    }

    /// Renews an access time as the mount has it.
    pub(super) fn read_accessed(&mut self, ino: Ino) -> Res<()> {
        if self.read_only || self.failed.is_some() {
            return Ok(());
        }
        let (now, policy) = (self.now, self.atime);
        let rec = &self.seen(ino)?.rec;
        let due = match policy {
            Atime::Never => false,
            Atime::Strict => rec.atime < now,
            Atime::Relative => {
                rec.atime <= rec.mtime || rec.atime <= rec.ctime || now.secs - rec.atime.secs >= DAY
            }
        };
        // A read must not fail for want of room for its time.
        if due {
            self.node(ino)?;
        }
        if due && self.claim(RECORD_COST, true).is_ok() {
            self.change(ino)?.rec.atime = now;
        }
        Ok(())
    }

    /// Enters dirty bytes, with the data blocks that they will need promised to them.
    pub(super) fn write_dirty(
        &mut self,
        ino: Ino,
        data: &Arc<FileData>,
        off: u64,
        bytes: &[u8],
        owned: &mut Option<Vec<u8>>,
    ) -> Res<()> {
        let block = u64::from(self.geo.block_size);
        let (first, end) = (off / block, (off + bytes.len() as u64).div_ceil(block));
        let gaps = data.layers.lock().uncovered(first, end, block);
        let mut need = 0;
        for (from, to) in gaps {
            let mapped: u64 = self.map_range(ino, from, to)?.iter().map(|e| u64::from(e.len)).sum();
            need += (to - from).saturating_sub(mapped);
        }
        self.reserve(need)?;
        if matches!(self.node(ino)?.rec.content, Content::Tree { .. }) {
            self.running.extents += 1;
        }
        let mut layers = data.layers.lock();
        let before = layers.dirty.bytes();
        layers.write(off, bytes, owned.take());
        self.dirty_bytes = self.dirty_bytes + layers.dirty.bytes() - before;
        layers.reserved += need;
        self.queue(ino, &mut layers);
        Ok(())
    }

    fn queue(&mut self, ino: Ino, layers: &mut Layers) {
        if !layers.queued {
            layers.queued = true;
            self.dirty_files.push(ino);
        }
    }

    /// Before a file grows past its end: what lies behind the end in its last block reads as zeros
    /// from now on.
    pub(super) fn zero_tail(&mut self, ino: Ino, data: &Arc<FileData>, upto: u64) -> Res<()> {
        let block = u64::from(self.geo.block_size);
        let size = self.node(ino)?.rec.size;
        if upto <= size || size % block == 0 {
            return Ok(());
        }
        let to = size.next_multiple_of(block).min(upto);
        self.zero_mapped(ino, data, size, to)
    }

    /// Zeros within one block, if the block exists at all.
    pub(super) fn zero_mapped(
        &mut self,
        ino: Ino,
        data: &Arc<FileData>,
        from: u64,
        to: u64,
    ) -> Res<()> {
        let block = u64::from(self.geo.block_size);
        let at = from / block;
        let covered = data.layers.lock().uncovered(at, at + 1, block).is_empty();
        if from < to && (covered || self.map_range(ino, at, at + 1)?.iter().any(|e| !e.unwritten)) {
            let zeros = vec![0; (to - from) as usize];
            self.write_dirty(ino, data, from, &zeros, &mut None)?;
        }
        Ok(())
    }

    /// Changes a regular file's size; the node is in memory.
    pub(super) fn resize(&mut self, ino: Ino, size: u64) -> Res<()> {
        let block = u64::from(self.geo.block_size);
        let old = self.node(ino)?.rec.size;
        if size > old {
            let data = self.node(ino)?.layers();
            self.zero_tail(ino, &data, size)?;
            let mut layers = data.layers.lock();
            let settled = layers.is_settled();
            if !settled {
                self.queue(ino, &mut layers);
            }
            drop(layers);
            let node = self.change(ino)?;
            node.rec.size = size;
            if settled {
                node.disk_size = size;
                node.data = None;
            }
            return Ok(());
        }
        self.free_range(ino, size.div_ceil(block), u64::MAX)?;
        self.cut(ino, size, u64::MAX, size.div_ceil(block), u64::MAX);
        let node = self.change(ino)?;
        node.rec.size = size;
        node.disk_size = node.disk_size.min(size);
        if let Some(data) = &node.data {
            let mut layers = data.layers.lock();
            layers.flush_size = layers.flush_size.min(size);
        }
        Ok(())
    }

    /// Drops bytes `[from, to)` in memory, and blocks `[first, end)` that no metadata knows yet.
    pub(super) fn cut(&mut self, ino: Ino, from: u64, to: u64, first: u64, end: u64) {
        let Some(data) = self.nodes.get(ino).and_then(|n| n.data.clone()) else { return };
        let mut layers = data.layers.lock();
        self.dirty_bytes = self.dirty_bytes.saturating_sub(layers.cut(from, to));
        if layers.dirty.is_empty() {
            self.reserved = self.reserved.saturating_sub(std::mem::take(&mut layers.reserved));
        }
        let mut gone = layers.placing.cut(first, end);
        gone.append(&mut layers.fresh.cut(first, end));
        gone.append(&mut layers.ready.cut(first, end));
        drop(layers);
        for s in gone.into_iter().filter(|s| !s.convert) {
            self.drop_run(Run { start: s.extent.start, len: u64::from(s.extent.len) });
        }
    }
}
