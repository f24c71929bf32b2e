//! Full factorial designs with replications: Jain's chapters 20 (one factor), 22 (two) and 23 (more).
//!
//! With as many runs in every cell, the sums of squares are Jain's. With unequal numbers they are those
//! of hypotheses about the cells' unweighted means (Type III, weighted squares of means): the tests stay
//! exact, but the sums no longer add up to the total, and [`Anova::balanced`] says so. A design with an
//! empty cell, or without any cell that was run twice, is refused.

mod sums;

use serde::Serialize;

use super::distribution::{f_above, f_upper, t_two_sided};
use super::{Interval, Level, StatsError, mean, sorted, squares};

/// Most factors.
const FACTORS: usize = 6;
/// Most cells; the work grows with the third power when replications are unequal.
const CELLS: usize = 1_000;

/// What is varied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// Its levels, two or more.
    pub levels: Vec<String>,
}

/// Factors, and the values of every combination of their levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    factors: Vec<Factor>,
    /// In order; the last factor's level changes fastest.
    cells: Vec<Vec<f64>>,
}

/// An analysis of variance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Anova {
    /// The factors.
    pub factors: Vec<Factor>,
    /// Level of confidence.
    pub level: Level,
    /// Number of values.
    pub n: usize,
    /// Fewest values in a cell.
    pub fewest: usize,
    /// Most values in a cell.
    pub most: usize,
    /// Has every cell as many values? Only then do the sums of squares add up.
    pub balanced: bool,
    /// The mean of the cells' means, as an effect.
    pub mean: Effect,
    /// Main effects, then interactions of rising order.
    pub terms: Vec<Term>,
    /// What the factors do not explain.
    pub error: ErrorTerm,
    /// Sum of the squared values (SSY).
    pub ssy: f64,
    /// Of the mean (SS0).
    pub ss0: f64,
    /// Total variation (SST).
    pub sst: f64,
    /// Share of the variation that factors and interactions explain together, 0 to 1; none when there is
    /// no variation at all.
    pub explained: Option<f64>,
    /// Cells in order.
    pub cells: Vec<Cell>,
}

/// A factor or an interaction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Term {
    /// One factor, or those that interact.
    pub factors: Vec<String>,
    /// Sum of squares.
    pub ss: f64,
    /// Share of the total variation, 0 to 1; none when there is none.
    pub share: Option<f64>,
    /// Degrees of freedom.
    pub dof: usize,
    /// Mean square.
    pub ms: f64,
    /// Mean square by that of the errors; none when no cell varies.
    pub f: Option<f64>,
    /// The quantile of F that it is held against.
    pub critical: f64,
    /// Probability of such an F if the term had no effect; none when no cell varies.
    pub p: Option<f64>,
    /// Effects of the levels, or combinations of levels.
    pub effects: Vec<Effect>,
}

/// By how much a level, or a combination of levels, lies above the mean and lower effects.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// The level of each of the term's factors.
    pub levels: Vec<String>,
    /// The effect.
    pub value: f64,
    /// Its standard deviation.
    pub sd: f64,
    /// Its interval.
    pub interval: Interval,
}

/// The errors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ErrorTerm {
    /// Sum of squares (SSE).
    pub ss: f64,
    /// Share of the total variation, 0 to 1; none when there is none.
    pub share: Option<f64>,
    /// Degrees of freedom.
    pub dof: usize,
    /// Mean square.
    pub ms: f64,
    /// Standard deviation of errors.
    pub sd: f64,
}

/// A combination of levels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// The level of every factor.
    pub levels: Vec<String>,
    /// What the model predicts: the mean.
    pub mean: f64,
    /// Values minus mean, in order.
    pub residuals: Vec<f64>,
}

