//! What a sample looks like: the indices of Jain's chapter 12.

use serde::{Deserialize, Serialize};

use super::{Interval, Level, StatsError, interval, mean, sorted, squares};

/// Indices of central tendency and of dispersion. What a sample does not have is none: no deviation
/// of one value, no harmonic mean of values that are not all positive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Geometric mean, of positive values.
    pub geometric_mean: Option<f64>,
    /// Harmonic mean, of positive values.
    pub harmonic_mean: Option<f64>,
    /// Median.
    pub median: f64,
    /// Sample standard deviation (divided by n - 1), of two values or more.
    pub sd: Option<f64>,
    /// Coefficient of variation: deviation by mean.
    pub cov: Option<f64>,
    /// Skewness, adjusted for the sample's size (G1, Fisher and Pearson): of three values or more
    /// that are not all equal.
    pub skewness: Option<f64>,
    /// First quartile.
    pub q1: f64,
    /// Third quartile.
    pub q3: f64,
    /// Semi-interquartile range, half of the third minus the first quartile.
    pub siqr: f64,
    /// The least value.
    pub min: f64,
    /// The greatest value.
    pub max: f64,
    /// The greatest by the least, of positive values.
    pub max_by_min: Option<f64>,
    /// Student's interval of the mean, of two values or more.
    pub interval: Option<Interval>,
}

impl Summary {
    /// Of one value or more.
    ///
    /// # Errors
    /// No value; one that is not finite.
    pub fn of(values: &[f64], level: Level) -> Result<Summary, StatsError> {
        let values = sorted(values, 1)?;
        let n = values.len() as f64;
        let (min, max) = (values[0], values[values.len() - 1]);
        let (mean, positive) = (mean(&values), min > 0.0);
        let averaged = |of: fn(f64) -> f64| values.iter().map(|&v| of(v)).sum::<f64>() / n;
        let sd = (n >= 2.0).then(|| (squares(&values, mean) / (n - 1.0)).sqrt());
        let (q1, q3) = (quantile(&values, 0.25), quantile(&values, 0.75));
        Ok(Summary {
            n: values.len(),
            mean,
            geometric_mean: positive.then(|| averaged(f64::ln).exp()),
            harmonic_mean: positive.then(|| 1.0 / averaged(f64::recip)),
            median: quantile(&values, 0.5),
            sd,
            cov: sd.filter(|_| mean != 0.0).map(|sd| sd / mean),
            skewness: skewness(&values, mean),
            q1,
            q3,
            siqr: (q3 - q1) / 2.0,
            min,
            max,
            max_by_min: positive.then(|| max / min),
            interval: interval::mean_interval(&values, level).ok(),
        })
    }
}

/// The quantile of values that are in order, interpolated between neighbours (Hyndman and Fan's
/// type 7, that of spreadsheets and of seed 004).
pub(super) fn quantile(sorted: &[f64], p: f64) -> f64 {
    let place = p * (sorted.len() - 1) as f64;
    let (below, share) = (place.floor() as usize, place.fract());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + share * (sorted[above] - sorted[below])
}

fn skewness(values: &[f64], mean: f64) -> Option<f64> {
    let n = values.len() as f64;
    let second = squares(values, mean) / n;
    if n < 3.0 || second <= 0.0 {
        return None;
    }
    let third = values.iter().map(|value| (value - mean).powi(3)).sum::<f64>() / n;
    Some(third / second.powf(1.5) * (n * (n - 1.0)).sqrt() / (n - 2.0))
}
