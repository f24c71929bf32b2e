//! Files whose extents are put together anew, with copies of what others keep.

use tandem_device::Device;
use tandem_format::{Content, Extent};

use super::super::contents::{Piece, run};
use super::super::survey::MADE;
use super::Writer;
use crate::commit::space_fault;
use crate::error::{Error, Result};
use crate::extents::{clip, end};
use crate::space::{Goal, Run};
use crate::types::SIZE_MAX;

/// Bytes copied at once.
const PIECE: u64 = 1 << 20;

impl Writer<'_> {
    /// Gives a file the extents that are left of it.
    pub(super) fn put_contents(&mut self, ino: u64) -> Result<()> {
        let Some(inode) = self.survey.inode(ino).copied() else { return Ok(()) };
        let rec = self.core.run(|st| Ok(st.node(ino)?.rec.clone()))?;
        let pieces = match self.survey.index.get(inode.block) {
            Some(info) if !inode.is(MADE) => self.survey.extents_of(&rec, info).extents,
            _ => self.survey.salvage(ino),
        };
        let mut extents = Vec::with_capacity(pieces.len());
        for piece in &pieces {
            self.settle(ino, piece, &mut extents)?;
        }
        let length = extents.iter().map(end).max().unwrap_or(0);
        let length = length.saturating_mul(self.survey.base.sb.block_size.into()).min(SIZE_MAX);
        self.core.run(|st| {
            st.node(ino)?;
            let node = st.change(ino)?;
            node.rec.content = Content::None;
            // Or the record of an unlinked file would not be written, and freeing it would free what it had.
            node.in_limbo = node.rec.nlink == 0;
            if inode.is(MADE) {
                (node.rec.size, node.disk_size) = (length, length);
            }
            Ok(())
        })?;
        for extent in extents {
            self.core.run(|st| {
                st.node(ino)?;
                st.map_insert(ino, extent)
            })?;
        }
        Ok(())
    }

    /// What becomes of an extent: it is kept, or copied where another file keeps its blocks.
    fn settle(&mut self, ino: u64, piece: &Piece, out: &mut Vec<Extent>) -> Result<()> {
        let whole = run(&piece.extent);
        let from = self.survey.crossed.partition_point(|(run, _)| run.end() <= whole.start);
        let mut at = whole.start;
        let crossed: Vec<(Run, u64)> = self.survey.crossed[from..]
            .iter()
            .take_while(|(run, _)| run.start < whole.end())
            .copied()
            .collect();
        for (run, keeper) in crossed {
            let (start, stop) = (run.start.max(at), run.end().min(whole.end()));
            out.extend(part(&piece.extent, at, start));
            let mut copies = Vec::new();
            if keeper == ino {
                let mut from = start;
                let mut kept = Vec::new();
                self.given.claim(Run { start, len: stop - start }, &mut |again| {
                    kept.push((from, again.start));
                    from = again.end();
                    copies.push(again);
                });
                kept.push((from, stop));
                out.extend(kept.iter().filter_map(|(a, b)| part(&piece.extent, *a, *b)));
            } else if !piece.stale {
                copies.push(Run { start, len: stop - start });
            }
            for run in copies {
                self.copy(&piece.extent, run, out)?;
            }
            at = stop;
        }
        out.extend(part(&piece.extent, at, whole.end()));
        Ok(())
    }

    /// Copies data blocks of an extent to others.
    fn copy(&self, extent: &Extent, blocks: Run, out: &mut Vec<Extent>) -> Result<()> {
        let mut left = blocks;
        while left.len > 0 {
            let want = left.len.min(u64::from(self.core.geo.group_blocks));
            let goal = Goal { group: self.core.geo.group_of(left.start), near: None };
            let runs =
                self.core.run(|st| st.space.allocate(goal, want, false).map_err(space_fault))?;
            for to in runs {
                if !extent.unwritten {
                    self.copy_bytes(left.start, to)?;
                }
                let len = to.len as u32;
                let logical = extent.logical + (left.start - extent.start);
                out.push(Extent { logical, start: to.start, len, unwritten: extent.unwritten });
                left = Run { start: left.start + to.len, len: left.len - to.len };
            }
        }
        Ok(())
    }

    fn copy_bytes(&self, from: u64, to: Run) -> Result<()> {
        let geo = &self.core.geo;
        let size = u64::from(geo.block_size);
        let mut buf = vec![0; (PIECE.max(size)).min(to.len * size) as usize];
        let mut done = 0;
        while done < to.len * size {
            let n = (to.len * size - done).min(buf.len() as u64) as usize;
            let (source, target) =
                (geo.block_offset(from) + done, geo.block_offset(to.start) + done);
            let failed = |op, offset, source| Error::Io {
                device: self.core.data.name().into(),
                op,
                offset,
                len: n as u64,
                source,
            };
            // What cannot be read by one cannot be read by the other: zeros, not somebody else's.
            if self.core.data.read_at(&mut buf[..n], source).is_err() {
                buf[..n].fill(0);
            }
            self.core.data.write_at(&buf[..n], target).map_err(|e| failed("write", target, e))?;
            done += n as u64;
        }
        Ok(())
    }
}

/// The part of an extent that lies on data blocks `[from, to)`.
fn part(extent: &Extent, from: u64, to: u64) -> Option<Extent> {
    let logical = |block: u64| extent.logical + (block - extent.start);
    (from < to).then(|| clip(extent, logical(from), logical(to))).flatten()
}
