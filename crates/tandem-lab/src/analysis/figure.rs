//! Figures: bars beside one another, in groups (phases) and panels, with their intervals.

mod best;
mod compare;
mod sentences;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;

use super::judge::Test;
use super::quantity::{Quantity, quantity};
use super::runs::{FlagCount, Runs, count_flags};
use super::select::Selection;
use super::{Options, text};
use crate::record::{Levels, Metric, Record, Status};
use crate::stats::Summary;
use crate::stats::check::shapiro_wilk;
use crate::stats::interval::runs_needed;
use crate::stats::ratio::Ratio;
use crate::study::{Figure, Study};

/// What a figure shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FigureData {
    /// Its heading.
    pub title: String,
    /// What is drawn.
    pub metric: Metric,
    /// The metric in words.
    pub quantity: Quantity,
    /// The factor whose levels are bars.
    pub by: String,
    /// Its levels, in the order of the bars.
    pub levels: Vec<String>,
    /// The factors whose levels make panels: those that the study names, and whatever else varies.
    pub panel_factors: Vec<String>,
    /// The groups within a panel.
    pub phases: Vec<String>,
    /// Are bars to be drawn divided by the baseline's?
    pub normalized: bool,
    /// What others are compared with, if the study says.
    pub baseline: Option<Levels>,
    /// How it was judged.
    pub options: Options,
    /// How many comparisons with the baseline the corrected p-values are corrected for.
    pub comparisons: usize,
    /// The paper's own values, as the file of published values calls them.
    pub published: Option<String>,
    /// The panels.
    pub panels: Vec<Panel>,
    /// What was found over all panels, in sentences.
    pub sentences: Vec<String>,
    /// What a reader must know: runs without this metric, phases that no run has, added panels.
    pub notes: Vec<String>,
}

/// One panel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Panel {
    /// Levels of the panel factors.
    pub levels: Levels,
    /// A group for each phase that its runs have.
    pub groups: Vec<Group>,
}

/// The bars of a phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// The phase.
    pub phase: String,
    /// A bar for each level.
    pub bars: Vec<Bar>,
    /// Whose mean is the best.
    pub best: Option<Best>,
    /// What was found here, in a sentence.
    pub sentence: Option<String>,
}

/// The bar with the best mean of a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Best {
    /// Its level.
    pub level: String,
    /// The level of the second best.
    pub next: String,
    /// The largest p-value of its tests against each other bar: all must tell it from them. None when one
    /// cannot be made.
    pub p: Option<f64>,
    /// The same, corrected for the figure's number of groups (Holm).
    pub p_corrected: Option<f64>,
}

/// One level in one phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Bar {
    /// The level of the figure's factor.
    pub level: String,
    /// The level of every factor that the panel or the bar fixes.
    pub levels: Levels,
    /// Is it what others are compared with?
    pub baseline: bool,
    /// What was measured, in the order of the runs.
    pub values: Vec<Value>,
    /// Of the values; none without values.
    pub summary: Option<Summary>,
    /// Of the time to flush, for metrics that are times of the application.
    pub flush: Option<Summary>,
    /// The mean divided by the baseline's.
    pub ratio: Option<Ratio>,
    /// How it was tested against the baseline.
    pub test: Option<Test>,
    /// Two-sided p-value of no difference from the baseline.
    pub p: Option<f64>,
    /// The same, corrected for the figure's number of comparisons (Holm).
    pub p_corrected: Option<f64>,
    /// p-value of normally distributed values (Shapiro and Wilk), of three values or more.
    pub normality: Option<f64>,
    /// How many runs the wanted width of the interval needs, by these runs' deviation; none when it is more
    /// than 1,000 or cannot be told.
    pub runs_needed: Option<usize>,
    /// Why there is no value: the study leaves it out, it failed, nothing was run.
    pub absent: Option<String>,
    /// Runs of this configuration.
    pub runs: Runs,
    /// Flags that concern this phase.
    pub flags: Vec<FlagCount>,
    /// What was found, in a sentence.
    pub sentence: Option<String>,
}

/// One run's value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Value {
    /// The run.
    pub id: String,
    /// Its repetition.
    pub repetition: u32,
    /// Its place among all runs.
    pub order: u32,
    /// What was measured.
    pub value: f64,
}

/// More runs than this are not asked for.
const MOST_RUNS: usize = 1_000;

/// Computes a figure.
pub fn figure(study: &Study, figure: &Figure, records: &[Record], options: &Options) -> FigureData {
    let selection = Selection::of(study, records);
    let mut data = FigureData {
        title: figure.title.clone(),
        metric: figure.metric.clone(),
        quantity: quantity(&figure.metric),
        by: figure.by.clone(),
        levels: selection.levels(&figure.by),
        panel_factors: panel_factors(figure, &selection),
        phases: selection.phases(&figure.phases),
        normalized: figure.normalized,
        baseline: (!study.baseline.is_empty()).then(|| study.baseline.clone()),
        options: *options,
        comparisons: 0,
        published: figure.published.clone(),
        panels: Vec::new(),
        sentences: Vec::new(),
        notes: Vec::new(),
    };
    for levels in selection.combinations(&data.panel_factors) {
        let group = |phase: &String| {
            let bar = |level: &String| bar(&data, &selection, &levels, level, phase);
            let bars = data.levels.iter().map(bar).collect();
            Group { phase: phase.clone(), bars, best: None, sentence: None }
        };
        let phases = data.phases.iter().filter(|phase| is_part(&selection, &levels, phase));
        let groups = phases.map(group).collect();
        data.panels.push(Panel { levels, groups });
    }
    compare::with_baseline(&mut data);
    best::enter(&mut data);
    notes(figure, &mut data);
    sentences::write(&mut data);
    data
}

