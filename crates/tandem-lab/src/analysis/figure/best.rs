//! Who is best in a group, and whether that is shown.

use super::super::judge::judge;
use super::super::quantity::Better;
use super::{Bar, Best, FigureData, Group};
use crate::stats::Level;
use crate::stats::multiple::holm;

/// Enters the best of each group. It is shown to be best when every other's test tells it from that one,
/// so the largest of their p-values counts; these are corrected for the number of groups.
pub(super) fn enter(data: &mut FigureData) {
    let (better, level) = (data.quantity.better, data.options.level);
    let mut p = Vec::new();
    for group in groups(data) {
        group.best = best(group, better, level);
        p.extend(group.best.as_ref().and_then(|best| best.p));
    }
    let mut corrected = holm(&p).into_iter();
    for best in groups(data).filter_map(|group| group.best.as_mut()).filter(|b| b.p.is_some()) {
        best.p_corrected = corrected.next();
    }
}

fn groups(data: &mut FigureData) -> impl Iterator<Item = &mut Group> {
    data.panels.iter_mut().flat_map(|panel| &mut panel.groups)
}

/// None with fewer than two bars, without a better direction, or when the best two are equal.
fn best(group: &Group, better: Better, level: Level) -> Option<Best> {
    let mean = |bar: &&Bar| bar.summary.as_ref().map_or(f64::NAN, |summary| summary.mean);
    let mut bars: Vec<&Bar> = group.bars.iter().filter(|bar| bar.summary.is_some()).collect();
    match better {
        Better::Lower => bars.sort_by(|a, b| mean(a).total_cmp(&mean(b))),
        Better::Higher => bars.sort_by(|a, b| mean(b).total_cmp(&mean(a))),
        Better::Neither => return None,
    }
    let (first, others) = bars.split_first()?;
    let next = others.first().filter(|next| mean(next) != mean(first))?;
    let values = |bar: &Bar| bar.values.iter().map(|value| value.value).collect::<Vec<f64>>();
    let own = values(first);
    let tests = others.iter().map(|other| Some(judge(&own, &values(other), level).test?.1));
    let p = tests.collect::<Option<Vec<f64>>>().map(|p| p.into_iter().fold(0.0, f64::max));
    Some(Best { level: first.level.clone(), next: next.level.clone(), p, p_corrected: None })
}
