//! The charts of a map, each on a piece of the picture.

mod axes;
mod cells;
mod curves;

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::{DrawingArea, DrawingBackend, IntoFont, RGBColor};
use plotters::style::FontDesc;
use tandem_disk::map::{Class, Kind, Map};
use tandem_disk::request::Operation;

use crate::cli::disk::Picture;
use crate::units::{bytes, grouped, per_cent};

pub use axes::{Side, number};

/// What comes of drawing.
pub type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// Colours that can be told apart by all eyes and in grey (Okabe and Ito 2008).
const READ: RGBColor = RGBColor(0, 114, 178);
const WRITE: RGBColor = RGBColor(213, 94, 0);
const DISCARD: RGBColor = RGBColor(0, 158, 115);

/// The font of everything, in pixels.
pub fn font(size: u32) -> FontDesc<'static> {
    ("sans-serif", size).into_font()
}

/// A chart.
pub struct Chart<'a> {
    caption: String,
    x: Side,
    y: Side,
    body: Body<'a>,
}

enum Body<'a> {
    Cells(&'a tandem_disk::map::Grid, RGBColor),
    Bars(Vec<Bars>),
    Lines(Vec<Curve>),
    Distribution(Vec<Curve>),
}

/// Bars at whole numbers, in per cent.
struct Bars {
    name: &'static str,
    color: RGBColor,
    heights: Vec<(i64, f64)>,
}

/// A line, and single points beside it.
struct Curve {
    name: &'static str,
    color: RGBColor,
    line: Vec<(f64, f64)>,
    points: Vec<(f64, f64)>,
}

/// The charts of these pictures; of one that the trace tells nothing about, none.
pub fn all<'a>(map: &'a Map, pictures: &[Picture]) -> Vec<Chart<'a>> {
    pictures.iter().flat_map(|&picture| charts(map, picture)).collect()
}

fn charts(map: &Map, picture: Picture) -> Vec<Chart<'_>> {
    let kinds = map.kinds.iter().filter(|kind| kind.requests > 0);
    let moved = || kinds.clone().filter(|kind| kind.operation != Operation::Discard);
    match picture {
        Picture::Addresses => kinds.clone().map(addresses).collect(),
        Picture::Tracks => moved().map(tracks).collect(),
        Picture::Sectors => moved().map(sectors).collect(),
        Picture::Seeks => curves::seeks(map).into_iter().collect(),
        Picture::Steps => curves::steps(moved()).into_iter().collect(),
        Picture::Throughput => vec![curves::throughput(map)],
        Picture::Latency => curves::latency(map).into_iter().collect(),
        Picture::Services => curves::services(moved()).into_iter().collect(),
    }
}

fn color(operation: Operation) -> RGBColor {
    match operation {
        Operation::Read => READ,
        Operation::Write => WRITE,
        Operation::Flush | Operation::Discard => DISCARD,
    }
}

/// What requests of a kind are called.
pub fn name(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "reads",
        Operation::Write => "writes",
        Operation::Flush => "flushes",
        Operation::Discard => "discards",
    }
}

/// `812 reads, 3.2 MiB: 80 % sequential, 5 % strided, 15 % random`.
pub fn classes(kind: &Kind) -> String {
    let share = |class| per_cent(kind.patterns.share(class).requests, kind.requests);
    format!(
        "{} {}, {}: {} sequential, {} strided, {} random",
        grouped(kind.requests),
        name(kind.operation),
        bytes(kind.bytes),
        share(Class::Sequential),
        share(Class::Strided),
        share(Class::Random),
    )
}

fn addresses(kind: &Kind) -> Chart<'_> {
    let grid = &kind.addresses;
    Chart {
        caption: classes(kind),
        x: Side::time(&grid.x),
        y: Side::address(&grid.y),
        body: Body::Cells(grid, color(kind.operation)),
    }
}

fn tracks(kind: &Kind) -> Chart<'_> {
    let grid = &kind.tracks;
    Chart {
        caption: format!("{}: sector of the track against the track", name(kind.operation)),
        x: Side::plain("track", &grid.x),
        y: Side::plain("sector", &grid.y),
        body: Body::Cells(grid, color(kind.operation)),
    }
}

fn sectors(kind: &Kind) -> Chart<'_> {
    let grid = &kind.sectors;
    Chart {
        caption: format!("{}: sector of the track against time", name(kind.operation)),
        x: Side::time(&grid.x),
        y: Side::plain("sector", &grid.y),
        body: Body::Cells(grid, color(kind.operation)),
    }
}

impl Chart<'_> {
    /// Draws it.
    pub fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        match &self.body {
            Body::Cells(grid, color) => cells::draw(self, area, grid, *color),
            Body::Bars(bars) => curves::draw_bars(self, area, bars),
            Body::Lines(lines) => curves::draw_lines(self, area, lines),
            Body::Distribution(lines) => curves::draw_distribution(self, area, lines),
        }
    }
}
