//! The table.

use crate::{Args, Figures};
use comfy_table::{CellAlignment, ContentArrangement, Table};

/// Measure, what the ratio to ext4 shall be at most, or at least.
const GOALS: [(&str, f64, bool); 10] = [
    ("untar, s", 3.5, true),
    ("rm -rf, s", 2.0, true),
    ("create, empty, µs", 1.5, true),
    ("mkdir, µs", 0.7, true),
    ("find -size +2k, cold, s", 1.0, true),
    ("grep -r, cold, s", 0.7, true),
    ("diff -r, cold, s", 0.7, true),
    ("stream write, not synced, MB/s", 0.7, false),
    ("stream write, synced, MB/s", 0.7, false),
    ("stream read, cold, MB/s", 0.7, false),
];

fn number(value: f64) -> String {
    match value {
        v if v >= 1000.0 => format!("{v:.0}"),
        v if v >= 100.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

fn machine() -> String {
    let first = |path: &str, key: &str| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find(|l| l.starts_with(key)).unwrap_or_default().to_owned();
        line.rsplit(':').next().unwrap_or_default().trim().to_owned()
    };
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{} × {cpus}, Linux {}", first("/proc/cpuinfo", "model name"), kernel.trim())
}

/// Prints medians, each file system's ratio to ext4, and whether Tandem's is what it shall be.
pub fn show(args: &Args, figures: &Figures, threads: Option<&str>) {
    println!("\nmedians of {}; {}; devices in memory", args.runs, machine());
    println!("programs free to run on any CPU; {}", threads.unwrap_or("Tandem not measured"));
    if !args.options.is_empty() {
        println!("Tandem's mount options: {}", args.options);
    }
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::ASCII_MARKDOWN);
    table.set_content_arrangement(ContentArrangement::Disabled);
    let mut head = vec!["measure".to_owned()];
    head.extend(args.fs.iter().cloned());
    head.extend(args.fs.iter().filter(|f| *f != "ext4").map(|f| format!("{f} / ext4")));
    head.extend(["goal".to_owned(), String::new()]);
    table.set_header(head);
    let mut measures: Vec<&String> = figures.0.keys().map(|(_, m)| m).collect();
    measures.sort();
    measures.dedup();
    for measure in measures {
        let median = |fs: &str| figures.median(fs, measure);
        let mut row = vec![measure.clone()];
        row.extend(args.fs.iter().map(|f| median(f).map_or(String::new(), number)));
        let ratio = |fs: &str| Some(median(fs)? / median("ext4").filter(|v| *v > 0.0)?);
        for fs in args.fs.iter().filter(|f| *f != "ext4") {
            row.push(ratio(fs).map_or(String::new(), |r| format!("{r:.2}")));
        }
        let goal = GOALS.iter().find(|g| g.0 == measure);
        let (said, met) = match (goal, ratio("tandem")) {
            (Some((_, goal, true)), Some(r)) => (format!("≤ {goal}"), r <= *goal),
            (Some((_, goal, false)), Some(r)) => (format!("≥ {goal}"), r >= *goal),
            _ if measure.starts_with("written to M") && median("tandem").is_some() => {
                ("< 30 MB".to_owned(), median("tandem").is_some_and(|v| v < 30.0))
            }
            _ => (String::new(), true),
        };
        let mark = if said.is_empty() {
            ""
        } else if met {
            "met"
        } else {
            "missed"
        };
        row.extend([said, mark.to_owned()]);
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
}
