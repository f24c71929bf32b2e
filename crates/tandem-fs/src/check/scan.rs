//! Reading the log: segments with blocks in use, each from its start, by several threads.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashSet;
use tandem_device::Device;
use tandem_format::{BLOCK, BlockMeta, GRAIN, Kind, Loc, Summary, SummaryEntry};

use super::blocks::check_address;
use super::pass::{Counts, Pass};
use super::report::ProblemKind;
use super::totals::segment_of;
use crate::cache::Key;

/// Bytes read at once where little is in use.
const AHEAD: usize = 64 << 10;

/// A block in use, met where the block map or the IFile says it is.
#[derive(Clone, Copy)]
pub(super) struct Met<'a> {
    pub key: Key,
    pub loc: Loc,
    /// What the log says of it; none when no summary lists it.
    pub listed: Option<Listed<'a>>,
}

/// What a summary says of a block.
#[derive(Clone, Copy)]
pub(super) struct Listed<'a> {
    pub entry: &'a SummaryEntry,
    pub crash: u64,
    pub serial: u64,
}

impl Listed<'_> {
    /// Whether a block, whose header is `meta`, is what the summary says.
    pub fn fits(&self, meta: &BlockMeta, bytes: &[u8]) -> bool {
        let e = self.entry;
        bytes.get(4..8).is_some_and(|crc| crc == e.crc.to_le_bytes())
            && (e.owner, e.kind, e.level) == (meta.owner, meta.kind, meta.level)
            && (self.crash, self.serial) == (meta.crash, meta.serial)
    }
}

/// The bytes of one segment.
struct Reader<'a> {
    device: &'a dyn Device,
    base: u64,
    size: usize,
    ahead: usize,
    from: usize,
    bytes: Vec<u8>,
}

impl Reader<'_> {
    fn start(&mut self, base: u64, ahead: usize) {
        (self.base, self.ahead) = (base, ahead);
        self.bytes.clear();
    }

    /// The bytes `from..to` of the segment.
    fn get(&mut self, from: usize, to: usize) -> io::Result<&[u8]> {
        let have = self.from..=self.from + self.bytes.len();
        if !(have.contains(&from) && have.contains(&to)) {
            let most = self.ahead.min(self.size - from);
            if self.read(from, most.max(to - from)).is_err() {
                // The bad place may be elsewhere.
                self.ahead = 0;
                self.read(from, to - from)?;
            }
        }
        Ok(&self.bytes[from - self.from..to - self.from])
    }

    fn read(&mut self, from: usize, len: usize) -> io::Result<()> {
        self.bytes.resize(len, 0);
        self.from = from;
        let done = self.device.read_at(&mut self.bytes, self.base + from as u64);
        if done.is_err() {
            self.bytes.clear();
        }
        done
    }

    /// The partial segment at a place, if there is one.
    fn summary(&mut self, at: usize, volume: u64) -> Option<Summary> {
        let (blocks, total) = Summary::peek(self.get(at, at + BLOCK).ok()?).ok()?;
        let (head, len) = (Summary::len_for(blocks as usize), total as usize * GRAIN);
        if len == 0 || len > self.size - at {
            return None;
        }
        let summary = Summary::decode(self.get(at, at + head).ok()?).ok()?;
        (summary.volume == volume).then_some(summary)
    }
}

