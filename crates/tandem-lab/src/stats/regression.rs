//! Simple linear regression (Jain, chapter 14).

use serde::Serialize;

use super::distribution::{t_outside, t_two_sided};
use super::{Interval, Level, StatsError};

/// A line through points.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// Number of points.
    pub n: usize,
    /// Rise of y for each x.
    pub slope: f64,
    /// The slope's interval.
    pub slope_interval: Interval,
    /// p-value of a slope of 0.
    pub slope_p: f64,
    /// y where x is 0.
    pub intercept: f64,
    /// The intercept's interval.
    pub intercept_interval: Interval,
    /// Share of y's variation that the line explains (coefficient of determination), 0 to 1.
    pub explained: f64,
    /// Standard deviation of errors.
    pub sd: f64,
    mean: f64,
    squares: f64,
}

impl Line {
    /// By least squares.
    ///
    /// # Errors
    /// Fewer than three points; a value that is not finite; all x equal.
    pub fn fit(points: &[(f64, f64)], level: Level) -> Result<Line, StatsError> {
        if points.len() < 3 {
            return Err(StatsError::TooFew { need: 3, have: points.len() });
        }
        if points.iter().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
            return Err(StatsError::NotFinite);
        }
        let mut points = points.to_vec();
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let n = points.len() as f64;
        let mean_x = points.iter().map(|point| point.0).sum::<f64>() / n;
        let mean_y = points.iter().map(|point| point.1).sum::<f64>() / n;
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|(x, y)| of(x - mean_x, y - mean_y)).sum()
        };
        let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
        if xx <= 0.0 {
            return Err(StatsError::NoVariation);
        }
        let slope = xy / xx;
        let intercept = mean_y - slope * mean_x;
        let errors = sum(&|x, y| (y - slope * x).powi(2));
        let dof = n - 2.0;
        let sd = (errors / dof).sqrt();
        let (of_slope, t) = (sd / xx.sqrt(), t_two_sided(level, dof));
        let of_intercept = sd * (1.0 / n + mean_x * mean_x / xx).sqrt();
        Ok(Line {
            n: points.len(),
            slope,
            slope_interval: Interval::around(slope, t * of_slope, level),
            slope_p: if of_slope > 0.0 {
                t_outside(slope / of_slope, dof)
            } else {
                f64::from(slope == 0.0)
            },
            intercept,
            intercept_interval: Interval::around(intercept, t * of_intercept, level),
            explained: if yy > 0.0 { 1.0 - errors / yy } else { 1.0 },
            sd,
            mean: mean_x,
            squares: xx,
        })
    }

    /// The line at `x`, with the interval of the mean there.
    pub fn at(&self, x: f64) -> (f64, Interval) {
        let level = self.slope_interval.level;
        let y = self.intercept + self.slope * x;
        let spread = (1.0 / self.n as f64 + (x - self.mean).powi(2) / self.squares).sqrt();
        let half = t_two_sided(level, self.n as f64 - 2.0) * self.sd * spread;
        (y, Interval::around(y, half, level))
    }
}
