//! Contents: how files lie, and the requests of `grep -r` and `diff -r`.

use crate::common::fs::{Fs, Res, run};
use crate::layout::{Layout, layout};
use crate::measure::{Measured, measured};
use crate::table::{grouped, mean_kib, mib, show, verdict};
use std::path::Path;
use std::process::Command;

/// A row of the table of layouts.
pub fn layout_row(what: &str, found: &Layout) -> Vec<String> {
    vec![
        what.to_owned(),
        grouped(found.files),
        format!("{:.3}", found.extents as f64 / found.files.max(1) as f64),
        format!("{:.1} %", found.percent()),
    ]
}

/// Adds a row with the layout of a directory.
pub fn add_layout(rows: &mut Vec<Vec<String>>, fs: &mut Fs, what: &str, below: &str) -> Res<()> {
    let found = layout(fs, Path::new(below))?;
    rows.push(layout_row(&format!("{}, {what}", fs.name), &found));
    Ok(())
}

/// Prints rows of layouts.
pub fn show_layouts(title: &str, rows: &[Vec<String>]) {
    show(title, &["", "files", "extents a file", "begin where their neighbour ends"], rows);
}

/// `grep -r` for what is not there.
pub fn grep(root: &Path, below: &str) -> Res<()> {
    let mut grep = Command::new("grep");
    run(grep.args(["-rI", "no such words anywhere"]).arg(root.join(below)), true).map(drop)
}

/// A row of the table of reads.
pub fn read_row(what: &str, m: &Measured) -> Vec<String> {
    let d = m.work.d;
    vec![
        what.to_owned(),
        grouped(d.reads),
        mib(d.read_sectors),
        mean_kib(d.read_sectors, d.reads),
        grouped(m.counter("/data/reads")),
        grouped(m.work.m.reads),
        format!("{:.2}", m.seconds),
    ]
}

/// Heads of [`read_row`]'s columns.
pub const READ_HEAD: [&str; 7] =
    ["", "requests to D", "MiB", "KiB a request", "asked by the engine", "requests to M", "s"];

/// Cold `grep -r`.
pub fn grep_rows(
    volumes: &mut [Fs],
    below: &str,
    options: &str,
    note: &str,
) -> Res<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    for fs in volumes.iter_mut() {
        eprintln!("grep -r: {} {note}", fs.name);
        let m = measured(fs, Some(options), |root| grep(root, below))?;
        rows.push(read_row(&format!("{}{note}", fs.name), &m));
    }
    Ok(rows)
}

/// Cold `diff -r` of two directories.
pub fn diff(volumes: &mut [Fs], one: &str, other: &str) -> Res<()> {
    let mut sums = Vec::new();
    for fs in volumes.iter_mut() {
        eprintln!("diff -r: {}", fs.name);
        let m = measured(fs, Some(""), |root| {
            let mut diff = Command::new("diff");
            diff.args(["-r", "--no-dereference"]).arg(root.join(one)).arg(root.join(other));
            run(&mut diff, false).map(drop)
        })?;
        sums.push((fs.name.clone(), m));
    }
    let rows: Vec<_> = sums.iter().map(|(name, m)| read_row(name, m)).collect();
    show("diff -r of two trees, cold", &READ_HEAD, &rows);
    let of = |name: &str| sums.iter().find(|s| s.0 == name).map(|s| s.1.work.d.reads);
    if let (Some(tandem), Some(ext4)) = (of("tandem"), of("ext4")) {
        let ratio = tandem as f64 / ext4.max(1) as f64;
        println!("Requests to D of ext4's: {ratio:.3} (goal 0.1: {}).\n", verdict(ratio <= 0.1));
    }
    Ok(())
}
