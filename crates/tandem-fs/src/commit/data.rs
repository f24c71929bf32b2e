//! Contents on their way to D: delayed allocation, one continuous run for the new files of a
//! directory (SpadFS §IV "continuous allocation"), then writes in disk order.

use std::io::IoSlice;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;
use tandem_format::{Content, Extent};

use super::space_fault;
use crate::cache::{Piece, Staged};
use crate::error::{Error, Fault, Res, Result, corrupt};
use crate::planted::{Planted, planted};
use crate::space::{Goal, Run, SpaceError};
use crate::state::State;
use crate::types::Ino;
use crate::volume::Core;

/// Files of a directory that are placed together under one hold of the lock.
const TOGETHER: usize = 256;

/// Bytes of one request to D at most.
const REQUEST: usize = 4 << 20;

/// Bytes behind a file that grows, at least and at most.
const ROOM: (u64, u64) = (64 << 10, 4 << 20);

static ZEROS: [u8; 65536] = [0; 65536];

/// What goes where: a byte offset on D, and bytes or zeros.
enum Source {
    Bytes(Piece, usize, usize),
    Zeros(usize),
}

struct Write {
    at: u64,
    source: Source,
}

impl Write {
    fn bytes(&self) -> &[u8] {
        match &self.source {
            Source::Bytes(piece, from, to) => &piece.as_slice()[*from..*to],
            Source::Zeros(len) => &ZEROS[..*len],
        }
    }
}

/// What a file's dirty bytes need.
struct Plan {
    ino: Ino,
    /// Where the blocks touched already lie; unwritten ones have to be converted.
    mapped: SmallVec<[Extent; 4]>,
    /// Blocks touched that lie nowhere: first and end.
    gaps: SmallVec<[(u64, u64); 2]>,
    need: u64,
}

