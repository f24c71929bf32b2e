//! Scrub: reading everything that a volume has, while it is used, to find what cannot be read
//! before it is needed.
//!
//! Metadata blocks are verified by their checksums, from M itself, also where memory has them.
//! Contents have no checksums: a bad block of D is one that cannot be read.

use std::ops::ControlFlow;

use tandem_format::{DATA_AREA, DataLabel, Extent, FANOUT, Kind, Loc};

use crate::cache::{Body, Key};
use crate::error::{Error, Result};
use crate::log::read_block;
use crate::types::{Ino, ROOT, Whence};
use crate::volume::{Core, Volume, read_superblock};

/// Bytes of contents that are read in one request.
const REQUEST: u64 = 1 << 20;
/// Metadata blocks between two reports.
const SOME: u64 = 256;
/// Bad blocks that a report lists.
const LISTED: usize = 1000;
/// How often a block is looked for that moves while it is read.
const TRIES: u32 = 8;

/// Something that cannot be read, or is not what it must be.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BadBlock {
    /// The file's path or i-node number, or the metadata structure.
    pub what: String,
    /// Byte offset in the file, for contents.
    pub file_offset: Option<u64>,
    /// The device's name.
    pub device: String,
    /// Byte offset on the device.
    pub offset: u64,
    /// What is wrong.
    pub cause: String,
}

impl std::fmt::Display for BadBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let BadBlock { what, file_offset, device, offset, cause } = self;
        f.write_str(what)?;
        if let Some(at) = file_offset {
            write!(f, ", byte {at}")?;
        }
        write!(f, ": {device}, byte {offset}: {cause}")
    }
}

/// How far a scrub is, and what it has found.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ScrubReport {
    /// Bytes read and verified, of both devices.
    pub done: u64,
    /// About how many there are, as the volume stood at the beginning.
    pub total: u64,
    /// Metadata blocks verified.
    pub metadata_blocks: u64,
    /// Files whose contents were read.
    pub files: u64,
    /// Bytes of their contents.
    pub data_bytes: u64,
    /// The first of what is bad.
    pub bad: Vec<BadBlock>,
    /// How many bad blocks there are.
    pub bad_total: u64,
    /// Whether everything has been read.
    pub complete: bool,
}

/// A scrub under way.
struct Scrub<'a> {
    volume: &'a Volume,
    report: ScrubReport,
    tell: &'a mut dyn FnMut(&ScrubReport) -> ControlFlow<()>,
}

/// Going on, or being told to stop.
type Step = Result<ControlFlow<()>>;

impl Volume {
    /// Reads all metadata and all contents. `tell` hears of the progress after every request or
    /// so; it may take its time, which makes the scrub gentle, or end it.
    ///
    /// # Errors
    /// When a table that leads to the rest has moved away while it was read and cannot be found;
    /// bad blocks themselves are reported.
    pub fn scrub(
        &self,
        tell: &mut dyn FnMut(&ScrubReport) -> ControlFlow<()>,
    ) -> Result<ScrubReport> {
        let info = self.info();
        let used = info.blocks.saturating_sub(info.free_blocks) * u64::from(info.block_size);
        let report = ScrubReport { total: used + info.log.live_bytes, ..ScrubReport::default() };
        let mut scrub = Scrub { volume: self, report, tell };
        let end = scrub.all()?;
        scrub.report.complete = end.is_continue();
        Ok(scrub.report)
    }
}

