//! Interaction plots, residuals, normal quantile-quantile plots.

use super::super::super::figure::{Figure, Line, Plot, Point};
use super::super::super::number;
use super::super::super::table::{Cell, Table};
use crate::analysis::{AnovaData, Checks};
use crate::stats::check::Tested;
use crate::stats::factorial::{Anova, Factor};

/// A panel for each pair of factors: parallel lines mean no interaction.
pub fn interactions(id: &str, data: &AnovaData, place: &str, anova: &Anova) -> Option<Figure> {
    let pairs: Vec<(usize, usize)> = (0..anova.factors.len())
        .flat_map(|a| (a + 1..anova.factors.len()).map(move |b| (a, b)))
        .collect();
    let mut table = Table::new(
        &format!("{id}-values"),
        format!("{}{place}: means by two factors", data.title),
        &["factors", "level", "level ", "#mean"],
    );
    let panels: Vec<_> =
        pairs.iter().map(|&pair| interaction(data, anova, pair, &mut table).panel()).collect();
    let kind = if data.logarithm { "geometric means" } else { "means" };
    (!panels.is_empty()).then(|| Figure {
        id: id.to_owned(),
        title: format!("{}{place}: interactions", data.title),
        note: format!(
            "The {kind} of {} over all other factors; n = {} runs in all. Lines that run in parallel mean that the two factors act independently{}.",
            quantity(data),
            anova.n,
            if data.logarithm { ", by multiplying" } else { "" }
        ),
        panels,
        table: Some(table),
        ..Figure::default()
    })
}

fn interaction(data: &AnovaData, anova: &Anova, (a, b): (usize, usize), table: &mut Table) -> Plot {
    // The factor with more levels goes along the axis, so that lines are few.
    let (along, apart) = if anova.factors[a].levels.len() >= anova.factors[b].levels.len() {
        (a, b)
    } else {
        (b, a)
    };
    let (across, lines): (&Factor, &Factor) = (&anova.factors[along], &anova.factors[apart]);
    let mean = |x: &String, line: &String| {
        let cells = anova
            .cells
            .iter()
            .filter(|cell| cell.levels[along] == *x && cell.levels[apart] == *line);
        let (sum, n) = cells.fold((0.0, 0.0), |(sum, n), cell| (sum + cell.mean, n + 1.0));
        (n > 0.0).then(|| if data.logarithm { (sum / n).exp() } else { sum / n })
    };
    let line = |name: &String| {
        let point = |(at, x): (usize, &String)| {
            Some(Point { x: at as f64, y: mean(x, name)?, interval: None })
        };
        Line {
            label: name.clone(),
            points: across.levels.iter().enumerate().filter_map(point).collect(),
        }
    };
    let drawn: Vec<Line> = lines.levels.iter().map(line).collect();
    let pair = format!("{} × {}", across.name, lines.name);
    for (line, name) in drawn.iter().zip(&lines.levels) {
        for point in &line.points {
            let x = across.levels.get(point.x as usize).cloned().unwrap_or_default();
            table.rows.push(vec![
                Cell::Text(pair.clone()),
                Cell::Text(x),
                Cell::Text(name.clone()),
                Cell::Number(point.y),
            ]);
        }
    }
    let sums = |line: &Line| {
        let values: Vec<_> = line.points.iter().map(|point| number::short(point.y)).collect();
        format!("{}: {}", line.label, values.join(", "))
    };
    let words: Vec<_> = drawn.iter().map(sums).collect();
    Plot {
        title: pair,
        alt: format!("Lines over {}. {}.", across.levels.join(", "), words.join("; ")),
        axes: [across.name.clone(), quantity(data)],
        names: across.levels.clone(),
        logarithmic: data.logarithm,
        lines: drawn,
        ..Plot::default()
    }
}

/// Residuals against predictions, and against what normal ones would be.
pub fn checks(id: &str, data: &AnovaData, place: &str, checks: &Checks) -> Figure {
    let point = |&(x, y): &(f64, f64)| Point { x, y, interval: None };
    let unit = if data.logarithm { "logarithms" } else { data.quantity.unit.as_str() };
    let low = checks.residuals.iter().map(|p| p.0).fold(f64::INFINITY, f64::min);
    let high = checks.residuals.iter().map(|p| p.0).fold(f64::NEG_INFINITY, f64::max);
    let residuals = Plot {
        title: "Residuals against predictions".to_owned(),
        alt: format!(
            "{} residuals from {} to {} over predicted values from {} to {}. {}",
            checks.residuals.len(),
            number::short(checks.residuals.iter().map(|p| p.1).fold(f64::INFINITY, f64::min)),
            number::short(checks.residuals.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max)),
            number::short(low),
            number::short(high),
            variances(checks)
        ),
        axes: [format!("predicted, {unit}"), format!("residual, {unit}")],
        points: checks.residuals.iter().map(point).collect(),
        guide: (low <= high).then_some([(low, 0.0), (high, 0.0)]),
        ..Plot::default()
    };
    let quantiles = Plot {
        title: "Normal quantile-quantile plot of the residuals".to_owned(),
        alt: format!(
            "{} residuals against normal quantiles. {}",
            checks.normal_points.len(),
            normality(checks)
        ),
        axes: ["normal quantile".to_owned(), format!("residual, {unit}")],
        points: checks.normal_points.iter().map(point).collect(),
        guide: quartiles(&checks.normal_points),
        ..Plot::default()
    };
    let mut table = Table::new(
        &format!("{id}-values"),
        format!("{}{place}: residuals", data.title),
        &["#normal quantile", "#residual"],
    );
    table
        .rows
        .extend(checks.normal_points.iter().map(|&(q, r)| vec![Cell::Number(q), Cell::Number(r)]));
    let verdict = if checks.hold {
        "Neither assumption is rejected."
    } else {
        "⚑ An assumption is rejected: see the tests by ranks."
    };
    Figure {
        id: id.to_owned(),
        title: format!("{}{place}: may the model be used?", data.title),
        note: format!("{} {} {verdict}", normality(checks), variances(checks)),
        panels: vec![residuals.panel(), quantiles.panel()],
        table: Some(table),
        ..Figure::default()
    }
}

/// The line through both quartiles, as long as the points reach.
fn quartiles(points: &[(f64, f64)]) -> Option<[(f64, f64); 2]> {
    let (first, last) = (points.first()?.0, points.last()?.0);
    let (q1, q3) = (points[points.len() / 4], points[points.len() * 3 / 4]);
    let slope = (q3.1 - q1.1) / (q3.0 - q1.0);
    let at = |x: f64| q1.1 + (x - q1.0) * slope;
    slope.is_finite().then(|| [(first, at(first)), (last, at(last))])
}

fn normality(checks: &Checks) -> String {
    tested("Normal residuals (Shapiro and Wilk): W", checks.normality)
}

fn variances(checks: &Checks) -> String {
    tested("Equal variances (Brown and Forsythe): F", checks.variances)
}

fn tested(what: &str, test: Option<Tested>) -> String {
    match test {
        Some(test) => {
            let p = number::probability(test.p);
            let p = if p.starts_with('<') { format!("p {p}") } else { format!("p = {p}") };
            format!("{what} = {}, {p}.", number::text(test.statistic))
        }
        None => format!("{what}: not tested, for residuals do not vary or are too many."),
    }
}

fn quantity(data: &AnovaData) -> String {
    match data.quantity.unit.as_str() {
        "" => data.quantity.name.clone(),
        unit if unit.len() > 2 && data.quantity.name.contains(unit) => data.quantity.name.clone(),
        unit => format!("{}, {unit}", data.quantity.name),
    }
}
