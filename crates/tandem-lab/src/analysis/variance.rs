//! Analyses of variance from records, with the checks of their assumptions and what to do when those
//! fail.

mod cells;
mod pairs;
mod sentences;
#[cfg(test)]
mod tests;

use serde::Serialize;

use super::Options;
use super::figure::values;
use super::quantity::{Quantity, quantity};
use super::select::{Selection, restricted};
use crate::record::{Levels, Metric, Record};
use crate::stats::check::{Tested, brown_forsythe, normal_points, shapiro_wilk};
use crate::stats::distribution::chi_squared_upper;
use crate::stats::factorial::{self, Design};
use crate::stats::rank::kruskal_wallis;
use crate::study::{Anova, Study};

pub use pairs::Pair;

/// The factor that phases are the levels of.
pub(super) const PHASE: &str = "phase";

/// Analyses of variance of one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnovaData {
    /// Its heading.
    pub title: String,
    /// What is explained.
    pub metric: Metric,
    /// The metric in words.
    pub quantity: Quantity,
    /// By which factors.
    pub factors: Vec<String>,
    /// Is the logarithm explained? Effects multiply then; they are given as natural logarithms.
    pub logarithm: bool,
    /// How it was judged.
    pub options: Options,
    /// Factors that vary but are not among those that explain: each of their levels has an analysis.
    pub panel_factors: Vec<String>,
    /// The analyses.
    pub panels: Vec<AnovaPanel>,
}

/// One analysis of variance.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AnovaPanel {
    /// Levels of the other factors.
    pub levels: Levels,
    /// The table and effects; none when it was refused.
    pub table: Option<factorial::Anova>,
    /// Why there is no table.
    pub refused: Option<String>,
    /// Levels and factors that had to be left out, in sentences.
    pub left_out: Vec<String>,
    /// Do the assumptions hold?
    pub checks: Option<Checks>,
    /// Each factor by ranks, whatever the assumptions.
    pub ranks: Vec<RankTest>,
    /// Differences between levels of each factor.
    pub pairs: Vec<Pair>,
    /// What was found, in sentences with intervals.
    pub sentences: Vec<String>,
}

/// Checks of a model's assumptions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checks {
    /// (predicted value, residual), for a scatter plot.
    pub residuals: Vec<(f64, f64)>,
    /// (normal quantile, residual), for a quantile-quantile plot.
    pub normal_points: Vec<(f64, f64)>,
    /// Are residuals normal (Shapiro and Wilk)? None when they do not vary or are too many.
    pub normality: Option<Tested>,
    /// Are variances of the cells equal (Brown and Forsythe)? None when they do not vary.
    pub variances: Option<Tested>,
    /// The greatest by the least value, when all are positive: a large one speaks for logarithms.
    pub max_by_min: Option<f64>,
    /// Is neither assumption rejected?
    pub hold: bool,
}

/// A factor's test by ranks: Kruskal and Wallis' within each combination of the other factors' levels,
/// their H and degrees of freedom added.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankTest {
    /// The factor.
    pub factor: String,
    /// Sum of H.
    pub h: f64,
    /// Degrees of freedom.
    pub dof: f64,
    /// p-value by the chi-squared approximation.
    pub p: f64,
}

/// One value and where it belongs, phase and scale among the levels.
pub(super) struct Observed {
    levels: Levels,
    value: f64,
}

