//! Statistics of measurements, after Jain, "The Art of Computer Systems Performance Analysis" (1991),
//! chapters 12 to 15 and 20 to 23, and what tests of assumptions and small samples need beyond it.
//!
//! Functions take plain numbers and know nothing of records. Values are put in order before they are
//! added up, so that no result depends on the order in which they were measured.

pub mod bootstrap;
pub mod check;
pub mod distribution;
pub mod factorial;
pub mod interval;
pub mod multiple;
pub mod rank;
pub mod ratio;
pub mod regression;
pub mod summary;

use serde::{Deserialize, Serialize};

pub use interval::Interval;
pub use summary::Summary;

/// Statistics that cannot be computed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StatsError {
    /// Fewer values than the method needs.
    #[error("{have} values, and at least {need} are needed")]
    TooFew {
        /// At least so many.
        need: usize,
        /// So many there are.
        have: usize,
    },
    /// A value is infinite or not a number.
    #[error("a value is not a finite number")]
    NotFinite,
    /// More values than the method is good for.
    #[error("{have} values, and at most {most} are possible")]
    TooMany {
        /// At most so many.
        most: usize,
        /// So many there are.
        have: usize,
    },
    /// All values are equal.
    #[error("the values do not vary")]
    NoVariation,
    /// A design that cannot be analysed.
    #[error(
        "a design needs 1 to {factors} factors of two levels or more, with at most {cells} cells"
    )]
    Shape {
        /// Most factors.
        factors: usize,
        /// Most cells.
        cells: usize,
    },
    /// An observation has levels that the design does not have.
    #[error("an observation does not fit the design's factors")]
    Observation,
    /// A combination of levels was not measured.
    #[error("no value for {0}: the design is not a full factorial one")]
    EmptyCell(String),
    /// No combination of levels was measured twice.
    #[error("no combination of levels was measured twice: errors cannot be told from interactions")]
    NoReplication,
    /// Not a level of confidence.
    #[error("{0} is not a level of confidence (above 0, below 1)")]
    Level(f64),
}

/// A level of confidence, above 0 and below 1: 0.95.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Level(f64);

impl Level {
    /// 95 %.
    pub const P95: Level = Level(0.95);

    /// A level.
    ///
    /// # Errors
    /// [`StatsError::Level`].
    pub fn new(level: f64) -> Result<Level, StatsError> {
        if level > 0.0 && level < 1.0 { Ok(Level(level)) } else { Err(StatsError::Level(level)) }
    }

    /// As a number.
    pub fn get(self) -> f64 {
        self.0
    }

    /// What is left to error: 0.05.
    pub fn error(self) -> f64 {
        1.0 - self.0
    }
}

impl TryFrom<f64> for Level {
    type Error = StatsError;

    fn try_from(level: f64) -> Result<Level, StatsError> {
        Level::new(level)
    }
}

impl From<Level> for f64 {
    fn from(level: Level) -> f64 {
        level.0
    }
}

/// The values in order.
fn sorted(values: &[f64], need: usize) -> Result<Vec<f64>, StatsError> {
    if values.len() < need {
        return Err(StatsError::TooFew { need, have: values.len() });
    }
    if values.iter().any(|value| !value.is_finite()) {
        return Err(StatsError::NotFinite);
    }
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    Ok(values)
}

/// Mean of values that are in order, kept between the least and the greatest.
fn mean(sorted: &[f64]) -> f64 {
    let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
    mean.clamp(sorted[0], sorted[sorted.len() - 1])
}

/// Sum of the squared deviations from `mean`.
fn squares(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|value| (value - mean).powi(2)).sum()
}
