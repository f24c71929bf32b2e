//! Superblocks, label, checkpoints, the IFile: what is told twice, or follows from the rest. Nothing
//! is lost with it.

use std::sync::Arc;
use std::time::Duration;

use tandem_device::{Device, MemoryDevice};
use tandem_disk::fault::{FaultDevice, Faults};
use tandem_format::{CHECKPOINTS, Checkpoint, Kind};
use tandem_fs::check::{ProblemKind, RepairKind as R};
use tandem_fs::{MkfsOptions, MountOptions, Volume};

use super::rig::Bench;
use super::tree::tree;
use super::{filled, repaired};
use crate::fill::everything;
use crate::image::Image;
use crate::rig::Rig;

fn zero(image: &Image<'_>, offset: u64) {
    image.rig.meta.write_at(&[0; 4096], offset).unwrap();
}

#[test]
fn a_superblock() {
    repaired(|image| zero(image, 0)).nothing_lost();
    repaired(|image| zero(image, image.sb.geometry().superblock_b())).nothing_lost();
    let both = repaired(|image| {
        zero(image, image.sb.geometry().superblock_b());
        image.flip(CHECKPOINTS[1 - image.area] + 50);
    });
    both.nothing_lost();
    assert_eq!(both.count(R::Superblock), 1);
}

#[test]
fn both_superblocks() {
    let both = repaired(|image| {
        zero(image, 0);
        zero(image, image.sb.geometry().superblock_b());
    });
    both.nothing_lost();
    assert!(both.count(R::Superblock) > 0 && both.count(R::Directory) == 0);
    // On one device, with segments of another length, and without a checkpoint.
    for lose_checkpoints in [false, true] {
        let options = MkfsOptions {
            metadata_size: Some(16 << 20),
            segment_size: Some(128 << 10),
            ..MkfsOptions::default()
        };
        let rig = Rig::single(&options);
        let vol = rig.open();
        everything(&vol);
        vol.shutdown().unwrap();
        let before = tree(&Bench::new(&rig).open());
        let second = Image::new(&rig).sb.geometry().superblock_b();
        let mut pages = vec![0, second];
        if lose_checkpoints {
            pages.extend(CHECKPOINTS);
        }
        for at in pages {
            rig.meta.write_at(&[0; 4096], at).unwrap();
        }
        let bench = Bench::new(&rig);
        bench.repair();
        assert_eq!(tree(&bench.open()), before);
    }
}

#[test]
fn the_label() {
    let rig = filled().0.copy();
    let bench = Bench::new(&rig);
    bench.data.as_ref().unwrap().write_at(&[0; 4096], 0).unwrap();
    let report = bench.repair();
    assert_eq!(report.repairs.count(R::DataLabel), 1);
    assert_eq!(tree(&bench.open()), filled().1);
}

#[test]
fn a_checkpoint() {
    repaired(|image| zero(image, CHECKPOINTS[1 - image.area])).nothing_lost();
    repaired(|image| zero(image, CHECKPOINTS[image.area])).nothing_lost();
    repaired(|image| image.edit_checkpoint(|cp| cp.segment = 1 << 20)).nothing_lost();
    repaired(|image| image.edit_checkpoint(|cp| cp.roots.reverse())).nothing_lost();
    repaired(|image| {
        image.edit_checkpoint(|cp| (cp.next_ino, cp.next_id, cp.inodes) = (5, 5, 5));
    })
    .nothing_lost();
}

#[test]
fn both_checkpoints() {
    let both = repaired(|image| CHECKPOINTS.iter().for_each(|at| zero(image, *at)));
    both.nothing_lost();
    assert_eq!(both.count(R::Log), 1);
}

#[test]
fn both_checkpoints_after_a_crash() {
    // What was removed before the crash does not come back, and what was made is there.
    let rig = Rig::new(&MkfsOptions::default());
    let vol = rig.open();
    everything(&vol);
    let root = tandem_fs::Cred::root();
    for i in 0..400 {
        crate::fill::file(&vol, tandem_fs::ROOT, &format!("late{i}"), i * 10);
    }
    vol.sync().unwrap();
    for i in 0..300 {
        vol.unlink(&root, tandem_fs::ROOT, format!("late{i}").as_bytes()).unwrap();
    }
    vol.sync().unwrap();
    drop(vol);
    let before = tree(&Bench::new(&rig).open());
    for lost in [&CHECKPOINTS[..], &CHECKPOINTS[..1], &CHECKPOINTS[1..]] {
        let rig = rig.copy();
        for at in lost {
            rig.meta.write_at(&[0; 4096], *at).unwrap();
        }
        let bench = Bench::new(&rig);
        bench.repair();
        assert_eq!(tree(&bench.open()), before);
    }
}