/// Computes analyses of variance.
pub fn variance(study: &Study, anova: &Anova, records: &[Record], options: &Options) -> AnovaData {
    let selection = Selection::of(study, records);
    let phases = selection.phases(&anova.phases);
    let observed = observe(&selection, &phases, &anova.metric);
    let mut panel_factors = selection.varying();
    if phases.len() > 1 {
        panel_factors.push(PHASE.to_owned());
    }
    panel_factors.retain(|factor| !anova.factors.contains(factor));
    let order = |factor: &str| {
        if factor == PHASE { phases.clone() } else { selection.levels(factor) }
    };
    let mut data = AnovaData {
        title: anova.title.clone(),
        metric: anova.metric.clone(),
        quantity: quantity(&anova.metric),
        factors: anova.factors.clone(),
        logarithm: anova.logarithm,
        options: *options,
        panels: Vec::new(),
        panel_factors,
    };
    for levels in cells::combinations(&observed, &data.panel_factors, &order) {
        let inside: Vec<&Observed> = observed
            .iter()
            .filter(|one| restricted(&one.levels, &data.panel_factors) == levels)
            .collect();
        let panel = panel(&data, levels, &inside, &order);
        data.panels.push(panel);
    }
    data
}

fn observe(selection: &Selection, phases: &[String], metric: &Metric) -> Vec<Observed> {
    let mut observed = Vec::new();
    for (levels, record) in &selection.records {
        for phase in phases {
            for value in values(&[record], phase, metric) {
                let mut levels = levels.clone();
                levels.insert(PHASE.to_owned(), phase.clone());
                observed.push(Observed { levels, value: value.value });
            }
        }
    }
    observed
}

fn panel(
    data: &AnovaData,
    levels: Levels,
    observed: &[&Observed],
    order: &dyn Fn(&str) -> Vec<String>,
) -> AnovaPanel {
    let mut panel = AnovaPanel { levels, ..AnovaPanel::default() };
    let design = match cells::design(data, observed, order, &mut panel.left_out) {
        Ok(design) => design,
        Err(reason) => {
            panel.sentences = sentences::refused(&panel, &reason);
            panel.refused = Some(reason);
            return panel;
        }
    };
    let table = design.analyse(data.options.level);
    panel.checks = Some(checks(&design, &table, data.options.level.error()));
    panel.ranks = ranks(&design);
    panel.pairs = pairs::of(&design, &table, data.options.level);
    panel.sentences = sentences::found(data, &panel, &table);
    panel.table = Some(table);
    panel
}

fn checks(design: &Design, table: &factorial::Anova, error: f64) -> Checks {
    let residuals: Vec<(f64, f64)> = table
        .cells
        .iter()
        .flat_map(|cell| cell.residuals.iter().map(|residual| (cell.mean, *residual)))
        .collect();
    let alone: Vec<f64> = residuals.iter().map(|point| point.1).collect();
    let varies = table.error.ms > 0.0;
    let normality = shapiro_wilk(&alone).ok().filter(|_| varies);
    let variances = brown_forsythe(design.cells()).ok().filter(|_| varies);
    let all = || design.cells().iter().flatten().copied();
    let (least, greatest) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let rejected = |tested: Option<Tested>| tested.is_some_and(|tested| tested.p < error);
    Checks {
        normal_points: normal_points(&alone),
        residuals,
        normality,
        variances,
        max_by_min: (least > 0.0).then(|| greatest / least),
        hold: !rejected(normality) && !rejected(variances),
    }
}

fn ranks(design: &Design) -> Vec<RankTest> {
    let test = |(at, factor): (usize, &factorial::Factor)| {
        let mut strata: Vec<(Vec<usize>, Vec<Vec<f64>>)> = Vec::new();
        for (cell, values) in design.cells().iter().enumerate() {
            let mut others = design.levels(cell);
            others.remove(at);
            match strata.iter_mut().find(|(key, _)| *key == others) {
                Some((_, groups)) => groups.push(values.clone()),
                None => strata.push((others, vec![values.clone()])),
            }
        }
        let tests = strata.iter().filter_map(|(_, groups)| kruskal_wallis(groups).ok());
        let (h, dof) = tests.fold((0.0, 0.0), |sum, one| (sum.0 + one.h, sum.1 + one.dof));
        (dof > 0.0).then(|| RankTest {
            factor: factor.name.clone(),
            h,
            dof,
            p: chi_squared_upper(h, dof),
        })
    };
    design.factors().iter().enumerate().filter_map(test).collect()
}
