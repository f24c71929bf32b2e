//! Two sets of results beside one another: before and after a change, this machine and that.
//!
//! Every configuration, phase and metric that both have is compared; p-values are corrected for the
//! number of comparisons (Holm), so that a verdict means the same for ten of them and for a thousand.

#[cfg(test)]
mod tests;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::analysis::judge::judge;
use crate::analysis::{Better, Quantity, Runs, Test, quantity};
use crate::record::{Levels, Metric, Record, Status};
use crate::stats::check::Tested;
use crate::stats::multiple::holm;
use crate::stats::rank::signed_rank;
use crate::stats::ratio::Ratio;
use crate::stats::regression::Line;
use crate::stats::{Interval, Level, Summary};

/// How to compare.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Options {
    /// Level of confidence of intervals; what is left of 1 is the error of all verdicts together.
    pub level: Level,
    /// Smallest change that counts as better or worse, as a share: 0.05 is 5 %.
    pub threshold: f64,
    /// What is compared; the application's time and disk time when empty. Each metric more makes the
    /// correction stronger.
    pub metrics: Vec<Metric>,
}

impl Default for Options {
    fn default() -> Options {
        Options { level: Level::P95, threshold: 0.05, metrics: Vec::new() }
    }
}

/// What a comparison says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Shown to be worse, by the threshold or more.
    Regressed,
    /// Shown to be better, by the threshold or more.
    Improved,
    /// Shown to differ by the threshold or more, in a metric that has no better direction.
    Changed,
    /// No difference of the threshold's size shown. This does not show that there is none.
    NoDifference,
    /// Fewer than two runs on a side, or nothing to divide by.
    NotComparable,
}

/// One configuration, phase and metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The study.
    pub study: String,
    /// The scale.
    pub scale: String,
    /// The level of every factor.
    pub levels: Levels,
    /// Bound on memory, in bytes, if there was one.
    pub memory: Option<u64>,
    /// The phase.
    pub phase: String,
    /// The metric.
    pub metric: Metric,
    /// The metric in words.
    pub quantity: Quantity,
    /// The first set's values.
    pub before: Summary,
    /// The second set's.
    pub after: Summary,
    /// The change of the mean as a share of the first: 0.1 is 10 % more.
    pub change: Option<f64>,
    /// The change's interval, for itself.
    pub interval: Option<Interval>,
    /// How it was tested.
    pub test: Option<Test>,
    /// Two-sided p-value of no difference.
    pub p: Option<f64>,
    /// The same, corrected for all comparisons.
    pub p_corrected: Option<f64>,
    /// What follows.
    pub verdict: Verdict,
}

/// The line through the means of one metric: after = intercept + slope x before.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricLine {
    /// The metric.
    pub metric: Metric,
    /// The metric in words.
    pub quantity: Quantity,
    /// (before, after) of each configuration and phase.
    pub points: Vec<(f64, f64)>,
    /// The line; none with fewer than three points or when all are equal before.
    pub line: Option<Line>,
    /// Geometric mean of after by before, over points where both are positive.
    pub ratio: Option<f64>,
    /// Does it differ from 1 (Wilcoxon's signed ranks of the ratios' logarithms)?
    pub shift: Option<Tested>,
}

/// Which configuration, of which study.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Configuration {
    /// The study.
    pub study: String,
    /// The scale.
    pub scale: String,
    /// The level of every factor.
    pub levels: Levels,
    /// Bound on memory, in bytes, if there was one: with another one it is another configuration.
    pub memory: Option<u64>,
}

/// Two sets of results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// How they were compared.
    pub options: Options,
    /// What came of the first set's runs.
    pub before: Runs,
    /// What came of the second's.
    pub after: Runs,
    /// Configurations with a result in the first set only.
    pub only_before: Vec<Configuration>,
    /// Configurations with a result in the second set only.
    pub only_after: Vec<Configuration>,
    /// Everything that both have, worst verdict first.
    pub rows: Vec<Row>,
    /// A line for each metric.
    pub lines: Vec<MetricLine>,
    /// Tests that p-values are corrected for.
    pub comparisons: usize,
}

impl Comparison {
    /// The whole: regressed if anything has, otherwise improved or changed if anything has. Not
    /// comparable when no row is.
    pub fn verdict(&self) -> Verdict {
        self.rows.iter().map(|row| row.verdict).min().unwrap_or(Verdict::NotComparable)
    }

    /// Rows with a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// As plain text: a table of what differs (of everything when `all`), lines, counts.
    pub fn text(&self, all: bool) -> String {
        text::render(self, all)
    }
}