/// May runs of this panel have the phase? Those of another workload do not.
fn is_part(selection: &Selection, panel: &Levels, phase: &str) -> bool {
    let mut done = selection.with(panel).filter(|record| record.status == Status::Done).peekable();
    done.peek().is_none() || done.any(|record| record.phases.iter().any(|own| own.name == *phase))
}

/// The factors that the figure names, then all others that vary.
fn panel_factors(figure: &Figure, selection: &Selection) -> Vec<String> {
    let mut factors = figure.panels.clone();
    factors.retain(|factor| *factor != figure.by);
    for factor in selection.varying() {
        if factor != figure.by && !factors.contains(&factor) {
            factors.push(factor);
        }
    }
    factors
}

fn bar(data: &FigureData, from: &Selection, panel: &Levels, level: &str, phase: &str) -> Bar {
    let mut levels = panel.clone();
    levels.insert(data.by.clone(), level.to_owned());
    let records: Vec<&Record> = from.with(&levels).collect();
    let values = values(&records, phase, &data.metric);
    let numbers: Vec<f64> = values.iter().map(|value| value.value).collect();
    let flush: Vec<f64> = match data.metric {
        Metric::Seconds | Metric::TotalSeconds => {
            self::values(&records, phase, &Metric::FlushSeconds).iter().map(|v| v.value).collect()
        }
        _ => Vec::new(),
    };
    let runs = Runs::of(records.iter().copied());
    let mut flags = BTreeMap::new();
    for record in &records {
        let here = |flag: &crate::record::Flag| flag.phase.as_deref().is_none_or(|p| p == phase);
        count_flags(&mut flags, record, here);
    }
    let absent = numbers.is_empty().then(|| why_absent(from.excluded(&levels), &runs));
    Bar {
        level: level.to_owned(),
        levels,
        summary: Summary::of(&numbers, data.options.level).ok(),
        flush: Summary::of(&flush, data.options.level).ok(),
        normality: shapiro_wilk(&numbers).ok().map(|tested| tested.p),
        runs_needed: runs_needed(&numbers, data.options.level, data.options.width, MOST_RUNS)
            .ok()
            .flatten(),
        values,
        absent,
        runs,
        flags: flags.into_values().collect(),
        ..Bar::default()
    }
}

/// The metric of a phase in all runs that came to their end and have it as a finite number.
pub(super) fn values(records: &[&Record], phase: &str, metric: &Metric) -> Vec<Value> {
    let done = records.iter().filter(|record| record.status == Status::Done);
    let value = |record: &&Record| {
        let phase = record.phases.iter().find(|own| own.name == phase)?;
        let value = phase.metric(metric).filter(|value| value.is_finite())?;
        let Record { repetition, order, .. } = **record;
        Some(Value { id: record.id.clone(), repetition, order, value })
    };
    done.filter_map(value).collect()
}

fn why_absent(excluded: Option<&str>, runs: &Runs) -> String {
    let reasons = runs
        .failures
        .iter()
        .map(|m| ("failed", m))
        .chain(runs.skips.iter().map(|m| ("skipped", m)));
    let reasons: Vec<String> =
        reasons.map(|(how, missing)| format!("{how}: {}", missing.reason)).collect();
    match excluded {
        Some(reason) if runs.done == 0 && reasons.is_empty() => format!("left out: {reason}"),
        _ if !reasons.is_empty() => reasons.join("; "),
        _ if runs.done > 0 => "not measured in these runs".to_owned(),
        _ => "no run".to_owned(),
    }
}

fn notes(figure: &Figure, data: &mut FigureData) {
    let bars = || data.panels.iter().flat_map(|panel| &panel.groups).flat_map(|group| &group.bars);
    let mut notes = Vec::new();
    for phase in &data.phases {
        let of_phase =
            data.panels.iter().flat_map(|panel| &panel.groups).filter(|g| g.phase == *phase);
        if of_phase.flat_map(|group| &group.bars).all(|bar| bar.values.is_empty()) {
            notes.push(format!("No run has {} in phase {phase}.", data.quantity.name));
        }
    }
    let added: Vec<String> =
        data.panel_factors.iter().filter(|f| !figure.panels.contains(f)).cloned().collect();
    if !added.is_empty() {
        let added = text::list(&added);
        notes.push(format!(
            "Panels also by {added}, which the figure does not name but which varies."
        ));
    }
    let short: usize = bars()
        .filter(|bar| !bar.values.is_empty())
        .map(|bar| bar.runs.done.saturating_sub(bar.values.len()))
        .sum();
    if short > 0 {
        let values = text::count(short, "value");
        notes.push(format!("{values} missing: runs that came to their end without this figure."));
    }
    let by_rank = bars().filter(|bar| bar.test == Some(Test::MannWhitney)).count();
    if by_rank > 0 {
        let comparisons = text::count(by_rank, "comparison");
        notes.push(format!(
            "{comparisons} by ranks (Mann-Whitney), because values are not normal (Shapiro-Wilk, p < 0.01)."
        ));
    }
    data.notes = notes;
}
