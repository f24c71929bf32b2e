//! From observations to a full factorial design, and what has to be left out for it.

use std::collections::BTreeSet;

use super::super::select::restricted;
use super::{AnovaData, Observed};
use crate::record::Levels;
use crate::stats::factorial::{Design, Factor};

/// Combinations of the factors' levels that were observed, in the levels' order.
pub(super) fn combinations(
    observed: &[Observed],
    factors: &[String],
    order: &dyn Fn(&str) -> Vec<String>,
) -> Vec<Levels> {
    let orders: Vec<Vec<String>> = factors.iter().map(|factor| order(factor)).collect();
    let found: BTreeSet<Levels> =
        observed.iter().map(|one| restricted(&one.levels, factors)).collect();
    let mut found: Vec<Levels> = found.into_iter().collect();
    found.sort_by_key(|levels| -> Vec<Option<usize>> {
        let place = |(factor, order): (&String, &Vec<String>)| {
            order.iter().position(|level| Some(level) == levels.get(factor))
        };
        factors.iter().zip(&orders).map(place).collect()
    });
    found
}

/// The largest full factorial design that a greedy choice finds: as long as a combination of levels
/// has no value, the level with the largest share of such combinations is left out.
pub(super) fn design(
    data: &AnovaData,
    observed: &[&Observed],
    order: &dyn Fn(&str) -> Vec<String>,
    left_out: &mut Vec<String>,
) -> Result<Design, String> {
    let measured = observed;
    let observed = &with_logarithm(data, measured, left_out)[..];
    if data.logarithm && observed.is_empty() {
        return Err("every combination has a value that has no logarithm".to_owned());
    }
    let mut factors: Vec<Factor> = data
        .factors
        .iter()
        .map(|name| {
            let seen =
                |level: &String| measured.iter().any(|one| one.levels.get(name) == Some(level));
            Factor { name: name.clone(), levels: order(name).into_iter().filter(seen).collect() }
        })
        .collect();
    while let Some((factor, level)) = emptiest(&factors, observed) {
        let name = &factors[factor].name;
        let gone = factors[factor].levels[level].clone();
        left_out.push(format!(
            "{name} {gone} is left out: it has no value with some levels of the other factors."
        ));
        factors[factor].levels.remove(level);
        if factors[factor].levels.is_empty() {
            return Err("nothing was measured".to_owned());
        }
    }
    let kept: Vec<(Vec<usize>, f64)> = observed
        .iter()
        .filter_map(|one| Some((place(&factors, one)?, response(data, one))))
        .collect();
    let single = |factor: &Factor| factor.levels.len() < 2;
    for factor in factors.iter().filter(|factor| single(factor)) {
        let level = factor.levels.first().map_or("none", String::as_str);
        left_out.push(format!("{} explains nothing: it has one level here, {level}.", factor.name));
    }
    let varied: Vec<usize> = (0..factors.len()).filter(|&at| !single(&factors[at])).collect();
    if varied.is_empty() {
        return Err("no factor has two levels".to_owned());
    }
    let kept = kept.into_iter().map(|(at, value)| (varied.iter().map(|&f| at[f]).collect(), value));
    let factors = varied.iter().map(|&at| factors[at].clone()).collect();
    Design::new(factors, kept).map_err(|error| error.to_string())
}

/// What is explained of an observation.
fn response(data: &AnovaData, one: &Observed) -> f64 {
    if data.logarithm { one.value.ln() } else { one.value }
}

/// Observations, without the combinations in which a value has no logarithm when that is what is explained:
/// the combination's other values alone would not be its runs.
fn with_logarithm<'a>(
    data: &AnovaData,
    observed: &[&'a Observed],
    left_out: &mut Vec<String>,
) -> Vec<&'a Observed> {
    let cell = |one: &Observed| restricted(&one.levels, &data.factors);
    let without: BTreeSet<Levels> = observed
        .iter()
        .filter(|one| data.logarithm && one.value <= 0.0)
        .map(|one| cell(one))
        .collect();
    if let Some(first) = without.first() {
        left_out.push(format!(
            "{} of the combinations of levels have a value of 0, which has no logarithm, and count as not measured: {}{}.",
            without.len(),
            first.values().cloned().collect::<Vec<_>>().join(", "),
            if without.len() > 1 { " and others" } else { "" }
        ));
    }
    observed.iter().copied().filter(|one| !without.contains(&cell(one))).collect()
}

/// Places of an observation's levels, if the factors have them all.
fn place(factors: &[Factor], one: &Observed) -> Option<Vec<usize>> {
    let at = |factor: &Factor| {
        let level = one.levels.get(&factor.name)?;
        factor.levels.iter().position(|own| own == level)
    };
    factors.iter().map(at).collect()
}

/// The factor and level with the largest share of empty cells, if a cell is empty.
fn emptiest(factors: &[Factor], observed: &[&Observed]) -> Option<(usize, usize)> {
    let cells: usize = factors.iter().map(|factor| factor.levels.len()).product();
    let full: BTreeSet<Vec<usize>> =
        observed.iter().filter_map(|one| place(factors, one)).collect();
    if full.len() == cells {
        return None;
    }
    let mut worst: Option<(f64, usize, usize)> = None;
    for (at, factor) in factors.iter().enumerate() {
        for level in 0..factor.levels.len() {
            let filled = full.iter().filter(|cell| cell[at] == level).count();
            let share = filled as f64 / (cells / factor.levels.len()) as f64;
            if worst.is_none_or(|(least, ..)| share <= least) {
                worst = Some((share, at, level));
            }
        }
    }
    worst.map(|(_, factor, level)| (factor, level))
}
