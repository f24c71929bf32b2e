//! What a figure shows, in sentences with intervals.

use super::super::quantity::{Better, Quantity};
use super::super::select::restricted;
use super::super::text;
use super::{Bar, FigureData, Group};
use crate::record::Levels;
use crate::stats::ratio::Ratio;

/// Writes the sentences of bars, groups and the figure.
pub(super) fn write(data: &mut FigureData) {
    let (by, baseline, quantity) = (data.by.clone(), data.baseline.clone(), data.quantity.clone());
    let level = data.options.level.error();
    let varied = varied(data);
    for panel in &mut data.panels {
        let place = text::levels(&restricted(&panel.levels, &varied));
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

/// Panel factors whose level says which panel it is.
fn varied(data: &FigureData) -> Vec<String> {
    let first = data.panels.first().map(|panel| &panel.levels);
    let differs = |factor: &&String| {
        data.panels
            .iter()
            .any(|panel| panel.levels.get(*factor) != first.and_then(|l| l.get(*factor)))
    };
    data.panel_factors.iter().filter(differs).cloned().collect()
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
    match quantity.name.strip_prefix(&quantity.unit).filter(|_| !quantity.unit.is_empty()) {
        Some(rest) => format!("{} {verb} {amount}{rest} ({around}).", bar.level),
        None => format!("{} {verb} {amount} ({around}) of {}.", bar.level, quantity.name),
    }
}

/// `47.9 s`.
fn amount(value: f64, quantity: &Quantity) -> String {
    let number = text::amount(value);
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

/// `read-meta: lowest disk time: tandem (5.46 s), then reiserfs (7.02 s), told apart from all others;
/// not shown to differ from the baseline: ext3.`
fn of_group(group: &Group, at: &str, quantity: &Quantity, error: f64) -> Option<String> {
    let best = group.best.as_ref()?;
    let shown = |level: &String| {
        let bar = group.bars.iter().find(|bar| bar.level == *level)?;
        Some(format!("{level} ({})", amount(bar.summary.as_ref()?.mean, quantity)))
    };
    let told = match best.p_corrected {
        None => "",
        Some(p) if p < error => ", told apart from all others",
        Some(_) => ", not told apart from all others",
    };
    let (first, next) = (shown(&best.level)?, shown(&best.next)?);
    let mut text =
        format!("{at}: {} {}: {first}{told}; then {next}", extreme(quantity), quantity.name);
    let is_alike = |bar: &&Bar| bar.p_corrected.is_some_and(|p| p >= error);
    let alike: Vec<String> =
        group.bars.iter().filter(is_alike).map(|bar| bar.level.clone()).collect();
    if !alike.is_empty() {
        text.push_str(&format!("; not shown to differ from the baseline: {}", text::list(&alike)));
    }
    text.push('.');
    Some(text)
}

fn extreme(quantity: &Quantity) -> &'static str {
    if quantity.better == Better::Higher { "highest" } else { "lowest" }
}

fn of_figure(data: &FigureData) -> Vec<String> {
    let mut sentences: Vec<String> = winners(data).into_iter().collect();
    if let Some(baseline) = &data.baseline {
        sentences.extend(data.levels.iter().filter_map(|level| of_level(data, level, baseline)));
    }
    sentences
}

/// `Lowest disk time on average, of 14 cases: tandem in 12 (told apart from all others in 11) and
/// reiserfs in 2 (in 0).`
fn winners(data: &FigureData) -> Option<String> {
    let groups = || data.panels.iter().flat_map(|panel| &panel.groups);
    let cases =
        groups().filter(|group| group.bars.iter().filter(|b| b.summary.is_some()).count() > 1);
    let error = data.options.level.error();
    let tested = groups().filter_map(|group| group.best.as_ref()).any(|best| best.p.is_some());
    let mut counts: Vec<(usize, usize, &String)> = Vec::new();
    for level in &data.levels {
        let own = || groups().filter_map(|g| g.best.as_ref()).filter(|best| best.level == *level);
        let told = own().filter(|best| best.p_corrected.is_some_and(|p| p < error)).count();
        counts.push((own().count(), told, level));
    }
    counts.retain(|(count, ..)| *count > 0);
    counts.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
    let parts: Vec<String> = counts
        .iter()
        .enumerate()
        .map(|(at, (count, told, level))| {
            if !tested {
                return format!("{level} in {count}");
            }
            let told_apart = if at == 0 { "told apart from all others " } else { "" };
            format!("{level} in {count} ({told_apart}in {told})")
        })
        .collect();
    if parts.is_empty() {
        return None;
    }
    let (all, name) = (text::count(cases.count(), "case"), &data.quantity.name);
    let mut extreme = extreme(&data.quantity).to_owned();
    extreme[..1].make_ascii_uppercase();
    Some(format!("{extreme} {name} on average, of {all}: {}.", text::list(&parts)))
}

/// `tandem: 0.0912 x (95 % 0.08 to 0.10; read-meta, processes 1) to 0.80 x (...) of ext2's disk time; shown to
/// be lower in 13 of 14 cases, higher in 0.`
fn of_level(data: &FigureData, level: &str, baseline: &Levels) -> Option<String> {
    let mut cases: Vec<(&Bar, Ratio, String)> = Vec::new();
    let varied = varied(data);
    for panel in &data.panels {
        let place = text::levels(&restricted(&panel.levels, &varied));
        for group in &panel.groups {
            let comma = if place.is_empty() { "" } else { ", " };
            let bars = group.bars.iter().filter(|bar| bar.level == level && !bar.baseline);
            let ratios = bars.filter_map(|bar| Some((bar, bar.ratio?)));
            cases.extend(ratios.map(|(bar, r)| (bar, r, format!("{}{comma}{place}", group.phase))));
        }
    }
    cases.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let shown = |(_, ratio, at): &(&Bar, Ratio, String)| {
        let value = text::number(ratio.value);
        match ratio.interval {
            Some(interval) => {
                format!("{value} x ({}; {at})", text::interval(ratio.value, &interval))
            }
            None => format!("{value} x ({at})"),
        }
    };
    let (first, last) = (cases.first()?, cases.last()?);
    let range = if cases.len() == 1 {
        shown(first)
    } else {
        format!("{} to {}", shown(first), shown(last))
    };
    let of = format!("{} {}", than(&data.by, baseline), data.quantity.name);
    let tested = cases.iter().filter(|(bar, ..)| bar.p.is_some()).count();
    if tested == 0 {
        return Some(format!("{level}: {range} of {of}; too few runs for a test."));
    }
    let error = data.options.level.error();
    let count = |sign: f64| {
        let is = |(bar, ratio, _): &&(&Bar, Ratio, String)| {
            bar.p_corrected.is_some_and(|p| p < error) && (ratio.value - 1.0) * sign > 0.0
        };
        cases.iter().filter(is).count()
    };
    Some(format!(
        "{level}: {range} of {of}; shown to be lower in {} of {}, higher in {}.",
        count(-1.0),
        text::count(tested, "case"),
        count(1.0)
    ))
}
