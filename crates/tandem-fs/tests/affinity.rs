//! Directories and the group that their files lie in (DualFS §2.2, "directory affinity").

use std::sync::Arc;

use tandem_device::{Device, MemoryDevice};
use tandem_fs::{Cred, Ino, MkfsOptions, MountOptions, ROOT, SystemEnv, Volume, WriteFlags};

const BLOCK: u32 = 512;
/// Blocks of a group.
const GROUP: u64 = 32_768;
const MIB: usize = 1 << 20;

fn volume(opts: MountOptions) -> Arc<Volume> {
    let meta: Arc<dyn Device> = Arc::new(MemoryDevice::new("meta", 64 << 20));
    let data: Arc<dyn Device> = Arc::new(MemoryDevice::new("data", 128 << 20));
    let options = MkfsOptions { data_block_size: Some(BLOCK), ..MkfsOptions::default() };
    let env = Arc::new(SystemEnv);
    Volume::mkfs(Arc::clone(&meta), Some(Arc::clone(&data)), &options, env.clone()).unwrap();
    Volume::open(meta, Some(data), MountOptions { background: false, ..opts }, env).unwrap()
}

fn file(vol: &Volume, dir: Ino, name: &str) -> Ino {
    vol.mknod(&Cred::root(), dir, name.as_bytes(), 0o644, 0, 0).unwrap().ino
}

fn append(vol: &Volume, ino: Ino, len: usize) {
    let off = vol.getattr(ino).unwrap().size;
    let done = vol.write(&Cred::root(), ino, off, &vec![7; len], WriteFlags::default()).unwrap();
    assert_eq!(done, len);
}

/// Blocks of a file by group.
fn groups(vol: &Volume, ino: Ino) -> Vec<(u64, u64)> {
    let mut by = std::collections::BTreeMap::new();
    for e in vol.extents(ino, 0, usize::MAX).unwrap() {
        for block in e.start..e.start + u64::from(e.len) {
            *by.entry(block / GROUP).or_insert(0) += 1;
        }
    }
    by.into_iter().collect()
}

/// A log that grows from commit to commit takes at most a quarter of the group, and the small
/// files that are made after it still lie there.
#[test]
fn a_growing_file_leaves_its_directory_s_group() {
    let vol = volume(MountOptions::default());
    let big = file(&vol, ROOT, "big");
    for _ in 0..24 {
        append(&vol, big, MIB);
        vol.sync().unwrap();
    }
    let small: Vec<Ino> = (0..20).map(|n| file(&vol, ROOT, &format!("small-{n}"))).collect();
    small.iter().for_each(|&ino| append(&vol, ino, 5000));
    vol.sync().unwrap();
    let home = groups(&vol, small[0])[0].0;
    for &ino in &small {
        assert_eq!(groups(&vol, ino), [(home, 10)]);
    }
    let there: u64 = groups(&vol, big).iter().filter(|g| g.0 == home).map(|g| g.1).sum();
    assert!((1..=GROUP / 4).contains(&there), "{there} blocks");
    assert_eq!(vol.extents(big, 0, 100).unwrap().len(), 2);
}

/// One large file among the new ones of a directory does not take them with it to a group that has
/// room for all.
#[test]
fn a_large_new_file_is_placed_alone() {
    let vol = volume(MountOptions::default());
    let small = file(&vol, ROOT, "small");
    append(&vol, small, 5000);
    let big = file(&vol, ROOT, "big");
    for _ in 0..15 {
        append(&vol, big, MIB);
    }
    let last = file(&vol, ROOT, "last");
    append(&vol, last, 5000);
    vol.sync().unwrap();
    let home = groups(&vol, small)[0].0;
    assert_eq!(groups(&vol, last)[0].0, home);
    assert!(groups(&vol, big).iter().all(|g| g.0 != home));
    let extent = |ino| vol.extents(ino, 0, 1).unwrap()[0];
    let (one, other) = (extent(small), extent(last));
    assert_eq!(one.start + u64::from(one.len), other.start);
}

