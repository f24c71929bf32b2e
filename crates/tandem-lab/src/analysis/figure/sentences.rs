//! What a figure shows, in sentences with intervals.

use super::super::quantity::{Better, Quantity};
use super::super::text;
use super::{Bar, FigureData, Group};
use crate::record::Levels;

/// Writes the sentences of bars, groups and the figure.
pub(super) fn write(data: &mut FigureData) {
    let (by, baseline, quantity) = (data.by.clone(), data.baseline.clone(), data.quantity.clone());
    let level = data.options.level.error();
    for panel in &mut data.panels {
        let place = text::levels(&panel.levels);
        for group in &mut panel.groups {
            let at = if place.is_empty() {
                group.phase.clone()
            } else {
                format!("{} ({place})", group.phase)
            };
            for bar in &mut group.bars {
                bar.sentence =
                    Some(format!("{at}: {}", of_bar(bar, &by, baseline.as_ref(), &quantity)));
            }
            group.sentence = of_group(group, &at, &quantity, level);
        }
    }
    data.sentences = of_figure(data);
}

/// `tandem needs 0.0912 x (95 % 0.0800 to 0.104) of ext2's disk time`.
fn of_bar(bar: &Bar, by: &str, baseline: Option<&Levels>, quantity: &Quantity) -> String {
    let Some(summary) = &bar.summary else {
        let reason = bar.absent.as_deref().unwrap_or("no run");
        return format!("{} has no value ({reason}).", bar.level);
    };
    let verb = verb(quantity);
    let relative = bar.ratio.filter(|_| !bar.baseline).zip(baseline);
    if let Some((ratio, baseline)) = relative {
        let around = ratio.interval.map_or_else(
            || format!("n = {}, no interval", summary.n),
            |interval| text::interval(ratio.value, &interval),
        );
        let value = text::number(ratio.value);
        let than = than(by, baseline);
        return format!("{} {verb} {value} x ({around}) of {than} {}.", bar.level, quantity.name);
    }
    let around = summary.interval.map_or_else(
        || format!("n = {}", summary.n),
        |interval| format!("{}; n = {}", text::interval(summary.mean, &interval), summary.n),
    );
    let amount = amount(summary.mean, quantity);
    let of = if amount.ends_with(&quantity.name) {
        String::new()
    } else {
        format!(" of {}", quantity.name)
    };
    format!("{} {verb} {amount} ({around}){of}.", bar.level)
}

/// `47.9 s`.
fn amount(value: f64, quantity: &Quantity) -> String {
    let number = text::number(value);
    if quantity.unit.is_empty() { number } else { format!("{number} {}", quantity.unit) }
}

fn verb(quantity: &Quantity) -> &'static str {
    match quantity.better {
        Better::Lower => "needs",
        Better::Higher => "reaches",
        Better::Neither => "has",
    }
}

/// `ext2's`, or `filesystem ext4, placement same-disk's`.
fn than(by: &str, baseline: &Levels) -> String {
    match baseline.get(by) {
        Some(level) if baseline.len() == 1 => format!("{level}'s"),
        _ => format!("{}'s", text::levels(baseline)),
    }
}

/// Who is best in a group, and by how much it is shown.
struct Best<'a> {
    bar: &'a Bar,
    mean: f64,
    /// Those whose values the test does not tell from it are not in here.
    next: Option<(&'a Bar, f64)>,
}

fn best<'a>(group: &'a Group, quantity: &Quantity) -> Option<Best<'a>> {
    let mut bars: Vec<(&Bar, f64)> =
        group.bars.iter().filter_map(|bar| Some((bar, bar.summary.as_ref()?.mean))).collect();
    match quantity.better {
        Better::Lower => bars.sort_by(|a, b| a.1.total_cmp(&b.1)),
        Better::Higher => bars.sort_by(|a, b| b.1.total_cmp(&a.1)),
        Better::Neither => return None,
    }
    let &(bar, mean) = bars.first().filter(|_| bars.len() > 1)?;
    Some(Best { bar, mean, next: bars.get(1).copied() })
}

/// `read-meta: least disk time: tandem (5.46 s), then reiserfs (7.02 s); not shown to differ from
/// ext2: ext3.`
fn of_group(group: &Group, at: &str, quantity: &Quantity, error: f64) -> Option<String> {
    let best = best(group, quantity)?;
    let extreme = extreme(quantity);
    let mut text = format!(
        "{at}: {extreme} {}: {} ({})",
        quantity.name,
        best.bar.level,
        amount(best.mean, quantity)
    );
    if let Some((next, mean)) = best.next {
        text.push_str(&format!(", then {} ({})", next.level, amount(mean, quantity)));
    }
    let alike: Vec<String> = group
        .bars
        .iter()
        .filter(|bar| bar.p_corrected.is_some_and(|p| p >= error))
        .map(|bar| bar.level.clone())
        .collect();
    if !alike.is_empty() {
        text.push_str(&format!("; not shown to differ from the baseline: {}", text::list(&alike)));
    }
    text.push('.');
    Some(text)
}

fn extreme(quantity: &Quantity) -> &'static str {
    if quantity.better == Better::Higher { "highest" } else { "lowest" }
}

/// `Lowest disk time: tandem in 12 of 14 cases, reiserfs in 2.`
fn of_figure(data: &FigureData) -> Vec<String> {
    let groups = data.panels.iter().flat_map(|panel| &panel.groups);
    let winners: Vec<String> = groups
        .filter_map(|group| best(group, &data.quantity))
        .map(|best| best.bar.level.clone())
        .collect();
    let mut counts: Vec<(usize, &String)> = data
        .levels
        .iter()
        .map(|level| (winners.iter().filter(|winner| *winner == level).count(), level))
        .filter(|(count, _)| *count > 0)
        .collect();
    counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    if counts.is_empty() {
        return Vec::new();
    }
    let parts: Vec<String> =
        counts.iter().map(|(count, level)| format!("{level} in {count}")).collect();
    let (all, name) = (text::count(winners.len(), "case"), &data.quantity.name);
    let mut extreme = extreme(&data.quantity).to_owned();
    extreme[..1].make_ascii_uppercase();
    vec![format!("{extreme} {name} on average, of {all}: {}.", text::list(&parts))]
}
