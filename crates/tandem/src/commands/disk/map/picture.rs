//! A picture as a file: the charts of a map one below the other, as SVG or PNG.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use plotters::coord::Shift;
use plotters::prelude::{BitMapBackend, DrawingArea, DrawingBackend, IntoDrawingArea, SVGBackend};
use plotters::style::{FontStyle, WHITE, register_font};
use tandem_disk::map::Map;

use super::chart::{self, Drawn};
use crate::cli::disk::Picture;

/// Pixels across: on a phone a letter is then a fortieth of the width.
const WIDTH: u32 = 1000;
/// Pixels down, of the title and of each chart.
const TITLE: u32 = 60;
const HEIGHT: u32 = 420;

/// The format of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Scalable Vector Graphics.
    Svg,
    /// Portable Network Graphics.
    Png,
}

impl Kind {
    /// What a file's name says.
    pub fn of_name(path: &Path) -> Result<Kind> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => Ok(Kind::Svg),
            Some("png") => Ok(Kind::Png),
            _ => bail!("{}: a picture's name ends with .svg or .png", path.display()),
        }
    }
}

/// The picture's file.
pub fn draw(map: &Map, title: &str, pictures: &[Picture], kind: Kind) -> Result<Vec<u8>> {
    // One font for both formats, whatever the machine has: texts are laid out by it.
    register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular())
        .map_err(|_| anyhow!("the font cannot be used"))?;
    let charts = chart::all(map, pictures);
    if charts.is_empty() {
        bail!("the trace tells nothing of that");
    }
    let size = (WIDTH, TITLE + HEIGHT * charts.len() as u32);
    match kind {
        Kind::Svg => {
            let mut text = String::new();
            let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
            column(&area, title, &charts).map_err(|e| anyhow!("drawing: {e}"))?;
            drop(area);
            Ok(text.into_bytes())
        }
        Kind::Png => {
            let mut pixels = vec![0; (size.0 * size.1 * 3) as usize];
            let area = BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area();
            column(&area, title, &charts).map_err(|e| anyhow!("drawing: {e}"))?;
            drop(area);
            encode(&pixels, size)
        }
    }
}

fn column<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    title: &str,
    charts: &[chart::Chart<'_>],
) -> Drawn<DB> {
    area.fill(&WHITE)?;
    let (head, body) = area.split_vertically(TITLE);
    head.margin(16, 0, 0, 0).titled(title, chart::font(28))?;
    for (area, chart) in body.split_evenly((charts.len(), 1)).iter().zip(charts) {
        chart.draw(area)?;
    }
    area.present()
}

fn encode(pixels: &[u8], (width, height): (u32, u32)) -> Result<Vec<u8>> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(file)
}
