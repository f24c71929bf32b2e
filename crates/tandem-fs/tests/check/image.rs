//! The structures of a clean volume, to be found and changed: whatever is changed is sealed again
//! with right checksums, also in the summary that lists it.

use std::collections::BTreeMap;

use tandem_device::Device;
use tandem_format::{
    BlockMeta, Body, CHECKPOINTS, Checkpoint, Content, GRAIN, IMAP_PER_BLOCK, ImapBlock, Kind,
    Leaf, Loc, Record, Summary, SummaryEntry, Superblock, Words, crc, open, seal,
};

use crate::rig::Rig;

/// What is on a volume.
pub struct Image<'a> {
    pub rig: &'a Rig,
    pub sb: Superblock,
    /// The newest checkpoint, and its area.
    pub cp: Checkpoint,
    pub area: usize,
    /// Blocks by id.
    pub map: BTreeMap<u64, Loc>,
    /// The IFile's blocks by kind, level and index.
    pub tables: BTreeMap<(u8, u8, u64), Loc>,
}

impl<'a> Image<'a> {
    pub fn new(rig: &'a Rig) -> Image<'a> {
        let page = |offset| {
            let mut page = vec![0; 4096];
            rig.meta.read_at(&mut page, offset).unwrap();
            page
        };
        let sb = Superblock::decode(&page(0)).unwrap();
        let cps = CHECKPOINTS.map(|offset| Checkpoint::decode(&page(offset)).unwrap());
        let area = usize::from(cps[1].order() > cps[0].order());
        let (map, tables) = Default::default();
        let mut image = Image { rig, sb, cp: cps[area], area, map, tables };
        for (n, root) in image.cp.roots.into_iter().enumerate() {
            let kind = Kind::try_from(16 + n as u8).unwrap();
            if !root.loc.is_none() {
                image.walk(kind, root.height, 0, root.loc);
            }
        }
        let blocks: Vec<(u64, Loc)> = image.table(Kind::Map).collect();
        for (index, loc) in blocks {
            let words = Words::decode(&image.read(loc).1).unwrap().0;
            let ids = (index * 504..).zip(words).filter(|(_, word)| *word != 0);
            image.map.extend(ids.map(|(id, word)| (id, Loc::from_raw(word))));
        }
        image
    }

    fn walk(&mut self, kind: Kind, level: u8, index: u64, loc: Loc) {
        self.tables.insert((kind as u8, level, index), loc);
        if level > 0 {
            for (slot, word) in (0..).zip(Words::decode(&self.read(loc).1).unwrap().0) {
                if word != 0 {
                    self.walk(kind, level - 1, index * 504 + slot, Loc::from_raw(word));
                }
            }
        }
    }

    /// The lowest blocks of a table.
    pub fn table(&self, kind: Kind) -> impl Iterator<Item = (u64, Loc)> + '_ {
        let lowest = move |key: &(u8, u8, u64)| key.0 == kind as u8 && key.1 == 0;
        self.tables.iter().filter(move |(key, _)| lowest(key)).map(|(key, loc)| (key.2, *loc))
    }

    pub fn read(&self, loc: Loc) -> (BlockMeta, Vec<u8>) {
        let mut bytes = vec![0; loc.bytes() as usize];
        self.rig.meta.read_at(&mut bytes, loc.offset()).unwrap();
        let (meta, payload) = open(&bytes).unwrap();
        (meta, payload.to_vec())
    }

    /// All blocks of a kind with an id.
    pub fn blocks(&self, kind: Kind) -> Vec<(u64, BlockMeta, Vec<u8>)> {
        let all = self.map.iter().map(|(&id, &loc)| (id, self.read(loc)));
        all.filter(|(_, (meta, _))| meta.kind == kind).map(|(id, (m, p))| (id, m, p)).collect()
    }