/// Compares two sets of results. Only measured phases of runs that came to their end count.
pub fn compare(before: &[Record], after: &[Record], options: &Options) -> Comparison {
    let metrics = if options.metrics.is_empty() {
        vec![Metric::Seconds, Metric::IoSeconds]
    } else {
        options.metrics.clone()
    };
    let (first, second) = (samples(before, &metrics), samples(after, &metrics));
    let mut rows: Vec<Row> = first
        .iter()
        .filter_map(|(key, values)| row(key, values, second.get(key)?, options.level))
        .collect();
    let p: Vec<f64> = rows.iter().filter_map(|row| row.p).collect();
    let mut corrected = holm(&p).into_iter();
    for row in &mut rows {
        row.p_corrected = row.p.and_then(|_| corrected.next());
        row.verdict = verdict(row, options);
    }
    let lines = metrics.iter().map(|metric| line(metric, &rows, options.level)).collect();
    rows.sort_by(|a, b| a.verdict.cmp(&b.verdict).then_with(|| size(b).total_cmp(&size(a))));
    let (ours, theirs) = (configurations(before), configurations(after));
    Comparison {
        options: Options { metrics, ..options.clone() },
        before: Runs::of(before.iter()),
        after: Runs::of(after.iter()),
        only_before: ours.difference(&theirs).cloned().collect(),
        only_after: theirs.difference(&ours).cloned().collect(),
        rows,
        lines,
        comparisons: p.len(),
    }
}

/// Configuration, phase and metric.
type Key = (Configuration, String, Metric);

fn configuration(record: &Record) -> Configuration {
    let Record { study, scale, levels, memory, .. } = record.clone();
    Configuration { study, scale, levels, memory }
}

fn configurations(records: &[Record]) -> BTreeSet<Configuration> {
    records.iter().filter(|record| record.status == Status::Done).map(configuration).collect()
}

fn samples(records: &[Record], metrics: &[Metric]) -> BTreeMap<Key, Vec<f64>> {
    let mut samples: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.status == Status::Done) {
        for phase in record.phases.iter().filter(|phase| phase.measured) {
            for metric in metrics {
                if let Some(value) = phase.metric(metric).filter(|value| value.is_finite()) {
                    let key = (configuration(record), phase.name.clone(), metric.clone());
                    samples.entry(key).or_default().push(value);
                }
            }
        }
    }
    samples
}

fn row(key: &Key, before: &[f64], after: &[f64], level: Level) -> Option<Row> {
    let (Configuration { study, scale, levels, memory }, phase, metric) = key.clone();
    let judged = judge(after, before, level);
    let less_one = |interval: Interval| Interval {
        low: interval.low - 1.0,
        high: interval.high - 1.0,
        ..interval
    };
    let (test, p) = judged.test.unzip();
    Some(Row {
        study,
        scale,
        levels,
        memory,
        phase,
        quantity: quantity(&metric),
        metric,
        before: Summary::of(before, level).ok()?,
        after: Summary::of(after, level).ok()?,
        change: judged.ratio.map(|ratio: Ratio| ratio.value - 1.0),
        interval: judged.ratio.and_then(|ratio| ratio.interval).map(less_one),
        test,
        p,
        p_corrected: None,
        verdict: Verdict::NotComparable,
    })
}

fn verdict(row: &Row, options: &Options) -> Verdict {
    let (Some(change), Some(p)) = (row.change, row.p_corrected) else {
        return Verdict::NotComparable;
    };
    if p >= options.level.error() || change == 0.0 || change.abs() < options.threshold {
        return Verdict::NoDifference;
    }
    match (row.quantity.better, change > 0.0) {
        (Better::Lower, true) | (Better::Higher, false) => Verdict::Regressed,
        (Better::Lower, false) | (Better::Higher, true) => Verdict::Improved,
        (Better::Neither, _) => Verdict::Changed,
    }
}

fn size(row: &Row) -> f64 {
    row.change.map_or(0.0, f64::abs)
}

fn line(metric: &Metric, rows: &[Row], level: Level) -> MetricLine {
    let own = rows.iter().filter(|row| row.metric == *metric);
    let points: Vec<(f64, f64)> = own.map(|row| (row.before.mean, row.after.mean)).collect();
    let positive = points.iter().filter(|(before, after)| *before > 0.0 && *after > 0.0);
    let logs: Vec<f64> = positive.map(|(before, after)| (after / before).ln()).collect();
    let mean = (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64);
    MetricLine {
        ratio: mean.map(f64::exp),
        shift: signed_rank(&logs).ok(),
        metric: metric.clone(),
        quantity: quantity(metric),
        line: Line::fit(&points, level).ok(),
        points,
    }
}
