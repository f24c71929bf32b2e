//! Names, entries, tables, chains, and where directories hang.

use std::time::Duration;

use tandem_format::{Body, Content, Kind, Leaf, Table, name_key};
use tandem_fs::check::ProblemKind as P;
use tandem_fs::{Cred, MkfsOptions, MountOptions, ROOT};

use super::{damaged, reenter};
use crate::image::Image;
use crate::rig::{Rig, assert_kinds};

#[test]
fn names() {
    let cases: [(&[u8], &[P]); 3] = [
        (b"smbll-attributes", &[P::InodeMap]),
        (b"small/attributes", &[P::InodeMap, P::Name]),
        (b"small\0attributes", &[P::InodeMap, P::Name]),
    ];
    for (name, kinds) in cases {
        let report = damaged(|image| {
            let (leaf, slot) = image.entry("small-attributes");
            let rev = name_key(image.sb.hash_key, image.sb.hash_bits, name);
            image.edit_leaf(leaf, |leaf| reenter(leaf, slot, rev << 15, name));
        });
        assert_kinds(&report, kinds);
    }
}

#[test]
fn names_that_cannot_be_are_not_listed() {
    for name in [&b"small/attributes"[..], b"small\0attributes", b"", b"..", b"."] {
        let rig = super::filled().copy();
        let image = Image::new(&rig);
        let (leaf, slot) = image.entry("small-attributes");
        let rev = name_key(image.sb.hash_key, image.sb.hash_bits, name);
        image.edit_leaf(leaf, |leaf| reenter(leaf, slot, rev << 15, name));
        let vol = rig.open();
        let (mut from, mut shown) = (0, Vec::new());
        let error = loop {
            let before = from;
            let done = vol.readdir(&Cred::root(), ROOT, before, &mut |entry| {
                from = entry.cookie;
                shown.push((entry.cookie, entry.name.to_vec()));
                true
            });
            match done {
                Ok(()) => assert_ne!(from, before, "{name:?} has no error"),
                Err(e) => break e.to_string(),
            }
        };
        assert!(error.contains("cannot be"), "{error}");
        assert!(shown.iter().all(|(cookie, shown)| *cookie <= 2 || shown != name));
    }
}

#[test]
fn entry_counts_parents_and_groups() {
    assert_kinds(
        &damaged(|image| image.edit_dir("many", |dir| dir.entries += 1)),
        &[P::EntryCount, P::Group],
    );
    let report = damaged(|image| image.edit_dir("links", |dir| dir.subdirs += 1));
    assert_kinds(&report, &[P::EntryCount, P::LinkCount]);
    assert_kinds(&damaged(|image| image.edit_dir("to", |dir| dir.parent = 1)), &[P::Parent]);
    assert_kinds(
        &damaged(|image| image.edit_dir("to", |dir| dir.group = 1 << 30)),
        &[P::Record, P::Group],
    );
    let report =
        damaged(|image| image.edit_dir("many", |dir| dir.group = u32::from(dir.group == 0)));
    assert_kinds(&report, &[P::Group]);
}

#[test]
fn links_and_types() {
    let report = damaged(|image| {
        image.edit_record(|rec| rec.nlink == 3, |rec| rec.nlink = 4);
    });
    assert_kinds(&report, &[P::LinkCount]);
    for ino in [2u64, 4, 1 << 40] {
        let report = damaged(|image| {
            let (leaf, slot) = image.entry("two");
            image.edit_leaf(leaf, |leaf| leaf.replace(slot, Body::Link(ino)).unwrap());
        });
        assert!(report.problems.iter().any(|p| p.kind == P::LinkCount), "{report:#?}");
        let dangling = report.problems.iter().any(|p| p.kind == P::DanglingEntry);
        assert_eq!(dangling, ino == 1 << 40, "{report:#?}");
    }
    let report = damaged(|image| {
        let (leaf, slot) = image.entry("two");
        image.edit_leaf(leaf, |leaf| {
            let (key, name) = (leaf.entry(slot).key, leaf.entry(slot).name.to_vec());
            let Body::Link(ino) = leaf.entry(slot).body else { panic!() };
            leaf.remove(slot);
            leaf.insert(key, 6, &name, Body::Link(ino)).unwrap();
        });
    });
    assert_kinds(&report, &[P::FileType]);
    let report = damaged(|image| {
        image.edit_record(|rec| rec.mode & 0o170000 == 0o010000, |rec| rec.mode ^= 0o030000);
    });
    assert_kinds(&report, &[P::FileType, P::Record]);
}

