//! Do the assumptions of a model hold? Normal values, equal variances.

use serde::Serialize;

use super::distribution::{f_upper, normal_quantile, normal_upper};
use super::summary::quantile;
use super::{StatsError, mean, sorted, squares};

/// A test's statistic and what it says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tested {
    /// The statistic.
    pub statistic: f64,
    /// Probability of one at least as extreme if the assumption holds.
    pub p: f64,
}

/// Normal quantile-quantile points: (quantile of the standard normal distribution at (i - 0.5)/n,
/// value), in order (Jain 12.10, with exact quantiles instead of his formula 12.1).
pub fn normal_points(values: &[f64]) -> Vec<(f64, f64)> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let point = |(i, &value): (usize, &f64)| (normal_quantile((i as f64 + 0.5) / n), value);
    values.iter().enumerate().map(point).collect()
}

/// Most values for which Shapiro and Wilk's test is approximated.
const MOST: usize = 5_000;

/// Shapiro and Wilk's test of normally distributed values, by Royston's algorithm AS R94 (1995), of 3
/// to 5,000 values. A small p speaks against it; a large one, with few values, says little.
///
/// # Errors
/// Too few or too many values; one that is not finite; all equal.
pub fn shapiro_wilk(values: &[f64]) -> Result<Tested, StatsError> {
    let values = sorted(values, 3)?;
    if values.len() > MOST {
        return Err(StatsError::TooMany { most: MOST, have: values.len() });
    }
    let mean = mean(&values);
    let total = squares(&values, mean);
    if total <= 0.0 {
        return Err(StatsError::NoVariation);
    }
    let weights = weights(values.len());
    let spread: f64 = weights
        .iter()
        .enumerate()
        .map(|(i, weight)| weight * (values[values.len() - 1 - i] - values[i]))
        .sum();
    let w = (spread * spread / total).min(1.0);
    Ok(Tested { statistic: w, p: shapiro_wilk_p(w, values.len()) })
}

/// Weights of the differences between the ith greatest and the ith least value.
fn weights(n: usize) -> Vec<f64> {
    if n == 3 {
        return vec![0.5f64.sqrt()];
    }
    let scores: Vec<f64> =
        (1..=n / 2).map(|i| -normal_quantile((i as f64 - 0.375) / (n as f64 + 0.25))).collect();
    let sum: f64 = 2.0 * scores.iter().map(|score| score * score).sum::<f64>();
    let (norm, small) = (sum.sqrt(), 1.0 / (n as f64).sqrt());
    let first = scores[0] / norm
        + polynomial(&[0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056], small);
    let mut fixed = vec![first];
    if n > 5 {
        let correction = [0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633];
        fixed.push(scores[1] / norm + polynomial(&correction, small));
    }
    let of_fixed = |values: &[f64]| 2.0 * values.iter().map(|value| value * value).sum::<f64>();
    let factor = ((sum - of_fixed(&scores[..fixed.len()])) / (1.0 - of_fixed(&fixed))).sqrt();
    let rest: Vec<f64> = scores[fixed.len()..].iter().map(|score| score / factor).collect();
    fixed.extend(rest);
    fixed
}

fn shapiro_wilk_p(w: f64, n: usize) -> f64 {
    let size = n as f64;
    if n == 3 {
        let p = 6.0 / std::f64::consts::PI * (w.sqrt().asin() - 0.75f64.sqrt().asin());
        return p.clamp(0.0, 1.0);
    }
    let y = (1.0 - w).max(f64::MIN_POSITIVE).ln();
    let (y, mean, sd) = if n <= 11 {
        let gamma = polynomial(&[-2.273, 0.459], size);
        if y >= gamma {
            return 0.0;
        }
        let mean = polynomial(&[0.544, -0.39978, 0.025054, -6.714e-4], size);
        let sd = polynomial(&[1.3822, -0.77857, 0.062767, -0.0020322], size).exp();
        (-(gamma - y).ln(), mean, sd)
    } else {
        let log = size.ln();
        let mean = polynomial(&[-1.5861, -0.31082, -0.083751, 0.0038915], log);
        (y, mean, polynomial(&[-0.4803, -0.082676, 0.0030302], log).exp())
    };
    normal_upper((y - mean) / sd)
}

/// Coefficients of rising powers.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

/// Brown and Forsythe's test of equal variances (1974): Levene's, with medians. Groups of fewer than
/// two values are left aside.
///
/// # Errors
/// Fewer than two groups; a value that is not finite; no deviation that varies within a group.
pub fn brown_forsythe(groups: &[Vec<f64>]) -> Result<Tested, StatsError> {
    let mut deviations = Vec::new();
    for group in groups.iter().filter(|group| group.len() >= 2) {
        let values = sorted(group, 2)?;
        let median = quantile(&values, 0.5);
        deviations.push(sorted(&values.iter().map(|v| (v - median).abs()).collect::<Vec<_>>(), 2)?);
    }
    let (k, n) = (deviations.len(), deviations.iter().map(Vec::len).sum::<usize>());
    if k < 2 {
        return Err(StatsError::TooFew { need: 2, have: k });
    }
    let means: Vec<f64> = deviations.iter().map(|group| mean(group)).collect();
    let of_all = deviations.iter().flatten().sum::<f64>() / n as f64;
    let parts = deviations.iter().zip(&means);
    let between: f64 =
        parts.clone().map(|(group, mean)| group.len() as f64 * (mean - of_all).powi(2)).sum();
    let within: f64 = parts.map(|(group, mean)| squares(group, *mean)).sum();
    if n <= k || within <= 0.0 {
        return Err(StatsError::NoVariation);
    }
    let (d1, d2) = ((k - 1) as f64, (n - k) as f64);
    let f = between / d1 / (within / d2);
    Ok(Tested { statistic: f, p: f_upper(f, d1, d2) })
}
