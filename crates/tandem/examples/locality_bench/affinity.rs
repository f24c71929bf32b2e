//! Directory affinity (DualFS §2.2): how often the group changes while a tree is made.

use crate::Args;
use crate::common::fs::{Fs, Res, run};
use crate::measure::measured;
use crate::table::{grouped, show};
use std::path::Path;
use std::process::Command;

const META: u64 = 512 << 20;
const DATA: u64 = 8 << 30;

/// Unpacks an archive, or parts of it.
pub fn untar(archive: &Path, parts: &[String], to: &Path) -> Res<()> {
    let mut tar = Command::new("tar");
    run(tar.arg("-xf").arg(archive).arg("-C").arg(to).args(parts), false).map(drop)
}

/// Unpacks the tree at 0, 10 and 50 per cent.
fn one(args: &Args, percent: u32) -> Res<Vec<String>> {
    eprintln!("affinity {percent}");
    let mut fs = Fs::make_sized(&args.setup, "tandem", META, DATA)?;
    let options = format!("affinity={percent}");
    let m = measured(&mut fs, Some(&options), |root| untar(&args.tree, &[], root))?;
    fs.end()?;
    let count = |name: &str| m.counter(&format!("/affinity/{name}"));
    let (kept, left) = (count("kept"), count("left"));
    Ok(vec![
        percent.to_string(),
        grouped(kept + left),
        grouped(kept),
        grouped(left),
        format!("{:.1} %", 100.0 * left as f64 / (kept + left).max(1) as f64),
        grouped(count("placed_home")),
        grouped(count("placed_away")),
    ])
}

/// Runs and shows it.
pub fn all(args: &Args) -> Res<()> {
    let rows = [0, 10, 50].into_iter().map(|p| one(args, p)).collect::<Res<Vec<_>>>()?;
    let head = ["affinity, %", "directories", "kept", "left", "share", "contents home", "away"];
    show("Directory affinity: changes of group while the tree is unpacked", &head, &rows);
    Ok(())
}
