//! Tests by rank, for when values are not normal.

use super::check::Tested;
use super::distribution::{chi_squared_upper, normal_upper};
use super::{StatsError, sorted};

/// Up to so many values a test's distribution is counted out; above, it is approximated.
const COUNTED: usize = 40;

/// Mann and Whitney's test (Wilcoxon's rank sum): do values of one sample tend to be greater than the
/// other's? The statistic is U of the first. Exact for up to 40 values together, ties included; the
/// normal approximation with corrections for ties and continuity above.
///
/// # Errors
/// An empty sample; a value that is not finite.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Result<Tested, StatsError> {
    let (a, b) = (sorted(a, 1)?, sorted(b, 1)?);
    let all: Vec<f64> = a.iter().chain(&b).copied().collect();
    let ranks = twice_ranks(&all);
    let sum: usize = ranks[..a.len()].iter().sum();
    let (n, m) = (a.len() as f64, b.len() as f64);
    let u = sum as f64 / 2.0 - n * (n + 1.0) / 2.0;
    let middle = n * m / 2.0;
    let p = if all.len() <= COUNTED {
        let counts = sums_of_subsets(&ranks, a.len());
        outside(&counts, n * (n + m + 1.0), sum as f64)
    } else {
        let total = n + m;
        let variance = n * m / 12.0 * (total + 1.0 - ties(&ranks) / (total * (total - 1.0)));
        two_sided((u - middle).abs(), variance)
    };
    Ok(Tested { statistic: u, p })
}

/// Wilcoxon's signed-rank test of pairs: is the difference as often above as below 0? Pairs without a
/// difference are left aside. The statistic is the sum of the ranks of positive differences. Exact
/// for up to 40 pairs.
///
/// # Errors
/// No pair that differs; a value that is not finite.
pub fn signed_rank(differences: &[f64]) -> Result<Tested, StatsError> {
    let differences: Vec<f64> =
        sorted(differences, 1)?.into_iter().filter(|difference| *difference != 0.0).collect();
    if differences.is_empty() {
        return Err(StatsError::NoVariation);
    }
    let sizes: Vec<f64> = differences.iter().map(|difference| difference.abs()).collect();
    let ranks = twice_ranks(&sizes);
    let positive = ranks.iter().zip(&differences).filter(|(_, difference)| **difference > 0.0);
    let sum: usize = positive.map(|(rank, _)| rank).sum();
    let n = ranks.len() as f64;
    let p = if ranks.len() <= COUNTED {
        outside(&sums_of_any(&ranks), n * (n + 1.0) / 2.0, sum as f64)
    } else {
        let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties(&ranks) / 48.0;
        two_sided((sum as f64 / 2.0 - n * (n + 1.0) / 4.0).abs(), variance)
    };
    Ok(Tested { statistic: sum as f64 / 2.0, p })
}

/// H of Kruskal and Wallis and its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KruskalWallis {
    /// H, corrected for ties.
    pub h: f64,
    /// Groups minus one.
    pub dof: f64,
    /// p-value by the chi-squared approximation.
    pub p: f64,
}

/// Kruskal and Wallis' test: do values of some group tend to be greater? Empty groups are left aside.
///
/// # Errors
/// Fewer than two groups; a value that is not finite; all values equal.
pub fn kruskal_wallis(groups: &[Vec<f64>]) -> Result<KruskalWallis, StatsError> {
    let groups: Vec<&Vec<f64>> = groups.iter().filter(|group| !group.is_empty()).collect();
    if groups.len() < 2 {
        return Err(StatsError::TooFew { need: 2, have: groups.len() });
    }
    let all: Vec<f64> = groups.iter().flat_map(|group| group.iter().copied()).collect();
    sorted(&all, 2)?;
    let ranks = twice_ranks(&all);
    let n = all.len() as f64;
    let correction = 1.0 - ties(&ranks) / (n * n * n - n);
    if correction <= 0.0 {
        return Err(StatsError::NoVariation);
    }
    let mut rest = &ranks[..];
    let mut sum = 0.0;
    for group in &groups {
        let (own, others) = rest.split_at(group.len());
        let mean = own.iter().sum::<usize>() as f64 / 2.0 / group.len() as f64;
        sum += group.len() as f64 * (mean - (n + 1.0) / 2.0).powi(2);
        rest = others;
    }
    let h = 12.0 / (n * (n + 1.0)) * sum / correction;
    let dof = (groups.len() - 1) as f64;
    Ok(KruskalWallis { h, dof, p: chi_squared_upper(h, dof) })
}

/// Twice the rank of each value; equal values share their mean rank, so that twice it is whole.
fn twice_ranks(values: &[f64]) -> Vec<usize> {
    let below = |value: &f64| values.iter().filter(|other| *other < value).count();
    let equal = |value: &f64| values.iter().filter(|other| *other == value).count();
    values.iter().map(|value| 2 * below(value) + equal(value) + 1).collect()
}

/// Sum of t^3 - t over the groups of t equal ranks.
fn ties(ranks: &[usize]) -> f64 {
    let of = |rank: &usize| {
        let t = ranks.iter().filter(|other| *other == rank).count() as f64;
        t * t - 1.0
    };
    ranks.iter().map(of).sum()
}

/// How many subsets of this size have each sum.
fn sums_of_subsets(ranks: &[usize], size: usize) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    let mut counts = vec![vec![0.0; most + 1]; size + 1];
    counts[0][0] = 1.0;
    for rank in ranks {
        for taken in (1..=size).rev() {
            let (before, after) = counts.split_at_mut(taken);
            for sum in *rank..=most {
                after[0][sum] += before[taken - 1][sum - rank];
            }
        }
    }
    counts.swap_remove(size)
}

/// How many subsets of any size have each sum.
fn sums_of_any(ranks: &[usize]) -> Vec<f64> {
    let mut counts = vec![0.0; ranks.iter().sum::<usize>() + 1];
    counts[0] = 1.0;
    for rank in ranks {
        for sum in (*rank..counts.len()).rev() {
            counts[sum] += counts[sum - rank];
        }
    }
    counts
}

/// Share of what is at least as far from the middle as what was seen.
fn outside(counts: &[f64], middle: f64, seen: f64) -> f64 {
    let far = (seen - middle).abs();
    let beyond = counts.iter().enumerate().filter(|(sum, _)| (*sum as f64 - middle).abs() >= far);
    beyond.map(|(_, count)| count).sum::<f64>() / counts.iter().sum::<f64>()
}

/// By the normal distribution, with the correction for continuity.
fn two_sided(distance: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    (2.0 * normal_upper((distance - 0.5).max(0.0) / variance.sqrt())).min(1.0)
}