    /// Writes a block in place, and what its summary says of it.
    pub fn write(&self, loc: Loc, meta: &BlockMeta, payload: &[u8]) {
        let mut bytes = Vec::new();
        let block_crc = seal(&mut bytes, meta, payload);
        assert!(bytes.len() as u64 <= loc.bytes(), "the block must not grow");
        bytes.resize(loc.bytes() as usize, 0);
        let (at, mut segment) = self.partial_of(loc);
        let (mut summary, n) = self.listed(loc);
        let start = self.segment_start(loc) + at as u64;
        let entry = &mut summary.entries[n];
        (entry.id, entry.owner) = (meta.id, meta.owner);
        (entry.kind, entry.level, entry.crc) = (meta.kind, meta.level, block_crc);
        let within = (loc.offset() - self.segment_start(loc)) as usize;
        segment[within..within + bytes.len()].copy_from_slice(&bytes);
        let (head, end) = (at + summary.encoded_len(), at + summary.total as usize * GRAIN);
        summary.payload_crc = crc(&segment[head..end]);
        self.rig.meta.write_at(&bytes, loc.offset()).unwrap();
        self.rig.meta.write_at(&summary.encode(), start).unwrap();
    }

    /// The summary that lists a block, and its entry there.
    fn listed(&self, loc: Loc) -> (Summary, usize) {
        let (at, segment) = self.partial_of(loc);
        let summary = Summary::decode(&segment[at..]).unwrap();
        let start = self.segment_start(loc) + at as u64;
        let mut offsets = summary.blocks().map(|(offset, _)| offset);
        let n = offsets.position(|o| start + u64::from(o) * GRAIN as u64 == loc.offset()).unwrap();
        drop(offsets);
        (summary, n)
    }

    /// Changes what its summary says of a block.
    pub fn edit_listed(&self, id: u64, f: impl FnOnce(&mut SummaryEntry)) {
        let loc = self.map[&id];
        let (mut summary, n) = self.listed(loc);
        f(&mut summary.entries[n]);
        let start = self.segment_start(loc) + self.partial_of(loc).0 as u64;
        self.rig.meta.write_at(&summary.encode(), start).unwrap();
    }

    fn segment_start(&self, loc: Loc) -> u64 {
        let size = u64::from(self.sb.segment_size);
        (loc.offset() - 65536) / size * size + 65536
    }

    /// The segment of a block, and where its partial segment begins there.
    pub fn partial_of(&self, loc: Loc) -> (usize, Vec<u8>) {
        let start = self.segment_start(loc);
        let mut segment = vec![0; self.sb.segment_size as usize];
        self.rig.meta.read_at(&mut segment, start).unwrap();
        let mut at = 0;
        loop {
            let summary = Summary::decode(&segment[at..]).unwrap();
            let end = at + summary.total as usize * GRAIN;
            if start + end as u64 > loc.offset() {
                return (at, segment);
            }
            at = end;
        }
    }

    /// Changes a block with an id.
    pub fn edit(&self, id: u64, f: impl FnOnce(&mut BlockMeta, &mut Vec<u8>)) {
        self.edit_at(self.map[&id], f);
    }

    /// Changes a block.
    pub fn edit_at(&self, loc: Loc, f: impl FnOnce(&mut BlockMeta, &mut Vec<u8>)) {
        let (mut meta, mut payload) = self.read(loc);
        f(&mut meta, &mut payload);
        self.write(loc, &meta, &payload);
    }

    /// Changes an entry of the block map; the length of its block stays.
    pub fn remap(&self, id: u64, to: Loc) {
        let loc = self.tables[&(Kind::Map as u8, 0, id / 504)];
        self.edit_at(loc, |meta, payload| {
            let mut words = Words::decode(payload).unwrap();
            words.0[(id % 504) as usize] = to.raw();
            meta.count = words.count();
            *payload = words.encode();
        });
    }

    /// Both words of an entry of the i-node map.
    pub fn home(&self, ino: u64) -> [u64; 2] {
        let n = IMAP_PER_BLOCK as u64;
        let (_, payload) = self.read(self.tables[&(Kind::Imap as u8, 0, ino / n)]);
        ImapBlock::decode(&payload).unwrap().entries[(ino % n) as usize]
    }

    /// Changes an entry of the i-node map.
    pub fn set_home(&self, ino: u64, words: [u64; 2]) {
        let n = IMAP_PER_BLOCK as u64;
        let loc = self.tables[&(Kind::Imap as u8, 0, ino / n)];
        self.edit_at(loc, |meta, payload| {
            let mut block = ImapBlock::decode(payload).unwrap();
            block.entries[(ino % n) as usize] = words;
            *payload = block.encode();
            meta.count = block.count();
        });
    }

