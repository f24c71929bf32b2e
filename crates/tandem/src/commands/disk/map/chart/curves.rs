//! Charts of bars and lines.

use plotters::chart::{ChartContext, SeriesLabelPosition};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::element::{Circle, PathElement, Rectangle};
use plotters::prelude::{BLACK, Cartesian2d, DrawingArea, DrawingBackend, IntoLogRange, WHITE};
use plotters::series::LineSeries;
use plotters::style::{Color, RGBColor};
use tandem_disk::map::{Bin, Distances, Kind, Map};

use super::axes::{Side, builder, mesh, number, power};
use super::{Bars, Body, Chart, Curve, Drawn, READ, WRITE, color, font, name};

/// A chart with two linear axes.
pub type Linear<'a, DB> = ChartContext<'a, DB, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

const GREY: RGBColor = RGBColor(90, 90, 90);

/// How far the arm goes.
pub fn seeks(map: &Map) -> Option<Chart<'_>> {
    let unit = map.layout.unit();
    let caption = format!(
        "seeks: {:.1} % of none, else {} {unit} on average",
        share(map.seeks.none(), map.seeks.count()),
        number(map.seeks.mean().round()),
    );
    let axis = format!("{unit} from the end of the request before");
    bars(caption, &axis, vec![("all", GREY, &map.seeks)])
}

/// How far first sectors are apart.
pub fn steps<'a>(kinds: impl Iterator<Item = &'a Kind>) -> Option<Chart<'a>> {
    let series = kinds.map(|kind| (name(kind.operation), color(kind.operation), &kind.steps));
    let caption = "distances between the first sectors of successive requests".to_string();
    bars(caption, "sectors from the request before", series.collect())
}

fn bars<'a>(
    caption: String,
    axis: &str,
    series: Vec<(&'static str, RGBColor, &Distances)>,
) -> Option<Chart<'a>> {
    let series: Vec<_> = series.into_iter().filter(|(_, _, d)| d.count() > 0).collect();
    let mut bars = Vec::new();
    let (mut reach, mut highest) = (4i64, 0f64);
    for (name, color, distances) in series {
        let mut heights = Vec::new();
        for (low, high, count) in distances.buckets() {
            let near = if low < 0 { high } else { low };
            let place = if near == 0 { 0 } else { i64::from(near.unsigned_abs().ilog2()) + 1 };
            let height = share(count, distances.count());
            heights.push((if low < 0 { -place } else { place }, height));
            reach = reach.max(place);
            highest = highest.max(height);
        }
        bars.push(Bars { name, color, heights });
    }
    let (from, to) = (-(reach as f64) - 0.7, reach as f64 + 0.7);
    let x = Side { name: axis.into(), from, to, label: power };
    let y = Side::up_to("per cent", highest);
    (!bars.is_empty()).then_some(Chart { caption, x, y, body: Body::Bars(bars) })
}

fn share(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 * 100.0 / of as f64 }
}

/// Bytes over time.
pub fn throughput(map: &Map) -> Chart<'_> {
    let seconds = map.rates.seconds();
    let rate = |bin: &Bin| Some(bin.bytes as f64 / 1e6 / seconds);
    let curves = over_time(map, rate, |_| None);
    lines("throughput".into(), "MB/s", map, curves)
}

/// Service times over time: their mean, and the longest.
pub fn latency(map: &Map) -> Option<Chart<'_>> {
    let mean = |bin: &Bin| (bin.timed > 0).then(|| bin.service as f64 / bin.timed as f64 / 1e6);
    let longest = |bin: &Bin| (bin.timed > 0).then_some(bin.longest as f64 / 1e6);
    let caption = "service time: mean (line) and longest (points)".to_string();
    let curves = over_time(map, mean, longest);
    map.has_services().then(|| lines(caption, "ms", map, curves))
}

fn over_time(
    map: &Map,
    line: impl Fn(&Bin) -> Option<f64>,
    points: impl Fn(&Bin) -> Option<f64>,
) -> Vec<Curve> {
    let rates = &map.rates;
    let at = |bin: usize| (rates.time.value(bin) - rates.time.from as f64) / 1e9;
    let of = |bins: &[Bin], value: &dyn Fn(&Bin) -> Option<f64>| {
        let all = bins.iter().enumerate();
        all.filter_map(|(bin, held)| Some((at(bin), value(held)?))).collect::<Vec<_>>()
    };
    let series = [("reads", READ, &rates.reads, 0), ("writes", WRITE, &rates.writes, 1)];
    let there = series.into_iter().filter(|(.., kind)| map.kinds[*kind].requests > 0);
    there
        .map(|(name, color, bins, _)| Curve {
            name,
            color,
            line: of(bins, &line),
            points: of(bins, &points),
        })
        .collect()
}

