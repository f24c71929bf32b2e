//! Axes: their ranges, their names, and the numbers on them.

use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, DrawingBackend, WHITE};
use plotters::style::{Color, RGBColor};
use tandem_disk::map::Axis;

use super::{Chart, Drawn, font};
use crate::units::grouped;

const FAINT: RGBColor = RGBColor(225, 225, 225);

/// An axis in the unit in which it is drawn.
pub struct Side {
    pub name: String,
    pub from: f64,
    pub to: f64,
    pub label: fn(f64) -> String,
}

impl Side {
    /// Seconds since the trace's beginning.
    pub fn time(axis: &Axis) -> Side {
        let to = (axis.to - axis.from) as f64 / 1e9;
        Side { name: "seconds".into(), from: 0.0, to, label: number }
    }

    /// Bytes, in the largest unit of which there are two.
    pub fn address(axis: &Axis) -> Side {
        let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "bytes")];
        let fits = |&&(shift, _): &&(u32, _)| (axis.to - axis.from) >> shift >= 2;
        let &(shift, name) = units.iter().find(fits).unwrap_or(&units[4]);
        let value = |bytes: u64| bytes as f64 / (1u64 << shift) as f64;
        Side {
            name: format!("address, {name}"),
            from: value(axis.from),
            to: value(axis.to),
            label: number,
        }
    }

    /// The axis as it is.
    pub fn plain(name: &str, axis: &Axis) -> Side {
        Side { name: name.into(), from: axis.from as f64, to: axis.to as f64, label: number }
    }

    /// From nothing to a little more than the largest.
    pub fn up_to(name: &str, largest: f64) -> Side {
        let to = if largest > 0.0 { largest * 1.05 } else { 1.0 };
        Side { name: name.into(), from: 0.0, to, label: number }
    }
}

/// Prepares a piece of the picture for a chart.
pub fn builder<'a, 'b, DB: DrawingBackend>(
    chart: &Chart<'_>,
    area: &'a DrawingArea<DB, Shift>,
) -> ChartBuilder<'a, 'b, DB> {
    let mut builder = ChartBuilder::on(area);
    builder
        .margin(12)
        .margin_right(30)
        .caption(&chart.caption, font(24))
        .x_label_area_size(64)
        .y_label_area_size(110);
    builder
}

/// The lines and numbers of a chart whose axes are both linear.
pub fn mesh<DB: DrawingBackend>(
    chart: &Chart<'_>,
    context: &mut super::curves::Linear<'_, DB>,
) -> Drawn<DB> {
    context
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(FAINT.stroke_width(1))
        .label_style(font(20))
        .axis_desc_style(font(22))
        .x_labels(8)
        .y_labels(7)
        .x_desc(&chart.x.name)
        .y_desc(&chart.y.name)
        .x_label_formatter(&|value| (chart.x.label)(*value))
        .y_label_formatter(&|value| (chart.y.label)(*value))
        .draw()
}

/// A number with as many digits as it needs.
pub fn number(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "" };
    let size = value.abs();
    if size >= 1000.0 {
        return format!("{sign}{}", grouped(size.round() as u64));
    }
    let text = if size < 0.01 { format!("{size:.6}") } else { format!("{size:.3}") };
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "0" { text.into() } else { format!("{sign}{text}") }
}

/// The distance of a histogram's bar: 0, then 1, 2, 4, … either way.
pub fn power(value: f64) -> String {
    let whole = value.round();
    if (value - whole).abs() > 1e-6 {
        return String::new();
    }
    let sign = if whole < 0.0 { "−" } else { "" };
    let Some(bit) = (whole.abs() as u32).checked_sub(1) else { return "0".into() };
    let (unit, bit) = match bit {
        0..10 => ("", bit),
        10..20 => ("K", bit - 10),
        20..30 => ("M", bit - 20),
        30..40 => ("G", bit - 30),
        _ => ("T", bit.saturating_sub(40)),
    };
    format!("{sign}{}{unit}", 1u64.checked_shl(bit).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels() {
        let labels = [0.0, 2.0, 0.25, 0.000_125, -3.5, 12_345.6].map(number);
        assert_eq!(labels, ["0", "2", "0.25", "0.000125", "−3.5", "12,346"]);
        let bars = [0.0, 1.0, 4.0, -11.0, 32.0, 2.5, 63.0].map(power);
        assert_eq!(bars, ["0", "1", "8", "−1K", "2G", "", "4194304T"]);
    }

    #[test]
    fn units() {
        let name = |to| Side::address(&Axis::new(0, to, 10)).name;
        assert_eq!(
            [name(100), name(3 << 20), name(3 << 40)].join("; "),
            "address, bytes; address, MiB; address, TiB"
        );
    }
}
