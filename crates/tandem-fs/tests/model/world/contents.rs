//! File contents.

use std::sync::Arc;

use tandem_fs::{Cred, FallocFlags, Ino, SIZE_MAX, SetAttr, SyncKind, Whence, WriteFlags};

use super::{Outcome, World, told, wrong};
use crate::model::content::{Content, pattern};
use crate::model::op::Op;
use crate::model::tree::Body;

impl World {
    pub(super) fn contents(&mut self, op: &Op) -> Outcome {
        match *op {
            Op::Write { file, off, len, sync } => {
                let ino = self.target(self.pick_file(file));
                self.write(ino, off, len as usize, sync)
            }
            Op::Append { file, len } => {
                let ino = self.target(self.pick_file(file));
                let size = self.tree.get(ino).file().map_or(0, |c| c.size);
                self.write(ino, size, len as usize, false)
            }
            Op::Read { file, off, len } => {
                let ino = self.target(self.pick_file(file));
                self.read(ino, off, len as usize)
            }
            Op::Truncate { file, size } => {
                let ino = self.target(self.pick_file(file));
                self.truncate(ino, size)
            }
            Op::Fallocate { file, flags, off, len } => {
                let ino = self.target(self.pick_file(file));
                self.fallocate(ino, FallocFlags::from_bits_retain(flags), off, len)
            }
            Op::Copy { src, from, dst, to, len } => {
                let (src, dst) =
                    (self.target(self.pick_file(src)), self.target(self.pick_file(dst)));
                self.copy(src, from, dst, to, u64::from(len))
            }
            Op::Seek { file, off, hole } => {
                let ino = self.target(self.pick_file(file));
                self.seek(ino, off, hole)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn target(&mut self, ino: Ino) -> Ino {
        self.did += &format!(" = {}", self.tree.path(ino));
        ino
    }

    fn regular(&self, ino: Ino) -> Result<&Arc<Content>, i32> {
        match &self.tree.get(ino).body {
            Body::File(content) => Ok(content),
            Body::Dir { .. } => Err(libc::EISDIR),
            _ => Err(libc::EINVAL),
        }
    }

    /// The contents to be changed, with the times.
    fn edit(&mut self, ino: Ino) -> &mut Content {
        let now = self.now();
        let node = self.tree.change(ino);
        (node.mtime, node.ctime) = (now, now);
        match &mut node.body {
            Body::File(content) => Arc::make_mut(content),
            _ => unreachable!("checked to be a regular file"),
        }
    }

    fn write(&mut self, ino: Ino, off: u64, len: usize, sync: bool) -> Outcome {
        let end = off.checked_add(len as u64).filter(|&end| end <= SIZE_MAX);
        let want = match end {
            None => Err(libc::EFBIG),
            Some(_) => self.regular(ino).map(drop),
        };
        let data = pattern(self.cfg.seed << 20 ^ (self.op as u64) << 32 ^ ino, off, len);
        let kind = if sync { SyncKind::All } else { SyncKind::None };
        let flags = WriteFlags { kill_priv: false, sync: kind };
        let got = self.vol.write(&self.cred, ino, off, &data, flags);
        let Some(n) = self.agree("write", got, want)? else { return Ok(()) };
        if n != len {
            return wrong(format!("write of {len} bytes wrote {n}"));
        }
        self.edit(ino).write(off, &data);
        if sync {
            self.synced = Some(Some(ino));
        }
        self.check_node(ino)
    }

    pub(super) fn read(&mut self, ino: Ino, off: u64, len: usize) -> Outcome {
        let mut buf = vec![0x55; len];
        let want = self.regular(ino).map(drop);
        let got = self.vol.read(ino, off, &mut buf);
        let Some(n) = self.agree("read", got, want)? else { return Ok(()) };
        let bytes = self.tree.get(ino).file().map(|c| c.read(off, len)).unwrap_or_default();
        self.same(ino, off, &buf[..n], &bytes)?;
        self.accessed(ino)
    }

    pub(super) fn same(&self, ino: Ino, off: u64, got: &[u8], want: &[u8]) -> Outcome {
        let path = || self.tree.path(ino);
        if let Some(at) = got.iter().zip(want).position(|(a, b)| a != b) {
            let wrong_bytes = got.iter().zip(want).filter(|(a, b)| a != b).count();
            let show = |bytes: &[u8]| format!("{:02x?}", &bytes[at..bytes.len().min(at + 8)]);
            let (got, want) = (show(got), show(want));
            return wrong(format!(
                "{}: byte {}: {got}, but should be {want} ({wrong_bytes} bytes differ)",
                path(),
                off + at as u64
            ));
        }
        if got.len() != want.len() {
            return wrong(format!("{}: {} bytes at {off}, not {}", path(), got.len(), want.len()));
        }
        Ok(())
    }

    fn truncate(&mut self, ino: Ino, size: u64) -> Outcome {
        let want = self.regular(ino).map(drop);
        let set = SetAttr { size: Some(size), ..SetAttr::default() };
        let got = self.vol.setattr(&self.cred, ino, &set);
        let Some(attr) = self.agree("truncate", got, want)? else { return Ok(()) };
        self.edit(ino).truncate(size);
        self.check_attr(ino, &attr)
    }

    fn fallocate(&mut self, ino: Ino, flags: FallocFlags, off: u64, len: u64) -> Outcome {
        let keep = flags.contains(FallocFlags::KEEP_SIZE);
        let mode = flags.difference(FallocFlags::KEEP_SIZE);
        let (punch, zero) = (mode == FallocFlags::PUNCH_HOLE, mode == FallocFlags::ZERO_RANGE);
        let end = off.saturating_add(len);
        let want = match () {
            () if len == 0 => Err(libc::EINVAL),
            () if end > SIZE_MAX => Err(libc::EFBIG),
            () if !(mode.is_empty() || zero || (punch && keep)) => Err(libc::EOPNOTSUPP),
            () => self.regular(ino).map(drop),
        };
        let full = self.full;
        let got = self.vol.fallocate(&Cred::root(), ino, flags, off, len);
        let done = self.agree("fallocate", got, want)?.is_some();
        if self.full > full {
            // Part of it may have been done: what was there before the call cannot be told.
            return self.resync(ino, off, end, zero);
        }
        if !done {
            return Ok(());
        }
        let content = self.edit(ino);
        if punch || zero {
            content.zero(off, end.min(content.size.max(off)));
        }
        if !punch && !keep {
            content.size = content.size.max(end);
        }
        self.check_node(ino)?;
        if mode.is_empty() || zero {
            let block = u64::from(self.cfg.block);
            let least = (end.div_ceil(block) - off / block) * block / 512;
            let has = told("getattr", self.vol.getattr(ino))?.blocks;
            if has < least {
                return wrong(format!("{has} blocks of 512 bytes after fallocate, not {least}"));
            }
        }
        Ok(())
    }

    /// After a fallocate for which there was no room: zeroing may have taken place.
    fn resync(&mut self, ino: Ino, off: u64, end: u64, zero: bool) -> Outcome {
        let attr = told("getattr", self.vol.getattr(ino))?;
        if zero && attr.mtime == self.now() {
            let content = self.edit(ino);
            content.zero(off, end.min(content.size.max(off)));
        }
        self.check_node(ino)
    }

    fn copy(&mut self, src: Ino, from: u64, dst: Ino, to: u64, len: u64) -> Outcome {
        let overlap = src == dst && from < to.saturating_add(len) && to < from.saturating_add(len);
        let bytes = self.regular(src).map(|c| c.read(from, len as usize));
        let want = match (&bytes, self.regular(dst)) {
            _ if overlap => Err(libc::EINVAL),
            (Err(e), _) => Err(*e),
            (Ok(bytes), _) if bytes.is_empty() => Ok(()),
            (Ok(bytes), _) if to.checked_add(bytes.len() as u64).is_none_or(|e| e > SIZE_MAX) => {
                Err(libc::EFBIG)
            }
            (Ok(_), Err(e)) => Err(e),
            (Ok(_), Ok(_)) => Ok(()),
        };
        let got = self.vol.copy_range(&self.cred, src, from, dst, to, len);
        let Some(n) = self.agree("copy_range", got, want)? else { return self.accessed(src) };
        let bytes = bytes.unwrap_or_default();
        if n != bytes.len() as u64 {
            return wrong(format!("copy_range copied {n} bytes, not {}", bytes.len()));
        }
        if n > 0 {
            self.edit(dst).write(to, &bytes);
        }
        self.accessed(src)?;
        self.check_node(dst)
    }

    fn seek(&mut self, ino: Ino, off: u64, hole: bool) -> Outcome {
        let size = match self.regular(ino) {
            Ok(content) => content.size,
            Err(e) => {
                let got = self.vol.seek(ino, off, Whence::Data);
                return self.agree("seek", got, Err(e)).map(drop);
            }
        };
        let whence = if hole { Whence::Hole } else { Whence::Data };
        let got = self.vol.seek(ino, off, whence);
        let content = Arc::clone(self.regular(ino).map_err(|e| e.to_string())?);
        let data = content.data_after(off);
        match got {
            Err(e) if e.errno() != libc::ENXIO => told("seek", Err(e)),
            Err(_) if off >= size => Ok(()),
            Err(_) if hole => wrong(format!("no hole after {off}, and the size is {size}")),
            Err(_) => match data {
                Some(at) => wrong(format!("no data after {off}, but there is some at {at}")),
                None => Ok(()),
            },
            Ok(at) if at < off || at > size || (at == size && !hole) => {
                wrong(format!("seek from {off} found {at}, size {size}"))
            }
            Ok(at) if hole => match content.data_after(at) {
                Some(next) if next < (at + 1).next_multiple_of(u64::from(self.cfg.block)) => {
                    wrong(format!("a hole at {at}, but data at {next}"))
                }
                _ => Ok(()),
            },
            Ok(at) if data.is_some_and(|d| d < at) => {
                wrong(format!("data after {off} at {at}, but there is some at {data:?}"))
            }
            Ok(_) => Ok(()),
        }
    }
}