impl Core {
    /// Writes the dirty contents of files to D.
    pub(crate) fn flush_files(&self, mut files: Vec<Ino>) -> Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        let mut groups = self.by_directory(&mut files);
        while !groups.is_empty() {
            let mut writes = Vec::new();
            let mut bytes = 0;
            let mut placed = Vec::new();
            while let Some(group) = groups.pop() {
                if !self.place(&group, &mut writes, &mut bytes)? {
                    // Where there is no run for all, smaller ones of whole files are better than
                    // one that would break up the longest run and still cut a file.
                    let (first, rest) = group.split_at(group.len() / 2);
                    groups.extend([rest.to_vec(), first.to_vec()]);
                    continue;
                }
                placed.extend(group);
                if bytes > super::BATCH as usize {
                    break;
                }
            }
            self.write_out(writes)?;
            for few in placed.chunks(TOGETHER) {
                let st = self.state.lock();
                for ino in few {
                    if let Some(data) = st.nodes.get(*ino).and_then(|n| n.data.as_ref()) {
                        data.layers.lock().written();
                    }
                }
            }
        }
        Ok(())
    }

    /// Sorts files into groups that are placed together; the last one comes first.
    fn by_directory(&self, files: &mut Vec<Ino>) -> Vec<Vec<Ino>> {
        let st = self.state.lock();
        self.cross_file.shrink(self.read_cache_limit(st.dirty_bytes));
        // Placed alone, so that the small ones need not follow where there is room for it.
        let large = st.space.large().saturating_mul(st.geo.block_size.into());
        files.sort_unstable();
        files.dedup();
        let mut order: Vec<(Ino, bool, Ino)> = files
            .drain(..)
            .filter_map(|ino| {
                let node = st.nodes.get(ino)?;
                let new = matches!(node.rec.content, Content::None) && node.rec.size <= large;
                Some((node.parent, !new, ino))
            })
            .collect();
        drop(st);
        order.sort_unstable();
        let mut groups: Vec<Vec<Ino>> = Vec::new();
        let mut last = (0, true);
        for (parent, old, ino) in order {
            match groups.last_mut() {
                Some(group)
                    if self.opts.continuous
                        && !old
                        && last == (parent, false)
                        && group.len() < TOGETHER =>
                {
                    group.push(ino);
                }
                _ => groups.push(vec![ino]),
            }
            last = (parent, old);
        }
        groups.reverse();
        groups
    }

    /// Allocates for a group of files in one run, and takes their bytes. False, with nothing done,
    /// when there is no run for all of several files.
    fn place(&self, group: &[Ino], writes: &mut Vec<Write>, bytes: &mut usize) -> Result<bool> {
        let geo = self.geo;
        let placed = self.run(|st| {
            let mut plans = Vec::with_capacity(group.len());
            for &ino in group {
                plans.extend(plan(st, ino)?);
            }
            let need: u64 = plans.iter().map(|p| p.need).sum();
            let goal = goal_of(st, &plans)?;
            if plans.len() > 1 && need > 0 && !st.space.has_run(goal, need).map_err(promised)? {
                return Ok(None);
            }
            let runs = match need {
                0 => SmallVec::new(),
                _ => st.space.allocate(goal, need, group.len() > 1).map_err(promised)?,
            };
            for run in &runs {
                st.unapplied.insert(run.start, run.len);
            }
            leave_room(st, goal, &plans, &runs);
            let mut out = Vec::new();
            let mut taken = 0;
            let mut runs = Runs { runs, at: 0 };
            self.continuity.count(&runs.runs, plans.iter().map(|p| p.need));
            for plan in plans {
                taken += take(st, plan, &mut runs, &geo, &mut out)?;
            }
            Ok(Some((out, taken)))
        })?;
        let Some((got, taken)) = placed else { return Ok(false) };
        writes.extend(got);
        *bytes += taken;
        Ok(true)
    }

    /// Writes in disk order, neighbours in one request.
    fn write_out(&self, mut writes: Vec<Write>) -> Result<()> {
        if writes.is_empty() {
            return Ok(());
        }
        writes.sort_by_key(|w| w.at);
        self.data_written.store(true, Ordering::SeqCst);
        let mut from = 0;
        while from < writes.len() {
            let start = writes[from].at;
            let mut len = 0;
            let mut to = from;
            while to < writes.len()
                && writes[to].at == start + len as u64
                && (len < REQUEST || to == from)
            {
                len += writes[to].bytes().len();
                to += 1;
            }
            let slices: Vec<IoSlice<'_>> =
                writes[from..to].iter().map(|w| IoSlice::new(w.bytes())).collect();
            let done = self.data.write_vectored_at(&slices, start);
            self.cross_file.forget(start, start + len as u64);
            let done = if planted(Planted::DataErrorIgnored) { Ok(()) } else { done };
            done.map_err(|source| Error::Io {
                device: self.data.name().into(),
                op: "write",
                offset: start,
                len: len as u64,
                source,
            })?;
            from = to;
        }
        Ok(())
    }
}

/// What an answer of the free space means to a commit: it cannot make room for itself, and has no
/// need to, since the blocks were promised when the contents were accepted (invariant 4).
fn promised(e: SpaceError) -> Fault {
    match e {
        SpaceError::Full => corrupt("free space", "fewer blocks are free than were promised"),
        e => space_fault(e),
    }
}

/// Where a group of files should go: after the file's last block, or in the directory's group.
fn goal_of(st: &mut State, plans: &[Plan]) -> Res<Goal> {
    let Some(first) = plans.first() else { return Ok(Goal { group: 0, near: None }) };
    let near = match plans {
        [one] => match one.gaps.first() {
            Some(&(at, _)) if at > 0 => st.block_before(one.ino, at)?,
            _ => None,
        },
        _ => None,
    };
    let parent = st.nodes.get(first.ino).map_or(0, |n| n.parent);
    let home = home_group(st, parent)?;
    let group = near.map_or(home, |block| st.space.group_of(block));
    if let ([one], true) = (plans, group == home) {
        let had = one.gaps.first().map_or(0, |gap| gap.0);
        if let Some(away) = st.space.group_for_large(home, had, one.need) {
            return Ok(Goal { group: away, near: None });
        }
    }
    Ok(Goal { group, near })
}

