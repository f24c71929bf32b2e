//! What a repair starts from: which blocks are in use and where they lie, as the checkpoint and the
//! log after it say, or, where that cannot be followed, as the log itself shows.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tandem_device::Device;
use tandem_format::{
    CHECKPOINTS, Checkpoint, DeltaRecord, FANOUT, GRAIN, Geometry, IMAP_PER_BLOCK, ImapBlock, Kind,
    Loc, Superblock, Words,
};

use super::super::blocks::open_block;
use super::super::open::{self, Opened, checkpoint};
use super::super::report::{Findings, ProblemKind};
use super::super::{CheckOptions, CheckReport, Progress};
use super::report::{RepairKind, Repairs};
use super::scan::{Order, Scan, Scanner};
use crate::env::Env;
use crate::error::Result;
use crate::ifile::Home;
use crate::volume::read_page;

/// The volume as far as it can be opened.
pub(super) struct Base {
    pub sb: Superblock,
    pub geo: Geometry,
    pub meta: Arc<dyn Device>,
    pub data: Arc<dyn Device>,
    /// Where blocks with an id lie, by id.
    pub blocks: Vec<(u64, Loc)>,
    pub hints: Hints,
    /// The area that holds the checkpoint which counts until there is a new one.
    pub area: Option<usize>,
    /// The highest crash count and serial number used up, whatever for.
    pub crash: u64,
    pub serial: u64,
    pub commit: u64,
    pub next_id: u64,
    pub next_ino: u64,
    /// Segments that must stay as they are until there is a new checkpoint.
    pub kept: Vec<bool>,
}

/// What is known of where records lie, apart from the records.
pub(super) enum Hints {
    /// The i-node map as recovered.
    Volume(Box<Opened>),
    /// The newest blocks of the i-node map, and the changes after them.
    Log {
        blocks: BTreeMap<u64, Loc>,
        changed: FxHashMap<u64, [u64; 2]>,
        last: Mutex<Option<(u64, ImapBlock)>>,
    },
}

/// The devices, and what to open them with.
pub(super) struct Source<'a> {
    pub meta: Arc<dyn Device>,
    pub data: Arc<dyn Device>,
    /// The data device as it was named.
    pub named: Option<Arc<dyn Device>>,
    pub sb: Superblock,
    /// The superblock was made up from what else there is.
    pub rebuilt: bool,
    pub options: &'a CheckOptions,
    pub env: &'a Arc<dyn Env>,
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

