//! Points and lines over two axes.

use maud::{Markup, html};

use super::scale::Scale;
use super::text::{fitted, round, width};
use super::{Panel, WIDTH};
use crate::report::number;

/// A panel with two axes.
#[derive(Debug, Clone, Default)]
pub struct Plot {
    /// Its heading.
    pub title: String,
    /// What it shows, in words.
    pub alt: String,
    /// What the axes show, with units.
    pub axes: [String; 2],
    /// Names at 0, 1, 2… of the horizontal axis, instead of numbers.
    pub names: Vec<String>,
    /// Does the vertical axis show powers at equal distances?
    pub logarithmic: bool,
    /// Points that stand alone.
    pub points: Vec<Point>,
    /// Lines with points, each with its name at its end.
    pub lines: Vec<Line>,
    /// A straight line to compare with, by two points.
    pub guide: Option<[(f64, f64); 2]>,
}

/// A point.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Upwards.
    pub y: f64,
    /// Its interval, upwards.
    pub interval: Option<(f64, f64)>,
}

/// A line.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// Its name.
    pub label: String,
    /// Its points, from the left.
    pub points: Vec<Point>,
}

const TOP: f64 = 10.0;
const BOTTOM: f64 = 200.0;
const LEFT: f64 = 54.0;

impl Plot {
    /// The picture.
    pub fn panel(&self) -> Panel {
        let labels = self.lines.iter().map(|line| width(&line.label) + 14.0).fold(0.0, f64::max);
        let right = WIDTH - labels.clamp(12.0, 110.0);
        let all = || self.points.iter().chain(self.lines.iter().flat_map(|line| &line.points));
        let heights = || {
            let bounds = |p: &Point| p.interval.map_or([p.y, p.y], |(l, h)| [l, h]);
            let ends = self.guide.into_iter().flatten().map(|(_, y)| y);
            all().flat_map(move |p| bounds(p).into_iter().chain([p.y])).chain(ends)
        };
        let y = match self.logarithmic {
            true => Scale::powers(heights(), BOTTOM, TOP),
            false => Scale::around(heights(), BOTTOM, TOP),
        };
        let x = match self.names.len() {
            0 => Scale::around(all().map(|p| p.x), LEFT + 4.0, right - 4.0),
            n => Scale {
                from: -0.35,
                to: n as f64 - 0.65,
                start: LEFT,
                end: right,
                logarithmic: false,
            },
        };
        let body = html! {
            (self.frame(&x, &y, right))
            @if let Some([a, b]) = self.guide {
                path class="guide" d=(format!("M{} {}L{} {}",
                    round(x.at(a.0)), round(y.at(a.1)), round(x.at(b.0)), round(y.at(b.1)))) {}
            }
            @for point in &self.points {
                circle class="dot s0" cx=(round(x.at(point.x))) cy=(round(y.at(point.y))) r="3" {}
            }
            @for (at, line) in self.lines.iter().enumerate() { (line.line(at, self.lines.len(), &x, &y)) }
            (self.labels(&y, right))
        };
        Panel {
            title: self.title.clone(),
            alt: self.alt.clone(),
            height: BOTTOM + 42.0 + self.tilt(right),
            body,
        }
    }

    /// How far names along the axis reach down: nothing if they fit beside one another, else they are tilted.
    fn tilt(&self, right: f64) -> f64 {
        let space = (right - LEFT) / self.names.len().max(1) as f64;
        let widest = self.names.iter().map(|name| width(name)).fold(0.0, f64::max);
        if widest <= space - 4.0 { 0.0 } else { widest.min(130.0) * 0.6 }
    }

    fn frame(&self, x: &Scale, y: &Scale, right: f64) -> Markup {
        let tilt = self.tilt(right);
        html! {
            @for tick in y.ticks(5) {
                path class="grid" d=(format!("M{LEFT} {}H{}", round(y.at(tick)), round(right))) {}
                text class="tick end" x=(LEFT - 5.0) y=(round(y.at(tick) + 4.0)) { (number::tick(tick)) }
            }
            @if self.names.is_empty() {
                @for tick in x.ticks(5) {
                    path class="grid" d=(format!("M{} {TOP}V{BOTTOM}", round(x.at(tick)))) {}
                    text class="tick middle" x=(round(x.at(tick))) y=(BOTTOM + 14.0) { (number::tick(tick)) }
                }
            }
            @for (at, name) in self.names.iter().enumerate() {
                @let place = round(x.at(at as f64));
                @if tilt == 0.0 { text class="tick middle" x=(place) y=(BOTTOM + 14.0) { (name) } }
                @else {
                    g transform=(format!("translate({} {}) rotate(-38)", place + 3.0, BOTTOM + 12.0)) {
                        (fitted("tick end", 0.0, 0.0, 130.0, name))
                    }
                }
            }
            text class="axis middle" x=(round((LEFT + right) / 2.0)) y=(round(BOTTOM + 31.0 + tilt)) { (self.axes[0]) }
            text class="axis middle" transform=(format!("translate(11 {}) rotate(-90)", (TOP + BOTTOM) / 2.0)) {
                (self.axes[1])
            }
        }
    }

