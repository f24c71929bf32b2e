//! What an analysis of variance found, in sentences.

use super::super::text;
use super::{AnovaData, AnovaPanel, Checks};
use crate::stats::factorial::{Anova, Effect, Term};

/// Why there is no table.
pub(super) fn refused(panel: &AnovaPanel, reason: &str) -> Vec<String> {
    vec![format!("{}No analysis of variance: {reason}.", place(panel))]
}

fn place(panel: &AnovaPanel) -> String {
    let levels = text::levels(&panel.levels);
    if levels.is_empty() { levels } else { format!("{levels}: ") }
}

/// All sentences about a table.
pub(super) fn found(data: &AnovaData, panel: &AnovaPanel, table: &Anova) -> Vec<String> {
    let mut sentences = shares(data, panel, table);
    sentences.extend(table.terms.iter().filter(|t| t.factors.len() == 1).map(|t| range(data, t)));
    sentences.extend(panel.left_out.iter().cloned());
    if !table.balanced {
        sentences.push(format!(
            "Combinations have {} to {} runs: sums of squares are of Type III, tests and intervals hold, but the \
             shares do not add up.",
            table.fewest, table.most
        ));
    }
    if table.error.ms <= 0.0 {
        sentences.push(
            "Runs of the same configuration do not differ at all: effects are exact, and there is nothing to test \
             them against."
                .to_owned(),
        );
    } else if let Some(checks) = &panel.checks {
        sentences.extend(assumptions(data, panel, checks));
    }
    sentences
}

/// How much each term explains, the largest first.
fn shares(data: &AnovaData, panel: &AnovaPanel, table: &Anova) -> Vec<String> {
    let response = &data.quantity.name;
    let response =
        if data.logarithm { format!("the logarithm of {response}") } else { response.clone() };
    let Some(explained) = table.explained else {
        return vec![format!("{}{response} is the same in all runs.", place(panel))];
    };
    let mut terms: Vec<&Term> = table.terms.iter().collect();
    terms.sort_by(|a, b| b.ss.total_cmp(&a.ss));
    let part = |term: &&Term| {
        let share = text::share(term.share.unwrap_or(0.0));
        let name = name(term);
        match (term.f, term.p) {
            (Some(f), Some(p)) => {
                let (dof, errors) = (term.dof, table.error.dof);
                let (f, p) = (text::number(f), text::p_value(p));
                format!("{name} {share} (F({dof}, {errors}) = {f}, {p})")
            }
            _ => format!("{name} {share}"),
        }
    };
    let is_shown = |term: &&Term| term.p.is_none_or(|p| p < data.options.level.error());
    let (shown, rest): (Vec<&Term>, Vec<&Term>) = terms.into_iter().partition(is_shown);
    let mut sentences = Vec::new();
    if !shown.is_empty() {
        let parts: Vec<String> = shown.iter().map(part).collect();
        sentences.push(format!(
            "{}Of the variation of {response}, {} of it left to errors, is explained by {}.",
            place(panel),
            text::share(1.0 - explained),
            text::list(&parts)
        ));
    }
    if !rest.is_empty() {
        let parts: Vec<String> = rest.iter().map(part).collect();
        sentences.push(format!("{}Not shown to matter: {}.", place(panel), text::list(&parts)));
    }
    sentences
}

fn name(term: &Term) -> String {
    match &term.factors[..] {
        [one] => one.clone(),
        several => format!("the interaction of {}", text::list(several)),
    }
}

/// The least and the greatest effect of a factor's levels.
fn range(data: &AnovaData, term: &Term) -> String {
    let mut effects: Vec<&Effect> = term.effects.iter().collect();
    effects.sort_by(|a, b| a.value.total_cmp(&b.value));
    let shown = |effect: &&Effect| {
        let name = text::list(&effect.levels);
        if data.logarithm {
            let of = crate::stats::Interval {
                low: effect.interval.low.exp(),
                high: effect.interval.high.exp(),
                ..effect.interval
            };
            let value = effect.value.exp();
            return format!(
                "{} x for {name} ({})",
                text::number(value),
                text::interval(value, &of)
            );
        }
        let sign = if effect.value > 0.0 { "+" } else { "" };
        let value = text::number(effect.value);
        let unit = &data.quantity.unit;
        let space = if unit.is_empty() { "" } else { " " };
        format!(
            "{sign}{value}{space}{unit} for {name} ({})",
            text::interval(effect.value, &effect.interval)
        )
    };
    let ends: Vec<String> = effects.first().into_iter().chain(effects.last()).map(shown).collect();
    format!("{}: effects on {} from {}.", term.factors[0], data.quantity.name, ends.join(" to "))
}

/// Do the assumptions hold, and if not, what do ranks say?
fn assumptions(data: &AnovaData, panel: &AnovaPanel, checks: &Checks) -> Vec<String> {
    if checks.normality.is_none() && checks.variances.is_none() {
        return vec!["The assumptions of the model could not be checked.".to_owned()];
    }
    let error = data.options.level.error();
    let verdict =
        |tested: Option<crate::stats::check::Tested>, fails: &str, holds: &str, by: &str| {
            tested.map(|tested| {
                let verdict = if tested.p < error { fails } else { holds };
                format!("{verdict} ({by}, {})", text::p_value(tested.p))
            })
        };
    let normal = verdict(
        checks.normality,
        "residuals are not normal",
        "residuals are not shown to be other than normal",
        "Shapiro-Wilk",
    );
    let equal = verdict(
        checks.variances,
        "variances differ between configurations",
        "variances are not shown to differ",
        "Brown-Forsythe",
    );
    let parts: Vec<String> = normal.into_iter().chain(equal).collect();
    let mut sentences = vec![format!("Checks of the model: {}.", text::list(&parts))];
    if checks.hold {
        return sentences;
    }
    let ranks: Vec<String> = panel
        .ranks
        .iter()
        .map(|rank| format!("{} {}", rank.factor, text::p_value(rank.p)))
        .collect();
    if !ranks.is_empty() {
        sentences.push(format!(
            "The table's p-values and intervals are therefore approximate; by ranks (Kruskal-Wallis within the levels of \
             the other factors): {}.",
            text::list(&ranks)
        ));
    }
    if !data.logarithm && checks.max_by_min.is_some_and(|ratio| ratio >= 10.0) {
        let ratio = text::number(checks.max_by_min.unwrap_or(1.0));
        sentences.push(format!(
            "The greatest value is {ratio} x the least: a model of logarithms, where effects multiply, fits such values \
             better (`logarithm = true`)."
        ));
    }
    sentences
}
