//! Bytes to leaves.

use smallvec::SmallVec;

use super::{Expected, Implied, STRUCTURE, shape::Shape, symbol_bits, times};
use crate::bits::{BitReader, unzigzag};
use crate::bytes::Reader;
use crate::error::FormatError;
use crate::hash::name_key;
use crate::leaf::{Body, ENTRY_MIN, HEAD, Leaf, REV_BITS};
use crate::record::{
    CONTENT_DIR, CONTENT_DIR_EMPTY, Content, DirRoot, Extent, Record, decode_content, decode_xattrs,
};
use crate::units::INO_LIMIT;

const CONTENT_EXTENTS: u8 = 1;

fn invalid(field: &'static str, detail: impl Into<std::borrow::Cow<'static, str>>) -> FormatError {
    FormatError::invalid(STRUCTURE, field, detail)
}

/// What the columns say of the entries, in the order in which they lie on the volume.
struct Entries {
    inos: Vec<u64>,
    shapes: Vec<Shape>,
    seqs: Vec<u64>,
    /// End of each name in `names`.
    ends: Vec<usize>,
    names: Vec<u8>,
    records: Vec<Record>,
}

/// Checks everything that is in the payload of a leaf with `count` entries, or of an i-node block,
/// whose entries have no names.
pub fn unpack(
    payload: &[u8],
    count: u32,
    prefix: u64,
    named: bool,
    implied: &Implied,
) -> Result<Leaf, FormatError> {
    let mut r = BitReader::new(STRUCTURE, payload);
    let next = r.number("next", u64::MAX)?;
    let depth = r.get("depth", 6)? as u8;
    if depth > REV_BITS {
        return Err(invalid("depth", format!("{depth}")));
    }
    let below = (1u64 << (REV_BITS - depth)) - 1;
    if prefix >> REV_BITS != 0 || (depth > 0 && prefix & below != 0) {
        return Err(invalid("prefix", format!("{prefix:#x} at depth {depth}")));
    }
    let count = count as usize;
    if count > (Leaf::CAPACITY - HEAD) / ENTRY_MIN {
        return Err(invalid("count", format!("{count} entries")));
    }
    let entries = entries(r, count, named, implied)?;
    let mut leaf = Leaf::new(prefix, depth);
    leaf.set_next(next);
    fill(&mut leaf, &entries, named, implied)?;
    for slot in 0..leaf.count {
        let key = leaf.key(slot);
        if slot > 0 && leaf.key(slot - 1) == key {
            return Err(invalid("key", format!("{key:#x} twice")));
        }
        if depth > 0 && key >> 15 & !below != prefix {
            return Err(invalid("key", format!("{key:#x} outside the leaf's range")));
        }
    }
    Ok(leaf)
}

/// Makes the leaf of its entries.
fn fill(
    leaf: &mut Leaf,
    entries: &Entries,
    named: bool,
    implied: &Implied,
) -> Result<(), FormatError> {
    let mut slots = Vec::with_capacity(entries.inos.len());
    let mut records = entries.records.iter();
    let mut record = Vec::with_capacity(128);
    let mut from = 0;
    for (i, (&ino, shape)) in entries.inos.iter().zip(&entries.shapes).enumerate() {
        let name = match entries.ends.get(i) {
            Some(&end) => &entries.names[std::mem::replace(&mut from, end)..end],
            None => b"",
        };
        let key = match entries.seqs.get(i) {
            Some(seq) if named => name_key(implied.hash_key, implied.hash_bits, name) << 15 | seq,
            _ => ino,
        };
        let body = match records.as_slice().first() {
            Some(rec) if shape.embedded => {
                records.next();
                record.clear();
                rec.encode(&mut record);
                Body::Embedded(&record)
            }
            _ => Body::Link(ino),
        };
        let full = |_| invalid("len", "more than a leaf holds");
        slots.push((key, leaf.append(key, shape.kind, name, body).map_err(full)?));
    }
    slots.sort_unstable();
    leaf.set_slots(&slots);
    Ok(())
}

fn entries(
    mut r: BitReader<'_>,
    count: usize,
    named: bool,
    implied: &Implied,
) -> Result<Entries, FormatError> {
    let mut column = Vec::with_capacity(count);
    let inos = numbers(&mut r, count, &mut column)?;
    let shapes = shapes(&mut r, count, &mut column)?;
    let (mut seqs, mut names) = (Vec::new(), Names::default());
    if named {
        r.column("sequence", count, 0x7fff, &mut seqs)?;
        names = Names::read(&mut r, count, &mut column)?;
    }
    let embedded = || shapes.iter().zip(&inos).filter(|(shape, _)| shape.embedded);
    let mut records: Vec<Record> = embedded().map(|(shape, &ino)| begun(shape, ino)).collect();
    let shapes_of: Vec<&Shape> = embedded().map(|(shape, _)| shape).collect();
    fields(&mut r, &mut records, &shapes_of, &mut column)?;
    extents(&mut r, &mut records, &shapes_of, implied.block_size, &mut column)?;
    directories(&mut r, &mut records, &shapes_of, &mut column)?;
    let mut rest = Reader::new(STRUCTURE, r.rest()?);
    let (ends, names) = names.whole(&mut rest)?;
    for (rec, shape) in records.iter_mut().zip(&shapes_of) {
        match shape.content {
            CONTENT_EXTENTS | CONTENT_DIR | CONTENT_DIR_EMPTY => {}
            tag => rec.content = decode_content(&mut rest, tag.into())?,
        }
        rec.xattrs = decode_xattrs(&mut rest, shape.xattrs.into())?;
        if !shape.links {
            rec.nlink = Record::usual_links(&rec.content);
        }
    }
    if !rest.is_empty() {
        return Err(invalid("len", "bytes behind the last entry"));
    }
    Ok(Entries { inos, shapes, seqs, ends, names, records })
}

