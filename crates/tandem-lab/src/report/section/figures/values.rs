//! The values behind figures, as tables.

use super::super::super::table::{Cell, Table};
use super::paper::Beside;
use crate::analysis::{Bar, FigureData, Test};
use crate::stats::ratio::RatioMethod;

/// Every bar: runs, mean, interval, deviation, ratio, test, the paper's value.
pub fn table(id: &str, data: &FigureData, paper: Option<&Beside<'_>>) -> Table {
    let unit = match data.quantity.unit.as_str() {
        "" => String::new(),
        unit => format!(" ({unit})"),
    };
    let level = data.options.level.get() * 100.0;
    let flush =
        data.panels.iter().flat_map(|p| &p.groups).flat_map(|g| &g.bars).any(|b| b.flush.is_some());
    let ratios = data.baseline.is_some();
    let mut columns = vec![data.by.clone(), "phase".to_owned()];
    columns.extend(data.panel_factors.iter().cloned());
    columns.extend(["#n".to_owned(), format!("#mean{unit}")]);
    columns.extend([
        format!("#{level} % from"),
        "#to".to_owned(),
        "#SD".to_owned(),
        "#median".to_owned(),
    ]);
    if flush {
        columns.push("#flush (s)".to_owned());
    }
    if ratios {
        columns.extend(
            ["#by baseline", "#from ", "#to ", "interval, test", "#p", "#p corrected"]
                .map(str::to_owned),
        );
    }
    columns.extend(paper.map(|paper| format!("#paper ({})", paper.unit())));
    columns.push("marks".to_owned());
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let caption = format!("{}: values", data.title);
    let mut table = Table::new(id, caption, &names);
    for panel in &data.panels {
        for group in &panel.groups {
            for bar in &group.bars {
                let mut row = vec![Cell::Text(bar.level.clone()), Cell::Text(group.phase.clone())];
                let level = |factor: &String| bar.levels.get(factor).cloned().unwrap_or_default();
                row.extend(data.panel_factors.iter().map(|factor| Cell::Text(level(factor))));
                row.extend(summary(bar));
                if flush {
                    row.push(cell(bar, bar.flush.as_ref().map(|flush| flush.mean)));
                }
                if ratios {
                    row.extend(ratio(bar));
                }
                row.extend(paper.map(|paper| paper.cell(&bar.levels, &group.phase)));
                row.push(Cell::Text(marks(bar)));
                table.rows.push(row);
            }
        }
    }
    table
}

fn cell(bar: &Bar, value: Option<f64>) -> Cell {
    Cell::of(value, bar.absent.as_deref().unwrap_or("too few runs, or it has no meaning here"))
}

fn summary(bar: &Bar) -> Vec<Cell> {
    let of = bar.summary.as_ref();
    let interval = of.and_then(|summary| summary.interval);
    let n = Cell::Number(of.map_or(0, |summary| summary.n) as f64);
    let values = [
        of.map(|summary| summary.mean),
        interval.map(|interval| interval.low),
        interval.map(|interval| interval.high),
        of.and_then(|summary| summary.sd),
        of.map(|summary| summary.median),
    ];
    std::iter::once(n).chain(values.map(|value| cell(bar, value))).collect()
}

fn ratio(bar: &Bar) -> Vec<Cell> {
    let interval = bar.ratio.and_then(|ratio| ratio.interval);
    let ends = [interval.map(|i| i.low), interval.map(|i| i.high)];
    let probability =
        |p: Option<f64>| p.map_or(Cell::None("not compared".to_owned()), Cell::Probability);
    let mut cells = vec![cell(bar, bar.ratio.map(|ratio| ratio.value))];
    cells.extend(ends.map(|end| cell(bar, end)));
    let method = bar.ratio.and_then(|ratio| ratio.method).map(|method| match method {
        RatioMethod::Fieller => "Fieller",
        RatioMethod::Bootstrap => "bootstrap",
        RatioMethod::NoVariation => "exact",
    });
    let test = bar.test.map(|test| match test {
        Test::Welch => "Welch",
        Test::MannWhitney => "Mann and Whitney",
        Test::NoVariation => "exact",
    });
    let words: Vec<_> = method.into_iter().chain(test).collect();
    cells.push(Cell::Text(words.join(", ")));
    cells.extend([probability(bar.p), probability(bar.p_corrected)]);
    cells
}

fn marks(bar: &Bar) -> String {
    let marks: Vec<_> =
        bar.flags.iter().map(|flag| format!("{} ({})", flag.rule, flag.runs)).collect();
    marks.join(", ")
}

/// Every run's value.
pub fn raw(id: &str, data: &FigureData) -> Table {
    let mut columns = vec![data.by.clone(), "phase".to_owned()];
    columns.extend(data.panel_factors.iter().cloned());
    columns.extend(["run", "#repetition", "#order"].map(str::to_owned));
    columns.push(match data.quantity.unit.as_str() {
        "" => format!("#{}", data.quantity.name),
        unit => format!("#{} ({unit})", data.quantity.name),
    });
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new(id, format!("{}: every run", data.title), &names);
    let groups = data.panels.iter().flat_map(|panel| &panel.groups);
    for (group, bar) in groups.flat_map(|group| group.bars.iter().map(move |bar| (group, bar))) {
        for value in &bar.values {
            let mut row = vec![Cell::Text(bar.level.clone()), Cell::Text(group.phase.clone())];
            let level = |factor: &String| bar.levels.get(factor).cloned().unwrap_or_default();
            row.extend(data.panel_factors.iter().map(|factor| Cell::Text(level(factor))));
            row.push(Cell::Code(value.id.clone()));
            row.extend(
                [value.repetition.into(), value.order.into(), value.value].map(Cell::Number),
            );
            table.rows.push(row);
        }
    }
    table
}