/// The group of a directory, whose node may have left memory; the first one when the directory is
/// gone, as that of an unlinked file may be.
fn home_group(st: &mut State, dir: Ino) -> Res<u32> {
    let content = match st.nodes.get(dir) {
        Some(node) => node.rec.content.clone(),
        None => match st.record(dir) {
            Ok(rec) => rec.content,
            Err(Fault::Fail(_)) => return Ok(0),
            Err(fault) => return Err(fault),
        },
    };
    Ok(if let Content::Dir(root) = content { root.group } else { 0 })
}

/// A file that grows, but not where it ends because something else lies there, will grow again: it
/// gets as much room behind it as it is long.
fn leave_room(st: &mut State, goal: Goal, plans: &[Plan], runs: &[Run]) {
    let (Some(near), [one]) = (goal.near, plans) else { return };
    let (Some(first), Some(last), Some(&(at, _))) = (runs.first(), runs.last(), one.gaps.first())
    else {
        return;
    };
    if first.start != near {
        let bytes = at.saturating_mul(u64::from(st.geo.block_size)).clamp(ROOM.0, ROOM.1);
        st.space.leave_room(last.start + last.len, (bytes / u64::from(st.geo.block_size)) as u32);
    }
}

/// What a file's dirty bytes need; changes nothing. None when there is nothing to write.
fn plan(st: &mut State, ino: Ino) -> Res<Option<Plan>> {
    let Some(data) = st.nodes.get(ino).and_then(|n| n.data.clone()) else { return Ok(None) };
    let block = u64::from(st.geo.block_size);
    let mut spans: SmallVec<[(u64, u64); 4]> = SmallVec::new();
    for (off, len) in data.layers.lock().dirty_ranges() {
        let (first, end) = (off / block, (off + len).div_ceil(block));
        match spans.last_mut() {
            Some(last) if last.1 >= first => last.1 = last.1.max(end),
            _ => spans.push((first, end)),
        }
    }
    let mut plan = Plan { ino, mapped: SmallVec::new(), gaps: SmallVec::new(), need: 0 };
    for (first, end) in spans {
        let known = st.located(ino, first, end)?;
        let mut at = first;
        for e in known {
            if e.logical > at {
                plan.gaps.push((at, e.logical));
            }
            at = e.logical + u64::from(e.len);
            plan.mapped.push(e);
        }
        if at < end {
            plan.gaps.push((at, end));
        }
    }
    plan.need = plan.gaps.iter().map(|(a, b)| b - a).sum();
    Ok(Some(plan))
}

/// Runs being dealt out.
struct Runs {
    runs: SmallVec<[Run; 4]>,
    at: usize,
}

impl Runs {
    fn next(&mut self, most: u64) -> Option<Run> {
        let run = self.runs.get_mut(self.at)?;
        let len = run.len.min(most).min(u64::from(u32::MAX >> 1));
        let piece = Run { start: run.start, len };
        run.start += len;
        run.len -= len;
        if run.len == 0 {
            self.at += 1;
        }
        Some(piece)
    }
}

/// Takes a file's dirty bytes and says where they go. Cannot miss.
fn take(
    st: &mut State,
    plan: Plan,
    runs: &mut Runs,
    geo: &tandem_format::Geometry,
    out: &mut Vec<Write>,
) -> Res<usize> {
    let block = u64::from(geo.block_size);
    let Some(node) = st.nodes.get_mut(plan.ino) else { return Ok(0) };
    let size = node.rec.size;
    let data = node.layers();
    let mut layers = data.layers.lock();
    let mut targets: Vec<(Extent, bool)> = plan.mapped.iter().map(|e| (*e, e.unwritten)).collect();
    for (from, to) in plan.gaps {
        let mut at = from;
        while at < to {
            let Some(run) = runs.next(to - at) else { break };
            let extent =
                Extent { logical: at, start: run.start, len: run.len as u32, unwritten: false };
            layers.placing.insert(Staged { extent, convert: false });
            targets.push((extent, true));
            at += run.len;
        }
    }
    for e in plan.mapped.iter().filter(|e| e.unwritten) {
        layers.placing.insert(Staged { extent: Extent { unwritten: false, ..*e }, convert: true });
    }
    targets.sort_unstable_by_key(|(e, _)| e.logical);
    let pieces = layers.take_dirty(size);
    layers.queued = false;
    let reserved = std::mem::take(&mut layers.reserved);
    let staged = std::mem::replace(&mut layers.staged, true);
    drop(layers);
    let taken: u64 = pieces.iter().map(|(_, p)| p.len()).sum();
    st.unreserve(reserved);
    st.dirty_bytes = st.dirty_bytes.saturating_sub(taken);
    if !staged {
        st.staged_files.push(plan.ino);
    }
    lay_out(&pieces, &targets, block, geo, out);
    Ok(taken as usize)
}

