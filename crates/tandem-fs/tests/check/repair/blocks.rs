//! Blocks that only one place has: what is lost is lost, the rest is there.

use tandem_device::Device;
use tandem_format::{Body, Content, Extent, Kind, Leaf, Loc, Record, Xattrs};
use tandem_fs::check::RepairKind as R;

use super::repaired;
use crate::image::Image;

/// Overwrites a block, so that no version of it is left.
fn destroy(image: &Image<'_>, id: u64) {
    let (loc, volume) = (image.map[&id], image.sb.volume);
    let mut all = vec![0; image.sb.meta_size as usize - 65536];
    image.rig.meta.read_at(&mut all, 65536).unwrap();
    for at in (0..all.len() - 64).step_by(64) {
        let head = &all[at..at + 64];
        let is = |from: usize, word: u64| head[from..from + 8] == word.to_le_bytes();
        if head.starts_with(b"TdmB") && is(8, volume) && is(16, id) && head[48] < 7 {
            image.rig.meta.write_at(&[0xa5; 64], 65536 + at as u64).unwrap();
        }
    }
    assert!(loc.bytes() >= 64);
}

fn owner(image: &Image<'_>, name: &str) -> u64 {
    image.read(image.map[&image.entry(name).0]).0.owner
}

#[test]
fn a_directory_table() {
    for version_left in [true, false] {
        let repaired = repaired(|image| {
            let (id, ..) = image.blocks(Kind::Table)[0];
            if version_left { image.flip(image.map[&id].offset() + 70) } else { destroy(image, id) }
        });
        repaired.nothing_lost();
        assert_eq!(repaired.count(R::Directory), 1);
    }
}

#[test]
fn a_directory_leaf() {
    let mut lost = Vec::new();
    let repaired = repaired(|image| {
        let (id, meta, payload) = image
            .blocks(Kind::Leaf)
            .into_iter()
            .find(|(_, meta, _)| meta.owner == owner(image, "file7"))
            .unwrap();
        let leaf = Leaf::decode(&payload, &meta, &image.sb.implied()).unwrap();
        let name = |slot| String::from_utf8(leaf.entry(slot).name.to_vec()).unwrap();
        lost.extend((0..leaf.count() as usize).map(|slot| format!("many/{}", name(slot))));
        destroy(image, id);
    });
    lost.sort_unstable();
    assert!(lost.len() > 5);
    assert_eq!(repaired.changed(), lost, "{:#?}", repaired.report);
}

#[test]
fn the_leaf_of_the_root() {
    let repaired = repaired(|image| destroy(image, image.entry("many").0));
    // Directories keep their entries under their numbers; what lies in entries of the root is lost.
    let (before, after) = (repaired.before, &repaired.after);
    let number = before["many"].ino;
    for i in 0..1500 {
        let file = &before[&format!("many/file{i}")];
        assert_eq!(after.get(&format!("lost+found/#{number}/file{i}")), Some(file));
    }
    assert!(!after.contains_key("small-attributes"));
    // Its other link has survived with its record.
    let links = &after[&format!("lost+found/#{}", before["links"].ino)];
    assert_eq!(links.ino, before["links"].ino);
    let one = &after[&format!("lost+found/#{}/one", before["links"].ino)];
    assert_eq!((one.nlink, &one.contents), (1, &before["links/one"].contents));
}

#[test]
fn an_older_leaf_serves_as_far_as_the_map_confirms_it() {
    use tandem_fs::{Cred, MkfsOptions, ROOT};
    let rig = crate::rig::Rig::new(&MkfsOptions::default());
    let vol = rig.open();
    let dir = crate::fill::dir(&vol, ROOT, "dir");
    for name in ["stays", "goes"] {
        crate::fill::file(&vol, dir, name, 5000);
    }
    vol.sync().unwrap();
    vol.unlink(&Cred::root(), dir, b"goes").unwrap();
    crate::fill::file(&vol, dir, "comes", 5000);
    vol.shutdown().unwrap();
    let image = Image::new(&rig);
    image.flip(image.map[&image.entry("stays").0].offset() + 70);
    let bench = super::rig::Bench::new(&rig);
    let report = bench.repair();
    assert_eq!(report.repairs.count(R::OlderBlock), 1);
    let tree = super::tree::tree(&bench.open());
    let names: Vec<&str> = tree.keys().map(String::as_str).collect();
    assert_eq!(names, ["dir", "dir/stays"]);
    assert_eq!(tree["dir/stays"].contents.len(), 2);
}