fn begun(shape: &Shape, ino: u64) -> Record {
    Record { ino, mode: shape.mode.into(), uid: shape.uid, gid: shape.gid, ..Record::default() }
}

fn numbers(
    r: &mut BitReader<'_>,
    count: usize,
    column: &mut Vec<u64>,
) -> Result<Vec<u64>, FormatError> {
    let mut inos = Vec::with_capacity(count);
    if count == 0 {
        return Ok(inos);
    }
    let mut ino = r.number("i-node", INO_LIMIT - 1)?;
    if ino == 0 {
        return Err(invalid("i-node", "zero"));
    }
    inos.push(ino);
    r.column("i-node", count - 1, u64::MAX, column)?;
    for gap in &*column {
        ino = Some(gap.wrapping_add(1))
            .and_then(|gap| ino.checked_add(gap))
            .filter(|&ino| ino < INO_LIMIT)
            .ok_or_else(|| invalid("i-node", "beyond 48 bits"))?;
        inos.push(ino);
    }
    Ok(inos)
}

fn shapes(
    r: &mut BitReader<'_>,
    count: usize,
    column: &mut Vec<u64>,
) -> Result<Vec<Shape>, FormatError> {
    let n = r.number("shapes", count as u64)? as usize;
    let kinds = (0..n).map(|_| Shape::read(r)).collect::<Result<Vec<_>, _>>()?;
    if n == 0 && count > 0 {
        return Err(invalid("shapes", "none"));
    }
    r.column("shape", count, (n as u64).saturating_sub(1), column)?;
    Ok(column.iter().map(|&at| kinds[at as usize]).collect())
}

/// Names, as far as the columns tell them.
#[derive(Default)]
struct Names {
    common: Vec<u64>,
    own: Vec<u64>,
    /// All bytes of their own, when they are in the columns.
    spelled: Option<Vec<u8>>,
}

impl Names {
    fn read(
        r: &mut BitReader<'_>,
        count: usize,
        column: &mut Vec<u64>,
    ) -> Result<Names, FormatError> {
        let mut common = Vec::with_capacity(count);
        r.column("name", count, 255, &mut common)?;
        r.column("name", count, 255, column)?;
        let own = column.clone();
        let mut spelled = None;
        if r.get("name", 1)? != 0 {
            let n = r.get("name", 8)? as usize + 1;
            let mut alphabet = [0; 256];
            for symbol in &mut alphabet[..n] {
                *symbol = r.get("name", 8)? as u8;
            }
            let total = own.iter().sum::<u64>() as usize;
            let mut bytes = Vec::with_capacity(total.min(Leaf::CAPACITY));
            for _ in 0..total {
                let at = r.get("name", symbol_bits(n))? as usize;
                let symbol = alphabet[..n].get(at);
                bytes.push(*symbol.ok_or_else(|| invalid("name", "not of its alphabet"))?);
            }
            spelled = Some(bytes);
        }
        Ok(Names { common, own, spelled })
    }

    /// The ends of the names, and all names behind one another.
    fn whole(self, rest: &mut Reader<'_>) -> Result<(Vec<usize>, Vec<u8>), FormatError> {
        let mut own: &[u8] = match &self.spelled {
            Some(bytes) => bytes,
            None => rest.take("name", self.own.iter().sum::<u64>() as usize)?,
        };
        let mut ends = Vec::with_capacity(self.own.len());
        let mut names = Vec::with_capacity(own.len() * 2);
        let mut last = 0..0;
        for (&common, &len) in self.common.iter().zip(&self.own) {
            let (common, len) = (common as usize, len as usize);
            if common > last.len() || common + len > 255 {
                return Err(invalid("name", "longer than it can be"));
            }
            let from = names.len();
            names.extend_from_within(last.start..last.start + common);
            let (these, others) = own.split_at(len);
            names.extend_from_slice(these);
            own = others;
            last = from..names.len();
            ends.push(names.len());
        }
        Ok((ends, names))
    }
}