impl Source<'_> {
    /// Finds out what is in use.
    pub fn base(&self, repairs: &mut Repairs) -> Result<Base> {
        if !self.rebuilt && checkpoint(&*self.meta, &self.sb, &Findings::default()).is_ok() {
            let findings = Findings::default();
            let (meta, data) = (Arc::clone(&self.meta), self.named.clone());
            let opened = open::open(meta, data, self.options.memory, self.env, &findings)?;
            let mut found = CheckReport::default();
            findings.settle(&mut found);
            let followed = !found.problems.iter().any(|p| p.kind == ProblemKind::Log);
            let base = self.of_volume(opened);
            let whole = match &base.hints {
                Hints::Volume(opened) => !opened.tables.has_lost(Kind::Map),
                Hints::Log { .. } => false,
            };
            if followed && whole && !self.is_overtaken(&base)? {
                return Ok(base);
            }
        }
        let scan = self.scan()?;
        let what = format!("{}: log", self.meta.name());
        let detail = "no checkpoint and block map that can be followed: the newest blocks in the log count, as far as nothing there says that they were freed";
        repairs.add(RepairKind::Log, what, detail);
        self.of_log(scan)
    }

    /// Looks through the whole log.
    fn scan(&self) -> Result<Scan> {
        let progress = |done, total| {
            (self.progress)(Progress { phase: "looking through the log", done, total });
        };
        Scanner {
            meta: &*self.meta,
            geo: self.sb.geometry(),
            volume: self.sb.volume,
            wanted: None,
            progress: &progress,
        }
        .run()
    }

    /// Whether one of the checkpoints is damaged, and the log goes on where the other one does not
    /// lead.
    fn is_overtaken(&self, base: &Base) -> Result<bool> {
        let whole = |at: &u64| {
            let page = read_page(&*self.meta, *at).ok();
            let cp = page.and_then(|page| Checkpoint::decode(&page).ok());
            cp.is_some_and(|cp| cp.volume == self.sb.volume)
        };
        if CHECKPOINTS.iter().all(whole) {
            return Ok(false);
        }
        let end = match &base.hints {
            Hints::Volume(opened) => opened.end_serial,
            Hints::Log { .. } => 0,
        };
        Ok(self.scan()?.serial >= end)
    }

    fn of_volume(&self, opened: Opened) -> Base {
        let geo = opened.core.geo;
        let mut blocks = Vec::with_capacity(at_most(&geo, opened.cp.mapped, GRAIN as u64));
        for n in 0..opened.map.windows() {
            let window = opened.map.window(&opened.core, &opened.tables, n, &Findings::default());
            blocks.extend(window.iter().map(|(id, loc, _)| (id, loc)));
        }
        blocks.sort_unstable_by_key(|(id, _)| *id);
        let mut kept: Vec<bool> = {
            let st = opened.core.state.lock();
            (0..geo.segments).map(|n| st.segs.entry(n).used).collect()
        };
        keep(&geo, &mut kept, opened.tables.blocks.iter().map(|block| block.loc));
        let (active, _, next) = opened.end;
        for n in [active, next, opened.cp.segment] {
            if let Some(kept) = kept.get_mut(n as usize) {
                *kept = true;
            }
        }
        let (commit, next_id, next_ino) = {
            let st = opened.core.state.lock();
            (st.commit, st.ids.next, st.inos.next)
        };
        Base {
            sb: self.sb.clone(),
            geo,
            meta: Arc::clone(&self.meta),
            data: Arc::clone(&self.data),
            blocks,
            area: Some(opened.area),
            crash: opened.cp.crash,
            serial: opened.end_serial.max(opened.cp.serial),
            commit,
            next_id,
            next_ino,
            kept,
            hints: Hints::Volume(Box::new(opened)),
        }
    }

    fn of_log(&self, scan: Scan) -> Result<Base> {
        let geo = self.sb.geometry();
        let mut changes = Changes::default();
        for delta in &scan.deltas {
            let Some((_, payload)) = fetch(&*self.meta, self.sb.volume, delta.loc) else {
                continue;
            };
            let records = DeltaRecord::read(&payload).map_while(std::result::Result::ok);
            records.for_each(|record| changes.apply(&scan, delta.order, &record));
        }
        let mut blocks = Vec::with_capacity(scan.blocks.len());
        for (&(kind, index), table) in &scan.tables {
            if kind != Kind::Map as u8 {
                continue;
            }
            let words = fetch(&*self.meta, self.sb.volume, table.loc)
                .and_then(|(_, payload)| Words::decode(&payload).ok());
            let words = words.map(|words| words.0).unwrap_or_default();
            for (id, word) in (index.saturating_mul(FANOUT as u64)..).zip(words) {
                let newer = scan.blocks.get(&id).is_some_and(|block| block.order > table.order);
                if word != 0 && !newer && !changes.freed.contains_key(&id) {
                    blocks.push((id, Loc::from_raw(word)));
                }
            }
        }
        for (&id, block) in &scan.blocks {
            let table = scan.tables.get(&(Kind::Map as u8, id / FANOUT as u64));
            let newer = table.is_none_or(|table| block.order > table.order);
            let freed = changes.freed.get(&id).is_some_and(|freed| *freed > block.order);
            if newer && !freed {
                blocks.push((id, block.loc));
            }
        }
        blocks.sort_unstable_by_key(|(id, _)| *id);
        let mut kept = vec![false; geo.segments as usize];
        let of_tables = scan.tables.values().chain(&scan.deltas).map(|version| version.loc);
        keep(&geo, &mut kept, of_tables);
        let imap = scan.tables.iter().filter(|((kind, _), _)| *kind == Kind::Imap as u8);
        let cps = CHECKPOINTS
            .iter()
            .filter_map(|&at| Checkpoint::decode(&read_page(&*self.meta, at).ok()?).ok());
        let (mut crash, mut serial) = (scan.crash, scan.serial);
        for cp in cps.filter(|cp| cp.volume == self.sb.volume) {
            crash = crash.max(cp.crash);
            serial = serial.max(cp.serial).max(cp.next_serial);
        }
        let highest = scan.blocks.keys().copied().max().unwrap_or(0);
        Ok(Base {
            sb: self.sb.clone(),
            geo,
            meta: Arc::clone(&self.meta),
            data: Arc::clone(&self.data),
            blocks,
            area: checkpoint(&*self.meta, &self.sb, &Findings::default()).ok().map(|(a, _)| a),
            crash,
            serial,
            commit: scan.commit,
            next_id: changes.next_id.max(highest.saturating_add(1)),
            next_ino: changes.next_ino,
            kept,
            hints: Hints::Log {
                blocks: imap.map(|((_, index), version)| (*index, version.loc)).collect(),
                changed: changes.inodes,
                last: Mutex::new(None),
            },
        })
    }
}

