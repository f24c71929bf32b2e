//! Bootstrap intervals, for samples that are not normal. From a seed, hence always the same.

use super::distribution::{normal_quantile, normal_upper};
use super::{Interval, Level, StatsError, sorted};

/// How often samples are drawn anew.
pub const RESAMPLES: usize = 9_999;

/// Interval of the ratio of two means, bias-corrected and accelerated (BCa; Efron 1987). With fewer
/// than about ten values in a sample it is too narrow. None when a drawn second mean may be 0 or
/// when nothing varies.
///
/// # Errors
/// Fewer than two values in a sample; one that is not finite.
pub fn ratio(
    a: &[f64],
    b: &[f64],
    level: Level,
    seed: u64,
) -> Result<Option<Interval>, StatsError> {
    let (a, b) = (sorted(a, 2)?, sorted(b, 2)?);
    if b[0] <= 0.0 && b[b.len() - 1] >= 0.0 {
        return Ok(None);
    }
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    let value = sum(&a) / a.len() as f64 / (sum(&b) / b.len() as f64);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut draw = |values: &[f64]| {
        let drawn: f64 = (0..values.len()).map(|_| values[random.usize(..values.len())]).sum();
        drawn / values.len() as f64
    };
    let mut ratios: Vec<f64> = (0..RESAMPLES).map(|_| draw(&a) / draw(&b)).collect();
    ratios.sort_by(f64::total_cmp);
    if ratios[0] == ratios[RESAMPLES - 1] {
        return Ok(None);
    }
    let below = ratios.iter().filter(|ratio| **ratio < value).count() as f64;
    let equal = ratios.iter().filter(|ratio| **ratio == value).count() as f64;
    let bias = normal_quantile(((below + equal / 2.0) / RESAMPLES as f64).clamp(1e-4, 1.0 - 1e-4));
    let acceleration = acceleration(&a, &b);
    let end = |p: f64| {
        let z = bias + normal_quantile(p);
        let share = 1.0 - normal_upper(bias + z / (1.0 - acceleration * z));
        ratios[((RESAMPLES as f64 + 1.0) * share - 1.0).round().clamp(0.0, RESAMPLES as f64 - 1.0)
            as usize]
    };
    let tail = level.error() / 2.0;
    Ok(Some(Interval { low: end(tail), high: end(1.0 - tail), level }))
}

/// From the jackknife's values, each sample's own.
fn acceleration(a: &[f64], b: &[f64]) -> f64 {
    let (mean_a, mean_b) = (super::mean(a), super::mean(b));
    let without = |values: &[f64], mean: f64| -> Vec<f64> {
        let n = values.len() as f64;
        values.iter().map(|value| (n * mean - value) / (n - 1.0)).collect()
    };
    let of_a: Vec<f64> = without(a, mean_a).iter().map(|mean| mean / mean_b).collect();
    let of_b: Vec<f64> = without(b, mean_b).iter().map(|mean| mean_a / mean).collect();
    let (mut cubes, mut squares) = (0.0, 0.0);
    for values in [of_a, of_b] {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        for value in &values {
            let influence = (n - 1.0) * (mean - value) / n;
            cubes += influence.powi(3);
            squares += influence.powi(2);
        }
    }
    if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 }
}
