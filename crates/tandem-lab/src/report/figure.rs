//! Figures: panels of SVG that take their colours from the page, or bring them along.
//!
//! A panel is about as wide as a phone; the page sets as many side by side as there is room for.

mod bars;
mod cells;
mod scale;
mod strip;
mod text;
mod xy;

use maud::{Markup, PreEscaped, html};

use super::table::Table;

pub use bars::{Bar, Bars, Kind, Printed};
pub use cells::Cells;
pub use scale::Scale;
pub use strip::{Row, Strip};
pub use xy::{Line, Plot, Point};

/// Width of a panel, in the units of its contents.
pub const WIDTH: f64 = 360.0;

/// Colours and strokes, for the page and for figures that stand alone.
pub const STYLE: &str = include_str!("figure/figure.css");

/// A figure.
#[derive(Debug, Clone, Default)]
pub struct Figure {
    /// Name of its files, and its place in the page.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What is drawn: metric, unit, intervals, runs.
    pub note: String,
    /// What signs mean.
    pub legend: Vec<Key>,
    /// The pictures.
    pub panels: Vec<Panel>,
    /// What the checklist says of the runs behind it.
    pub marks: Vec<String>,
    /// Its values.
    pub table: Option<Table>,
}

/// A picture.
#[derive(Debug, Clone)]
pub struct Panel {
    /// Its heading.
    pub title: String,
    /// What it shows, in words.
    pub alt: String,
    /// Height of its contents; their width is [`WIDTH`].
    pub height: f64,
    /// SVG.
    pub body: Markup,
}

/// An entry of the legend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Class of the sample.
    pub class: &'static str,
    /// What it stands for.
    pub text: String,
}

impl Key {
    /// Of a sample and its meaning.
    pub fn new(class: &'static str, text: impl Into<String>) -> Key {
        Key { class, text: text.into() }
    }

    fn sample(&self) -> Markup {
        html! {
            svg class="key" width="22" height="12" viewBox="0 0 22 12" aria-hidden="true" {
                rect class=(self.class) x="1" y="1" width="20" height="10" {}
            }
        }
    }
}

impl Figure {
    /// As a part of the page.
    pub fn html(&self) -> Markup {
        html! {
            figure id=(self.id) {
                figcaption {
                    h4 { (self.title) }
                    p class="note" { (self.note) }
                    @if !self.legend.is_empty() {
                        p class="legend" {
                            @for key in &self.legend { span { (key.sample()) " " (key.text) } " " }
                        }
                    }
                }
                div class="panels" {
                    @for (at, panel) in self.panels.iter().enumerate() {
                        (panel.html(&format!("{}-{}", self.id, at + 1)))
                    }
                }
                @if !self.marks.is_empty() {
                    details class="marks" open[self.marks.len() <= 4] {
                        summary { "⚑ To be known of these runs" }
                        ul { @for mark in &self.marks { li { (mark) } } }
                    }
                }
                @if let Some(table) = &self.table {
                    details { summary { "Values" } (table.html()) }
                }
            }
        }
    }

    /// As a file of its own: panels in columns.
    pub fn svg(&self) -> String {
        let columns = self.panels.len().clamp(1, 3);
        let rows: Vec<_> = self.panels.chunks(columns).collect();
        let heights: Vec<f64> = rows
            .iter()
            .map(|row| row.iter().map(|panel| panel.height).fold(0.0, f64::max) + 28.0)
            .collect();
        let legend = 20.0 * self.legend.len() as f64;
        let (width, top) = (WIDTH * columns as f64, 56.0 + legend);
        let height = top + heights.iter().sum::<f64>();
        let mut y = top;
        let mut body = Vec::new();
        for (row, tall) in rows.iter().zip(&heights) {
            for (column, panel) in row.iter().enumerate() {
                let x = WIDTH * column as f64;
                body.push(html! {
                    text class="heading" x=(x + 4.0) y=(y + 14.0) { (panel.title) }
                    svg x=(x) y=(y + 22.0) width=(WIDTH) height=(panel.height) { (panel.body) }
                });
            }
            y += tall;
        }
        let markup = html! {
            svg xmlns="http://www.w3.org/2000/svg" class="figure alone" width=(width) height=(height)
                viewBox=(format!("0 0 {width} {height}")) role="img" aria-labelledby="t d" {
                title id="t" { (self.title) }
                desc id="d" { (self.note) }
                style { (PreEscaped(STYLE)) }
                rect class="paper" width="100%" height="100%" {}
                text class="heading" x="4" y="18" { (self.title) }
                text class="tick" x="4" y="38" { (self.note) }
                @for (at, key) in self.legend.iter().enumerate() {
                    rect class=(key.class) x="5" y=(48.0 + 20.0 * at as f64) width="20" height="10" {}
                    text class="label" x="32" y=(57.0 + 20.0 * at as f64) { (key.text) }
                }
                @for part in &body { (part) }
            }
        };
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", markup.into_string())
    }
}

impl Panel {
    fn html(&self, id: &str) -> Markup {
        html! {
            div class="panel" {
                @if !self.title.is_empty() { h5 { (self.title) } }
                svg class="figure" viewBox=(format!("0 0 {WIDTH} {}", self.height)) role="img"
                    aria-labelledby=(format!("{id}-t {id}-d")) {
                    title id=(format!("{id}-t")) { (self.title) }
                    desc id=(format!("{id}-d")) { (self.alt) }
                    (self.body)
                }
            }
        }
    }
}
