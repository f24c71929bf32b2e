//! `tandem disk validate`.

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use tandem_disk::validate::{Validation, validate};

use crate::cli::disk::ValidateArgs;
use crate::cli::exit;
use crate::output;
use crate::units::grouped;

/// Compares a model with measurements.
pub fn run(args: &ValidateArgs) -> Result<u8> {
    let profile = super::profile(&args.profile)?;
    let validation = validate(&profile.medium, super::open(&args.trace)?)?;
    if args.json {
        output::print_json(&validation)?;
    } else {
        output::print(&describe(
            &args.trace.trace.display().to_string(),
            &profile.name,
            &validation,
        ))?;
    }
    Ok(exit::OK)
}

fn describe(trace: &str, profile: &str, v: &Validation) -> String {
    let mut out = format!(
        "{profile} against {trace}: demerit {:.2} % over {} requests\n\n",
        v.demerit * 100.0,
        grouped(v.requests)
    );
    let mut groups = table(["", "requests", "measured ms", "predicted ms", "demerit %"]);
    for group in &v.groups {
        groups.add_row([
            group.name.clone(),
            grouped(group.requests),
            format!("{:.3}", group.measured_ms),
            format!("{:.3}", group.predicted_ms),
            format!("{:.2}", group.demerit * 100.0),
        ]);
    }
    out += &format!("{groups}\n\n");
    let mut simpler = table(["models of it", "demerit %"]);
    for model in &v.simpler {
        simpler.add_row([model.name.clone(), format!("{:.2}", model.demerit * 100.0)]);
    }
    out += &format!("{simpler}\n\n");
    out + &curves(v)
}

fn table<const N: usize>(heads: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(heads);
    for at in 1..N {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

const WIDTH: f64 = 60.0;

/// Both distributions, a line for every 5 %: o is measured, x predicted, * both.
fn curves(v: &Validation) -> String {
    let longest = v.percentiles.iter().map(|p| p.1.max(p.2)).fold(f64::MIN_POSITIVE, f64::max);
    let mut out = "share served within   o measured   x predicted (ms)\n".to_string();
    for &(share, measured, predicted) in v.percentiles.iter().skip(4).step_by(5) {
        let place = |ms: f64| (ms / longest * WIDTH) as usize;
        let (o, x) = (place(measured), place(predicted));
        let mut line = vec![b' '; WIDTH as usize + 1];
        line[x] = b'x';
        line[o] = if o == x { b'*' } else { b'o' };
        let line = String::from_utf8_lossy(&line).into_owned();
        out += &format!(
            "{:>4.0} % {measured:>8.3} {predicted:>8.3} |{}\n",
            share * 100.0,
            line.trim_end()
        );
    }
    out
}
