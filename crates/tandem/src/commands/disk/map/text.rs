//! A map for a terminal.

use comfy_table::{CellAlignment, Table, presets};
use tandem_disk::map::{Distances, Grid, Kind, Map};
use tandem_disk::request::Operation;

use super::chart::{self, Side, number};
use crate::cli::disk::Picture;
use crate::units::per_cent;

const COLUMNS: usize = 72;
const ROWS: usize = 16;
/// Cells marked never, once, and more often.
const SHADES: [(u64, char); 4] = [(16, '#'), (4, 'o'), (2, ':'), (1, '.')];
/// What is drawn unless something else is asked for.
const USUAL: [Picture; 3] = [Picture::Addresses, Picture::Seeks, Picture::Services];

/// The pictures as text.
pub fn draw(map: &Map, title: &str, only: &[Picture]) -> String {
    let pictures = if only.is_empty() { &USUAL } else { only };
    let mut out = classes(map, title);
    for picture in pictures {
        let text = match picture {
            Picture::Addresses => cells(map, *picture, |kind| &kind.addresses),
            Picture::Tracks => cells(map, *picture, |kind| &kind.tracks),
            Picture::Sectors => cells(map, *picture, |kind| &kind.sectors),
            Picture::Seeks => bars(&format!("seeks, in {}", map.layout.unit()), [("", &map.seeks)]),
            Picture::Steps => {
                let steps = |kind: usize| &map.kinds[kind].steps;
                bars("first sector to first sector", [("reads ", steps(0)), ("writes ", steps(1))])
            }
            Picture::Throughput => {
                rates(map, "MB/s", |bin, seconds| Some(bin.bytes as f64 / 1e6 / seconds))
            }
            Picture::Latency => rates(map, "mean ms", |bin, _| {
                (bin.timed > 0).then(|| bin.service as f64 / bin.timed as f64 / 1e6)
            }),
            Picture::Services => services(map),
        };
        out += &text;
    }
    out
}

/// How much there is of what, and in what patterns.
pub fn classes(map: &Map, title: &str) -> String {
    let mut out = format!("{title}\n");
    for kind in present(map) {
        out += &format!("  {}\n", chart::classes(kind));
        let steps = kind.steps.frequent(3).into_iter().map(|(distance, count)| {
            format!("{distance:+} ({})", per_cent(count, kind.steps.count()))
        });
        let steps: Vec<_> = steps.collect();
        if !steps.is_empty() {
            let (steps, name) = (steps.join(", "), chart::name(kind.operation));
            out += &format!("    most frequent distances of {name}, in sectors: {steps}\n");
        }
    }
    if map.flushes > 0 {
        out += &format!("  {} flushes\n", map.flushes);
    }
    out
}

fn present(map: &Map) -> impl Iterator<Item = &Kind> {
    map.kinds.iter().filter(|kind| kind.requests > 0)
}

fn cells(map: &Map, picture: Picture, grid: fn(&Kind) -> &Grid) -> String {
    let mut out = String::new();
    let addresses = picture == Picture::Addresses;
    for kind in present(map).filter(|kind| addresses || kind.operation != Operation::Discard) {
        let grid = grid(kind);
        let y = if addresses { Side::address(&grid.y) } else { Side::plain("sector", &grid.y) };
        let x = match picture {
            Picture::Tracks => Side::plain("track", &grid.x),
            _ => Side::time(&grid.x),
        };
        out += &format!("\n{}: {} against {}\n", chart::name(kind.operation), y.name, x.name);
        let rows = grid.coarse(COLUMNS, ROWS);
        for (at, row) in rows.iter().enumerate().rev() {
            let label = match at {
                0 => number(y.from),
                at if at + 1 == rows.len() => number(y.to),
                _ => String::new(),
            };
            let line: String = row.iter().map(|&count| shade(count)).collect();
            out += format!("{label:>12} |{}", line.trim_end()).trim_end();
            out.push('\n');
        }
        let (from, to) = (number(x.from), number(x.to));
        out += &format!("{:>13}+{}\n", "", "-".repeat(COLUMNS));
        out += &format!("{:>13} {from}{to:>width$}\n", "", width = COLUMNS - from.len());
    }
    out
}

fn shade(count: u64) -> char {
    SHADES.iter().find(|(least, _)| count >= *least).map_or(' ', |&(_, shade)| shade)
}

/// A line for each power of two.
fn bars<const N: usize>(what: &str, series: [(&str, &Distances); N]) -> String {
    let mut out = String::new();
    for (name, distances) in series {
        let buckets = distances.buckets();
        let Some(most) = buckets.iter().map(|b| b.2).max().filter(|most| *most > 0) else {
            continue;
        };
        out += &format!("\n{name}{what}\n");
        for (low, high, count) in buckets.into_iter().filter(|b| b.2 > 0) {
            let range = if low == high { low.to_string() } else { format!("{low} to {high}") };
            let share = per_cent(count, distances.count());
            out += format!("{range:>34} {share:>7} {}", bar(count as f64, most as f64)).trim_end();
            out.push('\n');
        }
    }
    out
}

fn bar(value: f64, most: f64) -> String {
    let width = if most > 0.0 { value / most * 40.0 } else { 0.0 };
    "=".repeat(width.round() as usize)
}

/// A line for each twentieth of the time.
fn rates(
    map: &Map,
    unit: &str,
    value: impl Fn(&tandem_disk::map::Bin, f64) -> Option<f64>,
) -> String {
    const LINES: usize = 20;
    let mut out = String::new();
    for (name, bins) in [("reads", &map.rates.reads), ("writes", &map.rates.writes)] {
        let group = bins.len().div_ceil(LINES).max(1);
        let sums: Vec<_> = bins.chunks(group).map(merged).collect();
        let values: Vec<_> = (sums.iter().zip(bins.chunks(group)))
            .map(|(bin, of)| value(bin, map.rates.seconds() * of.len() as f64))
            .collect();
        let most = values.iter().flatten().copied().fold(0.0, f64::max);
        if most == 0.0 {
            continue;
        }
        out += &format!("\n{name}: {unit}\n");
        for (at, value) in values.iter().enumerate() {
            let from = map.rates.seconds() * (at * group) as f64;
            let shown = value.map_or("-".into(), |value| format!("{value:.3}"));
            let line = format!("{from:>12.3} s {shown:>12} {}", bar(value.unwrap_or(0.0), most));
            out += line.trim_end();
            out.push('\n');
        }
    }
    out
}

fn merged(bins: &[tandem_disk::map::Bin]) -> tandem_disk::map::Bin {
    bins.iter().fold(tandem_disk::map::Bin::default(), |sum, bin| tandem_disk::map::Bin {
        bytes: sum.bytes.saturating_add(bin.bytes),
        timed: sum.timed + bin.timed,
        service: sum.service + bin.service,
        longest: sum.longest.max(bin.longest),
    })
}

fn services(map: &Map) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["service, ms", "mean", "50 %", "90 %", "95 %", "99 %", "99.9 %", "max"]);
    let mut any = false;
    for (name, kind) in map.summary().kinds {
        let Some(times) = kind.service_ms else { continue };
        any = true;
        let figures =
            [times.mean, times.p50, times.p90, times.p95, times.p99, times.p999, times.max];
        let figures = figures.into_iter().map(|figure| format!("{figure:.3}"));
        table.add_row([name.to_string()].into_iter().chain(figures));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    if any { format!("\n{table}\n") } else { "\nno service times in the trace\n".into() }
}
