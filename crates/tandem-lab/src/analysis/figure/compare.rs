//! Every bar against the baseline's.

use super::{Bar, FigureData, Test};
use crate::record::Levels;
use crate::stats::check::shapiro_wilk;
use crate::stats::interval::welch;
use crate::stats::multiple::holm;
use crate::stats::rank::mann_whitney;
use crate::stats::ratio::{Ratio, RatioMethod, ratio};
use crate::stats::{Level, bootstrap};

/// Below this p-value of Shapiro and Wilk's test values are not taken as normal. Lower than the error of
/// other tests, since it is made for every bar, and since what replaces Welch's test has less power.
const NOT_NORMAL: f64 = 0.01;
/// Fewest values in a sample for which the bootstrap is no worse than what it replaces.
const BOOTSTRAP: usize = 10;
/// What the bootstrap's random choices begin with.
const SEED: u64 = 1;

/// Enters ratios and p-values. A bar's baseline has the bar's own levels, but for those of the
/// study's baseline; it may lie in another panel.
pub(super) fn with_baseline(data: &mut FigureData) {
    let Some(baseline) = data.baseline.clone() else { return };
    let found = samples(data);
    let level = data.options.level;
    let mut p = Vec::new();
    for (phase, bar) in bars(data) {
        let own: Vec<f64> = bar.values.iter().map(|value| value.value).collect();
        bar.normality = shapiro_wilk(&own).ok().map(|tested| tested.p);
        let other = over(&bar.levels, &baseline);
        bar.baseline = other == bar.levels;
        let below = found.iter().find(|sample| sample.phase == phase && sample.levels == other);
        let Some(below) = below.filter(|_| !own.is_empty()) else { continue };
        if bar.baseline {
            let one = |ratio: Ratio| Ratio { interval: None, method: None, ..ratio };
            bar.ratio = ratio(&own, &below.values, level).ok().flatten().map(one);
            continue;
        }
        let normal = is_normal(&own) && is_normal(&below.values);
        bar.ratio = ratio_of(&own, &below.values, normal, level);
        if let Some((test, value)) = tested(&own, &below.values, normal, level) {
            (bar.test, bar.p) = (Some(test), Some(value));
            p.push(value);
        }
    }
    data.comparisons = p.len();
    let mut corrected = holm(&p).into_iter();
    for (_, bar) in bars(data).filter(|(_, bar)| bar.p.is_some()) {
        bar.p_corrected = corrected.next();
    }
}

fn is_normal(values: &[f64]) -> bool {
    shapiro_wilk(values).map_or(true, |tested| tested.p >= NOT_NORMAL)
}

fn ratio_of(own: &[f64], below: &[f64], normal: bool, level: Level) -> Option<Ratio> {
    let ratio = ratio(own, below, level).ok().flatten()?;
    if normal || own.len().min(below.len()) < BOOTSTRAP {
        return Some(ratio);
    }
    let drawn = bootstrap::ratio(own, below, level, SEED).ok().flatten();
    Some(drawn.map_or(ratio, |interval| Ratio {
        interval: Some(interval),
        method: Some(RatioMethod::Bootstrap),
        ..ratio
    }))
}

fn tested(own: &[f64], below: &[f64], normal: bool, level: Level) -> Option<(Test, f64)> {
    let difference = welch(own, below, level).ok()?;
    if difference.dof.is_none() {
        return Some((Test::NoVariation, difference.p));
    }
    if normal {
        return Some((Test::Welch, difference.p));
    }
    Some((Test::MannWhitney, mann_whitney(own, below).ok()?.p))
}

struct Sample {
    phase: String,
    levels: Levels,
    values: Vec<f64>,
}

fn samples(data: &mut FigureData) -> Vec<Sample> {
    let sample = |(phase, bar): (String, &mut Bar)| Sample {
        phase,
        levels: bar.levels.clone(),
        values: bar.values.iter().map(|value| value.value).collect(),
    };
    bars(data).map(sample).filter(|sample| !sample.values.is_empty()).collect()
}

fn bars(data: &mut FigureData) -> impl Iterator<Item = (String, &mut Bar)> {
    let groups = data.panels.iter_mut().flat_map(|panel| &mut panel.groups);
    groups.flat_map(|group| {
        let phase = group.phase.clone();
        group.bars.iter_mut().map(move |bar| (phase.clone(), bar))
    })
}

/// The levels, with those of the baseline put over them where a bar has such a factor.
fn over(levels: &Levels, baseline: &Levels) -> Levels {
    let level = |(factor, level): (&String, &String)| {
        (factor.clone(), baseline.get(factor).unwrap_or(level).clone())
    };
    levels.iter().map(level).collect()
}
