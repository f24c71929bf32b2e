//! Nothing is found where nothing is wrong.

use tandem_fs::check::{CheckOptions, CheckReport};
use tandem_fs::{Cred, MkfsOptions, MountOptions, ROOT, RenameFlags, WriteFlags};

use crate::churn::churn;
use crate::fill::{dir, everything, file};
use crate::rig::{Numbers, Rig};

#[test]
fn a_new_volume() {
    for rig in [Rig::new(&MkfsOptions::default()), Rig::single(&MkfsOptions::default())] {
        let report = rig.assert_sound();
        assert!(report.clean);
        assert_eq!((report.inodes, report.directories, report.links, report.extents), (2, 2, 0, 0));
    }
}

#[test]
fn everything_unmounted_and_crashed() {
    let rig = Rig::new(&MkfsOptions::default());
    let vol = rig.open();
    everything(&vol);
    drop(vol);
    let report = rig.assert_sound();
    assert!(!report.clean && report.recovered_commits > 0);
    assert!(
        report.files > 1500 && report.links + 2 > report.inodes && report.extents > 000,
        "{report:#?}"
    );
    let vol = rig.open();
    rig.assert_sound();
    vol.shutdown().unwrap();
    let again = rig.assert_sound();
    assert!(again.clean && again.recovered_commits == 0);
    assert_eq!(
        (again.inodes, again.links, again.blocks_used),
        (report.inodes, report.links, report.blocks_used)
    );
}

#[test]
fn small_blocks_and_segments_on_one_device() {
    let options = MkfsOptions {
        data_block_size: Some(512),
        segment_size: Some(64 << 10),
        ..MkfsOptions::default()
    };
    let rig = Rig::single(&options);
    let vol = rig.open();
    everything(&vol);
    vol.shutdown().unwrap();
    rig.assert_sound();
}

#[test]
fn chains_of_equal_hashes() {
    let rig = Rig::new(&MkfsOptions { hash_bits: Some(2), ..MkfsOptions::default() });
    let vol = rig.open();
    everything(&vol);
    vol.shutdown().unwrap();
    rig.assert_sound();
    let vol = rig.open();
    let many = vol.lookup(&Cred::root(), ROOT, b"many").unwrap().ino;
    for i in (0..1500).filter(|i| i % 7 != 0) {
        vol.unlink(&Cred::root(), many, format!("file{i}").as_bytes()).unwrap();
    }
    drop(vol);
    rig.assert_sound();
}

#[test]
fn orphans_are_no_problem() {
    let rig = Rig::new(&MkfsOptions::default());
    let vol = rig.open();
    let root = Cred::root();
    file(&vol, ROOT, "other", 10);
    for (name, size) in [("a", 0), ("b", 10_000)] {
        let ino = file(&vol, ROOT, name, size);
        vol.lookup(&root, ROOT, name.as_bytes()).unwrap();
        vol.unlink(&root, ROOT, name.as_bytes()).unwrap();
        assert_eq!(vol.getattr(ino).unwrap().nlink, 0);
    }
    let linked = file(&vol, ROOT, "linked", 100);
    vol.link(&root, linked, ROOT, b"linked-too").unwrap();
    vol.sync().unwrap();
    vol.unlink(&root, ROOT, b"linked").unwrap();
    vol.unlink(&root, ROOT, b"linked-too").unwrap();
    dir(&vol, ROOT, "dir");
    vol.lookup(&root, ROOT, b"dir").unwrap();
    vol.rmdir(&root, ROOT, b"dir").unwrap();
    let unnamed = vol.tmpfile(&root, ROOT, 0o600, 0).unwrap().ino;
    vol.write(&root, unnamed, 0, &[1; 9000], WriteFlags::default()).unwrap();
    vol.sync().unwrap();
    drop(vol);
    let report = rig.assert_sound();
    assert_eq!(report.orphans, 5);
    let vol = rig.open();
    vol.shutdown().unwrap();
    let report = rig.assert_sound();
    assert_eq!((report.orphans, report.inodes), (0, 3));
}

#[test]
fn after_much_work_the_cleaner_and_many_mounts() {
    let options = MkfsOptions { metadata_size: Some(4 << 20), ..MkfsOptions::default() };
    let rig = Rig::new(&options);
    let root = Cred::root();
    for round in 0..12u32 {
        let vol = rig.open();
        let dir = dir(&vol, ROOT, &format!("round{round}"));
        for i in 0..400 {
            file(&vol, dir, &format!("file{i}"), if i % 10 == 0 { 3000 } else { 0 });
            if i % 50 == 0 {
                vol.sync().unwrap();
            }
        }
        if round >= 2 {
            let name = format!("round{}", round - 2);
            let old = vol.lookup(&root, ROOT, name.as_bytes()).unwrap().ino;
            for i in 0..400 {
                // Some went with a crash.
                let _ = vol.unlink(&root, old, format!("file{i}").as_bytes());
            }
            vol.forget(old, 1);
            vol.rename(&root, ROOT, name.as_bytes(), dir, b"old", RenameFlags::empty()).unwrap();
        }
        if round % 3 == 0 {
            drop(vol);
        } else {
            vol.shutdown().unwrap();
        }
        rig.assert_sound();
    }
}

