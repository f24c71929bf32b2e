//! Bars: a row each, from zero; the flush unfilled, the interval across its end, the paper's value
//! beneath.

use maud::{Markup, html};

use super::scale::Scale;
use super::text::{fitted, ground, round, width};
use super::{Panel, WIDTH};
use crate::report::number;

/// A panel of bars.
#[derive(Debug, Clone, Default)]
pub struct Bars {
    /// Its heading.
    pub title: String,
    /// What the axis shows, with the unit.
    pub axis: String,
    /// The bars, from above.
    pub bars: Vec<Bar>,
    /// Where the axis ends, if panels share one.
    pub limit: Option<f64>,
    /// Is there a line at 1, the baseline's?
    pub one: bool,
}

/// A bar.
#[derive(Debug, Clone, Default)]
pub struct Bar {
    /// Its name.
    pub label: String,
    /// Its length; none if it was not measured.
    pub value: Option<f64>,
    /// How much of that is time to flush.
    pub flush: f64,
    /// The interval of the mean.
    pub interval: Option<(f64, f64)>,
    /// What stands in it or beside it; instead of it, why it is not there.
    pub text: String,
    /// Whose it is.
    pub kind: Kind,
    /// Does the checklist mark any of its runs?
    pub marked: bool,
    /// What the paper has.
    pub printed: Option<Printed>,
}

/// Whose bar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kind {
    /// Tandem's.
    Own,
    /// Another's.
    #[default]
    Peer,
    /// Of what the others are compared with.
    Baseline,
}

/// A paper's value.
#[derive(Debug, Clone, Default)]
pub struct Printed {
    /// Its length.
    pub value: f64,
    /// The interval of the mean, if the paper gives one.
    pub interval: Option<(f64, f64)>,
    /// What stands beside it.
    pub text: String,
}

const BAR: f64 = 18.0;
const PRINTED: f64 = 9.0;
const GAP: f64 = 6.0;

impl Bars {
    /// As far as the axis should go: all values and, within reason, their intervals.
    pub fn reach(&self) -> f64 {
        let values = self.bars.iter().flat_map(|bar| {
            let own = bar.value.map(|value| (value, bar.interval));
            let printed = bar.printed.as_ref().map(|printed| (printed.value, printed.interval));
            own.into_iter().chain(printed)
        });
        let (mut longest, mut upper) = (0f64, 0f64);
        for (value, interval) in values.filter(|(value, _)| value.is_finite()) {
            longest = longest.max(value);
            upper = upper.max(interval.map_or(value, |(_, high)| high.max(value)));
        }
        upper.min(longest * 1.6) * 1.02
    }

    /// The picture.
    pub fn panel(&self) -> Panel {
        let room = self.bars.iter().map(|bar| width(&bar.name()) + 14.0).fold(40.0, f64::max);
        let left = room.min(128.0);
        let scale =
            Scale::from_zero(self.limit.unwrap_or_else(|| self.reach()), left, WIDTH - 12.0);
        let mut y = 4.0;
        let mut rows = Vec::new();
        for bar in &self.bars {
            rows.push(bar.row(&scale, left, y));
            y += bar.height();
        }
        let body = html! {
            (axis(&scale, y, &self.axis, self.one))
            @for row in &rows { (row) }
        };
        Panel { title: self.title.clone(), alt: self.alt(), height: y + 36.0, body }
    }

    fn alt(&self) -> String {
        let bar = |bar: &Bar| {
            let paper = bar.printed.as_ref();
            let paper = paper.map(|p| format!(" (paper: {})", p.text)).unwrap_or_default();
            format!("{}: {}{paper}", bar.label, bar.text)
        };
        let bars: Vec<_> = self.bars.iter().map(bar).collect();
        format!("Bars, {}. {}.", self.axis, bars.join("; "))
    }
}

impl Bar {
    fn height(&self) -> f64 {
        BAR + GAP + if self.printed.is_some() { PRINTED + 3.0 } else { 0.0 }
    }

    fn name(&self) -> String {
        format!("{}{}", if self.marked { "⚑ " } else { "" }, self.label)
    }

    fn row(&self, scale: &Scale, left: f64, y: f64) -> Markup {
        let middle = y + BAR / 2.0 + 4.0;
        html! {
            (fitted("label end", left - 6.0, middle, left - 6.0, &self.name()))
            @match self.value {
                Some(value) => { (self.bar(value, scale, y)) }
                None => {
                    (ground(left + 6.0, middle, &self.text))
                    (fitted("missing", left + 6.0, middle, WIDTH - left - 10.0, &self.text))
                }
            }
            @if let Some(printed) = &self.printed { (printed.bar(scale, y + BAR + 2.0)) }
        }
    }

