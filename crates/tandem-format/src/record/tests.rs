use proptest::prelude::*;
use smallvec::smallvec;

use super::*;

fn times() -> impl Strategy<Value = Time> {
    (-(1i64 << 39)..1 << 39, 0..Time::NANOS).prop_map(|(secs, nanos)| Time { secs, nanos })
}

fn extents() -> impl Strategy<Value = SmallVec<[Extent; 2]>> {
    let extent = (0u64..1 << 40, 0u64..1 << 48, 1u32.., any::<bool>());
    prop::collection::vec(extent, 1..200).prop_map(|list| {
        let mut end = 0;
        let place = |(gap, start, len, unwritten): (u64, u64, u32, bool)| {
            let logical = end + (gap >> (gap % 40));
            end = logical + u64::from(len);
            Extent { logical, start, len, unwritten }
        };
        list.into_iter().map(place).collect()
    })
}

fn bytes(len: usize) -> impl Strategy<Value = Box<[u8]>> {
    prop::collection::vec(any::<u8>(), 0..len).prop_map(Vec::into_boxed_slice)
}

prop_compose! {
    fn dirs()(
        parent in 0u64..1 << 48,
        entries in any::<u64>(),
        subdirs in any::<u32>(),
        root in any::<u64>(),
        group in any::<u32>(),
    ) -> DirRoot {
        DirRoot { parent, entries, subdirs, root, group }
    }
}

fn contents() -> impl Strategy<Value = (u32, Content)> {
    prop_oneof![
        Just((0o100000, Content::None)),
        extents().prop_map(|list| (0o100000, Content::Extents(list))),
        (1u64.., 0u8..=12, any::<u64>(), any::<u64>()).prop_map(
            |(root, height, blocks, extents)| {
                (0o100000, Content::Tree { root, height, blocks, extents })
            }
        ),
        dirs().prop_map(|dir| (0o040000, Content::Dir(dir))),
        bytes(4096).prop_map(|target| (0o120000, Content::Symlink(target))),
        (1u64..).prop_map(|id| (0o120000, Content::SymlinkBlock(id))),
        any::<u32>().prop_map(|rdev| (0o020000, Content::Device(rdev))),
    ]
}

fn xattrs() -> impl Strategy<Value = Xattrs> {
    prop_oneof![
        Just(Xattrs::None),
        bytes(300).prop_map(Xattrs::Inline),
        (any::<u32>(), prop::collection::vec(1u64.., 0..10))
            .prop_map(|(len, ids)| Xattrs::Blocks { len, ids }),
    ]
}

prop_compose! {
    pub(crate) fn records()(
        ino in 1u64..1 << 48,
        generation in any::<u32>(),
        permissions in 0u32..0o10000,
        (kind, content) in contents(),
        stored_links in prop::option::of(0u32..5),
        (uid, gid) in prop_oneof![Just((0, 0)), any::<(u32, u32)>()],
        mtime in times(),
        (atime, ctime, btime) in
            (prop::option::of(times()), prop::option::of(times()), prop::option::of(times())),
        size in prop_oneof![Just(0), any::<u64>(), 0u64..1000],
        xattrs in xattrs(),
    ) -> Record {
        Record {
            ino,
            generation,
            mode: kind | permissions,
            nlink: stored_links.unwrap_or(Record::usual_links(&content)),
            uid,
            gid,
            atime: atime.unwrap_or(mtime),
            mtime,
            ctime: ctime.unwrap_or(mtime),
            btime: btime.unwrap_or(mtime),
            size,
            content,
            xattrs,
        }
    }
}

fn encoded(record: &Record) -> Vec<u8> {
    let mut out = Vec::new();
    record.encode(&mut out);
    out
}

fn file() -> Record {
    Record { ino: 7, mode: 0o100644, nlink: 1, ..Record::default() }
}

