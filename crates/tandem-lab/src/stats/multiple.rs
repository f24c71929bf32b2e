//! Many comparisons at once.

use statrs::function::gamma::ln_gamma;

use super::Level;
use super::distribution::{normal_density, normal_upper};

/// Holm's step-down correction (1979): p-values that may each be held against the whole family's
/// error. In the order given.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut corrected = vec![1.0; p.len()];
    let mut least: f64 = 0.0;
    for (rank, &at) in order.iter().enumerate() {
        least = least.max(p[at] * (p.len() - rank) as f64).min(1.0);
        corrected[at] = least;
    }
    corrected
}

/// Probability that the range of `k` standard normal means, divided by an independent deviation with
/// `dof` degrees of freedom, is above `q` (Tukey's studentized range), to 1e-9. Both integrals are
/// trapezoidal sums, which converge exponentially for such integrands.
pub fn studentized_range_upper(q: f64, k: usize, dof: f64) -> f64 {
    if q <= 0.0 || k < 2 {
        return 1.0;
    }
    let half = dof / 2.0;
    let density = |u: f64| {
        // Of u = ln s, where dof s^2 is chi-squared.
        (std::f64::consts::LN_2 + half * half.ln() - ln_gamma(half) + dof * u
            - half * (2.0 * u).exp())
        .exp()
    };
    let width = 1.0 / (2.0 * dof).sqrt();
    let (step, first) = (width / 5.0, -(9.0 * width + 30.0 / dof));
    let last = 9.0 * width + 1.0;
    let steps = ((last - first) / step).ceil() as usize;
    let inner = |at: usize| {
        let u = first + at as f64 * step;
        let density = density(u);
        if density < 1e-18 { 0.0 } else { density * range_upper(q * u.exp(), k) }
    };
    ((0..=steps).map(inner).sum::<f64>() * step).clamp(0.0, 1.0)
}

/// Probability that the range of `k` standard normal variables is above `w`.
fn range_upper(w: f64, k: usize) -> f64 {
    const STEP: f64 = 0.125;
    let below = |at: i32| {
        let z = f64::from(at) * STEP;
        let within = normal_upper(z - w) - normal_upper(z);
        normal_density(z) * within.powi(k as i32 - 1)
    };
    1.0 - k as f64 * (-72..=72).map(below).sum::<f64>() * STEP
}

/// What the studentized range is below of with this confidence.
pub fn studentized_range(level: Level, k: usize, dof: f64) -> f64 {
    let (mut low, mut high) = (0.0, 4.0);
    while studentized_range_upper(high, k, dof) > level.error() && high < 1e6 {
        (low, high) = (high, high * 2.0);
    }
    while high - low > 1e-9 * high {
        let middle = (low + high) / 2.0;
        if studentized_range_upper(middle, k, dof) > level.error() {
            low = middle
        } else {
            high = middle
        }
    }
    high
}