    fn bar(&self, value: f64, scale: &Scale, y: f64) -> Markup {
        let class = match self.kind {
            Kind::Own => "own",
            Kind::Peer => "peer",
            Kind::Baseline => "baseline",
        };
        let (start, end) = (scale.start, scale.at(value));
        let filled = scale.at(value - self.flush.max(0.0));
        let upper = self.interval.map_or(end, |(_, high)| scale.at(high)).max(end);
        let lower = self.interval.map_or(end, |(low, _)| scale.at(low)).min(filled);
        let wide = width(&self.text) + 10.0;
        let (place, text) = match () {
            () if lower - start >= wide => (start + 6.0, "inside"),
            () if upper + wide <= WIDTH => (upper + 6.0, "beside"),
            () if filled - start >= wide => (start + 6.0, "inside"),
            () => (start + 6.0, "beside"),
        };
        html! {
            @if filled - start > 0.05 {
                rect class=(class) x=(round(start)) y=(round(y)) width=(round(filled - start)) height=(BAR) {}
            }
            @if end - filled > 0.3 {
                rect class={ (class) " flush" } x=(round(filled)) y=(round(y + 0.75))
                    width=(round(end - filled)) height=(BAR - 1.5) {}
            }
            (whisker(self.interval, scale, y + BAR / 2.0, 5.0))
            @if place > end { (ground(place, y + BAR / 2.0 + 4.0, &self.text)) }
            text class={ "value " (text) " on-" (class) } x=(round(place)) y=(round(y + BAR / 2.0 + 4.0)) {
                (self.text)
            }
        }
    }
}

impl Printed {
    fn bar(&self, scale: &Scale, y: f64) -> Markup {
        let end = scale.at(self.value);
        let upper = self.interval.map_or(end, |(_, high)| scale.at(high)).max(end);
        let wide = width(&self.text) + 8.0;
        let place = if upper + wide <= WIDTH { upper + 5.0 } else { scale.start + 5.0 };
        html! {
            rect class="printed" x=(round(scale.start)) y=(round(y)) width=(round((end - scale.start).max(0.5)))
                height=(PRINTED) {}
            (whisker(self.interval, scale, y + PRINTED / 2.0, 3.0))
            @if place > end { (ground(place, y + PRINTED / 2.0 + 3.5, &self.text)) }
            text class="value paper-value" x=(round(place)) y=(round(y + PRINTED / 2.0 + 3.5)) { (self.text) }
        }
    }
}

/// The interval; open where it goes on beyond the axis.
fn whisker(interval: Option<(f64, f64)>, scale: &Scale, y: f64, half: f64) -> Markup {
    let Some((low, high)) = interval.filter(|(low, high)| low.is_finite() && high.is_finite())
    else {
        return Markup::default();
    };
    let (from, to) = (round(scale.at(low)), round(scale.at(high)));
    let (top, bottom) = (round(y - half), round(y + half));
    let mut path = format!("M{from} {}H{to}", round(y));
    if low >= scale.from {
        path.push_str(&format!("M{from} {top}V{bottom}"));
    }
    if high <= scale.to {
        path.push_str(&format!("M{to} {top}V{bottom}"));
    }
    html! { path class="whisker-halo" d=(path) {} path class="whisker" d=(path) {} }
}

fn axis(scale: &Scale, bottom: f64, name: &str, one: bool) -> Markup {
    let line = |x: f64| format!("M{} 2V{}", round(x), round(bottom));
    html! {
        @for tick in scale.ticks(4) {
            path class="grid" d=(line(scale.at(tick))) {}
            text class="tick middle" x=(round(scale.at(tick))) y=(round(bottom + 13.0)) { (number::tick(tick)) }
        }
        @if one && scale.to > 1.0 { path class="one" d=(line(scale.at(1.0))) {} }
        text class="axis middle" x=(round((scale.start + scale.end) / 2.0)) y=(round(bottom + 30.0)) { (name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(label: &str, value: f64) -> Bar {
        Bar {
            label: label.into(),
            value: Some(value),
            text: number::short(value),
            ..Bar::default()
        }
    }

    #[test]
    fn whole_and_escaped() {
        let mut bars = Bars { bars: vec![bar("<b>", 2.0), bar("ext2", 4.0)], ..Bars::default() };
        bars.bars[1].flush = 1.0;
        bars.bars[1].interval = Some((3.5, 9.0));
        bars.bars.push(Bar { label: "jfs".into(), text: "not run".into(), ..Bar::default() });
        assert!((bars.reach() - 4.0 * 1.6 * 1.02).abs() < 1e-9);
        let panel = bars.panel();
        let svg = panel.body.into_string();
        assert!(svg.contains("&lt;b&gt;") && !svg.contains("<b>"));
        assert!(svg.contains("peer flush") && svg.contains("not run"));
        assert!(panel.alt.contains("ext2: 4"));
    }

    #[test]
    fn no_values() {
        let odd = [f64::NAN, f64::INFINITY, 0.0, -1.0];
        let bars = Bars { bars: odd.map(|v| bar("x", v)).to_vec(), ..Bars::default() };
        let svg = bars.panel().body.into_string();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