fn lines<'a>(caption: String, unit: &str, map: &Map, curves: Vec<Curve>) -> Chart<'a> {
    let all = curves.iter().flat_map(|curve| curve.line.iter().chain(&curve.points));
    let highest = all.map(|&(_, value)| value).fold(0.0, f64::max);
    let (x, y) = (Side::time(&map.rates.time), Side::up_to(unit, highest));
    Chart { caption, x, y, body: Body::Lines(curves) }
}

/// The share of requests that took no longer.
pub fn services<'a>(kinds: impl Iterator<Item = &'a Kind>) -> Option<Chart<'a>> {
    let curves: Vec<Curve> = kinds
        .filter_map(|kind| {
            let times = kind.services.as_ref()?;
            let mut seen = 0;
            let mut line = Vec::new();
            // As steps: the share rises where a time was measured.
            for step in times.iter_recorded() {
                let time = step.value_iterated_to() as f64 / 1e6;
                line.push((time, share(seen, times.len())));
                seen += step.count_since_last_iteration();
                line.push((time, share(seen, times.len())));
            }
            Some(Curve {
                name: name(kind.operation),
                color: color(kind.operation),
                line,
                points: Vec::new(),
            })
        })
        .collect();
    let all = || curves.iter().flat_map(|curve| curve.line.iter()).map(|&(time, _)| time);
    let (from, to) = (all().fold(f64::MAX, f64::min), all().fold(0.0, f64::max));
    let x = Side { name: "ms".into(), from: from * 0.9, to: to * 1.1, label: number };
    let y = Side { name: "per cent took no longer".into(), from: 0.0, to: 100.0, label: number };
    let caption = "service times".to_string();
    (!curves.is_empty()).then_some(Chart { caption, x, y, body: Body::Distribution(curves) })
}

pub fn draw_bars<DB: DrawingBackend>(
    chart: &Chart<'_>,
    area: &DrawingArea<DB, Shift>,
    bars: &[Bars],
) -> Drawn<DB> {
    let (x, y) = (chart.x.from..chart.x.to, chart.y.from..chart.y.to);
    let mut context = builder(chart, area).build_cartesian_2d(x, y)?;
    mesh(chart, &mut context)?;
    let width = 0.84 / bars.len() as f64;
    for (at, series) in bars.iter().enumerate() {
        let paint = series.color.filled();
        let left = |place: i64| place as f64 - 0.42 + at as f64 * width;
        let drawn = series.heights.iter().filter(|(_, height)| *height > 0.0).map(|&(place, h)| {
            Rectangle::new([(left(place), 0.0), (left(place) + width, h)], paint)
        });
        context
            .draw_series(drawn)?
            .label(series.name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 8), (x + 24, y + 8)], paint));
    }
    if bars.len() > 1 { legend(&mut context) } else { Ok(()) }
}

pub fn draw_lines<DB: DrawingBackend>(
    chart: &Chart<'_>,
    area: &DrawingArea<DB, Shift>,
    curves: &[Curve],
) -> Drawn<DB> {
    let (x, y) = (chart.x.from..chart.x.to, chart.y.from..chart.y.to);
    let mut context = builder(chart, area).build_cartesian_2d(x, y)?;
    mesh(chart, &mut context)?;
    for curve in curves {
        let color = curve.color;
        let points = curve.points.iter().map(|&at| Circle::new(at, 3, color.mix(0.5).filled()));
        context.draw_series(points)?;
        context
            .draw_series(LineSeries::new(curve.line.iter().copied(), color.stroke_width(2)))?
            .label(curve.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 24, y)], color.stroke_width(4)));
    }
    if curves.is_empty() { Ok(()) } else { legend(&mut context) }
}

pub fn draw_distribution<DB: DrawingBackend>(
    chart: &Chart<'_>,
    area: &DrawingArea<DB, Shift>,
    curves: &[Curve],
) -> Drawn<DB> {
    let (x, y) = ((chart.x.from..chart.x.to).log_scale(), chart.y.from..chart.y.to);
    let mut context = builder(chart, area).build_cartesian_2d(x, y)?;
    context
        .configure_mesh()
        .light_line_style(WHITE)
        .label_style(font(20))
        .axis_desc_style(font(22))
        .x_desc(&chart.x.name)
        .y_desc(&chart.y.name)
        .x_label_formatter(&|value| (chart.x.label)(*value))
        .y_label_formatter(&|value| (chart.y.label)(*value))
        .draw()?;
    for curve in curves {
        let color = curve.color;
        context
            .draw_series(LineSeries::new(curve.line.iter().copied(), color.stroke_width(3)))?
            .label(curve.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 24, y)], color.stroke_width(4)));
    }
    context
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE)
        .border_style(BLACK)
        .label_font(font(20))
        .draw()
}

fn legend<'a, DB: DrawingBackend + 'a>(context: &mut Linear<'a, DB>) -> Drawn<DB> {
    context
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE)
        .border_style(BLACK)
        .label_font(font(20))
        .draw()
}
