//! Superblocks, checkpoints, and metadata blocks as such.

use tandem_device::Device;
use tandem_format::{CHECKPOINTS, GRAIN, Kind, Loc, Words};
use tandem_fs::MkfsOptions;
use tandem_fs::check::ProblemKind as P;

use super::damaged;
use crate::image::Image;
use crate::rig::{Rig, assert_kinds};

#[test]
fn superblocks_labels_and_checkpoints() {
    assert_kinds(&damaged(|image| image.flip(100)), &[P::Superblock]);
    assert_kinds(
        &damaged(|image| image.flip(image.sb.geometry().superblock_b() + 9)),
        &[P::Superblock],
    );
    assert_kinds(&damaged(|image| image.flip(CHECKPOINTS[1 - image.area] + 50)), &[P::Checkpoint]);
    let counts: [fn(&mut tandem_format::Checkpoint); 6] = [
        |cp| cp.inodes += 1,
        |cp| cp.next_ino = 5,
        |cp| cp.next_id = 5,
        |cp| cp.mapped -= 1,
        |cp| cp.free_blocks -= 1,
        |cp| cp.live_bytes += 64,
    ];
    for change in counts {
        assert_kinds(&damaged(|image| image.edit_checkpoint(change)), &[P::Checkpoint]);
    }
    let label = Rig::new(&MkfsOptions::default());
    label.data.as_ref().unwrap().write_at(&[1], 90).unwrap();
    assert_kinds(&label.check(), &[P::DataLabel]);
}

#[test]
fn no_numbers_are_left() {
    let (rig, root) = (Rig::new(&MkfsOptions::default()), tandem_fs::Cred::root());
    rig.open().shutdown().unwrap();
    Image::new(&rig).edit_checkpoint(|cp| cp.next_ino = (1 << 48) - 1);
    let vol = rig.open();
    let make = |name: &[u8]| vol.mknod(&root, tandem_fs::ROOT, name, 0o644, 0, 0);
    assert_eq!(make(b"last").unwrap().ino, (1 << 48) - 1);
    assert_eq!(make(b"none").unwrap_err().errno(), libc::ENOSPC);
    vol.shutdown().unwrap();
    assert_kinds(&rig.check(), &[]);
}

#[test]
fn the_second_superblock_is_found_wherever_it_is() {
    let smaller = MkfsOptions { metadata_size: Some(16 << 20), ..MkfsOptions::default() };
    for rig in [
        Rig::new(&MkfsOptions::default()),
        Rig::new(&smaller),
        Rig::single(&MkfsOptions::default()),
        Rig::single(&smaller),
    ] {
        let second = Image::new(&rig).sb.geometry().superblock_b();
        rig.meta.write_at(&[0; 4096], 0).unwrap();
        assert_kinds(&rig.check(), &[P::Superblock]);
        let vol = rig.open();
        crate::fill::file(&vol, tandem_fs::ROOT, "made", 100);
        vol.shutdown().unwrap();
        assert_kinds(&rig.check(), &[P::Superblock]);
        // Any checkpoint leads there.
        for area in CHECKPOINTS {
            let rig = rig.copy();
            rig.meta.write_at(&[0; 4096], area).unwrap();
            assert_kinds(&rig.check(), &[P::Superblock, P::Checkpoint]);
        }
        rig.meta.write_at(&[0; 4096], second).unwrap();
        let error = rig.try_check(&Default::default()).unwrap_err().to_string();
        assert!(error.contains("both superblocks"), "{error}");
        assert!(!error.contains("mkfs"), "{error}");
    }
}

#[test]
fn the_second_superblock_of_an_earlier_volume_does_not_serve() {
    let rig = Rig::single(&MkfsOptions::default());
    let old = Image::new(&rig).sb.geometry().superblock_b();
    let smaller = MkfsOptions { metadata_size: Some(16 << 20), ..MkfsOptions::default() };
    let mut page = vec![0; 4096];
    rig.meta.read_at(&mut page, old).unwrap();
    let rig = rig.mkfs(&smaller);
    rig.meta.write_at(&page, old).unwrap();
    rig.meta.write_at(&[0; 4096], 0).unwrap();
    assert_eq!(rig.open().info().metadata_size, 16 << 20);
}

#[test]
fn a_byte_of_any_block() {
    for kind in [Kind::Leaf, Kind::Table, Kind::Extent, Kind::Inode, Kind::Symlink, Kind::Xattr] {
        let report = damaged(|image| {
            let (id, ..) = image.blocks(kind)[0];
            image.flip(image.map[&id].offset() + 70);
        });
        let named = |p: &&tandem_fs::check::Problem| {
            p.kind == P::Damaged && p.what.contains(&format!("{kind:?}"))
        };
        assert!(report.problems.iter().any(|p| named(&p)), "{kind:?}: {report:#?}");
    }
    for kind in [Kind::Map, Kind::Imap, Kind::Seg, Kind::Group, Kind::Free] {
        let report = damaged(|image| {
            let (_, loc) = image.table(kind).next().unwrap();
            image.flip(loc.offset() + 70);
        });
        let named = |p: &&tandem_fs::check::Problem| {
            p.kind == P::Damaged && p.what.contains(&format!("{kind:?}"))
        };
        assert!(report.problems.iter().any(|p| named(&p)), "{kind:?}: {report:#?}");
    }
}