impl Design {
    /// From observations: the place of each factor's level, and the value.
    ///
    /// # Errors
    /// No factor, too many, or one with fewer than two levels; an observation that does not fit the
    /// factors; an empty cell; no cell with two values; a value that is not finite.
    pub fn new(
        factors: Vec<Factor>,
        observations: impl IntoIterator<Item = (Vec<usize>, f64)>,
    ) -> Result<Design, StatsError> {
        let cells = factors.iter().try_fold(1usize, |n, factor| n.checked_mul(factor.levels.len()));
        let shape = !factors.is_empty() && factors.iter().all(|factor| factor.levels.len() >= 2);
        let Some(cells) = cells.filter(|&n| shape && n <= CELLS && factors.len() <= FACTORS) else {
            return Err(StatsError::Shape { factors: FACTORS, cells: CELLS });
        };
        let mut design = Design { factors, cells: vec![Vec::new(); cells] };
        for (levels, value) in observations {
            let at = design.place(&levels).ok_or(StatsError::Observation)?;
            design.cells[at].push(value);
        }
        if let Some(at) = design.cells.iter().position(Vec::is_empty) {
            return Err(StatsError::EmptyCell(design.names(at).join(", ")));
        }
        if design.cells.iter().all(|cell| cell.len() == 1) {
            return Err(StatsError::NoReplication);
        }
        design.cells = design.cells.iter().map(|cell| sorted(cell, 1)).collect::<Result<_, _>>()?;
        Ok(design)
    }

    /// Values by cell, in order.
    pub fn cells(&self) -> &[Vec<f64>] {
        &self.cells
    }

    /// The factors.
    pub fn factors(&self) -> &[Factor] {
        &self.factors
    }

    /// Where the cell with these levels is.
    fn place(&self, levels: &[usize]) -> Option<usize> {
        let fits = levels.len() == self.factors.len();
        let step = |at: usize, (factor, &level): (&Factor, &usize)| {
            (level < factor.levels.len()).then(|| at * factor.levels.len() + level)
        };
        self.factors.iter().zip(levels).try_fold(0, step).filter(|_| fits)
    }

    /// Places of the levels of a cell.
    pub fn levels(&self, cell: usize) -> Vec<usize> {
        let mut rest = cell;
        let mut levels: Vec<usize> = self
            .factors
            .iter()
            .rev()
            .map(|factor| {
                let level = rest % factor.levels.len();
                rest /= factor.levels.len();
                level
            })
            .collect();
        levels.reverse();
        levels
    }

    fn names(&self, cell: usize) -> Vec<String> {
        let levels = self.levels(cell);
        self.factors.iter().zip(levels).map(|(factor, at)| factor.levels[at].clone()).collect()
    }

    /// The analysis of variance.
    pub fn analyse(&self, level: Level) -> Anova {
        let means: Vec<f64> = self.cells.iter().map(|cell| mean(cell)).collect();
        let n: usize = self.cells.iter().map(Vec::len).sum();
        let all: Vec<f64> = self.cells.iter().flatten().copied().collect();
        let ssy: f64 = all.iter().map(|value| value * value).sum();
        let of_all = all.iter().sum::<f64>() / n as f64;
        let sst = nothing_below(squares(&all, of_all), ssy);
        let within: f64 =
            self.cells.iter().zip(&means).map(|(cell, mean)| squares(cell, *mean)).sum();
        let error = error_term(nothing_below(within, ssy), n - self.cells.len(), sst);
        let judge = Judge { design: self, means: &means, error, sst, level };
        let (fewest, most) =
            (self.cells.iter().map(Vec::len).min(), self.cells.iter().map(Vec::len).max());
        Anova {
            factors: self.factors.clone(),
            level,
            n,
            fewest: fewest.unwrap_or(0),
            most: most.unwrap_or(0),
            balanced: fewest == most,
            mean: judge.effect(0, &[]),
            terms: self.terms().into_iter().map(|term| judge.term(term)).collect(),
            error,
            ssy,
            ss0: n as f64 * of_all * of_all,
            sst,
            explained: error.share.map(|share| 1.0 - share),
            cells: (0..self.cells.len()).map(|at| self.cell(at, means[at])).collect(),
        }
    }

