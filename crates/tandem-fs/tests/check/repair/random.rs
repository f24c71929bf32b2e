//! Random damage: repair ends with a sound volume, and every file that needs nothing of what was hit
//! is as it was.

use std::collections::BTreeSet;

use tandem_device::Device;
use tandem_format::{Kind, Leaf};

use super::filled;
use super::rig::Bench;
use super::tree::{Seen, tree};
use crate::image::Image;
use crate::rig::Numbers;

/// How many volumes are damaged; `ROUNDS` has another number.
fn rounds() -> u64 {
    std::env::var("ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
}

/// I-nodes that have something in a block, or below a directory that has.
fn hit(image: &Image<'_>, ids: &BTreeSet<u64>) -> BTreeSet<u64> {
    let mut hit = BTreeSet::new();
    for &id in ids {
        let (meta, payload) = image.read(image.map[&id]);
        if meta.owner > 0 && !matches!(meta.kind, Kind::Leaf | Kind::Table) {
            hit.insert(meta.owner);
        }
        if !matches!(meta.kind, Kind::Leaf | Kind::Inode) {
            continue;
        }
        let leaf = Leaf::decode(&payload, &meta, &image.sb.implied()).unwrap();
        for slot in 0..leaf.count() as usize {
            match leaf.entry(slot).body {
                tandem_format::Body::Link(ino) => hit.insert(ino),
                tandem_format::Body::Embedded(bytes) => {
                    hit.insert(tandem_format::record_ino(bytes).unwrap())
                }
            };
        }
    }
    hit
}

#[test]
fn any_blocks() {
    let (rig, before) = filled();
    for seed in 0..rounds() {
        let mut numbers = Numbers(seed);
        let rig = rig.copy();
        let image = Image::new(&rig);
        let all: Vec<(u64, tandem_format::Loc)> =
            image.map.iter().map(|(id, loc)| (*id, *loc)).collect();
        let tables: Vec<_> = image.tables.values().copied().collect();
        let mut ids = BTreeSet::new();
        for _ in 0..=numbers.next(6) {
            let (id, loc) = all[numbers.next(all.len() as u64) as usize];
            ids.insert(id);
            image.flip(loc.offset() + 64 + numbers.next(4));
            if numbers.next(3) == 0 {
                let loc = tables[numbers.next(tables.len() as u64) as usize];
                image.flip(loc.offset() + numbers.next(60));
            }
        }
        let whole = Image::new(filled_rig());
        let hit = hit(&whole, &ids);
        let bench = Bench::new(&rig);
        bench.repair();
        let after = tree(&bench.open());
        let same = |a: &Seen, b: &Seen| {
            let dir = a.mode & 0o170_000 == 0o040_000;
            (a.mode, a.size, a.mtime, &a.contents) == (b.mode, b.size, b.mtime, &b.contents) || dir
        };
        for (path, seen) in before.iter().filter(|(_, seen)| !hit.contains(&seen.ino)) {
            let there = after.values().any(|now| now.ino == seen.ino && same(seen, now));
            assert!(there, "seed {seed}: {path} ({seen:?}) with {ids:?} hit");
        }
    }
}

fn filled_rig() -> &'static crate::rig::Rig {
    &filled().0
}

#[test]
fn any_bytes_of_the_device() {
    let (rig, _) = filled();
    let mut made = 0;
    for seed in 0..rounds() {
        let mut numbers = Numbers(1000 + seed);
        let rig = rig.copy();
        for _ in 0..=numbers.next(40) {
            let at = match numbers.next(4) {
                0 => numbers.next(3 * 4096),
                _ => 65536 + numbers.next(1 << 20),
            };
            let mut bytes = vec![0; 1 + numbers.next(300) as usize];
            bytes.iter_mut().for_each(|b| *b = numbers.next(256) as u8);
            rig.meta.write_at(&bytes, at).unwrap();
        }
        let bench = Bench::new(&rig);
        made += u64::from(bench.repair().made);
        tree(&bench.open());
    }
    assert!(made > rounds() / 2, "{made}");
}