/// Bytes of pieces to where their blocks lie; blocks that are new are filled up with zeros.
fn lay_out(
    pieces: &[(u64, Piece)],
    targets: &[(Extent, bool)],
    block: u64,
    geo: &tandem_format::Geometry,
    out: &mut Vec<Write>,
) {
    let mut first = 0;
    for (extent, new) in targets {
        let (from, to) = (extent.logical * block, (extent.logical + u64::from(extent.len)) * block);
        let base = geo.block_offset(extent.start);
        let mut at = from;
        while first < pieces.len() && pieces[first].0 + pieces[first].1.len() <= from {
            first += 1;
        }
        for (off, piece) in pieces[first..].iter().take_while(|(off, _)| *off < to) {
            let (a, b) = ((*off).max(from), (off + piece.len()).min(to));
            if *new && a > at {
                zeros(base + (at - from), a - at, out);
            }
            let source = Source::Bytes(piece.clone(), (a - off) as usize, (b - off) as usize);
            out.push(Write { at: base + (a - from), source });
            at = b;
        }
        if *new && at < to {
            zeros(base + (at - from), to - at, out);
        }
    }
}

fn zeros(mut at: u64, mut len: u64, out: &mut Vec<Write>) {
    while len > 0 {
        let n = len.min(ZEROS.len() as u64);
        out.push(Write { at, source: Source::Zeros(n as usize) });
        at += n;
        len -= n;
    }
}

impl State {
    /// The data block with which a file would continue at its block `at`: the one behind the
    /// block before it.
    fn block_before(&mut self, ino: Ino, at: u64) -> Res<Option<u64>> {
        let data = self.nodes.get(ino).and_then(|n| n.data.clone());
        if let Some(data) = data {
            let staged = data.layers.lock().staged_in(at - 1, at).next();
            if let Some(e) = staged {
                return Ok(Some(e.start + u64::from(e.len)));
            }
        }
        Ok(self.map_range(ino, at - 1, at)?.last().map(|e| e.start + u64::from(e.len)))
    }

    /// Brings a file's durable extents into its record.
    pub(crate) fn apply_file(&mut self, ino: Ino) -> Res<()> {
        let Some(data) = self.nodes.get(ino).and_then(|n| n.data.clone()) else { return Ok(()) };
        loop {
            let Some(staged) = data.layers.lock().ready.last() else { break };
            let e = staged.extent;
            if staged.convert {
                self.map_convert(ino, e.logical, e.logical + u64::from(e.len))?;
            } else {
                self.map_insert(ino, e)?;
                self.apply_run(Run { start: e.start, len: u64::from(e.len) });
            }
            data.layers.lock().ready.pop();
        }
        let mut layers = data.layers.lock();
        if layers.fresh.is_empty() {
            layers.settle();
        }
        layers.staged = !layers.fresh.is_empty();
        let (clean, flushed, settled) =
            (layers.dirty.is_empty(), layers.flush_size, layers.is_settled());
        let staged = layers.staged;
        drop(layers);
        let node = self.change(ino)?;
        node.disk_size =
            if clean { node.rec.size } else { node.disk_size.max(flushed.min(node.rec.size)) };
        if settled && std::sync::Arc::strong_count(&data) <= 2 {
            node.data = None;
        }
        if staged {
            self.staged_files.push(ino);
        }
        Ok(())
    }
}
