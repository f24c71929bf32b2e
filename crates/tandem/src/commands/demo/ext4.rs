//! The same work on ext4.

use std::time::Instant;

use anyhow::Result;

use super::mounted::{STEPS, step};
use super::place::{Loop, Mounted, Place, sparse};
use super::report::{Counts, Phase};
use super::tree::Tree;
use super::{program, say, text};

/// Does every step on ext4, on one device as large as both of Tandem's; nothing when there is no
/// ext4 here.
pub fn run(place: &Place, tree: &Tree) -> Result<Option<Vec<Phase>>> {
    if program::find("mkfs.ext4").is_none() {
        say("mkfs.ext4 is not installed: no ext4 beside it");
        return Ok(None);
    }
    let image = place.path("ext4.img");
    place.needs(tree.bytes + tree.entries * 4096 + (256 << 20))?;
    sparse(&image, tree.meta_size() + tree.data_size())?;
    // All tables are initialized now, not behind the copy's back.
    let lazy = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
    program::show("mkfs.ext4", &["-q", "-F", "-E", lazy, &text(&image)])?;
    let device = Loop::attach(&image)?;
    let dir = place.make_dir("ext4")?;
    let (name, mnt) = (text(device.path()), text(&dir));
    let mut phases = Vec::new();
    for step_name in STEPS {
        let before = device.counts()?;
        program::show("mount", &["-t", "ext4", &name, &mnt])?;
        let mounted = Mounted::on(&dir, false);
        let start = Instant::now();
        step(step_name, &dir, tree)?;
        program::show("umount", &[&mnt])?;
        let time = start.elapsed();
        mounted.done();
        let counts = Counts { data: device.counts()? - before, ..Counts::default() };
        phases.push(Phase { name: step_name, time, counts });
    }
    Ok(Some(phases))
}