fn fields(
    r: &mut BitReader<'_>,
    records: &mut [Record],
    shapes: &[&Shape],
    column: &mut Vec<u64>,
) -> Result<(), FormatError> {
    let n = records.len();
    r.column("generation", n, u64::MAX, column)?;
    let mut generation = 0i64;
    for (rec, &by) in records.iter_mut().zip(&*column) {
        generation = generation.wrapping_add(unzigzag(by));
        rec.generation =
            u32::try_from(generation).map_err(|_| invalid("generation", "beyond 32 bits"))?;
    }
    times::read(r, records)?;
    let unusual = shapes.iter().filter(|shape| shape.links).count();
    r.column("links", unusual, u32::MAX.into(), column)?;
    let with_links = records.iter_mut().zip(shapes).filter(|(_, shape)| shape.links);
    for ((rec, _), &links) in with_links.zip(&*column) {
        rec.nlink = links as u32;
    }
    r.column("size", n, u64::MAX, column)?;
    for (rec, &size) in records.iter_mut().zip(&*column) {
        rec.size = size;
    }
    Ok(())
}

fn extents(
    r: &mut BitReader<'_>,
    records: &mut [Record],
    shapes: &[&Shape],
    block_size: u32,
    column: &mut Vec<u64>,
) -> Result<(), FormatError> {
    let files = shapes.iter().filter(|shape| shape.content == CONTENT_EXTENTS).count();
    let mut more = Vec::new();
    r.column("extents", files, Leaf::CAPACITY as u64, &mut more)?;
    let all = files + more.iter().sum::<u64>() as usize;
    if all > Leaf::CAPACITY {
        return Err(invalid("extents", "more than a leaf holds"));
    }
    let (mut gaps, mut starts) = (Vec::new(), Vec::new());
    r.column("extent gap", all, u64::MAX, &mut gaps)?;
    r.column("extent start", all, u64::MAX, &mut starts)?;
    r.column("extent length", all, u64::MAX, column)?;
    let mut cells = gaps.iter().zip(&starts).zip(&*column);
    let mut expected = Expected::default();
    let with_extents = records.iter_mut().zip(shapes).filter(|(_, s)| s.content == CONTENT_EXTENTS);
    for ((rec, _), &more) in with_extents.zip(&more) {
        let mut list = SmallVec::new();
        let mut end = 0u64;
        for ((&gap, &start), &tail) in cells.by_ref().take(more as usize + 1) {
            let Some(logical) = end.checked_add(gap) else {
                return Err(invalid("extent gap", "leads beyond 64 bits"));
            };
            let usual = expected.len(rec.size, logical, block_size);
            let Ok(len) = u32::try_from(i64::from(usual).wrapping_add(unzigzag(tail >> 1))) else {
                return Err(invalid("extent length", "beyond 32 bits"));
            };
            let start = expected.start.wrapping_add(unzigzag(start) as u64);
            let extent = Extent { logical, start, len, unwritten: tail & 1 != 0 };
            end = extent.check(STRUCTURE, end)?;
            expected.passed(&extent);
            list.push(extent);
        }
        rec.content = Content::Extents(list);
    }
    Ok(())
}

fn directories(
    r: &mut BitReader<'_>,
    records: &mut [Record],
    shapes: &[&Shape],
    column: &mut Vec<u64>,
) -> Result<(), FormatError> {
    let n = shapes.iter().filter(|shape| shape.is_dir()).count();
    let full = shapes.iter().filter(|shape| shape.content == CONTENT_DIR).count();
    let mut dirs = vec![DirRoot::default(); n];
    let mut differences = |r: &mut BitReader<'_>, field, n, most: u64| {
        r.column(field, n, u64::MAX, column)?;
        let mut value = 0u64;
        for cell in &mut *column {
            value = value.wrapping_add(unzigzag(*cell) as u64);
            if value > most {
                return Err(invalid(field, "larger than it can be"));
            }
            *cell = value;
        }
        Ok(std::mem::take(column))
    };
    let parents = differences(r, "parent", n, INO_LIMIT - 1)?;
    let groups = differences(r, "group", n, u32::MAX.into())?;
    let roots = differences(r, "directory root", full, u64::MAX)?;
    let mut roots = roots.iter().map(|root| root.rotate_right(1));
    let (mut entries, mut subdirs) = (Vec::new(), Vec::new());
    r.column("entries", n, u64::MAX, &mut entries)?;
    r.column("subdirs", n, u32::MAX.into(), &mut subdirs)?;
    for (i, dir) in dirs.iter_mut().enumerate() {
        dir.parent = parents[i];
        dir.group = groups[i] as u32;
        (dir.entries, dir.subdirs) = (entries[i], subdirs[i] as u32);
    }
    let of_dirs = records.iter_mut().zip(shapes).filter(|(_, shape)| shape.is_dir());
    for ((rec, shape), mut dir) in of_dirs.zip(dirs) {
        if shape.content == CONTENT_DIR {
            dir.root = roots.next().unwrap_or(0);
            if dir.root == 0 {
                return Err(invalid("directory root", "zero"));
            }
        }
        rec.content = Content::Dir(dir);
    }
    Ok(())
}
