//! Charts of marked cells.

use plotters::coord::Shift;
use plotters::element::Rectangle;
use plotters::prelude::{DrawingArea, DrawingBackend, RGBColor};
use plotters::style::Color;
use tandem_disk::map::Grid;

use super::axes::{builder, mesh};
use super::{Chart, Drawn};

/// Cells marked at least so often, and how much of the colour they have.
const SHADES: [(u64, f64); 4] = [(16, 1.0), (4, 0.85), (2, 0.7), (1, 0.55)];

pub fn draw<DB: DrawingBackend>(
    chart: &Chart<'_>,
    area: &DrawingArea<DB, Shift>,
    grid: &Grid,
    color: RGBColor,
) -> Drawn<DB> {
    let (x, y) = (chart.x.from..chart.x.to, chart.y.from..chart.y.to);
    let mut context = builder(chart, area).build_cartesian_2d(x, y)?;
    mesh(chart, &mut context)?;
    let plot = context.plotting_area().strip_coord_spec();
    let (width, height) = plot.dim_in_pixel();
    let place = |cell: usize, cells: usize, pixels: u32| (cell * pixels as usize / cells) as i32;
    for (row, counts) in grid.counts().into_iter().enumerate() {
        let low = height as i32 - place(row, grid.y.cells, height);
        let high = height as i32 - place(row + 1, grid.y.cells, height);
        let mut column = 0;
        while column < counts.len() {
            let shade = shade(counts[column]);
            let run = counts[column..].iter().take_while(|&&count| self::shade(count) == shade);
            let end = column + run.count();
            if let Some(shade) = shade {
                let left = place(column, grid.x.cells, width);
                let right = place(end, grid.x.cells, width).max(left + 1);
                let paint = mixed(color, shade).filled();
                plot.draw(&Rectangle::new([(left, high), (right, low)], paint))?;
            }
            column = end;
        }
    }
    Ok(())
}

fn shade(count: u64) -> Option<f64> {
    SHADES.iter().find(|(least, _)| count >= *least).map(|&(_, shade)| shade)
}

/// A colour with white, so that nothing has to be transparent.
fn mixed(RGBColor(red, green, blue): RGBColor, share: f64) -> RGBColor {
    let mix = |part: u8| (f64::from(part) * share + 255.0 * (1.0 - share)).round() as u8;
    RGBColor(mix(red), mix(green), mix(blue))
}