/// What the deltas say beyond the newest tables.
#[derive(Default)]
struct Changes {
    inodes: FxHashMap<u64, [u64; 2]>,
    freed: FxHashMap<u64, Order>,
    next_id: u64,
    next_ino: u64,
}

impl Changes {
    /// A change counts when it is newer than the table's block that it is about.
    fn apply(&mut self, scan: &Scan, order: Order, record: &DeltaRecord) {
        let newer = |kind: Kind, index: u64| {
            scan.tables.get(&(kind as u8, index)).is_none_or(|table| order > table.order)
        };
        let imap = |ino: u64| newer(Kind::Imap, ino / IMAP_PER_BLOCK as u64);
        match *record {
            DeltaRecord::ImapSet { ino, w0, w1 } if imap(ino) => {
                self.inodes.insert(ino, [w0, w1]);
            }
            DeltaRecord::ImapClear { ino, n } => {
                let cleared = (ino..ino.saturating_add(n)).filter(|&ino| imap(ino));
                self.inodes.extend(cleared.map(|ino| (ino, [0, 0])));
            }
            DeltaRecord::IdFree { id } if newer(Kind::Map, id / FANOUT as u64) => {
                self.freed.insert(id, order);
            }
            DeltaRecord::Counters { next_ino, next_id, .. } => {
                self.next_ino = self.next_ino.max(next_ino);
                self.next_id = self.next_id.max(next_id);
            }
            _ => {}
        }
    }
}

impl Base {
    /// Where the i-node map says that a record lies; `None` when that is not known.
    pub fn home(&self, ino: u64) -> Option<Option<Home>> {
        match &self.hints {
            Hints::Volume(opened) if opened.tables.is_lost(Kind::Imap, ino) => None,
            Hints::Volume(opened) => opened.core.run(|st| st.imap_get(ino)).ok(),
            Hints::Log { blocks, changed, last } => {
                if let Some(&words) = changed.get(&ino) {
                    return Some(Home::of(words));
                }
                let (index, slot) = (ino / IMAP_PER_BLOCK as u64, ino % IMAP_PER_BLOCK as u64);
                let mut last = last.lock();
                if last.as_ref().is_none_or(|(known, _)| *known != index) {
                    let (_, payload) = fetch(&*self.meta, self.sb.volume, *blocks.get(&index)?)?;
                    *last = Some((index, ImapBlock::decode(&payload).ok()?));
                }
                let (_, block) = last.as_ref()?;
                block.entries.get(slot as usize).map(|words| Home::of(*words))
            }
        }
    }

    /// Whether a record that lies in an older version of a block is still there, as far as is known.
    pub fn confirms(&self, ino: u64, home: Home) -> bool {
        self.home(ino).is_none_or(|known| known == Some(home))
    }

    /// Reads a block.
    pub fn fetch(&self, loc: Loc) -> Option<(tandem_format::BlockMeta, Vec<u8>)> {
        fetch(&*self.meta, self.sb.volume, loc)
    }

    /// Marks the segments of blocks as to be kept.
    pub fn keep(&mut self, locs: impl Iterator<Item = Loc>) {
        keep(&self.geo, &mut self.kept, locs);
    }
}

/// How many there are of what takes so many bytes of M each, when a number is said that may be wrong.
pub(super) fn at_most(geo: &Geometry, said: u64, bytes: u64) -> usize {
    let room = geo.segments.saturating_mul(geo.segment_size.into()) / bytes;
    said.min(room).min(1 << 24) as usize
}

fn fetch(meta: &dyn Device, volume: u64, loc: Loc) -> Option<(tandem_format::BlockMeta, Vec<u8>)> {
    let mut bytes = vec![0; loc.bytes() as usize];
    meta.read_at(&mut bytes, loc.offset()).ok()?;
    let (head, payload) = open_block(volume, loc, &bytes).ok()?;
    Some((head, payload.to_vec()))
}

fn keep(geo: &Geometry, kept: &mut [bool], locs: impl Iterator<Item = Loc>) {
    for loc in locs {
        let n = loc.offset().checked_sub(geo.segment_offset(0));
        let n = n.map(|at| at / u64::from(geo.segment_size));
        if let Some(kept) = n.and_then(|n| kept.get_mut(n as usize)) {
            *kept = true;
        }
    }
}