    fn cell(&self, at: usize, mean: f64) -> Cell {
        let residuals = self.cells[at].iter().map(|value| value - mean).collect();
        Cell { levels: self.names(at), mean, residuals }
    }

    /// Sets of factors as bits, main effects first.
    fn terms(&self) -> Vec<usize> {
        let mut terms: Vec<usize> = (1..1 << self.factors.len()).collect();
        terms.sort_by_key(|term: &usize| (term.count_ones(), term.reverse_bits().wrapping_neg()));
        terms
    }

    /// Which factors a term has.
    fn factors_of(&self, term: usize) -> Vec<usize> {
        (0..self.factors.len()).filter(|factor| term & (1 << factor) != 0).collect()
    }
}

/// A sum of squares, or 0 when it is no more than the rounding of sums of this size.
fn nothing_below(sum: f64, of_values: f64) -> f64 {
    if sum <= of_values * 1e-26 { 0.0 } else { sum }
}

fn error_term(ss: f64, dof: usize, sst: f64) -> ErrorTerm {
    let ms = ss / dof as f64;
    ErrorTerm { ss, share: (sst > 0.0).then(|| ss / sst), dof, ms, sd: ms.sqrt() }
}

/// What all terms of one analysis share.
struct Judge<'a> {
    design: &'a Design,
    means: &'a [f64],
    error: ErrorTerm,
    sst: f64,
    level: Level,
}

impl Judge<'_> {
    fn term(&self, term: usize) -> Term {
        let own = self.design.factors_of(term);
        let sizes: Vec<usize> = own.iter().map(|&f| self.design.factors[f].levels.len()).collect();
        let dof: usize = sizes.iter().map(|size| size - 1).product();
        let ss = nothing_below(sums::of_term(self.design, self.means, term), self.sst);
        let ms = ss / dof as f64;
        let (d1, d2) = (dof as f64, self.error.dof as f64);
        let f = (self.error.ms > 0.0).then(|| ms / self.error.ms);
        let combinations = sizes.iter().product();
        Term {
            factors: own.iter().map(|&f| self.design.factors[f].name.clone()).collect(),
            ss,
            share: (self.sst > 0.0).then(|| ss / self.sst),
            dof,
            ms,
            f,
            critical: f_above(self.level.error(), d1, d2),
            p: f.map(|f| f_upper(f, d1, d2)),
            effects: (0..combinations).map(|at| self.effect(term, &places(at, &sizes))).collect(),
        }
    }

    /// The effect of a combination of the term's levels: a contrast of the cells' means.
    fn effect(&self, term: usize, levels: &[usize]) -> Effect {
        let own = self.design.factors_of(term);
        let (mut value, mut variance) = (0.0, 0.0);
        for (at, cell) in self.design.cells.iter().enumerate() {
            let of_cell = self.design.levels(at);
            let weight: f64 = (0..of_cell.len())
                .map(|factor| {
                    let share = 1.0 / self.design.factors[factor].levels.len() as f64;
                    match own.iter().position(|f| *f == factor) {
                        Some(which) if levels[which] == of_cell[factor] => 1.0 - share,
                        Some(_) => -share,
                        None => share,
                    }
                })
                .product();
            value += weight * self.means[at];
            variance += weight * weight / cell.len() as f64;
        }
        let sd = (self.error.ms * variance).sqrt();
        let half = t_two_sided(self.level, self.error.dof as f64) * sd;
        let names = own.iter().zip(levels);
        Effect {
            levels: names.map(|(&f, &at)| self.design.factors[f].levels[at].clone()).collect(),
            value,
            sd,
            interval: Interval::around(value, half, self.level),
        }
    }
}

/// The digits of a number to these bases, the last changing fastest.
fn places(number: usize, bases: &[usize]) -> Vec<usize> {
    let mut rest = number;
    let mut digits: Vec<usize> = bases
        .iter()
        .rev()
        .map(|base| {
            let digit = rest % base;
            rest /= base;
            digit
        })
        .collect();
    digits.reverse();
    digits
}