#[test]
fn an_inode_block() {
    let mut files = Vec::new();
    let repaired = repaired(|image| {
        let (id, ..) = image
            .records()
            .into_iter()
            .find(|(_, _, rec)| rec.nlink == 3 && matches!(rec.content, Content::Extents(_)))
            .unwrap();
        files =
            image.records().into_iter().filter(|rec| rec.0 == id).map(|rec| rec.2.ino).collect();
        destroy(image, id);
    });
    // Whatever lay there is lost but for directories, which keep their entries.
    let lost = repaired.changed();
    let (before, after) = (repaired.before, &repaired.after);
    for path in lost.iter().filter(|path| before.contains_key(**path)) {
        let ino = before[*path].ino;
        let above = path.rsplit_once('/').map(|(dir, _)| before[dir].ino);
        let below = after.values().any(|seen| seen.ino == ino);
        assert!(
            files.contains(&ino) || above.is_some_and(|dir| files.contains(&dir)) || below,
            "{path}"
        );
    }
    assert!(!after.contains_key("two") && after.contains_key("small-attributes"));
}

#[test]
fn an_extent_block() {
    let sparse = |rec: &Record| matches!(rec.content, Content::Tree { .. });
    // The root: nothing is lost. A leaf: what it had reads as zeros.
    for (level, lost) in [(1u8, 0), (0, 1)] {
        let repaired = repaired(|image| {
            let ino = image.records().into_iter().find(|(_, _, rec)| sparse(rec)).unwrap().2.ino;
            let all = image.blocks(Kind::Extent);
            let of = |(_, meta, _): &&(u64, tandem_format::BlockMeta, Vec<u8>)| {
                (meta.owner, meta.level) == (ino, level)
            };
            destroy(image, all.iter().find(of).unwrap().0);
        });
        assert_eq!(repaired.count(R::Contents), 1);
        let (before, after) = (&repaired.before["data/sparse"], &repaired.after["data/sparse"]);
        assert_eq!((before.size, before.ino), (after.size, after.ino));
        assert!(after.contents.iter().all(|(at, hash)| before.contents.get(at) == Some(hash)));
        assert_eq!(before.contents.len() > after.contents.len(), lost > 0);
        assert!(after.contents.len() > 300, "{}", after.contents.len());
        assert_eq!(repaired.changed().len(), lost);
    }
}

#[test]
fn a_file_without_a_record_keeps_its_contents() {
    let repaired = repaired(|image| {
        let sparse = |rec: &Record| matches!(rec.content, Content::Tree { .. });
        let (id, ..) = image.records().into_iter().find(|(_, _, rec)| sparse(rec)).unwrap();
        destroy(image, id);
    });
    let before = &repaired.before["data/sparse"];
    let after = &repaired.after["data/sparse"];
    assert_eq!((after.ino, &after.contents), (before.ino, &before.contents));
    assert_eq!(after.mode, 0o100_600);
}

#[test]
fn targets_and_attributes() {
    let repaired = repaired(|image| {
        let ids = [Kind::Symlink, Kind::Xattr].map(|kind| image.blocks(kind)[0].0);
        ids.iter().for_each(|id| destroy(image, *id));
    });
    assert_eq!(repaired.after["links/long"].target, b"target-lost");
    assert_eq!(repaired.count(R::Attributes), 2);
    assert_eq!(repaired.changed().len(), 2, "{:?}", repaired.changed());
}

#[test]
fn any_attribute_that_is_left_stays() {
    let repaired = repaired(|image| {
        let last = |(_, meta, _): &&(u64, tandem_format::BlockMeta, Vec<u8>)| meta.index == 3;
        let all = image.blocks(Kind::Xattr);
        destroy(image, all.iter().find(last).unwrap().0);
    });
    let (before, after) =
        (&repaired.before["large-attributes"], &repaired.after["large-attributes"]);
    assert_eq!(after.attributes.len(), 1);
    let (name, value) = after.attributes.iter().next().unwrap();
    assert_eq!(before.attributes.get(name), Some(value));
}

