//! The work on a mounted volume.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;
use tandem_device::DeviceStats;

use super::place::{Loop, Mounted, Place};
use super::report::{Counts, Phase};
use super::tree::Tree;
use super::{program, text};

/// The steps, and how each is called in the table.
pub const STEPS: [&str; 4] = ["copy in", "find", "compare", "remove"];

/// Makes a volume, does every step between a mount and an unmount of its own, and checks the
/// volume, full and empty.
pub fn run(place: &Place, tree: &Tree, loops: bool) -> Result<Vec<Phase>> {
    let (meta, data) = make(place, tree)?;
    let devices = Devices::new(meta, data, loops)?;
    let dir = place.make_dir("mnt")?;
    let mut phases = Vec::new();
    for step in STEPS {
        phases.push(devices.phase(step, &dir, tree)?);
        if step == "compare" || step == "remove" {
            check(&devices.meta, &devices.data)?;
        }
    }
    Ok(phases)
}

/// Makes a volume with room for the tree on two new image files.
pub fn make(place: &Place, tree: &Tree) -> Result<(PathBuf, PathBuf)> {
    // The tree's own blocks once more, and as much for the log.
    place.needs(tree.bytes + tree.entries * 4096 + (256 << 20))?;
    let (meta, data) = (place.path("meta.img"), place.path("data.img"));
    let (meta_size, data_size) = (tree.meta_size().to_string(), tree.data_size().to_string());
    let sizes = ["--metadata-size", &meta_size, "--data-size", &data_size];
    let devices = ["mkfs", &text(&meta), "--data", &text(&data)];
    eprint!("{}", program::tandem(&[devices, sizes].concat())?);
    Ok((meta, data))
}

/// Verifies the volume.
pub fn check(meta: &Path, data: &Path) -> Result<()> {
    eprint!("{}", program::tandem(&["check", &text(meta), "--data", &text(data)])?);
    Ok(())
}

/// Does a step in the file system mounted on `dir`.
pub fn step(name: &str, dir: &Path, tree: &Tree) -> Result<()> {
    program::go_on()?;
    let copy = text(&dir.join("tree"));
    let tree = text(&tree.dir);
    match name {
        "copy in" => program::show("cp", &["-a", &tree, &copy]),
        "find" => program::show("find", &[&copy, "-size", "+2k"]),
        "compare" => program::show("diff", &["-r", "--no-dereference", &tree, &copy]),
        _ => program::show("rm", &["-rf", &copy]),
    }
    .map(drop)
}

struct Devices {
    meta: PathBuf,
    data: PathBuf,
    loops: Option<(Loop, Loop)>,
}

impl Devices {
    fn new(meta: PathBuf, data: PathBuf, loops: bool) -> Result<Devices> {
        if !loops {
            return Ok(Devices { meta, data, loops: None });
        }
        let (m, d) = (Loop::attach(&meta)?, Loop::attach(&data)?);
        let (meta, data) = (m.path().to_path_buf(), d.path().to_path_buf());
        Ok(Devices { meta, data, loops: Some((m, d)) })
    }

    /// One step, from mount to unmount, so that nothing is left in memory on either side.
    fn phase(&self, name: &'static str, dir: &Path, tree: &Tree) -> Result<Phase> {
        let before = self.kernel_counts()?;
        let (meta, data, mnt) = (text(&self.meta), text(&self.data), text(dir));
        program::tandem(&["mount", &meta, &mnt, "--data", &data])?;
        let mounted = Mounted::on(dir, true);
        let start = Instant::now();
        step(name, dir, tree)?;
        let last = program::tandem(&["umount", &mnt, "--json"])?;
        let time = start.elapsed();
        mounted.done();
        let counts = match (before, self.kernel_counts()?) {
            (Some(before), Some(after)) => {
                Counts { meta: after.meta - before.meta, data: after.data - before.data }
            }
            _ => own_counts(&last)?,
        };
        Ok(Phase { name, time, counts })
    }

    fn kernel_counts(&self) -> Result<Option<Counts>> {
        let counts = |(meta, data): &(Loop, Loop)| -> Result<Counts> {
            Ok(Counts { meta: meta.counts()?, data: data.counts()? })
        };
        self.loops.as_ref().map(counts).transpose()
    }
}

/// What Tandem itself has counted, as `umount --json` tells it.
fn own_counts(last: &str) -> Result<Counts> {
    let value: Value = serde_json::from_str(last).context("the counters at unmount")?;
    let device = |name: &str| -> Result<DeviceStats> {
        let counts = value.get("devices").and_then(|devices| devices.get(name));
        serde_json::from_value(counts.cloned().unwrap_or_default())
            .context("the counters at unmount")
    };
    Ok(Counts { meta: device("metadata")?, data: device("data")? })
}
