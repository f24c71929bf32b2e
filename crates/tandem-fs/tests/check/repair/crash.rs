//! A crash in the middle of a repair: it can be run again, with the same result.

use tandem_device::Device;
use tandem_format::{CHECKPOINTS, Kind};

use super::filled;
use super::rig::Bench;
use super::tree::tree;
use crate::image::Image;
use crate::rig::{Numbers, Rig};

/// Repairs a volume, then its states after crashes at any of the writes; what not all have in common
/// are times of what repair itself has made.
fn crashes(rig: &Rig, seed: u64) {
    let bench = Bench::new(rig);
    bench.try_repair(64 << 20).unwrap();
    let writes = bench.writes();
    let expected = names(&bench);
    assert!(writes > 6, "{writes}");
    let mut numbers = Numbers(seed);
    for n in 0..=writes {
        let crashed = bench.crashed(rig, n, &mut numbers);
        crashed.repair();
        assert_eq!(names(&crashed), expected, "after {n} of {writes} writes");
    }
}

/// What is on a volume, by path: number, type and contents.
fn names(bench: &Bench) -> Vec<(String, u64, u32, usize)> {
    let tree = tree(&bench.open());
    tree.into_iter().map(|(path, s)| (path, s.ino, s.mode, s.contents.len())).collect()
}

fn damaged(f: impl FnOnce(&Image<'_>)) -> Rig {
    let rig = filled().0.copy();
    f(&Image::new(&rig));
    rig
}

#[test]
fn while_directories_are_built_anew() {
    crashes(&damaged(|image| image.flip(image.map[&image.entry("many").0].offset() + 70)), 1);
    crashes(
        &damaged(|image| {
            let (id, ..) = image.blocks(Kind::Table)[0];
            image.flip(image.map[&id].offset() + 70);
        }),
        2,
    );
}

#[test]
fn without_a_checkpoint() {
    crashes(
        &damaged(|image| {
            for at in CHECKPOINTS {
                image.rig.meta.write_at(&[0; 4096], at).unwrap();
            }
        }),
        3,
    );
}

#[test]
fn without_a_superblock() {
    crashes(
        &damaged(|image| {
            for at in [0, image.sb.geometry().superblock_b()] {
                image.rig.meta.write_at(&[0; 4096], at).unwrap();
            }
        }),
        4,
    );
}

#[test]
fn while_the_tables_are_made_anew() {
    crashes(
        &damaged(|image| image.tables.values().for_each(|loc| image.flip(loc.offset() + 66))),
        5,
    );
}
