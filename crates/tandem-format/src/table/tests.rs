use proptest::prelude::*;

use super::*;

fn field<T: std::fmt::Debug>(result: Result<T, FormatError>) -> &'static str {
    match result {
        Err(FormatError::Invalid { field, .. } | FormatError::Truncated { field, .. }) => field,
        other => panic!("{other:?}"),
    }
}

#[test]
fn tables_come_back() {
    for depth in 1..=8 {
        let table = Table { depth, entries: (1..=1 << depth).map(|n| n | n << 63).collect() };
        assert_eq!(table.count(), 1 << depth);
        assert_eq!(Table::decode(&table.encode()), Ok(table));
    }
}

#[test]
fn impossible_tables_are_refused() {
    let good = Table { depth: 2, entries: vec![1, 2, 3, 4] }.encode();
    let changed = |at: usize, to: u8| {
        let mut bytes = good.clone();
        bytes[at] = to;
        bytes
    };
    assert_eq!(field(Table::decode(&good[..7])), "depth");
    assert_eq!(field(Table::decode(&changed(0, 0))), "depth");
    assert_eq!(field(Table::decode(&changed(0, 9))), "depth");
    assert_eq!(field(Table::decode(&changed(0, 3))), "entries");
    assert_eq!(field(Table::decode(&changed(8, 0))), "entries");
}

#[test]
fn impossible_extent_nodes_are_refused() {
    let e = |logical, start, len| Extent { logical, start, len, unwritten: false };
    let leaf = |extents: &[Extent]| {
        let node = ExtentNode { level: 0, extents: extents.to_vec(), children: Vec::new() };
        ExtentNode::decode(&node.encode(), 0)
    };
    assert!(leaf(&[e(0, 9, 1), e(1, 3, 4), e(100, 0, u32::MAX)]).is_ok());
    assert_eq!(field(leaf(&[e(0, 9, 2), e(1, 3, 4)])), "extent");
    assert_eq!(field(leaf(&[e(0, 9, 0)])), "extent length");
    assert_eq!(field(leaf(&[e(u64::MAX, 9, 1)])), "extent");
    assert_eq!(field(ExtentNode::decode(&[0; 23], 0)), "len");
    assert_eq!(field(ExtentNode::decode(&[1; 24], 0)), "flags");
    let upper = |children: &[(u64, u64)]| {
        let node = ExtentNode { level: 2, extents: Vec::new(), children: children.to_vec() };
        ExtentNode::decode(&node.encode(), 2)
    };
    assert!(upper(&[(0, 9), (1, 8)]).is_ok());
    assert_eq!(field(upper(&[(1, 9), (1, 8)])), "logical");
    assert_eq!(field(upper(&[(0, 0)])), "child");
    assert_eq!(field(ExtentNode::decode(&vec![0; 4048], 1)), "len");
}

#[test]
fn full_nodes_fill_a_block() {
    let extents = (0..EXTENTS_PER_NODE as u64)
        .map(|n| Extent { logical: n * 3, start: n, len: 2, unwritten: n % 2 == 0 })
        .collect();
    let node = ExtentNode { level: 0, extents, children: Vec::new() };
    assert_eq!(node.encode().len(), PAYLOAD);
    assert_eq!(ExtentNode::decode(&node.encode(), 0), Ok(node));
    let children = (0..CHILDREN_PER_NODE as u64).map(|n| (n, n + 1)).collect();
    let node = ExtentNode { level: 1, extents: Vec::new(), children };
    assert_eq!(node.encode().len(), PAYLOAD);
    assert_eq!(ExtentNode::decode(&node.encode(), 1), Ok(node));
}

#[test]
fn impossible_usage_is_refused() {
    assert_eq!(field(SegEntry::decode_all(&[2; 16])), "state");
    assert_eq!(field(SegEntry::decode_all(&[0; 17])), "len");
    assert_eq!(field(GroupEntry::decode_all(&[2; 32])), "form");
    assert_eq!(field(GroupEntry::decode_all(&[0; 4064])), "len");
}

proptest! {
    #[test]
    fn usage_comes_back(list in prop::collection::vec(any::<(u32, bool, u64)>(), 0..=252)) {
        let entries: Vec<SegEntry> =
            list.into_iter().map(|(live, used, stamp)| SegEntry { live, used, stamp }).collect();
        let bytes = SegEntry::encode_all(&entries);
        prop_assert_eq!(bytes.len(), entries.len() * 16);
        prop_assert_eq!(SegEntry::decode_all(&bytes), Ok(entries));
    }

    #[test]
    fn groups_come_back(list in prop::collection::vec(any::<(u32, u32, u32, bool, u16)>(), 0..=126)) {
        let entries: Vec<GroupEntry> = list
            .into_iter()
            .map(|(free, dirs, inodes, bitmap, chunks)| GroupEntry { free, dirs, inodes, bitmap, chunks })
            .collect();
        let bytes = GroupEntry::encode_all(&entries);
        prop_assert_eq!(bytes.len(), entries.len() * 32);
        prop_assert_eq!(GroupEntry::decode_all(&bytes), Ok(entries));
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..5000),
        level in 0u8..3,
        unit in prop::sample::select(vec![1usize, 16, 24, 32]),
    ) {
        bytes.truncate(bytes.len() / unit * unit);
        let _ = ExtentNode::decode(&bytes, level);
        let _ = SegEntry::decode_all(&bytes);
        let _ = GroupEntry::decode_all(&bytes);
        for depth in 0..10 {
            if let Some(first) = bytes.first_mut() {
                *first = depth;
            }
            let _ = Table::decode(&bytes[..bytes.len().min(8 + (8 << depth))]);
        }
    }
}
