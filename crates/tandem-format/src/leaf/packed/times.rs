//! Columns of times: differences from another time of the same i-node, or from the same time of the
//! one before, in the largest unit that suits most of them.

use super::STRUCTURE;
use crate::bits::{BitReader, BitWriter, unzigzag, zigzag};
use crate::error::FormatError;
use crate::record::{Record, SECS};
use crate::units::Time;

const NANOS: i64 = Time::NANOS as i64;

/// Units of differences, in nanoseconds.
const UNITS: [i64; 4] = [1, 1_000, 1_000_000, NANOS];

/// Seconds of a difference that can be had in nanoseconds in 63 bits.
const NEAR: i64 = 1 << 32;

/// The times in the order of their columns.
const FIELDS: [&str; 4] = ["mtime", "btime", "ctime", "atime"];

fn of(rec: &Record, n: usize) -> Time {
    [rec.mtime, rec.btime, rec.ctime, rec.atime][n]
}

/// What time `n` of record `i` is stored relative to: reference 0 is the record before, the others
/// are times of the same record with lower numbers.
fn reference(records: &[Record], i: usize, n: usize, from: usize) -> Time {
    match (from, i) {
        (0, 0) => Time::default(),
        (0, _) => of(&records[i - 1], n),
        _ => of(&records[i], from - 1),
    }
}

/// A difference: seconds, and nanoseconds of either sign.
type Difference = (i64, i64);

fn difference(a: Time, b: Time) -> Difference {
    (a.secs.wrapping_sub(b.secs), i64::from(a.nanos) - i64::from(b.nanos))
}

/// The largest unit that a difference is a multiple of.
fn class((_, nanos): Difference) -> usize {
    match nanos {
        0 => 3,
        n if n % UNITS[2] == 0 => 2,
        n if n % UNITS[1] == 0 => 1,
        _ => 0,
    }
}

/// A difference in a unit; `u64::MAX` where it has to be spelled out.
fn counted((secs, nanos): Difference, unit: usize) -> u64 {
    if secs.abs() > NEAR || nanos % UNITS[unit] != 0 {
        return u64::MAX;
    }
    zigzag(secs * (NANOS / UNITS[unit]) + nanos / UNITS[unit])
}

fn spelled((secs, nanos): Difference) -> u128 {
    let all = i128::from(secs) * i128::from(NANOS) + i128::from(nanos);
    ((all << 1) ^ (all >> 127)) as u128
}

/// About how many bits a difference takes.
fn bits((secs, nanos): Difference) -> u32 {
    match secs {
        0 => 64 - nanos.unsigned_abs().leading_zeros(),
        _ => 94 - secs.unsigned_abs().leading_zeros(),
    }
}

/// Appends the times of all records.
pub(super) fn write(w: &mut BitWriter, records: &[Record]) {
    let mut differences = Vec::with_capacity(records.len());
    let mut values = Vec::with_capacity(records.len());
    for n in 0..FIELDS.len() {
        let against = |from| {
            (0..records.len())
                .map(move |i| difference(of(&records[i], n), reference(records, i, n, from)))
        };
        let from = (0..=n).min_by_key(|&from| against(from).map(bits).sum::<u32>()).unwrap_or(0);
        differences.clear();
        differences.extend(against(from));
        w.put(from as u64, 2);
        let unit = unit(&differences);
        w.put(unit as u64, 2);
        values.clear();
        values.extend(differences.iter().map(|&d| counted(d, unit)));
        w.cells(&values, |i| spelled(differences[i]));
    }
}

/// The largest unit that suits all but a few of the differences.
fn unit(differences: &[Difference]) -> usize {
    let mut classes = [0; UNITS.len()];
    for &difference in differences {
        classes[class(difference)] += 1;
    }
    let mut suited = 0;
    for unit in (1..UNITS.len()).rev() {
        suited += classes[unit];
        if suited > 0 && suited + differences.len() / 8 >= differences.len() {
            return unit;
        }
    }
    0
}

/// Reads what [`write`] wrote into records.
pub(super) fn read(r: &mut BitReader<'_>, records: &mut [Record]) -> Result<(), FormatError> {
    for (n, field) in FIELDS.into_iter().enumerate() {
        let from = r.get(field, 2)? as usize;
        if from > n {
            return Err(r.invalid(field, "relative to what follows"));
        }
        let unit = r.get(field, 2)? as usize;
        let width = r.width(field)?;
        for i in 0..records.len() {
            let base = reference(records, i, n, from);
            let cell = match width {
                Some(width) => r.cell(field, width)?,
                None => Some(0),
            };
            let time = match cell {
                Some(0) => Some(base),
                Some(count) => later(base, unzigzag(count), unit),
                None => much_later(base, r.long(field)?),
            };
            let time = time
                .filter(|time| (-SECS..SECS).contains(&time.secs))
                .ok_or_else(|| FormatError::invalid(STRUCTURE, field, "out of range"))?;
            let rec = &mut records[i];
            *[&mut rec.mtime, &mut rec.btime, &mut rec.ctime, &mut rec.atime][n] = time;
        }
    }
    Ok(())
}

fn later(base: Time, count: i64, unit: usize) -> Option<Time> {
    let each = NANOS / UNITS[unit];
    let nanos = i64::from(base.nanos) + count.rem_euclid(each) * UNITS[unit];
    let secs = base.secs.checked_add(count.div_euclid(each))?.checked_add(nanos / NANOS)?;
    Some(Time { secs, nanos: (nanos % NANOS) as u32 })
}

fn much_later(base: Time, spelled: u128) -> Option<Time> {
    let all = (spelled >> 1) as i128 ^ -((spelled & 1) as i128);
    let nanos = all.checked_add(base.nanos.into())?;
    let secs = nanos.div_euclid(NANOS.into()).checked_add(base.secs.into())?;
    Some(Time { secs: i64::try_from(secs).ok()?, nanos: nanos.rem_euclid(NANOS.into()) as u32 })
}
