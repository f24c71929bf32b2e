//! Every kind of damage, one by one. Where the damage is logical, all checksums are right.

use std::sync::OnceLock;
use std::time::Duration;

use tandem_device::Device;
use tandem_format::{
    Body, CHECKPOINTS, Content, Extent, ExtentNode, GroupEntry, Kind, Leaf, Loc, Record, SegEntry,
    Table, Words, Xattrs,
};
use tandem_fs::check::{CheckReport, ProblemKind as P};
use tandem_fs::{MkfsOptions, MountOptions};

use crate::fill::everything;
use crate::image::Image;
use crate::rig::{Rig, assert_kinds};

/// A volume with one of everything, cleanly unmounted.
fn filled() -> &'static Rig {
    static RIG: OnceLock<Rig> = OnceLock::new();
    RIG.get_or_init(|| {
        let rig = Rig::new(&MkfsOptions::default());
        let vol = rig.open();
        everything(&vol);
        vol.shutdown().unwrap();
        rig.assert_sound();
        rig
    })
}

/// Damages a copy of it, and checks that.
#[track_caller]
fn damaged(f: impl FnOnce(&Image<'_>)) -> CheckReport {
    let rig = filled().copy();
    f(&Image::new(&rig));
    rig.check()
}

/// A regular file in its entry, with extents.
fn with_extents(rec: &Record) -> bool {
    matches!(&rec.content, Content::Extents(list) if list[0].len > 1 && list[0].start > 0)
}

fn extents(rec: &mut Record) -> &mut [Extent] {
    match &mut rec.content {
        Content::Extents(list) => list,
        other => panic!("{other:?}"),
    }
}

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
    let report = damaged(|image| image.remap(two(image)[0], Loc::new(1 << 40, 4)));
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

/// Puts other bytes of the same length into a leaf.
fn patch(image: &Image<'_>, id: u64, from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len());
    image.edit(id, |_, payload| {
        let at = payload.windows(from.len()).position(|w| w == from).unwrap();
        payload[at..at + to.len()].copy_from_slice(to);
    });
}

#[test]
fn names() {
    for name in [&b"smbll-attributes"[..], b"small/attributes", b"small\0attributes"] {
        let report = damaged(|image| {
            let (leaf, _) = image.entry("small-attributes");
            patch(image, leaf, b"small-attributes", name);
        });
        assert_kinds(&report, &[P::Name]);
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
fn extents_against_each_other_and_free_space() {
    let report = damaged(|image| {
        image.edit_record(with_extents, |rec| extents(rec)[0].start -= 1);
    });
    let kinds: Vec<P> = report.problems.iter().map(|p| p.kind).collect();
    assert!(kinds.contains(&P::LostBlocks), "{report:#?}");
    assert!(kinds.contains(&P::ExtentOverlap) || kinds.contains(&P::FreeInUse), "{report:#?}");
    let report = damaged(|image| {
        image.edit_record(with_extents, |rec| extents(rec)[0].len -= 1);
    });
    assert_kinds(&report, &[P::LostBlocks]);
    let report = damaged(|image| {
        let blocks = image.sb.blocks;
        image.edit_record(with_extents, |rec| extents(rec)[0].len = blocks as u32);
    });
    assert_kinds(&report, &[P::LostBlocks, P::Extent]);
    let report = damaged(|image| {
        let (_, loc) = image.table(Kind::Free).next().unwrap();
        image.edit_at(loc, |_, payload| {
            // The last run begins a block later.
            let at = payload.len() - 8;
            payload[at] = payload[at].wrapping_add(1);
            payload[at + 4] = payload[at + 4].wrapping_sub(1);
        });
    });
    assert!(report.problems.iter().any(|p| p.kind == P::LostBlocks), "{report:#?}");
    assert!(report.problems.iter().any(|p| p.kind == P::Group), "{report:#?}");
    let report = damaged(|image| {
        let (_, loc) = image.table(Kind::Free).next().unwrap();
        image.edit_at(loc, |_, payload| payload[4..8].copy_from_slice(&u32::MAX.to_le_bytes()));
    });
    assert!(report.problems.iter().any(|p| p.kind == P::FreeSpace), "{report:#?}");
}

#[test]
fn two_files_on_one_extent() {
    let report = damaged(|image| {
        let records = image.records();
        let mut plain = records.iter().filter(|(_, _, rec)| with_extents(rec));
        let (_, _, first) = plain.next().unwrap();
        let Content::Extents(theirs) = &first.content else { panic!() };
        let theirs = theirs[0];
        let (_, _, second) = plain
            .find(|(_, _, rec)| matches!(&rec.content, Content::Extents(l) if l[0].len == theirs.len && l[0].start >> 14 == theirs.start >> 14))
            .unwrap();
        image.edit_record(|rec| rec.ino == second.ino, |rec| extents(rec)[0].start = theirs.start);
    });
    assert_kinds(&report, &[P::ExtentOverlap, P::LostBlocks]);
    let overlap = report.problems.iter().find(|p| p.kind == P::ExtentOverlap).unwrap();
    assert_eq!(overlap.detail.matches("i-node").count(), 2, "{overlap:?}");
}

#[test]
fn extent_trees() {
    let root = |image: &Image<'_>| {
        let trees = image.blocks(Kind::Extent);
        let (id, meta, payload) = trees.into_iter().find(|(_, meta, _)| meta.level == 1).unwrap();
        (id, ExtentNode::decode(&payload, meta.level).unwrap())
    };
    let report = damaged(|image| {
        image.edit_record(
            |rec| matches!(rec.content, Content::Tree { .. }),
            |rec| {
                if let Content::Tree { extents, .. } = &mut rec.content {
                    *extents -= 1;
                }
            },
        );
    });
    assert_kinds(&report, &[P::ExtentTree]);
    let report = damaged(|image| {
        let (id, mut node) = root(image);
        node.children[1].0 += 1;
        image.edit(id, |_, payload| *payload = node.encode());
    });
    assert_kinds(&report, &[P::ExtentTree]);
    let report = damaged(|image| {
        let (id, mut node) = root(image);
        node.children[1].1 = node.children[0].1;
        image.edit(id, |_, payload| *payload = node.encode());
    });
    for kind in [P::ExtentTree, P::SharedBlock, P::UnreferencedBlock] {
        assert!(report.problems.iter().any(|p| p.kind == kind), "{kind:?}: {report:#?}");
    }
    let report = damaged(|image| {
        let (id, _) = root(image);
        image.edit(id, |meta, _| meta.owner += 1);
    });
    assert!(report.problems.iter().any(|p| p.kind == P::WrongReference), "{report:#?}");
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
        match Leaf::decode(&payload, meta.count, meta.index).unwrap().entry(slot).body {
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
fn groups_and_segments() {
    let group = |change: fn(&mut GroupEntry)| {
        damaged(|image| {
            let (_, loc) = image.table(Kind::Group).next().unwrap();
            image.edit_at(loc, |_, payload| {
                let mut entries = GroupEntry::decode_all(payload).unwrap();
                change(&mut entries[0]);
                *payload = GroupEntry::encode_all(&entries);
            });
        })
    };
    assert_kinds(&group(|e| e.dirs += 1), &[P::Group]);
    assert_kinds(&group(|e| e.inodes -= 1), &[P::Group]);
    let report = group(|e| e.free -= 1);
    assert!(report.problems.iter().any(|p| p.kind == P::Group), "{report:#?}");
    let report = group(|e| e.free = u32::MAX);
    assert!(report.problems.iter().any(|p| p.kind == P::Group), "{report:#?}");
    let report = group(|e| e.bitmap = !e.bitmap);
    assert!(report.problems.iter().any(|p| p.kind == P::FreeSpace), "{report:#?}");
    let report = group(|e| e.chunks = 0);
    assert!(report.problems.iter().any(|p| p.kind == P::FreeSpace), "{report:#?}");
    let segment = |change: fn(&mut SegEntry)| {
        damaged(|image| {
            let (_, loc) = image.table(Kind::Seg).next().unwrap();
            image.edit_at(loc, |_, payload| {
                let mut entries = SegEntry::decode_all(payload).unwrap();
                let used = entries.iter_mut().find(|e| e.live > 0).unwrap();
                change(used);
                *payload = SegEntry::encode_all(&entries);
            });
        })
    };
    assert_kinds(&segment(|e| e.live -= 64), &[P::SegmentUsage, P::Checkpoint][..1]);
    assert_kinds(&segment(|e| e.live = 0), &[P::SegmentUsage]);
}

#[test]
fn attributes_and_lists() {
    let inline =
        |rec: &Record| matches!(&rec.xattrs, Xattrs::Inline(b) if b.len() < 200) && rec.size == 10;
    let attributes = |change: fn(&mut [u8])| {
        damaged(|image| {
            image.edit_record(inline, |rec| {
                if let Xattrs::Inline(bytes) = &mut rec.xattrs {
                    change(bytes);
                }
            });
        })
    };
    assert_kinds(&attributes(|bytes| bytes[0] = 9), &[P::Attribute]);
    assert_kinds(&attributes(|bytes| bytes[2] = 200), &[P::Attribute]);
    // The tag of the list's last entry.
    assert_kinds(
        &attributes(|bytes| {
            let at = bytes.len() - 8;
            bytes[at] = 64;
        }),
        &[P::Acl],
    );
    let report = damaged(|image| {
        image.edit_record(
            |rec| matches!(rec.xattrs, Xattrs::Blocks { .. }),
            |rec| {
                if let Xattrs::Blocks { len, .. } = &mut rec.xattrs {
                    *len -= 1;
                }
            },
        );
    });
    assert_kinds(&report, &[P::Attribute]);
    let report = damaged(|image| {
        image.edit_record(
            |rec| matches!(rec.xattrs, Xattrs::Blocks { .. }),
            |rec| {
                if let Xattrs::Blocks { ids, .. } = &mut rec.xattrs {
                    ids.swap(0, 1);
                }
            },
        );
    });
    assert_kinds(&report, &[P::WrongReference]);
}

#[test]
fn symbolic_links() {
    let report = damaged(|image| {
        image.edit_record(
            |rec| matches!(rec.content, Content::SymlinkBlock(_)),
            |rec| rec.size -= 1,
        );
    });
    assert_kinds(&report, &[P::WrongReference]);
    let report = damaged(|image| {
        image.edit_record(
            |rec| matches!(rec.content, Content::SymlinkBlock(_)),
            |rec| rec.size += 5000,
        );
    });
    assert_kinds(&report, &[P::Symlink, P::UnreferencedBlock]);
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
        let (id, _) = image.entry(&format!("{ino:016x}"));
        patch(image, id, format!("{ino:016x}").as_bytes(), b"000000000000000f");
    });
    assert_kinds(&report, &[P::HiddenDirectory, P::Name]);
    let report = damaged(&|image| {
        image.edit_record(|rec| rec.ino == ino, |rec| rec.nlink = 2);
    });
    assert_kinds(&report, &[P::HiddenDirectory, P::LinkCount]);
}

#[test]
fn chains() {
    let rig = Rig::new(&MkfsOptions { hash_bits: Some(1), ..MkfsOptions::default() });
    let vol = rig.open();
    for i in 0..800 {
        crate::fill::file(&vol, tandem_fs::ROOT, &format!("file{i}"), 0);
    }
    vol.shutdown().unwrap();
    rig.assert_sound();
    let damaged = |f: &dyn Fn(&Image<'_>, &[u64])| {
        let rig = rig.copy();
        let image = Image::new(&rig);
        let next = |id: u64| {
            let (meta, payload) = image.read(image.map[&id]);
            Leaf::decode(&payload, meta.count, meta.index).unwrap().next()
        };
        let leaves: Vec<u64> = image.blocks(Kind::Leaf).iter().map(|b| b.0).collect();
        let head = leaves.iter().find(|id| leaves.iter().all(|&other| next(other) != **id));
        let mut chain = vec![*head.unwrap()];
        while next(*chain.last().unwrap()) != 0 {
            chain.push(next(*chain.last().unwrap()));
        }
        assert!(chain.len() > 3, "{chain:?} of {leaves:?}");
        f(&image, &chain);
        rig.check()
    };
    let report = damaged(&|image, chain| {
        image.edit_leaf(chain[2], |leaf| leaf.set_next(chain[1]));
    });
    for kind in [P::SharedBlock, P::UnreferencedBlock] {
        assert!(report.problems.iter().any(|p| p.kind == kind), "{kind:?}: {report:#?}");
    }
    // A circle that nothing leads to.
    let report = damaged(&|image, chain| {
        image.edit_leaf(chain[0], |leaf| leaf.set_next(0));
        image.edit_leaf(chain[chain.len() - 1], |leaf| leaf.set_next(chain[1]));
    });
    assert!(report.problems.iter().any(|p| p.kind == P::Directory), "{report:#?}");
    let report = damaged(&|image, chain| {
        let taken = {
            let (meta, payload) = image.read(image.map[&chain[0]]);
            Leaf::decode(&payload, meta.count, meta.index).unwrap().entry(0).key
        };
        image.edit(chain[1], |meta, payload| {
            let leaf = Leaf::decode(payload, meta.count, meta.index).unwrap();
            let old = leaf.entry(0).key;
            let at = payload.windows(8).position(|w| w == old.to_le_bytes()).unwrap();
            payload[at..at + 8].copy_from_slice(&taken.to_le_bytes());
        });
    });
    assert!(
        report.problems.iter().any(|p| p.kind == P::Directory || p.kind == P::Damaged),
        "{report:#?}"
    );
}
