//! Extents, free space, links, attributes.

use tandem_format::{Content, Extent, ExtentNode, GroupEntry, Kind, Record, SegEntry, Xattrs};
use tandem_fs::check::ProblemKind as P;
use tandem_fs::{MkfsOptions, ROOT};

use super::damaged;
use crate::image::Image;
use crate::rig::{Rig, assert_kinds};

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
fn what_lies_beyond_the_data_area_cannot_be_read() {
    let rig = Rig::new(&MkfsOptions::default());
    let vol = rig.open();
    // Leaves of many lengths: in some there is room for a larger number.
    for n in 0..20 {
        let dir = crate::fill::dir(&vol, ROOT, &format!("directory{n}"));
        crate::fill::file(&vol, dir, &"name".repeat(n + 1), 10_000);
    }
    vol.shutdown().unwrap();
    let last = Image::new(&rig).sb.blocks;
    for start in [last - 1, last, last + 1, 1 << 40, (1 << 51) - 1, u64::MAX / 4096, u64::MAX - 9] {
        let rig = rig.copy();
        let image = Image::new(&rig);
        let ino = image.edit_record(with_extents, |rec| extents(rec)[0].start = start);
        let vol = rig.open();
        let error = vol.read(ino, 4096, &mut [0; 100]).unwrap_err();
        assert_eq!(error.errno(), libc::EUCLEAN, "{start}: {error}");
    }
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
            for (word, by) in [(at, 1), (at + 4, u32::MAX)] {
                let bytes = &mut payload[word..word + 4];
                let moved = u32::from_le_bytes((&*bytes).try_into().unwrap()).wrapping_add(by);
                bytes.copy_from_slice(&moved.to_le_bytes());
            }
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