#[test]
fn directory_tables() {
    let table = |image: &Image<'_>| {
        let (id, _, payload) = image.blocks(Kind::Table).remove(0);
        (id, Table::decode(&payload).unwrap())
    };
    let report = damaged(|image| {
        let (id, mut table) = table(image);
        let n = (0..table.entries.len() - 1)
            .find(|&n| table.entries[n] != table.entries[n + 1])
            .unwrap();
        table.entries.swap(n, n + 1);
        image.edit(id, |_, payload| *payload = table.encode());
    });
    for problem in &report.problems {
        assert!(
            matches!(problem.kind, P::WrongReference | P::SharedBlock | P::Directory),
            "{report:#?}"
        );
    }
    assert!(report.problems.iter().any(|p| p.kind != P::Directory), "{report:#?}");
    let report = damaged(|image| {
        let (id, mut table) = table(image);
        let last = table.entries.len() - 1;
        table.entries[last] = id | 1 << 63;
        image.edit(id, |_, payload| *payload = table.encode());
    });
    assert!(report.problems.iter().any(|p| p.kind == P::SharedBlock), "{report:#?}");
    let report = damaged(|image| {
        let (id, _) = table(image);
        image.edit(id, |meta, _| meta.level = 47);
    });
    assert!(report.problems.iter().any(|p| p.kind == P::Directory), "{report:#?}");
    let report = damaged(|image| image.edit_dir("many", |dir| dir.root &= !(1 << 63)));
    assert!(report.problems.iter().any(|p| p.kind == P::WrongReference), "{report:#?}");
    let report = damaged(|image| image.edit_dir("many", |dir| dir.root = 1 << 63 | 1 << 60));
    for kind in [P::Directory, P::UnreferencedBlock] {
        assert!(report.problems.iter().any(|p| p.kind == kind), "{kind:?}: {report:#?}");
    }
}

#[test]
fn circles_of_directories() {
    let link = |image: &Image<'_>, (id, slot): (u64, usize)| {
        let (meta, payload) = image.read(image.map[&id]);
        match Leaf::decode(&payload, &meta, &image.sb.implied()).unwrap().entry(slot).body {
            Body::Link(ino) => ino,
            Body::Embedded(_) => panic!("embedded"),
        }
    };
    // Both records lie elsewhere, so the entries can be exchanged: then the upper directory lies
    // below itself, and nothing else is wrong.
    let report = damaged(|image| {
        let (upper, lower) = (image.entry("outside"), image.entry("outside-too"));
        let inos = [link(image, upper), link(image, lower)];
        for ((id, slot), ino) in [(upper, inos[1]), (lower, inos[0])] {
            image.edit_leaf(id, |leaf| leaf.replace(slot, Body::Link(ino)).unwrap());
        }
        let between = image.read(image.map[&lower.0]).0.owner;
        for (ino, parent) in [(inos[0], between), (inos[1], 1)] {
            image.edit_record(
                |rec| rec.ino == ino,
                |rec| {
                    if let Content::Dir(root) = &mut rec.content {
                        root.parent = parent;
                    }
                },
            );
        }
    });
    assert_kinds(&report, &[P::DirectoryLoop]);
    assert_eq!(report.problems.len(), 1);
}

#[test]
fn the_hidden_directory() {
    // A crash with an unlinked file in use, right after a checkpoint.
    let rig = Rig::new(&MkfsOptions::default());
    let vol = rig.mount(MountOptions { checkpoint: Duration::ZERO, ..MountOptions::default() });
    let root = tandem_fs::Cred::root();
    let ino = crate::fill::file(&vol, tandem_fs::ROOT, "gone", 5000);
    vol.lookup(&root, tandem_fs::ROOT, b"gone").unwrap();
    vol.unlink(&root, tandem_fs::ROOT, b"gone").unwrap();
    vol.sync().unwrap();
    crate::fill::file(&vol, tandem_fs::ROOT, "other", 0);
    vol.sync().unwrap();
    drop(vol);
    assert_eq!(rig.assert_sound().orphans, 1);
    let damaged = |f: &dyn Fn(&Image<'_>)| {
        let rig = rig.copy();
        f(&Image::new(&rig));
        rig.check()
    };
    let report = damaged(&|image| {
        let (id, slot) = image.entry(&format!("{ino:016x}"));
        let name = b"000000000000000f";
        let rev = name_key(image.sb.hash_key, image.sb.hash_bits, name);
        image.edit_leaf(id, |leaf| reenter(leaf, slot, rev << 15, name));
    });
    assert_kinds(&report, &[P::HiddenDirectory, P::InodeMap]);
    let report = damaged(&|image| {
        image.edit_record(|rec| rec.ino == ino, |rec| rec.nlink = 2);
    });
    assert_kinds(&report, &[P::HiddenDirectory, P::LinkCount]);
}
