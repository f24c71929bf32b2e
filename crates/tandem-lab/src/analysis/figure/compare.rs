//! Every bar against the baseline's.

use super::super::judge::judge;
use super::{Bar, FigureData};
use crate::record::Levels;
use crate::stats::multiple::holm;
use crate::stats::ratio::{Ratio, ratio};

/// Enters ratios and p-values. A bar's baseline has the bar's own levels, but for those of the
/// study's baseline; it may lie in another panel.
pub(super) fn with_baseline(data: &mut FigureData) {
    let Some(baseline) = data.baseline.clone() else { return };
    let found = samples(data);
    let level = data.options.level;
    let mut p = Vec::new();
    for (phase, bar) in bars(data) {
        let own: Vec<f64> = bar.values.iter().map(|value| value.value).collect();
        let other = over(&bar.levels, &baseline);
        bar.baseline = other == bar.levels;
        let below = found.iter().find(|sample| sample.phase == phase && sample.levels == other);
        let Some(below) = below.filter(|_| !own.is_empty()) else { continue };
        if bar.baseline {
            let one = |ratio: Ratio| Ratio { interval: None, method: None, ..ratio };
            bar.ratio = ratio(&own, &below.values, level).ok().flatten().map(one);
            continue;
        }
        let judged = judge(&own, &below.values, level);
        bar.ratio = judged.ratio;
        (bar.test, bar.p) = judged.test.unzip();
        p.extend(bar.p);
    }
    data.comparisons = p.len();
    let mut corrected = holm(&p).into_iter();
    for (_, bar) in bars(data).filter(|(_, bar)| bar.p.is_some()) {
        bar.p_corrected = corrected.next();
    }
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