impl Scrub<'_> {
    fn core(&self) -> &Core {
        &self.volume.core
    }

    fn all(&mut self) -> Step {
        self.labels();
        for kind in [Kind::Map, Kind::Imap, Kind::Seg, Kind::Group, Kind::Free] {
            let height = self.core().state.lock().roots[crate::ifile::root_of(kind)].height;
            if self.table(kind, height, 0)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        let next = self.core().state.lock().ids.next;
        let (mut id, per_map) = (1, FANOUT as u64);
        while id < next {
            // Where the block map cannot be read, which has been noted, nobody knows where they lie.
            id = match self.metadata(Key::block(id)) {
                Ok(_) => id + 1,
                Err(_) => (id / per_map + 1) * per_map,
            };
            if id % SOME == 0 && (self.tell)(&self.report).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        let next = self.core().state.lock().inos.next;
        for ino in ROOT..next {
            if self.file(ino)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok((self.tell)(&self.report))
    }

    fn note(&mut self, bad: BadBlock) {
        tracing::error!("scrub: {bad}");
        self.report.bad_total += 1;
        if self.report.bad.len() < LISTED {
            self.report.bad.push(bad);
        }
    }

    /// What is not in the log: the superblocks and D's label.
    fn labels(&mut self) {
        let (core, mut found) = (&self.volume.core, Vec::new());
        let mut bad = |device: &str, what: &str, offset, cause| {
            let (what, device) = (what.to_owned(), device.to_owned());
            found.push(BadBlock { what, file_offset: None, device, offset, cause });
        };
        match read_superblock(&*core.meta).map(|found| found.damage) {
            Ok(None) => {}
            Ok(Some(cause)) => bad(core.meta.name(), "superblock", 0, cause),
            Err(e) => bad(core.meta.name(), "superblock", 0, e.to_string()),
        }
        let (mut label, at) = (vec![0; 4096], core.geo.block_offset(0) - DATA_AREA);
        let read = core.data.read_at(&mut label, at).map_err(|e| e.to_string());
        if let Err(cause) =
            read.and_then(|()| DataLabel::decode(&label).map(drop).map_err(|e| e.to_string()))
        {
            bad(core.data.name(), "data label", at, cause);
        }
        found.into_iter().for_each(|bad| self.note(bad));
    }

    /// A table of the IFile and all below it.
    fn table(&mut self, kind: Kind, level: u8, index: u64) -> Step {
        let Some(Body::Words(words)) = self.metadata(Key::table(kind, level, index))? else {
            return Ok((self.tell)(&self.report));
        };
        if level == 0 {
            return Ok(ControlFlow::Continue(()));
        }
        for (slot, word) in (0..).zip(words.0.iter()) {
            if !Loc::from_raw(*word).is_none()
                && self.table(kind, level - 1, index * FANOUT as u64 + slot)?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok((self.tell)(&self.report))
    }

    /// Verifies a metadata block as M has it; its contents when it is sound and there is one.
    fn metadata(&mut self, key: Key) -> Result<Option<Body>> {
        let core = &self.volume.core;
        let sb = core.state.lock().sb.clone();
        for tries in 0.. {
            let loc = core.run(|st| st.locate(key))?;
            if loc.is_none() {
                return Ok(None);
            }
            core.meta.drop_cached(loc.offset(), loc.bytes());
            match read_block(&*core.meta, &sb, key, loc) {
                Ok(block) => {
                    self.report.metadata_blocks += 1;
                    self.report.done += loc.bytes();
                    return Ok(Some(block.body));
                }
                // It has moved, and something else may lie there now.
                Err(_) if tries < TRIES && core.run(|st| st.locate(key))? != loc => {}
                Err(e) => {
                    let device = core.meta.name().to_owned();
                    let (what, offset) = (format!("{key:?}"), loc.offset());
                    let cause = cause_of(&e);
                    self.note(BadBlock { what, file_offset: None, device, offset, cause });
                    return Ok(None);
                }
            }
        }
        Ok(None)
    }

    /// The contents of an i-node, if it is a file.
    fn file(&mut self, ino: Ino) -> Step {
        let block = u64::from(self.core().geo.block_size);
        let (mut at, mut counted) = (0, false);
        // Else: not a file, not there any more, no more data, or metadata that has been reported.
        while let Ok(data) = self.volume.seek(ino, at, Whence::Data) {
            self.report.files += u64::from(!counted);
            counted = true;
            let from = data / block;
            let to = from + (REQUEST / block).max(1);
            let side = self.core().epochs.enter();
            let found = self.window(ino, from, to);
            self.core().epochs.leave(side);
            let Ok(found) = found else { break };
            for (offset, file_offset, cause) in found {
                let (what, device) = (self.volume.called(ino), self.core().data.name().to_owned());
                let file_offset = Some(file_offset);
                self.note(BadBlock { what, file_offset, device, offset, cause });
            }
            if (self.tell)(&self.report).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            at = to.saturating_mul(block);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Reads blocks `[from, to)` of a file from D: offset on D, offset in the file and cause of
    /// every block that cannot be read.
    fn window(&mut self, ino: Ino, from: u64, to: u64) -> Result<Vec<(u64, u64, String)>> {
        let core = &self.volume.core;
        let mapped = core.run(|st| st.located(ino, from, to))?;
        let mut bad = Vec::new();
        let block = u64::from(core.geo.block_size);
        for e in mapped.iter().filter(|e| !e.unwritten) {
            let Some((skip, len)) = part(e, from, to) else { continue };
            let (on_d, in_file) =
                (core.geo.block_offset(e.start + skip), (e.logical + skip) * block);
            let mut buf = vec![0; (len * block) as usize];
            core.data.drop_cached(on_d, len * block);
            if core.data.read_at(&mut buf, on_d).is_err() {
                for (i, one) in (0..).zip(buf.chunks_mut(block as usize)) {
                    if let Err(e) = core.data.read_at(one, on_d + i * block) {
                        bad.push((on_d + i * block, in_file + i * block, e.to_string()));
                    }
                }
            }
            // What nobody has asked for is not to push out what somebody has.
            core.data.drop_cached(on_d, len * block);
            self.report.data_bytes += len * block;
            self.report.done += len * block;
        }
        Ok(bad)
    }
}

/// The part of an extent within blocks `[from, to)`: blocks to skip, and how many.
fn part(e: &Extent, from: u64, to: u64) -> Option<(u64, u64)> {
    let (a, b) = (e.logical.max(from), (e.logical + u64::from(e.len)).min(to));
    (a < b).then(|| (a - e.logical, b - a))
}

/// The cause alone: device and place are said beside it.
fn cause_of(e: &Error) -> String {
    match e {
        Error::Io { source, .. } => source.to_string(),
        Error::Corrupt { detail, .. } => detail.clone(),
        e => e.to_string(),
    }
}