    /// All records: block, slot and record.
    pub fn records(&self) -> Vec<(u64, usize, Record)> {
        let leaves = self.blocks(Kind::Leaf).into_iter().chain(self.blocks(Kind::Inode));
        let mut records = Vec::new();
        for (id, meta, payload) in leaves {
            let leaf = Leaf::decode(&payload, &meta, &self.sb.implied()).unwrap();
            for slot in 0..leaf.count() as usize {
                if let Body::Embedded(bytes) = leaf.entry(slot).body {
                    records.push((id, slot, Record::decode(bytes).unwrap()));
                }
            }
        }
        records
    }

    /// The entry of this name in any directory: its leaf and slot.
    pub fn entry(&self, name: &str) -> (u64, usize) {
        for (id, meta, payload) in self.blocks(Kind::Leaf) {
            let leaf = Leaf::decode(&payload, &meta, &self.sb.implied()).unwrap();
            let is = |slot: &usize| leaf.entry(*slot).name == name.as_bytes();
            if let Some(slot) = (0..leaf.count() as usize).find(is) {
                return (id, slot);
            }
        }
        panic!("no entry {name}");
    }

    /// Changes a leaf, which must not grow.
    pub fn edit_leaf(&self, id: u64, f: impl FnOnce(&mut Leaf)) {
        self.edit(id, |meta, payload| {
            let mut leaf = Leaf::decode(payload, meta, &self.sb.implied()).unwrap();
            f(&mut leaf);
            *payload = leaf.encode(meta.kind, &self.sb.implied()).unwrap();
            meta.count = leaf.count();
        });
    }

    /// Changes the record of an i-node for which `which` holds, and whose block keeps its length
    /// then; returns its number.
    pub fn edit_record(&self, which: impl Fn(&Record) -> bool, f: impl Fn(&mut Record)) -> u64 {
        for (id, slot, mut rec) in self.records().into_iter().filter(|(_, _, rec)| which(rec)) {
            f(&mut rec);
            let mut bytes = Vec::new();
            rec.encode(&mut bytes);
            let (meta, payload) = self.read(self.map[&id]);
            let mut leaf = Leaf::decode(&payload, &meta, &self.sb.implied()).unwrap();
            let fits = leaf.replace(slot, Body::Embedded(&bytes)).is_ok();
            let packed = leaf.encode(meta.kind, &self.sb.implied()).unwrap();
            let len = (64 + packed.len() as u64).next_multiple_of(64);
            if fits && len == self.map[&id].bytes() {
                self.edit(id, |_, payload| *payload = packed);
                return rec.ino;
            }
        }
        panic!("no such record");
    }

    /// The record of the directory with this name.
    pub fn edit_dir(&self, name: &str, f: impl FnOnce(&mut tandem_format::DirRoot)) {
        let (leaf, slot) = self.entry(name);
        self.edit_leaf(leaf, |leaf| {
            let Body::Embedded(bytes) = leaf.entry(slot).body else {
                panic!("{name} lies elsewhere")
            };
            let mut rec = Record::decode(bytes).unwrap();
            let Content::Dir(dir) = &mut rec.content else { panic!("{name} is no directory") };
            f(dir);
            let mut bytes = Vec::new();
            rec.encode(&mut bytes);
            leaf.replace(slot, Body::Embedded(&bytes)).unwrap();
        });
    }

    /// Writes the newest checkpoint again, changed.
    pub fn edit_checkpoint(&self, f: impl FnOnce(&mut Checkpoint)) {
        let mut cp = self.cp;
        f(&mut cp);
        self.rig.meta.write_at(&cp.encode(), CHECKPOINTS[self.area]).unwrap();
    }

    /// Flips a bit of M.
    pub fn flip(&self, offset: u64) {
        let mut byte = [0];
        self.rig.meta.read_at(&mut byte, offset).unwrap();
        self.rig.meta.write_at(&[byte[0] ^ 4], offset).unwrap();
    }
}
