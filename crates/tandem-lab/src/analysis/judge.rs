//! Two samples against each other: their ratio, and whether a difference is shown.

use serde::Serialize;

use crate::stats::check::shapiro_wilk;
use crate::stats::interval::welch;
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

/// How a difference was tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// Welch's t-test: variances are not taken as equal.
    Welch,
    /// Mann and Whitney's rank test, because values are not normal.
    MannWhitney,
    /// Neither sample varies; means differ or they do not.
    NoVariation,
}

/// What two samples show.
pub(crate) struct Judged {
    /// Mean of the first by mean of the second.
    pub(crate) ratio: Option<Ratio>,
    /// The test and its p-value, with two values or more in each.
    pub(crate) test: Option<(Test, f64)>,
}

/// Compares two samples.
pub(crate) fn judge(own: &[f64], other: &[f64], level: Level) -> Judged {
    let normal = is_normal(own) && is_normal(other);
    Judged { ratio: ratio_of(own, other, normal, level), test: tested(own, other, normal, level) }
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
