//! Cells that were touched, over two axes: an access map.

use maud::html;

use super::scale::Scale;
use super::text::{round, width};
use super::{Panel, WIDTH};
use crate::report::number;

/// A panel of cells.
#[derive(Debug, Clone, Default)]
pub struct Cells {
    /// Its heading.
    pub title: String,
    /// What it shows, in words.
    pub alt: String,
    /// What the axes show, with units.
    pub axes: [String; 2],
    /// Where the axes begin and end.
    pub ranges: [(f64, f64); 2],
    /// Class and cells of each layer: rows from the lowest upwards, true where something lies.
    pub layers: Vec<(&'static str, Vec<Vec<bool>>)>,
}

const TOP: f64 = 8.0;
const BOTTOM: f64 = 168.0;

impl Cells {
    /// The picture.
    pub fn panel(&self) -> Panel {
        let [(x0, x1), (y0, y1)] = self.ranges;
        let y = Scale { from: y0, to: y1, start: BOTTOM, end: TOP, logarithmic: false };
        let ticks = y.ticks(4);
        let wide = ticks.iter().map(|&tick| width(&number::tick(tick))).fold(20.0, f64::max);
        let left = wide + 24.0;
        let x = Scale { from: x0, to: x1, start: left, end: WIDTH - 10.0, logarithmic: false };
        let body = html! {
            path class="frame" d=(format!("M{left} {TOP}H{}V{BOTTOM}H{left}Z", WIDTH - 10.0)) {}
            @for tick in &ticks {
                path class="grid" d=(format!("M{} {}H{left}", left - 4.0, round(y.at(*tick)))) {}
                text class="tick end" x=(left - 6.0) y=(round(y.at(*tick) + 4.0)) { (number::tick(*tick)) }
            }
            @for tick in x.ticks(5) {
                path class="grid" d=(format!("M{} {BOTTOM}v4", round(x.at(tick)))) {}
                text class="tick middle" x=(round(x.at(tick))) y=(BOTTOM + 15.0) { (number::tick(tick)) }
            }
            @for (class, rows) in &self.layers { path class=(class) d=(outline(rows, left)) {} }
            text class="axis middle" x=(round((left + WIDTH) / 2.0)) y=(BOTTOM + 31.0) { (self.axes[0]) }
            text class="axis middle" transform=(format!("translate(10 {}) rotate(-90)", (TOP + BOTTOM) / 2.0)) {
                (self.axes[1])
            }
        };
        Panel { title: self.title.clone(), alt: self.alt.clone(), height: BOTTOM + 38.0, body }
    }
}

/// Neighbours in a row are one rectangle, at least a unit wide and high: what is there is seen.
fn outline(rows: &[Vec<bool>], left: f64) -> String {
    let high = (BOTTOM - TOP) / rows.len().max(1) as f64;
    let mut path = String::new();
    for (row, cells) in rows.iter().enumerate() {
        let wide = (WIDTH - 10.0 - left) / cells.len().max(1) as f64;
        let mut at = 0;
        while at < cells.len() {
            let run = cells[at..].iter().take_while(|&&cell| cell).count();
            if run > 0 {
                let (x, y) = (left + wide * at as f64, BOTTOM - high * (row + 1) as f64);
                let (w, h) = (round((wide * run as f64).max(1.0)), round(high.max(1.0)));
                path.push_str(&format!("M{} {}h{w}v{h}h-{w}z", round(x), round(y)));
            }
            at += run.max(1);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_rectangles() {
        let rows = vec![vec![true, true, false, true], vec![false; 4]];
        assert_eq!(outline(&rows, 30.0).matches('M').count(), 2);
        assert_eq!(outline(&[], 30.0), "");
    }
}
