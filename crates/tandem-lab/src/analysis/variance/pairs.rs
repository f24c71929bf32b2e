//! Which levels of a factor differ, corrected for the number of pairs (Tukey and Kramer).

use serde::Serialize;

use crate::stats::factorial::{Anova, Design, Factor};
use crate::stats::multiple::{studentized_range, studentized_range_upper};
use crate::stats::{Interval, Level};

/// Two levels of a factor, averaged over all other factors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// The factor.
    pub factor: String,
    /// One level.
    pub a: String,
    /// Another.
    pub b: String,
    /// Mean of `a` minus mean of `b`; a ratio's natural logarithm when logarithms are explained.
    pub difference: f64,
    /// Its interval; all pairs of the factor hold together at the level.
    pub interval: Interval,
    /// p-value, corrected likewise.
    pub p: f64,
}

/// All pairs of levels; none when no cell varies.
pub(super) fn of(design: &Design, table: &Anova, level: Level) -> Vec<Pair> {
    if table.error.ms <= 0.0 {
        return Vec::new();
    }
    let factors = design.factors().iter().enumerate();
    factors.flat_map(|(at, factor)| of_factor(design, table, level, at, factor)).collect()
}

fn of_factor(
    design: &Design,
    table: &Anova,
    level: Level,
    at: usize,
    factor: &Factor,
) -> Vec<Pair> {
    let levels = factor.levels.len();
    let mut means = vec![(0.0, 0.0); levels];
    for (place, cell) in table.cells.iter().enumerate() {
        let own = design.levels(place)[at];
        means[own].0 += cell.mean;
        means[own].1 += 1.0 / cell.residuals.len() as f64;
    }
    let others = (table.cells.len() / levels) as f64;
    let dof = table.error.dof as f64;
    let critical = studentized_range(level, levels, dof);
    let mut pairs = Vec::new();
    for a in 0..levels {
        for b in a + 1..levels {
            let difference = (means[a].0 - means[b].0) / others;
            let sd = (table.error.ms / 2.0 * (means[a].1 + means[b].1)).sqrt() / others;
            pairs.push(Pair {
                factor: factor.name.clone(),
                a: factor.levels[a].clone(),
                b: factor.levels[b].clone(),
                difference,
                interval: Interval::around(difference, critical * sd, level),
                p: studentized_range_upper((difference / sd).abs(), levels, dof),
            });
        }
    }
    pairs
}