#[test]
fn a_segment() {
    // All that a segment had is gone; everything that needs nothing of it is as it was.
    let segments = {
        let image = Image::new(&super::filled().0);
        let size = u64::from(image.sb.segment_size);
        let all = image.map.values().map(|loc| (loc.offset() - 65536) / size);
        all.collect::<std::collections::BTreeSet<u64>>()
    };
    for segment in segments {
        let repaired = repaired(|image| {
            let size = u64::from(image.sb.segment_size);
            let zeros = vec![0; size as usize];
            image.rig.meta.write_at(&zeros, 65536 + segment * size).unwrap();
        });
        assert!(repaired.report.is_sound());
    }
}

#[test]
fn the_block_map_loses_a_block_that_is_there() {
    let repaired = repaired(|image| image.remap(image.entry("many").0, Loc::NONE));
    repaired.nothing_lost();
}

#[test]
fn a_block_that_its_summary_contradicts() {
    let changes: [fn(&mut tandem_format::SummaryEntry); 5] = [
        |entry| entry.id += 1,
        |entry| entry.owner += 1,
        |entry| entry.crc += 1,
        |entry| entry.kind = Kind::Xattr,
        |entry| entry.level += 1,
    ];
    for change in changes {
        let repaired = repaired(|image| image.edit_listed(image.entry("many").0, change));
        repaired.nothing_lost();
        assert_eq!(repaired.count(R::Moved), 1);
    }
}

#[test]
fn a_type_that_an_inode_block_gets_wrong() {
    let repaired = repaired(|image| {
        let (id, ..) = image.blocks(Kind::Inode)[0];
        image.edit_leaf(id, |leaf| leaf.set_kind(0, 6));
    });
    repaired.nothing_lost();
    assert_eq!(repaired.count(R::Record), 1);
}

#[test]
fn a_leaf_that_calls_a_file_its_directory() {
    let mut lost = Vec::new();
    let repaired = repaired(|image| {
        let many = owner(image, "file7");
        let linked = |rec: &Record| matches!(rec.content, Content::Extents(_)) && rec.nlink == 3;
        let file = image.records().into_iter().find(|(_, _, rec)| linked(rec)).unwrap().2.ino;
        let leaves = image.blocks(Kind::Leaf).into_iter().filter(|(_, meta, _)| meta.owner == many);
        let (id, meta, payload) = leaves.max_by_key(|(_, meta, _)| meta.count).unwrap();
        let leaf = Leaf::decode(&payload, &meta, &image.sb.implied()).unwrap();
        lost.extend((0..leaf.count() as usize).map(|slot| match leaf.entry(slot).body {
            Body::Embedded(bytes) => Record::decode(bytes).unwrap().ino,
            Body::Link(ino) => ino,
        }));
        image.edit(id, |meta, _| meta.owner = file);
    });
    assert!(lost.len() > 5);
    for ino in lost {
        let file = &repaired.after[&format!("lost+found/#{ino}")];
        assert_eq!(file, repaired.before.values().find(|seen| seen.ino == ino).unwrap());
    }
}

#[test]
fn attributes_of_another_length() {
    for other in [0, 1] {
        let repaired = repaired(|image| {
            image.edit_record(
                |rec| matches!(rec.xattrs, Xattrs::Blocks { .. }),
                |rec| {
                    if let Xattrs::Blocks { len, .. } = &mut rec.xattrs {
                        *len = *len * other + other;
                    }
                },
            );
        });
        assert_eq!(repaired.count(R::Attributes), 1);
    }
}

fn with_extents(rec: &Record) -> bool {
    matches!(&rec.content, Content::Extents(list) if list.len() == 1 && list[0].len > 1)
}

fn first(rec: &Record) -> Extent {
    match &rec.content {
        Content::Extents(list) => list[0],
        other => panic!("{other:?}"),
    }
}

