//! A comparison as plain text.

use comfy_table::{CellAlignment, Table, presets};

use super::{Comparison, Configuration, MetricLine, Row, Verdict};
use crate::analysis::{Runs, text};

pub(super) fn render(comparison: &Comparison, all: bool) -> String {
    let mut lines = Vec::new();
    let shown: Vec<&Row> = comparison
        .rows
        .iter()
        .filter(|row| all || !matches!(row.verdict, Verdict::NoDifference))
        .collect();
    if !shown.is_empty() {
        lines.push(table(&shown).to_string());
        lines.push(String::new());
    }
    lines.extend(comparison.lines.iter().flat_map(|of| [of_all(of), of_line(of)]).flatten());
    for (runs, which) in [(&comparison.before, "first"), (&comparison.after, "second")] {
        lines.push(of_runs(runs, which));
    }
    for (only, which) in [(&comparison.only_before, "first"), (&comparison.only_after, "second")] {
        lines.extend(
            only.iter().map(|one| format!("Only in the {which} set: {}.", of_configuration(one))),
        );
    }
    lines.push(counts(comparison));
    lines.join("\n") + "\n"
}

fn table(rows: &[&Row]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header([
        "study",
        "configuration",
        "phase",
        "metric",
        "before",
        "after",
        "change",
        "interval",
        "p",
        "",
    ]);
    for row in rows {
        let change = |share: f64| format!("{:+.1} %", share * 100.0);
        let number = |value: f64| text::number(value);
        table.add_row([
            format!("{} {}", row.study, row.scale),
            text::levels(&row.levels),
            row.phase.clone(),
            row.metric.to_string(),
            format!("{} (n = {})", number(row.before.mean), row.before.n),
            format!("{} (n = {})", number(row.after.mean), row.after.n),
            row.change.map_or_else(String::new, change),
            row.interval
                .map_or_else(String::new, |i| format!("{} to {}", change(i.low), change(i.high))),
            row.p_corrected.map_or_else(String::new, |p| {
                text::p_value(p).replace("p = ", "").replace("p ", "")
            }),
            word(row.verdict).to_owned(),
        ]);
    }
    for column in 4..=8 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regressed => "regressed",
        Verdict::Improved => "improved",
        Verdict::Changed => "changed",
        Verdict::NoDifference => "no difference shown",
        Verdict::NotComparable => "not comparable",
    }
}

/// `seconds: 1.02 x over 14 points (signed ranks, p = 0.02).`
fn of_all(of: &MetricLine) -> Option<String> {
    let ratio = text::number(of.ratio?);
    let shift =
        of.shift.map_or_else(String::new, |t| format!(" (signed ranks, {})", text::p_value(t.p)));
    Some(format!("{}: {ratio} x over {}{shift}.", of.metric, text::count(of.points.len(), "point")))
}

fn of_line(of: &MetricLine) -> Option<String> {
    let line = of.line.as_ref()?;
    let slope = format!(
        "{} ({})",
        text::number(line.slope),
        text::interval(line.slope, &line.slope_interval)
    );
    let intercept = format!(
        "{} ({})",
        text::number(line.intercept),
        text::interval(line.intercept, &line.intercept_interval)
    );
    Some(format!(
        "{}: after = {intercept} + {slope} x before; {} of the variation explained, {} points.",
        of.metric,
        text::share(line.explained),
        line.n
    ))
}

fn of_runs(runs: &Runs, which: &str) -> String {
    let mut text = format!(
        "The {which} set: {} done, {} failed, {} skipped",
        runs.done, runs.failed, runs.skipped
    );
    let flags: Vec<String> =
        runs.flags.iter().map(|flag| format!("{} {}", flag.rule, flag.runs)).collect();
    if !flags.is_empty() {
        text.push_str(&format!("; marked by the checklist: {}", flags.join(", ")));
    }
    text.push('.');
    text
}

fn of_configuration(one: &Configuration) -> String {
    let bound = one.memory.map_or_else(String::new, |bound| {
        format!(", with at most {} MiB of memory", text::amount((bound >> 20) as f64))
    });
    format!("{} {}: {}{bound}", one.study, one.scale, text::levels(&one.levels))
}

fn counts(comparison: &Comparison) -> String {
    let verdicts = [
        Verdict::Regressed,
        Verdict::Improved,
        Verdict::Changed,
        Verdict::NoDifference,
        Verdict::NotComparable,
    ];
    let parts: Vec<String> = verdicts
        .into_iter()
        .map(|verdict| (comparison.count(verdict), verdict))
        .filter(|(count, _)| *count > 0)
        .map(|(count, verdict)| format!("{count} {}", word(verdict)))
        .collect();
    let parts = if parts.is_empty() { "nothing to compare".to_owned() } else { parts.join(", ") };
    let (level, threshold) = (comparison.options.level.get(), comparison.options.threshold);
    format!(
        "{parts} ({} together over {}; from {} of change).",
        text::percent(level),
        text::count(comparison.comparisons, "comparison"),
        text::percent(threshold)
    )
}
