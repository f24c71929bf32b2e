//! Tables, in Markdown.

use comfy_table::{CellAlignment, ContentArrangement, Table};

/// Processors and kernel.
pub fn machine() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{cpus} processors, Linux {}; loop devices on files in memory", kernel.trim())
}

/// Prints a table under a heading.
pub fn show(heading: &str, head: &[&str], rows: &[Vec<String>]) {
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::ASCII_MARKDOWN);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head);
    table.add_rows(rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("### {heading}\n\n{table}\n");
}

/// A number with a comma at every third place.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `met` or `missed`.
pub fn verdict(met: bool) -> String {
    if met { "met" } else { "missed" }.to_owned()
}

/// Sectors as mebibytes.
pub fn mib(sectors: u64) -> String {
    format!("{:.1}", sectors as f64 / 2048.0)
}

/// The mean size of requests, in KiB.
pub fn mean_kib(sectors: u64, requests: u64) -> String {
    if requests == 0 {
        "-".into()
    } else {
        format!("{:.0}", sectors as f64 / 2.0 / requests as f64)
    }
}
