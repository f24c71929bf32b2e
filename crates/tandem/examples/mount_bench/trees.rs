//! A source tree: unpacked, looked through cold, compared, removed.

use crate::common::fs::{Fs, run};
use crate::{Args, Figures, Res};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const MEASURES: [&str; 6] = ["untar", "find", "grep", "diff", "rm", "written"];

/// Unpacks the tree to compare with, in memory, unless no measure needs it.
pub fn reference(args: &Args) -> Res<Option<PathBuf>> {
    if !MEASURES.iter().any(|m| args.wants(m)) {
        return Ok(None);
    }
    let dir = args.dir.join("reference");
    std::fs::create_dir_all(&dir)?;
    run(Command::new("tar").arg("-xf").arg(&args.tree).arg("-C").arg(&dir), false)?;
    Ok(Some(dir))
}

fn timed(command: &mut Command, one_is_fine: bool) -> Res<f64> {
    let start = Instant::now();
    run(command, one_is_fine)?;
    Ok(start.elapsed().as_secs_f64())
}

/// Bytes in the blocks of all regular files.
fn contents(root: &Path) -> Res<f64> {
    let mut find = Command::new("find");
    let out = run(find.arg(root).args(["-type", "f", "-printf", "%b\\n"]), false)?;
    Ok(out.lines().filter_map(|l| l.parse::<f64>().ok()).sum::<f64>() * 512.0)
}

/// All of it, in seconds; and megabytes written.
pub fn measure(
    args: &Args,
    fs: &mut Fs,
    reference: Option<&Path>,
    figures: &mut Figures,
) -> Res<()> {
    let Some(reference) = reference else { return Ok(()) };
    let (root, name) = (fs.root(), fs.name.clone());
    let before = fs.written()?;
    let cpu = fs.daemon();
    let mut add = |measure: &str, value: f64| figures.add(&name, measure, value);
    let mut tar = Command::new("tar");
    add("untar, s", timed(tar.arg("-xf").arg(&args.tree).arg("-C").arg(&root), false)?);
    if let (Some(before), Some(after)) = (cpu, fs.daemon()) {
        add("untar, daemon's processor time, s", after.2 - before.2);
        add("untar, daemon's memory, MB", after.0 / 1e6);
    }
    // Everything is on the devices after an unmount.
    add("unmount and mount after it, s", fs.cold()?);
    let after = fs.written()?;
    let (meta, data) = (after.meta - before.meta, after.data - before.data);
    if name == "tandem" {
        add("written to M by the untar, MB", meta / 1e6);
        add("written to D by the untar, MB", data / 1e6);
    }
    let mut find = Command::new("find");
    add("find -size +2k, cold, s", timed(find.arg(&root).args(["-size", "+2k"]), false)?);
    let mut find = Command::new("find");
    add("find -size +2k, warm, s", timed(find.arg(&root).args(["-size", "+2k"]), false)?);
    add("written by the untar besides contents, MB", (meta + data - contents(&root)?) / 1e6);
    if args.wants("grep") {
        fs.cold()?;
        let mut grep = Command::new("grep");
        add(
            "grep -r, cold, s",
            timed(grep.args(["-rI", "no such words anywhere"]).arg(&root), true)?,
        );
    }
    if args.wants("diff") {
        fs.cold()?;
        let mut diff = Command::new("diff");
        let diff = diff.args(["-r", "--no-dereference"]).arg(reference);
        let diff = diff.arg(&root);
        // What mkfs itself has put there is no difference.
        add("diff -r, cold, s", timed(diff.args(["-x", "lost+found"]), false)?);
    }
    let entries: Vec<_> = std::fs::read_dir(&root)?
        .flatten()
        .map(|e| e.path())
        .filter(|p| !p.ends_with("lost+found"))
        .collect();
    add("rm -rf, s", timed(Command::new("rm").arg("-rf").args(&entries), false)?);
    fs.end()
}
