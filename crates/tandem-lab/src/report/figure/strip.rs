//! Raw values: a row for each configuration, a dot for each run, the mean as a stroke.

use maud::{Markup, html};

use super::bars::Kind;
use super::scale::Scale;
use super::text::{fitted, round, width};
use super::{Panel, WIDTH};
use crate::report::number;

/// A panel of raw values.
#[derive(Debug, Clone, Default)]
pub struct Strip {
    /// Its heading.
    pub title: String,
    /// What the axis shows, with the unit.
    pub axis: String,
    /// Configurations, from above.
    pub rows: Vec<Row>,
}

/// The runs of a configuration.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// Its name.
    pub label: String,
    /// A value each, in the order of the runs.
    pub values: Vec<f64>,
    /// Whose they are.
    pub kind: Kind,
}

const ROW: f64 = 20.0;

impl Strip {
    /// The picture.
    pub fn panel(&self) -> Panel {
        let room = self.rows.iter().map(|row| width(&row.label) + 14.0).fold(40.0, f64::max);
        let left = room.min(128.0);
        let values = || self.rows.iter().flat_map(|row| row.values.iter().copied());
        let (low, high) = values().fold((f64::INFINITY, 0f64), |(l, h), v| (l.min(v), h.max(v)));
        let scale = if low > 0.0 && high / low > 20.0 {
            Scale::powers(values(), left + 6.0, WIDTH - 12.0)
        } else {
            Scale::around(values(), left + 6.0, WIDTH - 12.0)
        };
        let bottom = 4.0 + ROW * self.rows.len() as f64;
        let body = html! {
            @for tick in scale.ticks(4) {
                path class="grid" d=(format!("M{} 2V{}", round(scale.at(tick)), round(bottom))) {}
                text class="tick middle" x=(round(scale.at(tick))) y=(round(bottom + 13.0)) { (number::tick(tick)) }
            }
            @for (at, row) in self.rows.iter().enumerate() {
                (row.row(&scale, left, 4.0 + ROW * at as f64))
            }
            text class="axis middle" x=(round((left + WIDTH) / 2.0)) y=(round(bottom + 30.0)) {
                (self.axis) @if scale.logarithmic { ", powers at equal distances" }
            }
        };
        Panel { title: self.title.clone(), alt: self.alt(), height: bottom + 36.0, body }
    }

    fn alt(&self) -> String {
        let row = |row: &Row| {
            let values: Vec<_> = row.values.iter().map(|&value| number::short(value)).collect();
            format!("{}: {}", row.label, values.join(", "))
        };
        let rows: Vec<_> = self.rows.iter().map(row).collect();
        format!("A dot for each run, {}. {}.", self.axis, rows.join("; "))
    }
}

impl Row {
    fn row(&self, scale: &Scale, left: f64, y: f64) -> Markup {
        let class = match self.kind {
            Kind::Own => "dot own",
            Kind::Peer => "dot peer",
            Kind::Baseline => "dot baseline",
        };
        let mean = self.values.iter().sum::<f64>() / self.values.len().max(1) as f64;
        let middle = y + ROW / 2.0;
        let lane = |at: usize| middle + ((at % 3) as f64 - 1.0) * 3.0;
        html! {
            (fitted("label end", left - 6.0, middle + 4.0, left - 6.0, &self.label))
            @for (at, &value) in self.values.iter().enumerate().filter(|(_, v)| v.is_finite()) {
                circle class=(class) cx=(round(scale.at(value))) cy=(round(lane(at))) r="3.2" {}
            }
            @if !self.values.is_empty() && mean.is_finite() {
                path class="whisker" d=(format!("M{} {}v{}", round(scale.at(mean)), round(y + 2.0), ROW - 4.0)) {}
            }
        }
    }
}