#[test]
fn summaries() {
    let report = damaged(|image| {
        let (id, ..) = image.blocks(Kind::Table)[0];
        let (at, _) = image.partial_of(image.map[&id]);
        let start = (image.map[&id].offset() - 65536) / u64::from(image.sb.segment_size)
            * u64::from(image.sb.segment_size)
            + 65536;
        image.flip(start + at as u64 + 20);
    });
    assert_kinds(&report, &[P::Log]);
}

#[test]
fn the_block_map() {
    let two = |image: &Image<'_>| -> Vec<u64> {
        image.blocks(Kind::Leaf).iter().map(|b| b.0).take(2).collect()
    };
    let report = damaged(|image| {
        let ids = two(image);
        image.remap(ids[0], image.map[&ids[1]]);
    });
    assert!(report.problems.iter().any(|p| p.kind == P::WrongBlock), "{report:#?}");
    let report = damaged(|image| image.remap(two(image)[0], Loc::NONE));
    assert!(report.problems.iter().any(|p| p.kind == P::MissingBlock), "{report:#?}");
    let report = damaged(|image| {
        let beyond = image.sb.meta_size / GRAIN as u64;
        image.remap(two(image)[0], Loc::new(beyond, 4));
    });
    assert!(report.problems.iter().any(|p| p.kind == P::Address), "{report:#?}");
    let report = damaged(|image| {
        let id = two(image)[0];
        let loc = image.map[&id];
        image.remap(id, Loc::new(loc.grain() + 1, loc.grains()));
    });
    assert!(report.problems.iter().any(|p| p.kind == P::Damaged), "{report:#?}");
    let report = damaged(|image| {
        let last = *image.map.keys().last().unwrap();
        let free = (1..last).find(|id| !image.map.contains_key(id));
        let id = two(image)[0];
        image.remap(free.unwrap(), image.map[&id]);
    });
    assert_kinds(&report, &[P::WrongBlock, P::SegmentUsage, P::Checkpoint, P::Log]);
}

#[test]
fn the_inode_map() {
    let ino = |image: &Image<'_>| {
        let embedded = |ino: &u64| image.home(*ino)[0] != 0 && image.home(*ino)[1] >> 63 == 0;
        (3..image.cp.next_ino).find(embedded).unwrap()
    };
    assert_kinds(&damaged(|image| image.set_home(ino(image), [0, 0])), &[P::InodeMap]);
    let report = damaged(|image| {
        let ino = ino(image);
        let [dir, key] = image.home(ino);
        image.set_home(ino, [dir, key + 1]);
    });
    assert_kinds(&report, &[P::InodeMap]);
    let report = damaged(|image| {
        let used = |ino: &u64| image.home(*ino)[0] != 0;
        let last = (3..image.cp.next_ino).rfind(used).unwrap();
        let free = (3..last).find(|ino| !used(ino)).unwrap();
        image.set_home(free, image.home(1));
    });
    assert_kinds(&report, &[P::InodeMap]);
    let report = damaged(|image| {
        let boxed = |ino: &u64| image.home(*ino)[1] >> 63 == 1;
        let ino = (3..image.cp.next_ino).find(boxed).unwrap();
        image.set_home(ino, [image.home(ino)[0] + 1, 1 << 63]);
    });
    assert_kinds(&report, &[P::InodeMap]);
}

#[test]
fn radix_nodes_that_lead_astray() {
    let report = damaged(|image| {
        let (id, loc) = image.table(Kind::Map).next().unwrap();
        assert_eq!(id, 0);
        image.edit_at(loc, |_, payload| {
            let mut words = Words::decode(payload).unwrap();
            let used = words.0.iter().rposition(|&w| w != 0).unwrap();
            words.0[used] = loc.raw();
            *payload = words.encode();
        });
    });
    assert!(report.problems.iter().any(|p| p.kind == P::WrongBlock), "{report:#?}");
    // The root of one table in the place of another.
    let report = damaged(|image| image.edit_checkpoint(|cp| cp.roots[1] = cp.roots[0]));
    assert!(
        report.problems.iter().any(|p| p.kind == P::WrongBlock || p.kind == P::Damaged),
        "{report:#?}"
    );
    let report = damaged(|image| image.edit_checkpoint(|cp| cp.roots[0].height += 1));
    assert!(report.problems_total > 0);
}
