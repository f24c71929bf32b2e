//! Confidence intervals of means, and how many runs a wanted width needs.

use serde::{Deserialize, Serialize};

use super::distribution::{t_outside, t_two_sided};
use super::{Level, StatsError, mean, sorted, squares};

/// From where to where, and how sure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The level of confidence.
    pub level: Level,
}

impl Interval {
    /// Around a value.
    pub fn around(middle: f64, half: f64, level: Level) -> Interval {
        Interval { low: middle - half, high: middle + half, level }
    }

    /// Does the value lie in it?
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Upper minus lower end.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }
}

/// Mean, sample variance and number: what tests on means need of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// Arithmetic mean.
    pub mean: f64,
    /// Variance (divided by n - 1).
    pub variance: f64,
    /// Number of values.
    pub n: usize,
}

impl Moments {
    /// Of at least two values. The variance is 0 if and only if all values are equal.
    ///
    /// # Errors
    /// Too few values; one that is not finite.
    pub fn of(values: &[f64]) -> Result<Moments, StatsError> {
        let values = sorted(values, 2)?;
        let mean = mean(&values);
        let variance = squares(&values, mean) / (values.len() - 1) as f64;
        Ok(Moments { mean, variance, n: values.len() })
    }

    /// Variance of the mean.
    pub fn of_mean(&self) -> f64 {
        self.variance / self.n as f64
    }
}

/// Student's interval of the mean (Jain 13.2).
///
/// # Errors
/// Fewer than two values; one that is not finite.
pub fn mean_interval(values: &[f64], level: Level) -> Result<Interval, StatsError> {
    let sample = Moments::of(values)?;
    let t = t_two_sided(level, (sample.n - 1) as f64);
    Ok(Interval::around(sample.mean, t * sample.of_mean().sqrt(), level))
}

/// The interval's width as a share of the mean's size; none when the mean is 0.
///
/// # Errors
/// As [`mean_interval`].
pub fn relative_width(values: &[f64], level: Level) -> Result<Option<f64>, StatsError> {
    let interval = mean_interval(values, level)?;
    let middle = (interval.low + interval.high) / 2.0;
    Ok((middle != 0.0).then(|| interval.width() / middle.abs()))
}

/// How many runs are needed so that the mean's interval is no wider than `share` of the mean (Jain
/// 13.9, with Student's t for the number sought instead of the normal quantile). At least 2; none
/// when even `most` do not suffice.
///
/// # Errors
/// As [`mean_interval`]: the pilot runs.
pub fn runs_needed(
    pilot: &[f64],
    level: Level,
    share: f64,
    most: usize,
) -> Result<Option<usize>, StatsError> {
    let sample = Moments::of(pilot)?;
    let wanted = share * sample.mean.abs();
    let suffices = |n: usize| {
        let half = t_two_sided(level, (n - 1) as f64) * (sample.variance / n as f64).sqrt();
        2.0 * half <= wanted
    };
    if most < 2 || !suffices(most) {
        return Ok(None);
    }
    let (mut low, mut high) = (1, most);
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if suffices(middle) { high = middle } else { low = middle }
    }
    Ok(Some(high))
}

/// Difference of two means, without assuming equal variances (Welch; Jain 13.4.2).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Difference {
    /// The first mean minus the second.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
    /// Degrees of freedom (Welch and Satterthwaite); none when neither sample varies.
    pub dof: Option<f64>,
    /// Two-sided p-value of no difference: 0 or 1 when neither sample varies.
    pub p: f64,
}

/// Compares two means.
///
/// # Errors
/// Fewer than two values in a sample; one that is not finite.
pub fn welch(a: &[f64], b: &[f64], level: Level) -> Result<Difference, StatsError> {
    let (a, b) = (Moments::of(a)?, Moments::of(b)?);
    let value = a.mean - b.mean;
    let Some(dof) = satterthwaite(&[(a.of_mean(), a.n), (b.of_mean(), b.n)]) else {
        let p = if value == 0.0 { 1.0 } else { 0.0 };
        return Ok(Difference {
            value,
            interval: Interval::around(value, 0.0, level),
            dof: None,
            p,
        });
    };
    let sd = (a.of_mean() + b.of_mean()).sqrt();
    let interval = Interval::around(value, t_two_sided(level, dof) * sd, level);
    Ok(Difference { value, interval, dof: Some(dof), p: t_outside(value / sd, dof) })
}

/// Degrees of freedom of a sum of variances of means, each with its sample's size; none when all
/// are 0.
pub(super) fn satterthwaite(parts: &[(f64, usize)]) -> Option<f64> {
    let largest = parts.iter().map(|part| part.0).fold(0.0, f64::max);
    if largest <= 0.0 {
        return None;
    }
    let share = |variance: f64| variance / largest;
    let sum: f64 = parts.iter().map(|part| share(part.0)).sum();
    let below: f64 =
        parts.iter().map(|&(variance, n)| share(variance).powi(2) / (n - 1) as f64).sum();
    Some(sum * sum / below)
}