/// A crashed volume with some commits behind its last checkpoint, and the checkpoint before that.
fn with_an_older_checkpoint() -> (Rig, Vec<u8>) {
    let rig = Rig::new(&MkfsOptions::default());
    let vol = rig
        .mount(MountOptions { checkpoint: Duration::from_millis(500), ..MountOptions::default() });
    everything(&vol);
    let begun = vol.stats().checkpoints;
    let mut older = vec![0; 4096];
    for i in 0.. {
        if vol.stats().checkpoints > begun + 1 {
            break;
        }
        rig.meta.read_at(&mut older, CHECKPOINTS[0]).unwrap();
        crate::fill::file(&vol, tandem_fs::ROOT, &format!("late{i}"), i);
        vol.sync().unwrap();
    }
    let last = vol.stats().checkpoints;
    crate::fill::file(&vol, tandem_fs::ROOT, "last", 1);
    vol.sync().unwrap();
    assert_eq!(vol.stats().checkpoints, last);
    (rig, older)
}

fn mount(
    rig: &Rig,
    meta: Arc<dyn Device>,
    read_only: bool,
) -> Result<Arc<Volume>, tandem_fs::Error> {
    let opts = MountOptions { read_only, background: false, ..MountOptions::default() };
    let data = rig.data.clone().map(|data| data as Arc<dyn Device>);
    Volume::open(meta, data, opts, Arc::clone(&rig.env) as _)
}

#[test]
fn either_copy_of_a_checkpoint_does() {
    let (rig, older) = with_an_older_checkpoint();
    let whole = tree(&Bench::new(&rig).open());
    // The first mount after a clean unmount has no earlier checkpoint that the log goes on from.
    let clean = rig.copy();
    clean.open().shutdown().unwrap();
    let vol = clean.open();
    crate::fill::file(&vol, tandem_fs::ROOT, "behind the first checkpoint", 1);
    vol.sync().unwrap();
    drop(vol);
    let more = tree(&Bench::new(&clean).open());
    for (rig, whole) in [(&rig, whole), (&clean, more)] {
        for page in [vec![0; 4096], vec![0xee; 4096], older.clone()] {
            for at in CHECKPOINTS {
                let rig = rig.copy();
                rig.meta.write_at(&page, at).unwrap();
                let vol = mount(&rig, Arc::clone(&rig.meta) as _, false).unwrap();
                assert_eq!(tree(&vol), whole);
                vol.shutdown().unwrap();
                rig.assert_sound();
            }
        }
    }
}

#[test]
fn a_mount_does_not_write_over_what_a_lost_checkpoint_leads_to() {
    let (rig, older) = with_an_older_checkpoint();
    let whole = tree(&Bench::new(&rig).open());
    for at in CHECKPOINTS {
        let rule = format!("read:error,at={at}+4k").parse().unwrap();
        let faults = Arc::new(Faults::new(vec![rule], 1));
        let silent = Arc::new(FaultDevice::new(Arc::clone(&rig.meta) as _, faults));
        let refused = mount(&rig, Arc::clone(&silent) as _, false).err().unwrap();
        assert_eq!(refused.errno(), libc::EIO);
        assert!(mount(&rig, silent, true).is_ok());
    }
    // The checkpoint before it in one place or in both, and no page that is damaged.
    let stale = rig.copy();
    stale.meta.write_at(&older, CHECKPOINTS[1]).unwrap();
    zero(&Image::new(&stale), CHECKPOINTS[0]);
    rig.meta.write_at(&older, CHECKPOINTS[0]).unwrap();
    rig.meta.write_at(&older, CHECKPOINTS[1]).unwrap();
    let report = rig.check();
    let kinds: Vec<_> = report.problems.iter().map(|p| p.kind).collect();
    assert_eq!(kinds, [ProblemKind::Log], "{report:#?}");
    for rig in [&rig, &stale] {
        let writes = rig.meta.stats().writes;
        let open = |read_only| mount(rig, Arc::clone(&rig.meta) as _, read_only);
        let error = open(false).err().unwrap().to_string();
        assert!(error.contains("a newer one is damaged"), "{error}");
        assert!(open(true).is_ok());
        assert_eq!(rig.meta.stats().writes, writes);
        let bench = Bench::new(rig);
        bench.repair();
        assert_eq!(tree(&bench.open()), whole);
    }
}

#[test]
fn what_follows_the_checkpoint() {
    let rig = Rig::new(&MkfsOptions::default());
    let vol = rig.open();
    everything(&vol);
    drop(vol);
    let whole = tree(&Bench::new(&rig).open());
    // Of each partial segment of the crashed log, a byte of the summary, of the first block and of
    // the last.
    let image = Image::new(&rig);
    let mut segment = vec![0; image.sb.segment_size as usize];
    let base = 65536 + image.cp.segment * u64::from(image.sb.segment_size);
    rig.meta.read_at(&mut segment, base).unwrap();
    let (mut at, mut places) = (image.cp.offset as usize, Vec::new());
    while let Ok(summary) = tandem_format::Summary::decode(&segment[at..]) {
        let end = at + summary.total as usize * 64;
        let last = summary.blocks().last().map_or(0, |(offset, _)| offset as usize * 64);
        places.extend([at + 20, at + summary.encoded_len() + 70, at + last + 70]);
        at = end;
        if at + 4096 > segment.len() {
            break;
        }
    }
    assert!(places.len() > 6, "{places:?}");
    for place in places {
        let rig = rig.copy();
        Image::new(&rig).flip(base + place as u64);
        let bench = Bench::new(&rig);
        let report = bench.try_repair(64 << 20).unwrap();
        assert!(report.is_sound(), "{report:#?}");
        let after = tree(&bench.open());
        // Earlier commits may have had other lengths, never other names.
        assert!(after.keys().all(|path| {
            path.starts_with("lost+found")
                || whole.contains_key(path)
                || path.starts_with("from")
                || path == "early"
        }));
    }
}