impl Pass<'_> {
    /// Reads all segments in which `live` bytes are in use, then what no summary has led to.
    pub fn scan(&self, live: &[u64], progress: &(dyn Fn(u64) + Sync)) {
        let next = AtomicU64::new(0);
        let work = || {
            let mut reader = Reader {
                device: &*self.opened.core.meta,
                base: 0,
                size: self.opened.core.geo.segment_size as usize,
                ahead: 0,
                from: 0,
                bytes: Vec::new(),
            };
            // Counts of its own: threads that count together wait for each other.
            let counts = Counts::new(self.opened.core.geo.groups);
            let own = Pass { counts: &counts, ..*self };
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                let Some(&live) = live.get(n as usize) else { break };
                if live > 0 {
                    own.segment(n, live, &mut reader);
                }
                progress(n + 1);
            }
            self.counts.add(&counts);
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads {
                // Fewer threads do the same.
                let _ = std::thread::Builder::new()
                    .name("tandem-check".into())
                    .spawn_scoped(scope, work);
            }
            work();
        });
        self.stragglers();
    }

    /// Reads one segment. A summary that is damaged hides what comes after it from the cleaner; here
    /// the next one is looked for.
    fn segment(&self, n: u64, live: u64, reader: &mut Reader<'_>) {
        let geo = &self.opened.core.geo;
        let size = geo.segment_size as usize;
        let base = geo.segment_offset(n);
        reader.start(base, if live * 4 >= size as u64 { size } else { AHEAD });
        let mut left = if self.whole { live } else { u64::MAX };
        let (mut at, mut serial, mut broken) = (0, None, None);
        while at + BLOCK <= size && left > 0 {
            let Some(summary) = reader.summary(at, self.opened.sb.volume) else {
                broken = broken.or(Some(at));
                at += BLOCK;
                continue;
            };
            if serial.is_some_and(|serial| serial >= summary.serial) {
                broken = broken.or(Some(at));
            }
            serial = serial.max(Some(summary.serial));
            let met = self.partial(base, at, &summary, reader);
            if let (true, Some(gap)) = (met > 0, broken) {
                let what = format!(
                    "{}: segment {n} at byte {}",
                    self.opened.core.meta.name(),
                    base + gap as u64
                );
                self.findings.add(
                    ProblemKind::Log,
                    what,
                    "no good summary, but blocks in use behind it: the cleaner cannot find them",
                );
                (broken, serial) = (None, Some(summary.serial));
            }
            left = left.saturating_sub(met);
            at += summary.total as usize * GRAIN;
        }
    }

    /// Looks at the blocks in use of one partial segment; returns their bytes.
    fn partial(&self, base: u64, at: usize, summary: &Summary, reader: &mut Reader<'_>) -> u64 {
        let mut found: Vec<(usize, Met<'_>)> = Vec::new();
        for (offset, entry) in summary.blocks() {
            let from = at + offset as usize * GRAIN;
            let loc = Loc::new((base + from as u64) / GRAIN as u64, entry.grains);
            let key = match entry.kind {
                Kind::Delta => continue,
                kind if (kind as u8) < Kind::Delta as u8 => Key::block(entry.id),
                kind => Key::table(kind, entry.level, entry.id),
            };
            if self.lives(key, loc) {
                let listed = Listed { entry, crash: summary.crash, serial: summary.serial };
                found.push((from, Met { key, loc, listed: Some(listed) }));
            }
        }
        let end = |(from, met): &(usize, Met<'_>)| from + met.loc.bytes() as usize;
        if let (Some(first), Some(last)) = (found.first(), found.last()) {
            // All at once, if they can be read.
            let _ = reader.get(first.0, end(last));
        }
        let mut bytes = 0;
        for block in &found {
            let (from, met) = block;
            bytes += met.loc.bytes();
            match reader.get(*from, end(block)) {
                Ok(bytes) => self.block(met, bytes),
                Err(e) => self.bad(met, ProblemKind::Unreadable, e.to_string()),
            }
        }
        bytes
    }

    fn lives(&self, key: Key, loc: Loc) -> bool {
        match key.id() {
            Some(id) => self.window.meet(id, loc),
            None if !self.with_tables => false,
            None => {
                let block = self.opened.tables.get(key).filter(|block| block.loc == loc);
                block.is_some_and(|block| !block.seen.swap(true, Ordering::Relaxed))
            }
        }
    }

    /// Blocks in use that no summary lists, one by one.
    fn stragglers(&self) {
        let tables = &self.opened.tables.blocks;
        let tables = tables.iter().filter(|b| self.with_tables && !b.seen.load(Ordering::Relaxed));
        let blocks = self.window.iter().filter(|(_, _, met)| !met);
        let all = blocks
            .map(|(id, loc, _)| (Key::block(id), loc))
            .chain(tables.map(|block| (block.key, block.loc)));
        let mut told = FxHashSet::default();
        for (key, loc) in all {
            let met = Met { key, loc, listed: None };
            if let Err(e) = check_address(&self.opened.core.geo, loc) {
                self.bad(&met, ProblemKind::Address, e);
                continue;
            }
            match super::blocks::read(&self.opened.core, loc) {
                Ok(bytes) => self.block(&met, &bytes),
                Err(e) => self.bad(&met, ProblemKind::Unreadable, e),
            }
            if told.insert(segment_of(&self.opened.core.geo, loc)) {
                let detail =
                    "is in use, but no summary of the log lists it: the cleaner cannot find it";
                self.ill(&met, ProblemKind::Log, detail);
            }
        }
    }
}
