//! Tables of an analysis of variance.

use super::super::super::table::{Cell, Table};
use crate::analysis::{AnovaData, Pair, RankTest};
use crate::stats::factorial::Anova;

/// Allocation of variation (Jain 20.6, 22.4).
pub fn variation(id: &str, data: &AnovaData, place: &str, anova: &Anova) -> Table {
    let level = number(data.options.level.get());
    let critical = format!("#F at {level} %");
    let columns = [
        "component",
        "#sum of squares",
        "#of variation (%)",
        "#d.o.f.",
        "#mean square",
        "#F",
        &critical,
        "#p",
    ];
    let mut table =
        Table::new(id, format!("{}{place}: variation of {}", data.title, response(data)), &columns);
    let none = || Cell::None("not of this component".to_owned());
    let share = |share: Option<f64>| Cell::of(share.map(|share| share * 100.0), "nothing varies");
    for term in &anova.terms {
        table.rows.push(vec![
            Cell::Text(term.factors.join(" × ")),
            Cell::Number(term.ss),
            share(term.share),
            Cell::Number(term.dof as f64),
            Cell::Number(term.ms),
            Cell::of(term.f, "runs do not differ"),
            Cell::Number(term.critical),
            term.p.map_or_else(|| Cell::None("runs do not differ".to_owned()), Cell::Probability),
        ]);
    }
    let error = &anova.error;
    table.rows.push(vec![
        Cell::Text("errors".to_owned()),
        Cell::Number(error.ss),
        share(error.share),
        Cell::Number(error.dof as f64),
        Cell::Number(error.ms),
        none(),
        none(),
        none(),
    ]);
    let whole = anova.balanced.then_some(100.0);
    table.rows.push(vec![
        Cell::Text("all".to_owned()),
        Cell::Number(anova.sst),
        Cell::of(whole, "with unequal numbers of runs shares do not add up"),
        Cell::Number(anova.n.saturating_sub(1) as f64),
        none(),
        none(),
        none(),
        none(),
    ]);
    table
}

/// Effects with their intervals.
pub fn effects(id: &str, data: &AnovaData, place: &str, anova: &Anova) -> Table {
    let level = number(data.options.level.get());
    let from = format!("#{level} % from");
    let columns = ["term", "levels", "#effect", &from, "#to", "#SD"];
    let mut table =
        Table::new(id, format!("{}{place}: effects on {}", data.title, response(data)), &columns);
    let mean = std::iter::once(("mean".to_owned(), &anova.mean));
    let terms = anova
        .terms
        .iter()
        .flat_map(|term| term.effects.iter().map(|effect| (term.factors.join(" × "), effect)));
    for (term, effect) in mean.chain(terms) {
        table.rows.push(vec![
            Cell::Text(term),
            Cell::Text(effect.levels.join(", ")),
            Cell::Number(effect.value),
            Cell::Number(effect.interval.low),
            Cell::Number(effect.interval.high),
            Cell::Number(effect.sd),
        ]);
    }
    table
}

/// Differences between levels, all of a factor holding together (Tukey and Kramer).
pub fn pairs(id: &str, data: &AnovaData, place: &str, pairs: &[Pair]) -> Table {
    let level = number(data.options.level.get());
    let from = format!("#{level} % from");
    let what = if data.logarithm { "#times" } else { "#difference" };
    let columns = ["factor", "level", "against", what, &from, "#to", "#p corrected"];
    let caption = format!("{}{place}: differences between levels (Tukey and Kramer)", data.title);
    let mut table = Table::new(id, caption, &columns);
    let shown = |value: f64| Cell::Number(if data.logarithm { value.exp() } else { value });
    for pair in pairs {
        table.rows.push(vec![
            Cell::Text(pair.factor.clone()),
            Cell::Text(pair.a.clone()),
            Cell::Text(pair.b.clone()),
            shown(pair.difference),
            shown(pair.interval.low),
            shown(pair.interval.high),
            Cell::Probability(pair.p),
        ]);
    }
    table
}

/// Tests that need no normal values.
pub fn ranks(id: &str, data: &AnovaData, place: &str, ranks: &[RankTest]) -> Table {
    let caption = format!(
        "{}{place}: each factor by ranks (Kruskal and Wallis within the others' levels)",
        data.title
    );
    let mut table = Table::new(id, caption, &["factor", "#H", "#d.o.f.", "#p"]);
    for test in ranks {
        table.rows.push(vec![
            Cell::Text(test.factor.clone()),
            Cell::Number(test.h),
            Cell::Number(test.dof),
            Cell::Probability(test.p),
        ]);
    }
    table
}

fn response(data: &AnovaData) -> String {
    let name = &data.quantity.name;
    match data.quantity.unit.as_str() {
        _ if data.logarithm => format!("the natural logarithm of {name}"),
        "" => name.clone(),
        unit => format!("{name} ({unit})"),
    }
}

fn number(share: f64) -> f64 {
    (share * 1e4).round() / 1e2
}
