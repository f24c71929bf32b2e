//! Leaves to bytes.

use super::{Expected, Implied, shape::Shape, shared, symbol_bits, times};
use crate::bits::{BitWriter, zigzag};
use crate::error::FormatError;
use crate::leaf::{Body, Entry, Leaf};
use crate::record::{Content, Record};

/// The payload of a leaf, or of an i-node block, whose entries have no names.
pub fn pack(leaf: &Leaf, named: bool, implied: &Implied) -> Result<Vec<u8>, FormatError> {
    let count = leaf.count;
    let mut entries = Vec::with_capacity(count);
    let mut records = Vec::with_capacity(count);
    for (ino, slot) in order(leaf)? {
        let entry = leaf.entry(slot);
        if let Body::Embedded(bytes) = entry.body {
            records.push(Record::decode(bytes)?);
        }
        entries.push((ino, entry));
    }
    let mut w = BitWriter::default();
    let mut column = Vec::with_capacity(count);
    w.number(leaf.next().into());
    w.put(leaf.depth().into(), 6);
    numbers(&mut w, &entries, &mut column);
    shapes(&mut w, &entries, &records, &mut column);
    let mut bytes = Vec::new();
    if named {
        fill(&mut column, entries.iter().map(|(_, e)| e.key & 0x7fff));
        w.column(&column);
        names(&mut w, &entries, &mut column, &mut bytes);
    }
    fields(&mut w, &records, &mut column);
    extents(&mut w, &records, implied.block_size, &mut column);
    directories(&mut w, &records, &mut column);
    for rec in &records {
        if !matches!(rec.content, Content::Extents(_) | Content::Dir(_)) {
            rec.content.encode(&mut bytes);
        }
        rec.xattrs.encode(&mut bytes);
    }
    let mut out = w.finish();
    out.extend_from_slice(&bytes);
    Ok(out)
}

/// I-node numbers with slots, sorted.
fn order(leaf: &Leaf) -> Result<Vec<(u64, usize)>, FormatError> {
    let mut order = Vec::with_capacity(leaf.count);
    for slot in 0..leaf.count {
        let ino = match leaf.entry(slot).body {
            Body::Link(ino) => Some(ino),
            Body::Embedded(bytes) => crate::record::record_ino(bytes),
        };
        let none = || FormatError::invalid(super::STRUCTURE, "body", "without an i-node number");
        order.push((ino.ok_or_else(none)?, slot));
    }
    order.sort_unstable();
    Ok(order)
}

fn fill(column: &mut Vec<u64>, values: impl Iterator<Item = u64>) {
    column.clear();
    column.extend(values);
}

