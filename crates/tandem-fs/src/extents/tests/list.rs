//! Lists against a model.

use proptest::prelude::*;
use smallvec::SmallVec;

use super::{Model, extent};
use crate::extents::list::{ExtentList, MAX_LEN};
use crate::extents::*;
use tandem_format::Extent;

#[derive(Debug, Clone)]
enum Op {
    Insert { at: u64, len: u64, place: u64, unwritten: bool },
    Remove { at: u64, len: u64 },
    Convert { at: u64, len: u64 },
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (0..100u64, 1..20u64, 0..3u64, any::<bool>())
            .prop_map(|(at, len, place, unwritten)| Op::Insert { at, len, place, unwritten }),
        1 => (0..100u64, 1..40u64).prop_map(|(at, len)| Op::Remove { at, len }),
        1 => (0..100u64, 1..40u64).prop_map(|(at, len)| Op::Convert { at, len }),
    ]
}

fn run(list: &mut impl ExtentList, ops: Vec<Op>) {
    let mut model = Model::default();
    for op in ops {
        match op {
            Op::Insert { at, len, place, unwritten } => {
                let new = extent(at, at + place * 1000, len as u32, unwritten);
                let hole = model.hole(at, len) == len;
                assert_eq!(list_insert(list, new), if hole { Ok(()) } else { Err(Overlap) });
                if hole {
                    model.insert(&new);
                }
            }
            Op::Remove { at, len } => {
                let mut removed = Vec::new();
                list_remove(list, at, at + len, &mut removed);
                assert_eq!(Model::of(&removed), model.remove(at, at + len));
            }
            Op::Convert { at, len } => {
                assert_eq!(list_convert(list, at, at + len), model.convert(at, at + len));
            }
        }
        check(list, &model);
    }
}

fn check(list: &[Extent], model: &Model) {
    assert_eq!(Model::of(list), *model);
    for pair in list.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        assert!(end(&a) <= b.logical);
        let joins = end(&a) == b.logical && a.start + u64::from(a.len) == b.start;
        assert!(!joins || a.unwritten != b.unwritten, "not joined: {a:?} {b:?}");
    }
    for (from, to) in [(0, 130), (17, 60), (50, 51), (9, 9), (70, 3)] {
        let mut at = from;
        let mut mapped = Vec::new();
        for piece in list_map(list, from, to) {
            match piece {
                Piece::Mapped(e) => {
                    assert_eq!(e.logical, at);
                    at = end(&e);
                    mapped.push(e);
                }
                Piece::Hole { from, to } => {
                    assert!(from == at && to > from && model.hole(from, to - from) == to - from);
                    at = to;
                }
            }
        }
        assert_eq!(at, from.max(to));
        assert_eq!(Model::of(&mapped), model.range(from, from.max(to)));
    }
}

proptest! {
    #[test]
    fn vectors_against_model(ops in prop::collection::vec(op(), 1..60)) {
        run(&mut Vec::new(), ops);
    }

    #[test]
    fn small_vectors_against_model(ops in prop::collection::vec(op(), 1..60)) {
        run(&mut SmallVec::<[Extent; 2]>::new(), ops);
    }

    #[test]
    fn what_is_left_beside_another(a in 0..20u64, b in 0..20u64, n in 1..20u32, m in 1..20u32) {
        let (one, other) = (extent(a, 100 + a, n, true), extent(b, 500 + b, m, false));
        let mut model = Model::of(&[one]);
        model.remove(b, b + u64::from(m));
        prop_assert_eq!(Model::of(&minus(&one, &other)), model);
    }
}

#[test]
fn extents_do_not_grow_beyond_the_limit() {
    let mut list = vec![extent(0, 10, MAX_LEN - 1, false)];
    let at = u64::from(MAX_LEN - 1);
    list_insert(&mut list, extent(at, 10 + at, 1, false)).unwrap();
    assert_eq!(list, [extent(0, 10, MAX_LEN, false)]);
    list_insert(&mut list, extent(at + 1, 11 + at, 1, false)).unwrap();
    assert_eq!(list.len(), 2);
    list_convert(&mut list, 0, u64::MAX);
    assert_eq!(list.len(), 2);
}

#[test]
fn the_greatest_offsets() {
    let top = extent(u64::MAX - 5, 7, 5, true);
    let mut list = vec![top];
    assert_eq!(list_insert(&mut list, extent(u64::MAX, 99, 1, false)), Err(Overlap));
    assert_eq!(list_convert(&mut list, 0, u64::MAX), 5);
    let pieces: Vec<Piece> = list_map(&list, 0, u64::MAX).collect();
    let written = Extent { unwritten: false, ..top };
    assert_eq!(pieces, [Piece::Hole { from: 0, to: top.logical }, Piece::Mapped(written)]);
    let mut removed = Vec::new();
    list_remove(&mut list, u64::MAX - 2, u64::MAX, &mut removed);
    assert_eq!(removed, [extent(u64::MAX - 2, 10, 2, false)]);
    assert_eq!(list, [extent(u64::MAX - 5, 7, 3, false)]);
}
