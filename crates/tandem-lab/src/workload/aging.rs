//! A file system that has been used: filled and thinned out before the tests, so that free space and
//! metadata lie in pieces.
//!
//! After Smith and Seltzer 1997 ("File system aging"), without their trace: rounds of filling with
//! copies of a tree and removing every other file, chosen by the seed.

use std::path::Path;

use super::WorkloadError;
use super::error::io;
use super::trees::Packed;
use crate::tree::{archive, walk};

/// What a tree takes of a file system beyond its bytes, at most: blocks that are not full, metadata.
const OVERHEAD: u64 = 6 * 1024;

/// What is used of a file system, and all of it, in bytes.
fn space(dir: &Path) -> Result<(u64, u64), WorkloadError> {
    let all = rustix::fs::statvfs(dir).map_err(io("ask for the space of", dir))?;
    let bytes = |blocks: u64| blocks.saturating_mul(all.f_frsize);
    // Space that is kept for root is not to be had, so it counts as used.
    Ok((bytes(all.f_blocks.saturating_sub(all.f_bavail)), bytes(all.f_blocks)))
}

/// Fills the file system to this share of its space, 0 to 1, and removes half of the files; so often.
/// What is left stays in `aged`. How many files were made and removed.
pub(super) fn age(
    dir: &Path,
    packed: &Packed,
    share: f64,
    rounds: u64,
    seed: u64,
) -> Result<(u64, u64), WorkloadError> {
    let top = dir.join("aged");
    std::fs::create_dir(&top).map_err(io("create", &top))?;
    let mut random = fastrand::Rng::with_seed(seed);
    let figures = packed.figures;
    let entries = figures.files + figures.directories + figures.links;
    let tree = figures.bytes + entries * OVERHEAD;
    let (mut made, mut removed) = (0, 0);
    for round in 0..rounds {
        for copy in 0_u64.. {
            // Used space is known for certain only when it has been allocated.
            let file = std::fs::File::open(&top).map_err(io("open", &top))?;
            rustix::fs::syncfs(&file).map_err(io("sync", &top))?;
            let (used, all) = space(&top)?;
            if used.saturating_add(tree) as f64 > share * all as f64 {
                break;
            }
            let place = top.join(format!("{round}-{copy}"));
            std::fs::create_dir(&place).map_err(io("create", &place))?;
            made += archive::unpack(&packed.full, &place)?.files;
        }
        removed += thin_out(&top, &mut random)?;
    }
    Ok((made, removed))
}

fn thin_out(dir: &Path, random: &mut fastrand::Rng) -> Result<u64, WorkloadError> {
    let mut entries = walk::entries(dir)?;
    // The same files whatever order the file system lists them in.
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let mut removed = 0;
    for (path, kind) in entries {
        if kind.is_dir() {
            removed += thin_out(&path, random)?;
        } else if random.bool() {
            std::fs::remove_file(&path).map_err(io("remove", &path))?;
            removed += 1;
        }
    }
    Ok(removed)
}