#[test]
fn a_block_map_larger_than_the_memory() {
    let rig = Rig::new(&MkfsOptions::default());
    let vol = rig.open();
    let root = Cred::root();
    for i in 0..1300u32 {
        let dir = dir(&vol, ROOT, &format!("dir{i}"));
        file(&vol, dir, "file", 10);
    }
    let sparse = file(&vol, ROOT, "sparse", 0);
    for i in 0..300 {
        vol.write(&root, sparse, i * 100_000, &[1], WriteFlags::default()).unwrap();
        vol.fsync(sparse, false).unwrap();
    }
    let large = file(&vol, ROOT, "large", 0);
    vol.setxattr(&root, large, b"user.x", &[1; 20_000], tandem_fs::XattrMode::Any).unwrap();
    vol.shutdown().unwrap();
    let whole = rig.assert_sound();
    let report = rig.try_check(&CheckOptions { threads: 2, memory: 32 << 10 }).unwrap();
    assert_eq!(report.problems_total, 0, "{report:#?}");
    // All but the circles of directories, which need sixteen bytes for each.
    assert_eq!(report.unverified.len(), 1, "{report:#?}");
    let counts = |r: &CheckReport| (r.inodes, r.links, r.extents, r.blocks_used, r.metadata_blocks);
    assert_eq!(counts(&report), counts(&whole));
}

#[test]
fn segments_with_checkpoints_in_them_can_be_cleaned() {
    let rig = Rig::new(&MkfsOptions { metadata_size: Some(4 << 20), ..MkfsOptions::default() });
    let every = MountOptions { checkpoint: std::time::Duration::ZERO, ..MountOptions::default() };
    let vol = rig.mount(every);
    for i in 0..2000 {
        if i % 10 == 0 {
            let dir = dir(&vol, ROOT, &format!("dir{i}"));
            for n in 0..20 {
                file(&vol, dir, &format!("stays{n}"), 0);
            }
        }
        let name = format!("goes{i}");
        file(&vol, ROOT, &name, 0);
        vol.sync().unwrap_or_else(|e| panic!("{i}: {e}"));
        vol.unlink(&Cred::root(), ROOT, name.as_bytes()).unwrap();
    }
    vol.shutdown().unwrap();
    rig.assert_sound();
}

#[test]
fn records_outside_their_entries_come_and_go() {
    let rig = Rig::new(&MkfsOptions::default());
    let root = Cred::root();
    for round in 0..3 {
        let vol = rig.open();
        let ino = file(&vol, ROOT, "a", 10);
        vol.link(&root, ino, ROOT, b"b").unwrap();
        vol.forget(ino, 1);
        vol.sync().unwrap();
        vol.unlink(&root, ROOT, b"a").unwrap();
        if round == 1 {
            vol.sync().unwrap();
        }
        vol.unlink(&root, ROOT, b"b").unwrap();
        vol.shutdown().unwrap();
        rig.assert_sound();
    }
}

#[test]
fn operations_at_random() {
    let seeds = std::env::var("SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(4);
    for seed in 0..seeds {
        let hash_bits = Some([48, 4][seed as usize % 2]);
        let data_block_size = Some([4096, 512, 65536][seed as usize % 3]);
        let metadata_size = Some(if seed % 4 < 2 { 4 << 20 } else { 16 << 20 });
        let options =
            MkfsOptions { hash_bits, data_block_size, metadata_size, ..MkfsOptions::default() };
        let rig = Rig::new(&options);
        let mut numbers = Numbers(seed);
        for round in 0..6 {
            let vol = rig.open();
            churn(&vol, &mut numbers, 1000);
            match round % 3 {
                0 => drop(vol),
                1 => vol.sync().unwrap(),
                _ => vol.shutdown().unwrap(),
            }
            let report = rig.check();
            assert!(report.is_sound(), "seed {seed}, round {round}: {report:#?}");
            assert!(report.inodes > 30 && report.extents > 0, "{report:#?}");
        }
    }
}

#[test]
fn full_devices() {
    let options = MkfsOptions {
        metadata_size: Some(4 << 20),
        data_size: Some(2 << 20),
        ..MkfsOptions::default()
    };
    let rig = Rig::new(&options);
    let root = Cred::root();
    let vol = rig.open();
    let mut made = 0u32;
    loop {
        let name = format!("file{made}");
        let Ok(attr) = vol.mknod(&root, ROOT, name.as_bytes(), 0o644, 0, 0) else { break };
        made += 1;
        // The data device is full long before the other.
        let _ = vol.write(&root, attr.ino, 0, &[1; 10_000], WriteFlags::default());
        vol.forget(attr.ino, 1);
        if made.is_multiple_of(500) {
            vol.sync().unwrap();
        }
    }
    assert!(made > 5000, "{made}");
    vol.sync().unwrap();
    rig.assert_sound();
    for i in 0..made {
        vol.unlink(&root, ROOT, format!("file{i}").as_bytes()).unwrap();
    }
    drop(vol);
    rig.assert_sound();
    let vol = rig.open();
    for i in 0..made {
        // As far as the crash has not brought it back, it is gone.
        let _ = vol.unlink(&root, ROOT, format!("file{i}").as_bytes());
    }
    vol.shutdown().unwrap();
    let report = rig.assert_sound();
    assert_eq!((report.inodes, report.blocks_used), (2, 0));
}