#[test]
fn directories_stay_or_spread() {
    for affinity in [10, 0] {
        let vol = volume(MountOptions { affinity, ..MountOptions::default() });
        for n in 0..30 {
            vol.mkdir(&Cred::root(), ROOT, format!("d{n}").as_bytes(), 0o755, 0).unwrap();
        }
        let stats = vol.stats().affinity;
        assert_eq!(stats.kept + stats.left, 30);
        // Of eight equally empty groups one in eight turns is the parent's.
        assert!(if affinity > 0 { stats.left == 0 } else { stats.left >= 24 }, "{stats:?}");
    }
}

/// The group is the directory's also when nothing about the directory is in memory any more.
#[test]
fn contents_find_a_group_that_was_forgotten() {
    let vol = volume(MountOptions { affinity: 0, cache: 1 << 20, ..MountOptions::default() });
    let cred = Cred::root();
    let dirs: Vec<Ino> = (0..4)
        .map(|n| vol.mkdir(&cred, ROOT, format!("d{n}").as_bytes(), 0o755, 0).unwrap().ino)
        .collect();
    let late: Vec<(u64, Ino)> = dirs
        .iter()
        .map(|&dir| {
            let first = file(&vol, dir, "first");
            append(&vol, first, 5000);
            vol.sync().unwrap();
            (groups(&vol, first)[0].0, file(&vol, dir, "late"))
        })
        .collect();
    assert!(late.iter().any(|(home, _)| *home != 0));
    let others: Vec<Ino> = (0..600).map(|n| file(&vol, ROOT, &format!("other-{n}"))).collect();
    vol.sync().unwrap();
    late.iter().for_each(|&(_, ino)| append(&vol, ino, 5000));
    // Files with contents under way stay in memory, their directories do not.
    for _ in 0..8 {
        others.iter().for_each(|&ino| append(&vol, ino, 0));
    }
    vol.sync().unwrap();
    for (home, ino) in late {
        assert_eq!(groups(&vol, ino), [(home, 10)]);
    }
}

/// Extents are those of contents on D, and of nothing else.
#[test]
fn extents_are_told() {
    let vol = volume(MountOptions::default());
    assert!(vol.extents(ROOT, 0, 10).unwrap().is_empty());
    let ino = file(&vol, ROOT, "f");
    append(&vol, ino, 1000);
    assert!(vol.extents(ino, 0, 10).unwrap().is_empty(), "nothing is placed yet");
    vol.sync().unwrap();
    let found = vol.extents(ino, 0, 10).unwrap();
    assert_eq!(found.iter().map(|e| (e.logical, e.len)).collect::<Vec<_>>(), [(0, 2)]);
    assert!(vol.extents(ino, 2, 10).unwrap().is_empty());
    assert!(vol.extents(ino, 0, 0).unwrap().is_empty());
    assert!(vol.extents(1 << 40, 0, 1).is_err());
}

/// A directory's new files are cut by the ends of runs only when they do not fit between them.
#[test]
fn short_runs_take_whole_files() {
    let vol = volume(MountOptions::default());
    let cred = Cred::root();
    // Holes of 100 blocks all over the volume, and no longer run.
    for n in 0..1200 {
        append(&vol, file(&vol, ROOT, &format!("hole-{n}")), 100 * BLOCK as usize);
        append(&vol, file(&vol, ROOT, &format!("wall-{n}")), 100 * BLOCK as usize);
        vol.sync().unwrap();
    }
    let (filler, space) = (file(&vol, ROOT, "filler"), vol.statfs());
    let left = space.blocks_free * u64::from(space.block_size);
    append(&vol, filler, (left as usize).saturating_sub(64 * BLOCK as usize));
    vol.sync().unwrap();
    for n in 0..1200 {
        let hole = vol.lookup(&cred, ROOT, format!("hole-{n}").as_bytes()).unwrap().ino;
        vol.unlink(&cred, ROOT, format!("hole-{n}").as_bytes()).unwrap();
        vol.forget(hole, 2);
    }
    vol.sync().unwrap();
    let dir = vol.mkdir(&cred, ROOT, b"dir", 0o755, 0).unwrap().ino;
    let small: Vec<Ino> = (0..200).map(|n| file(&vol, dir, &format!("small-{n}"))).collect();
    small.iter().for_each(|&ino| append(&vol, ino, 9 * BLOCK as usize));
    vol.sync().unwrap();
    let cut = small.iter().filter(|&&ino| vol.extents(ino, 0, 9).unwrap().len() > 1).count();
    assert_eq!(cut, 0);
}