#[test]
fn every_block_of_the_tables() {
    for kind in [Kind::Map, Kind::Imap, Kind::Seg, Kind::Group, Kind::Free] {
        let first = repaired(|image| {
            let (_, loc) = image.table(kind).next().unwrap();
            image.rig.meta.write_at(&vec![0xa5; loc.bytes() as usize], loc.offset()).unwrap();
        });
        first.nothing_lost();
        repaired(|image| {
            for loc in image.tables.iter().filter(|(key, _)| key.0 == kind as u8).map(|t| t.1) {
                image.flip(loc.offset() + 66);
            }
        })
        .nothing_lost();
    }
    repaired(|image| image.tables.values().for_each(|loc| image.flip(loc.offset() + 66)))
        .nothing_lost();
}

#[test]
fn the_whole_data_device() {
    let rig = filled().0.copy();
    let empty = Rig {
        data: Some(Arc::new(MemoryDevice::new("data", 256 << 20))),
        env: Arc::clone(&rig.env),
        meta: Arc::clone(&rig.meta),
    };
    let bench = Bench::new(&empty);
    let report = bench.repair();
    assert_eq!(report.repairs.count(R::DataLabel), 1);
    // All names and attributes are there; contents read as zeros.
    let mut before = filled().1.clone();
    before.values_mut().for_each(|seen| seen.contents.clear());
    assert_eq!(tree(&bench.open()), before);
    // Another volume's device is refused.
    let uuid = Some(uuid::Uuid::from_u128(7));
    let other = Rig::new(&MkfsOptions { uuid, ..MkfsOptions::default() });
    let wrong = Rig { data: other.data, env: rig.env, meta: rig.meta };
    let error = Bench::new(&wrong).try_repair(64 << 20).unwrap_err().to_string();
    assert!(error.contains("belongs to volume"), "{error}");
}

#[test]
fn the_whole_metadata_device() {
    let rig = filled().0.copy();
    let empty = Rig {
        meta: Arc::new(MemoryDevice::new("meta", 32 << 20)),
        env: Arc::clone(&rig.env),
        data: rig.data.clone(),
    };
    let bench = Bench::new(&empty);
    let error = bench.try_repair(64 << 20).unwrap_err().to_string();
    assert!(error.contains("without names"), "{error}");
    assert_eq!(bench.writes(), 0);
}

#[test]
fn a_plan_writes_nothing() {
    let rig = filled().0.copy();
    let image = Image::new(&rig);
    image.flip(CHECKPOINTS[image.area] + 50);
    image.flip(100);
    let bench = Bench::new(&rig);
    let report = bench.plan().unwrap();
    assert!(!report.made && report.repairs.counts.len() > 1);
    assert_eq!(bench.writes(), 0);
    let page = |at: u64| {
        let mut page = vec![0; 4096];
        rig.meta.read_at(&mut page, at).unwrap();
        Checkpoint::decode(&page)
    };
    assert!(page(CHECKPOINTS[image.area]).is_err());
}

#[test]
fn no_room_is_said_and_changes_nothing() {
    let rig = Rig::new(&MkfsOptions { metadata_size: Some(4 << 20), ..MkfsOptions::default() });
    let vol = rig.open();
    let dir = crate::fill::dir(&vol, tandem_fs::ROOT, "dir");
    let root = tandem_fs::Cred::root();
    let full = (0..100_000).find(|i| {
        let name = format!("{i}-{}", "a-rather-long-name".repeat(12));
        vol.mknod(&root, dir, name.as_bytes(), 0o644, 0, 0).is_err()
    });
    assert!(full.is_some());
    vol.shutdown().unwrap();
    let second = Image::new(&rig).sb.geometry().superblock_b();
    // The directory would have to be built anew.
    let image = Image::new(&rig);
    for (id, ..) in image.blocks(Kind::Table) {
        image.flip(image.map[&id].offset() + 70);
    }
    let bench = Bench::new(&rig);
    let error = bench.try_repair(64 << 20).unwrap_err().to_string();
    assert!(error.contains("clean segments"), "{error}");
    let fixed = [0, CHECKPOINTS[0], CHECKPOINTS[1], second];
    for at in fixed {
        let (mut now, mut was) = (vec![0; 4096], vec![0; 4096]);
        bench.meta.read_at(&mut now, at).unwrap();
        rig.meta.read_at(&mut was, at).unwrap();
        assert_eq!(now, was);
    }
}