fn numbers(w: &mut BitWriter, entries: &[(u64, Entry<'_>)], column: &mut Vec<u64>) {
    let Some(first) = entries.first() else { return };
    w.number(first.0.into());
    // The next number is the usual one.
    fill(column, entries.windows(2).map(|pair| (pair[1].0 - pair[0].0).wrapping_sub(1)));
    w.column(column);
}

fn shapes(
    w: &mut BitWriter,
    entries: &[(u64, Entry<'_>)],
    records: &[Record],
    column: &mut Vec<u64>,
) {
    let mut shapes: Vec<Shape> = Vec::new();
    let mut records = records.iter();
    column.clear();
    for (_, entry) in entries {
        let record = match entry.body {
            Body::Embedded(_) => records.next(),
            Body::Link(_) => None,
        };
        let shape = Shape::of(entry.kind, record);
        let at = shapes.iter().position(|s| *s == shape).unwrap_or_else(|| {
            shapes.push(shape);
            shapes.len() - 1
        });
        column.push(at as u64);
    }
    w.number(shapes.len() as u128);
    shapes.iter().for_each(|shape| shape.write(w));
    w.column(column);
}

/// Names without what they share with the one before; their bytes as they are, behind all columns,
/// or as places in an alphabet where that is shorter.
fn names(
    w: &mut BitWriter,
    entries: &[(u64, Entry<'_>)],
    column: &mut Vec<u64>,
    bytes: &mut Vec<u8>,
) {
    let mut last: &[u8] = b"";
    column.clear();
    for (_, entry) in entries {
        let common = shared(last, entry.name);
        column.push(common as u64);
        bytes.extend_from_slice(&entry.name[common..]);
        last = entry.name;
    }
    w.column(column);
    for (common, (_, entry)) in column.iter_mut().zip(entries) {
        *common = entry.name.len() as u64 - *common;
    }
    w.column(column);
    let mut place = [0u8; 256];
    bytes.iter().for_each(|&b| place[usize::from(b)] = 1);
    let alphabet = || (0..=255u8).filter(|&b| place[usize::from(b)] != 0);
    let n = alphabet().count();
    let shorter = n > 0 && 8 + n * 8 + bytes.len() * (symbol_bits(n) as usize) < bytes.len() * 8;
    w.put(shorter.into(), 1);
    if shorter {
        w.put(n as u64 - 1, 8);
        alphabet().for_each(|b| w.put(b.into(), 8));
        let mut at = 0;
        for used in place.iter_mut().filter(|used| **used != 0) {
            *used = at;
            at = at.wrapping_add(1);
        }
        bytes.drain(..).for_each(|b| w.put(place[usize::from(b)].into(), symbol_bits(n)));
    }
}

/// What every record has.
fn fields(w: &mut BitWriter, records: &[Record], column: &mut Vec<u64>) {
    let mut last = 0;
    fill(
        column,
        records.iter().map(|rec| {
            let value = zigzag(i64::from(rec.generation) - last);
            last = rec.generation.into();
            value
        }),
    );
    w.column(column);
    times::write(w, records);
    let unusual = |rec: &&Record| rec.nlink != Record::usual_links(&rec.content);
    fill(column, records.iter().filter(unusual).map(|rec| rec.nlink.into()));
    w.column(column);
    fill(column, records.iter().map(|rec| rec.size));
    w.column(column);
}

fn extents(w: &mut BitWriter, records: &[Record], block_size: u32, column: &mut Vec<u64>) {
    let lists = || {
        records.iter().filter_map(|rec| match &rec.content {
            Content::Extents(list) if !list.is_empty() => Some((rec.size, list)),
            _ => None,
        })
    };
    fill(column, lists().map(|(_, list)| list.len() as u64 - 1));
    w.column(column);
    column.clear();
    for (_, list) in lists() {
        let mut end = 0;
        for e in list {
            column.push(e.logical.wrapping_sub(end));
            end = e.logical.wrapping_add(e.len.into());
        }
    }
    w.column(column);
    let mut expected = Expected::default();
    column.clear();
    for e in lists().flat_map(|(_, list)| list) {
        column.push(zigzag(e.start.wrapping_sub(expected.start) as i64));
        expected.passed(e);
    }
    w.column(column);
    column.clear();
    for (size, list) in lists() {
        for e in list {
            let usual = expected.len(size, e.logical, block_size);
            let by = zigzag(i64::from(e.len) - i64::from(usual));
            column.push(by << 1 | u64::from(e.unwritten));
        }
    }
    w.column(column);
}

fn directories(w: &mut BitWriter, records: &[Record], column: &mut Vec<u64>) {
    let dirs = || {
        records.iter().filter_map(|rec| match rec.content {
            Content::Dir(dir) => Some(dir),
            _ => None,
        })
    };
    let mut differences = |values: &mut dyn Iterator<Item = u64>| {
        let mut last = 0u64;
        column.clear();
        for value in values {
            column.push(zigzag(value.wrapping_sub(last) as i64));
            last = value;
        }
        w.column(column);
    };
    differences(&mut dirs().map(|dir| dir.parent));
    differences(&mut dirs().map(|dir| dir.group.into()));
    differences(&mut dirs().filter(|dir| dir.root != 0).map(|dir| dir.root.rotate_left(1)));
    fill(column, dirs().map(|dir| dir.entries));
    w.column(column);
    fill(column, dirs().map(|dir| dir.subdirs.into()));
    w.column(column);
}