#[test]
fn crossed_extents() {
    let mut inos = (0, 0);
    let repaired = repaired(|image| {
        let all: Vec<Record> =
            image.records().into_iter().map(|r| r.2).filter(with_extents).collect();
        let theirs = first(&all[0]);
        let group = |e: &Extent| e.start >> 14;
        let other = all[1..]
            .iter()
            .find(|rec| first(rec).len == theirs.len && group(&first(rec)) == group(&theirs))
            .unwrap();
        inos = (all[0].ino, other.ino);
        image.edit_record(
            |rec| rec.ino == inos.1,
            |rec| {
                if let Content::Extents(list) = &mut rec.content {
                    list[0].start = theirs.start;
                }
            },
        );
    });
    assert_eq!(repaired.count(R::Copy), 1);
    // Both have now what was there; a check has found that they share nothing.
    let of = |ino: u64| repaired.after.values().find(|seen| seen.ino == ino).unwrap();
    let (a, b) = (of(inos.0), of(inos.1));
    assert!(!a.contents.is_empty());
    assert_eq!(a.contents[&0], b.contents[&0]);
    let before = |ino: u64| repaired.before.values().find(|seen| seen.ino == ino).unwrap();
    assert_eq!(&before(inos.0).contents, &a.contents);
}

/// What the mount after a repair frees of an unlinked file must be what the repair has given it.
#[test]
fn an_unlinked_file_that_claims_what_another_has() {
    use tandem_fs::{Cred, MkfsOptions, MountOptions, ROOT};
    let rig = crate::rig::Rig::new(&MkfsOptions::default());
    let checkpoint = std::time::Duration::ZERO;
    let vol = rig.mount(MountOptions { checkpoint, ..MountOptions::default() });
    for name in ["stays", "goes"] {
        crate::fill::file(&vol, ROOT, name, 5000);
    }
    let ino = |name: &[u8]| vol.lookup(&Cred::root(), ROOT, name).unwrap().ino;
    let (stays, goes) = (ino(b"stays"), ino(b"goes"));
    vol.unlink(&Cred::root(), ROOT, b"goes").unwrap();
    vol.sync().unwrap();
    crate::fill::file(&vol, ROOT, "has a checkpoint made", 0);
    vol.sync().unwrap();
    // The power fails while the file is in use.
    let rig = rig.copy();
    drop(vol);
    let image = Image::new(&rig);
    let theirs = image.records().iter().find(|r| r.2.ino == stays).map(|r| first(&r.2)).unwrap();
    image.edit_record(
        |rec| rec.ino == goes,
        |rec| {
            if let Content::Extents(list) = &mut rec.content {
                list[0].start = theirs.start;
            }
        },
    );
    let bench = super::rig::Bench::new(&rig);
    let report = bench.repair();
    assert_eq!(report.repairs.count(R::Copy), 1);
    assert!(report.after.is_some_and(|after| after.is_sound()));
}

#[test]
fn wrong_counts() {
    repaired(|image| image.edit_dir("many", |dir| dir.entries += 7)).nothing_lost();
    repaired(|image| image.edit_dir("links", |dir| dir.subdirs += 1)).nothing_lost();
    repaired(|image| image.edit_dir("to", |dir| dir.parent = 1)).nothing_lost();
    repaired(|image| {
        image.edit_record(|rec| rec.nlink == 3, |rec| rec.nlink = 9);
    })
    .nothing_lost();
}

#[test]
fn orphans() {
    let mut inos = Vec::new();
    let repaired = repaired(|image| {
        // All three names of a file, and the entry of a directory with a record elsewhere.
        for name in ["one", "two", "three", "outside"] {
            let (id, slot) = image.entry(name);
            image.edit_leaf(id, |leaf| {
                let Body::Link(ino) = leaf.entry(slot).body else { panic!("{name}") };
                inos.push(ino);
                leaf.replace(slot, Body::Link(1 << 40)).unwrap();
            });
        }
    });
    let (before, after) = (repaired.before, &repaired.after);
    let file = &after[&format!("lost+found/#{}", inos[0])];
    assert_eq!((file.nlink, &file.contents), (1, &before["two"].contents));
    let dir = format!("lost+found/#{}", inos[3]);
    assert_eq!(after[&format!("{dir}/inside")], before["outside/inside"]);
    assert_eq!(after[&dir].attributes, before["outside"].attributes);
    assert!(!after.contains_key("two"));
}

#[test]
fn attributes_in_a_record() {
    let repaired = repaired(|image| {
        image.edit_record(
            |rec| matches!(&rec.xattrs, Xattrs::Inline(b) if b.len() < 200) && rec.size == 10,
            |rec| {
                if let Xattrs::Inline(bytes) = &mut rec.xattrs {
                    bytes[0] = 9;
                }
            },
        );
    });
    assert_eq!(repaired.changed(), ["small-attributes"]);
    assert_eq!(repaired.after["small-attributes"].attributes.len(), 2);
}
