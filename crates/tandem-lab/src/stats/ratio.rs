//! Ratios of means, with intervals: how many times as much as the baseline.

use serde::{Deserialize, Serialize};

use super::distribution::t_two_sided;
use super::interval::{Moments, satterthwaite};
use super::{Interval, Level, StatsError};

/// How an interval of a ratio was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RatioMethod {
    /// Fieller's theorem, the variances not taken as equal.
    Fieller,
    /// Bias-corrected and accelerated bootstrap, for values that are not normal.
    Bootstrap,
    /// Neither sample varies: the ratio is as exact as the measure.
    NoVariation,
}

/// A ratio of two means.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The first mean divided by the second.
    pub value: f64,
    /// Its interval; none with fewer than two values in a sample, or when the second mean may be 0.
    pub interval: Option<Interval>,
    /// How the interval was found.
    pub method: Option<RatioMethod>,
}

/// Ratio of the means of independent samples. The interval is Fieller's (1954) with Welch's degrees of
/// freedom: the ratios r for which mean(a) - r mean(b) is not shown to differ from 0.
///
/// # Errors
/// An empty sample; a value that is not finite. None when the second mean is 0.
pub fn ratio(a: &[f64], b: &[f64], level: Level) -> Result<Option<Ratio>, StatsError> {
    let mean = |values: &[f64]| Ok(super::mean(&super::sorted(values, 1)?));
    let (above, below): (f64, f64) = (mean(a)?, mean(b)?);
    if below == 0.0 {
        return Ok(None);
    }
    let value = above / below;
    let (Ok(a), Ok(b)) = (Moments::of(a), Moments::of(b)) else {
        return Ok(Some(Ratio { value, interval: None, method: None }));
    };
    Ok(Some(fieller(a, b, level)))
}

fn fieller(a: Moments, b: Moments, level: Level) -> Ratio {
    let value = a.mean / b.mean;
    let parts = [(a.of_mean(), a.n), (value * value * b.of_mean(), b.n)];
    let Some(dof) = satterthwaite(&parts) else {
        let interval = Some(Interval::around(value, 0.0, level));
        return Ratio { value, interval, method: Some(RatioMethod::NoVariation) };
    };
    let t2 = t_two_sided(level, dof).powi(2);
    // r such that (a - r b)^2 <= t2 (va + r^2 vb), a quadratic in r.
    let g = 1.0 - t2 * b.of_mean() / (b.mean * b.mean);
    let root = value * value - g * (value * value - t2 * a.of_mean() / (b.mean * b.mean));
    let interval = (g > 0.0 && root >= 0.0).then(|| Interval {
        low: (value - root.sqrt()) / g,
        high: (value + root.sqrt()) / g,
        level,
    });
    Ratio { value, method: interval.map(|_| RatioMethod::Fieller), interval }
}