    /// The lines' names at their right ends, apart from one another.
    fn labels(&self, y: &Scale, right: f64) -> Markup {
        let end = |line: &Line| line.points.last().map(|point| y.at(point.y));
        let mut places: Vec<(f64, usize)> =
            self.lines.iter().enumerate().filter_map(|(at, l)| Some((end(l)?, at))).collect();
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        let apart = (13.0f64).min((BOTTOM - TOP) / places.len().max(1) as f64);
        for at in 1..places.len() {
            places[at].0 = places[at].0.max(places[at - 1].0 + apart);
        }
        let mut limit = BOTTOM + 2.0;
        for place in places.iter_mut().rev() {
            place.0 = place.0.min(limit);
            limit = place.0 - apart;
        }
        html! {
            @for (place, at) in &places {
                (fitted(&format!("value halo-less s{}", at % 7), right + 4.0, place + 4.0,
                    WIDTH - right - 2.0, &self.lines[*at].label))
            }
        }
    }
}

impl Line {
    fn line(&self, at: usize, of: usize, x: &Scale, y: &Scale) -> Markup {
        let class = format!("s{}", at % 7);
        // Points of one place stand a little apart, or their intervals would hide one another.
        let shift = (at as f64 - (of as f64 - 1.0) / 2.0) * (16.0 / of.max(1) as f64).min(4.0);
        let place = |p: &Point| (round(x.at(p.x) + shift), round(y.at(p.y)));
        let steps: Vec<_> =
            self.points.iter().map(place).map(|(x, y)| format!("{x} {y}")).collect();
        html! {
            @if !steps.is_empty() {
                path class={ "line " (class) } d=(format!("M{}", steps.join("L")))
                    stroke-dasharray=[(at >= 7).then_some("6 3")] {}
            }
            @for point in &self.points {
                @let (px, py) = place(point);
                @if let Some((low, high)) = point.interval {
                    path class="whisker" d=(format!("M{px} {}V{}", round(y.at(low)), round(y.at(high)))) {}
                }
                (mark(at, &class, px, py))
            }
        }
    }
}

/// A sign of its own for each line: colour alone does not tell them apart.
fn mark(at: usize, class: &str, x: f64, y: f64) -> Markup {
    let path = match at % 4 {
        0 => return html! { circle class=(class) cx=(x) cy=(y) r="3.4" {} },
        1 => format!("M{} {}h6v6h-6z", x - 3.0, y - 3.0),
        2 => format!("M{x} {}l4 7h-8z", y - 4.0),
        _ => format!("M{x} {}l4.4 4.4l-4.4 4.4l-4.4 -4.4z", y - 4.4),
    };
    html! { path class=(class) d=(path) {} }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_apart_and_escaped() {
        let line = |label: &str, y| Line {
            label: label.into(),
            points: vec![Point { x: 0.0, y, interval: Some((y - 1.0, y + 1.0)) }],
        };
        let plot = Plot {
            names: vec!["<1>".into()],
            lines: vec![line("a&b", 5.0), line("c", 5.0)],
            ..Plot::default()
        };
        let svg = plot.panel().body.into_string();
        assert!(svg.contains("a&amp;b") && svg.contains("&lt;1&gt;"));
        let heights: Vec<_> = svg
            .split("halo-less")
            .skip(1)
            .filter_map(|rest| rest.split("y=\"").nth(1)?.split('"').next())
            .collect();
        assert_eq!(heights.len(), 2);
        assert_ne!(heights[0], heights[1]);
    }

    #[test]
    fn nothing_to_draw() {
        let svg = Plot::default().panel().body.into_string();
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}
