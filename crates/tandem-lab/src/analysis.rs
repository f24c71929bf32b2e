//! From records to what a report shows: summaries, comparisons and sentences, as plain data.
//!
//! Nothing is dropped in silence. Runs that failed, were skipped, or did not yield the figure are
//! counted where their bar would be, factors that a figure does not name become panels instead of
//! being mixed into one mean, and flags of the checklist go with the values that they concern.

mod figure;
pub(crate) mod judge;
mod quantity;
mod runs;
mod select;
pub(crate) mod text;
mod variance;

use serde::Serialize;

use crate::record::Record;
use crate::stats::Level;
use crate::study::Study;

pub use figure::{Bar, Best, FigureData, Group, Panel, Value, figure};
pub use judge::Test;
pub use quantity::{Better, Quantity, quantity};
pub use runs::{FlagCount, Missing, Runs};
pub use variance::{AnovaData, AnovaPanel, Checks, Pair, RankTest, variance};

/// How to judge.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Options {
    /// Level of confidence of intervals; what is left of 1 is the error that tests may make.
    pub level: Level,
    /// Width of the mean's interval that is to be reached, as a share of the mean.
    pub width: f64,
}

impl Default for Options {
    fn default() -> Options {
        Options { level: Level::P95, width: 0.1 }
    }
}

/// A study's results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyData {
    /// The study's name.
    pub study: String,
    /// In a line.
    pub title: String,
    /// The question that it answers.
    pub question: String,
    /// Whose study it repeats.
    pub source: Option<String>,
    /// The scales that records are of.
    pub scales: Vec<String>,
    /// How it was judged.
    pub options: Options,
    /// What came of the runs.
    pub runs: Runs,
    /// The figures, in the study's order.
    pub figures: Vec<FigureData>,
    /// The analyses of variance, in the study's order.
    pub anovas: Vec<AnovaData>,
}

/// Analyses a study. Records of other studies are left aside.
pub fn analyse(study: &Study, records: &[Record], options: &Options) -> StudyData {
    let own: Vec<&Record> = records.iter().filter(|record| record.study == study.name).collect();
    let mut scales: Vec<String> = own.iter().map(|record| record.scale.clone()).collect();
    scales.sort();
    scales.dedup();
    StudyData {
        study: study.name.clone(),
        title: study.title.clone(),
        question: study.question.clone(),
        source: study.source.clone(),
        scales,
        options: *options,
        runs: Runs::of(own.iter().copied()),
        figures: study.figure.iter().map(|f| figure(study, f, records, options)).collect(),
        anovas: study.anova.iter().map(|a| variance(study, a, records, options)).collect(),
    }
}
