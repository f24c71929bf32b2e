//! The kinds of seek curve of DiskSim's `dm_mech_g1`.

use std::path::Path;

use super::tree::{Block, SpecError, read_text};
use crate::model::seek::SeekCurve;

pub(super) fn curve(mechanics: &Block) -> Result<SeekCurve, SpecError> {
    let constant = |key: &str| Ok(SeekCurve::Constant { ms: mechanics.number(key)? });
    match mechanics.word_or("Access time type", "trackSwitchPlusRotation")? {
        "trackSwitchPlusRotation" => {}
        "constant" => return constant("Constant access time"),
        other => {
            let why = format!("`{other}` is not known; trackSwitchPlusRotation and constant are");
            return Err(mechanics.error("Access time type", why));
        }
    }
    let single = || mechanics.number("Single cylinder seek time");
    let full = || mechanics.number("Full strobe seek time");
    match mechanics.word_or("Seek type", "")? {
        "extracted" => measured(mechanics),
        "constant" => constant("Constant seek time"),
        "linear" => Ok(SeekCurve::Linear { single_ms: single()?, full_ms: full()? }),
        "curve" => Ok(SeekCurve::ThreePoint {
            single_ms: single()?,
            average_ms: mechanics.number("Average seek time")?,
            full_ms: full()?,
        }),
        "hpl" => hpl(mechanics, false),
        "hplplus10" => hpl(mechanics, true),
        other => {
            let why = format!(
                "`{other}` is not known; extracted, constant, linear, curve, hpl and hplplus10 are"
            );
            Err(mechanics.error("Seek type", why))
        }
    }
}

fn hpl(mechanics: &Block, first_ten: bool) -> Result<SeekCurve, SpecError> {
    const KEY: &str = "HPL seek equation values";
    let values = mechanics.numbers(KEY)?;
    let &[cutoff, a, b, c, d, single] = values.as_slice() else {
        return Err(mechanics.error(KEY, format!("has {} values, not 6", values.len())));
    };
    if !(0.0..=67_108_864.0).contains(&cutoff) {
        return Err(mechanics.error(KEY, format!("{cutoff} is not a number of cylinders")));
    }
    let first_ms = if first_ten {
        mechanics.numbers("First ten seek times")?
    } else if single >= 0.0 {
        vec![single]
    } else {
        Vec::new()
    };
    Ok(SeekCurve::Hpl { cutoff: cutoff as u32, short_ms: (a, b), long_ms: (c, d), first_ms })
}

fn measured(mechanics: &Block) -> Result<SeekCurve, SpecError> {
    const KEY: &str = "Full seek curve";
    let name = mechanics.word(KEY)?;
    let path = mechanics.beside(name);
    let text = read_text(&path).map_err(|e| mechanics.error(KEY, e.to_string()))?;
    let points = points(&path, &text)?;
    let of_reads = points.iter().map(|&(distance, ms, _)| (distance, ms)).collect();
    let of_writes: Option<Vec<(u32, f64)>> =
        points.iter().map(|&(distance, _, write_ms)| Some((distance, write_ms?))).collect();
    let write_points = of_writes.unwrap_or_default();
    Ok(SeekCurve::Measured { points: of_reads, write_points })
}

/// Cylinders, milliseconds, and those of a write if they are said apart.
type Point = (u32, f64, Option<f64>);

/// Lines of a distance and milliseconds, with a comma or space between; others are headings. A
/// third number is a deviation, a fourth the time of writes.
fn points(path: &Path, text: &str) -> Result<Vec<Point>, SpecError> {
    let mut points: Vec<Point> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() || line.starts_with(|c: char| c.is_ascii_alphabetic()) {
            continue;
        }
        let wrong = || SpecError::line(path, at + 1, "seek curve", format!("`{line}` is no point"));
        let mut parts =
            line.split(|c: char| c == ',' || c.is_whitespace()).filter(|p| !p.is_empty());
        let (Some(distance), Some(ms)) = (parts.next(), parts.next()) else { return Err(wrong()) };
        let distance: f64 = distance.parse().map_err(|_| wrong())?;
        let ms: f64 = ms.parse().map_err(|_| wrong())?;
        let write_ms = parts.nth(1).map(|ms| ms.parse::<f64>().map_err(|_| wrong())).transpose()?;
        if distance < 0.0 || distance > f64::from(u32::MAX) || distance.fract() != 0.0 {
            return Err(wrong());
        }
        if distance > 0.0 {
            points.push((distance as u32, ms, write_ms));
        }
    }
    points.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    points.dedup_by_key(|point| point.0);
    if points.is_empty() {
        return Err(SpecError::file(path, "holds no points of a seek curve"));
    }
    Ok(points)
}