fn field(bytes: &[u8]) -> &'static str {
    match Record::decode(bytes) {
        Err(FormatError::Invalid { structure: STRUCTURE, field, .. }) => field,
        Err(FormatError::Truncated { structure: STRUCTURE, field }) => field,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_empty_file_takes_23_bytes() {
    assert_eq!(encoded(&file()).len(), 23);
}

#[test]
fn the_layout_never_changes() {
    let record = Record {
        ino: 0x0605_0403_0201,
        generation: 0x0d0c_0b0a,
        mode: 0o100644,
        nlink: 2,
        uid: 1,
        gid: 2,
        mtime: Time { secs: -1, nanos: 5 },
        atime: Time { secs: -1, nanos: 5 },
        ctime: Time { secs: 3, nanos: 4 },
        btime: Time { secs: -1, nanos: 5 },
        size: 300,
        content: Content::Extents(smallvec![
            Extent { logical: 0, start: 200, len: 2, unwritten: false },
            Extent { logical: 3, start: 9, len: 1, unwritten: true },
        ]),
        xattrs: Xattrs::Inline(Box::from(*b"xyz")),
    };
    let expected = [
        0xa4, 0x81, 0x6b, 0x02, 1, 2, 3, 4, 5, 6, 10, 11, 12, 13, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0,
        0, 255, 255, 255, 255, 255, 5, 0, 0, 0, 3, 0, 0, 0, 0, 4, 0, 0, 0, 0xac, 0x02, 2, 0, 0xc8,
        0x01, 4, 1, 9, 3, 3, b'x', b'y', b'z',
    ];
    assert_eq!(encoded(&record), expected);
    assert_eq!(Record::decode(&expected), Ok(record));
}

#[test]
fn times_are_clamped() {
    let far = Time { secs: i64::MAX, nanos: u32::MAX };
    let early = Time { secs: i64::MIN, nanos: 0 };
    let bytes = encoded(&Record { mtime: far, atime: early, ..file() });
    let record = Record::decode(&bytes).unwrap();
    assert_eq!(record.mtime, Time { secs: (1 << 39) - 1, nanos: 999_999_999 });
    assert_eq!(record.atime, Time { secs: -(1 << 39), nanos: 0 });
}

#[test]
fn a_removed_directory_keeps_its_zero_links() {
    let content = Content::Dir(DirRoot { subdirs: 3, ..DirRoot::default() });
    let mut dir = Record { ino: 7, mode: 0o040755, nlink: 5, content, ..Record::default() };
    let usual = encoded(&dir);
    assert_eq!(Record::decode(&usual), Ok(dir.clone()));
    dir.nlink = 0;
    let removed = encoded(&dir);
    assert_eq!(removed.len(), usual.len() + 4);
    assert_eq!(Record::decode(&removed), Ok(dir));
}

#[test]
fn no_extents_are_no_content() {
    let bytes = encoded(&Record { content: Content::Extents(SmallVec::new()), ..file() });
    assert_eq!(Record::decode(&bytes), Ok(file()));
}

#[test]
fn impossible_extents_are_refused() {
    let e = |logical, start, len| Extent { logical, start, len, unwritten: false };
    let with =
        |list: &[Extent]| encoded(&Record { content: Content::Extents(list.into()), ..file() });
    assert!(Record::decode(&with(&[e(0, 0, 1), e(1, 0, 1)])).is_ok());
    assert_eq!(field(&with(&[e(0, 0, 0)])), "extent length");
    assert_eq!(field(&with(&[e(0, 0, 2), e(1, 9, 1)])), "extent gap");
    assert_eq!(field(&with(&[e(u64::MAX, 0, 1)])), "extent");
    assert_eq!(field(&with(&[e(0, u64::MAX, 1)])), "extent");
    let mut bytes = with(&[e(0, 0, 1)]);
    *bytes.last_mut().unwrap() = 0x80;
    bytes.extend([0x80, 0x80, 0x80, 0x40]);
    assert_eq!(field(&bytes), "extent length");
}

#[test]
fn damage_is_named() {
    let good = encoded(&file());
    let changed = |at: usize, to: u8| {
        let mut bytes = good.clone();
        bytes[at] = to;
        bytes
    };
    assert_eq!(field(&good[..13]), "header");
    assert_eq!(field(&good[..22]), "mtime");
    assert_eq!(field(&changed(3, 0x80)), "flags");
    assert_eq!(field(&changed(4, 0)), "ino");
    assert_eq!(field(&changed(22, 0x40)), "mtime");
    assert_eq!(field(&changed(1, 0x41)), "mode");
    assert_eq!(field(&changed(3, 0x01)), "target length");
    assert_eq!(field(&changed(3, 0x06)), "flags");
    assert_eq!(field(&[good.as_slice(), &[0]].concat()), "len");
}

#[test]
fn the_number_can_be_had_alone() {
    let bytes = encoded(&Record { ino: (1 << 48) - 1, ..file() });
    assert_eq!(record_ino(&bytes), Some((1 << 48) - 1));
    assert_eq!(record_ino(&bytes[..13]), None);
    assert_eq!(record_ino(&[0; 40]), None);
}

proptest! {
    #[test]
    fn records_come_back(record in records()) {
        let bytes = encoded(&record);
        prop_assert_eq!(bytes.len(), record.encoded_len());
        prop_assert_eq!(record_ino(&bytes), Some(record.ino));
        prop_assert_eq!(Record::decode(&bytes), Ok(record));
    }

    #[test]
    fn no_part_of_a_record_is_one(record in records(), cut in any::<prop::sample::Index>()) {
        let bytes = encoded(&record);
        prop_assert!(Record::decode(&bytes[..cut.index(bytes.len())]).is_err());
    }

    #[test]
    fn mutated_records_never_panic(
        record in records(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = encoded(&record);
        for (at, to) in changes {
            let at = at.index(bytes.len());
            bytes[at] = to;
        }
        if let Ok(other) = Record::decode(&bytes) {
            prop_assert_eq!(Record::decode(&encoded(&other)), Ok(other));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let _ = Record::decode(&bytes);
        if bytes.len() > 3 {
            bytes[3] &= 7;
            let _ = Record::decode(&bytes);
        }
    }
}
