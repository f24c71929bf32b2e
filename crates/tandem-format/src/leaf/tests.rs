use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A body that a model can own.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Owned {
    Embedded(Vec<u8>),
    Link(u64),
}

impl Owned {
    fn body(&self) -> Body<'_> {
        match self {
            Owned::Embedded(bytes) => Body::Embedded(bytes),
            Owned::Link(ino) => Body::Link(*ino),
        }
    }
}

#[derive(Debug, Clone)]
enum Op {
    Insert { rev: u64, kind: u8, name: Vec<u8>, body: Owned },
    Replace { at: usize, body: Owned },
    Remove { at: usize },
    Split { upper: bool },
}

type Model = BTreeMap<u64, (u8, Vec<u8>, Owned)>;

fn bodies() -> impl Strategy<Value = Owned> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..60).prop_map(Owned::Embedded),
        prop::collection::vec(any::<u8>(), 0..600).prop_map(Owned::Embedded),
        (1u64..1 << 48).prop_map(Owned::Link),
    ]
}

fn revs() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..1 << 48, 0u64..4, (0u64..4).prop_map(|n| n << 16), Just((1 << 48) - 1)]
}

fn ops() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (revs(), 0u8..8, prop::collection::vec(any::<u8>(), 0..30), bodies())
            .prop_map(|(rev, kind, name, body)| Op::Insert { rev, kind, name, body }),
        2 => (any::<usize>(), bodies()).prop_map(|(at, body)| Op::Replace { at, body }),
        3 => any::<usize>().prop_map(|at| Op::Remove { at }),
        1 => any::<bool>().prop_map(|upper| Op::Split { upper }),
    ]
}

fn size(model: &Model) -> usize {
    let records = model.values().map(|(_, name, body)| 18 + name.len() + body.body().len());
    16 + records.sum::<usize>()
}

fn in_range(leaf: &Leaf, rev: u64) -> bool {
    rev >> (48 - leaf.depth()) == leaf.prefix() >> (48 - leaf.depth())
}

fn agree(leaf: &Leaf, model: &Model) {
    assert_eq!(leaf.count() as usize, model.len());
    assert_eq!(leaf.size(), size(model));
    for (slot, (&key, (kind, name, body))) in model.iter().enumerate() {
        let entry = Entry { key, kind: *kind, name, body: body.body() };
        assert_eq!(leaf.entry(slot), entry);
        assert_eq!(leaf.find_key(key), Some(slot));
        assert_eq!(leaf.lower_bound(key), slot);
        assert_eq!(leaf.lower_bound(key + 1), slot + 1);
        let same = |k: &u64, n: &Vec<u8>| k >> 15 == key >> 15 && n == name;
        let first = model.iter().position(|(k, (_, n, _))| same(k, n));
        assert_eq!(leaf.search(key >> 15, name), first);
    }
}

fn apply(leaf: &mut Leaf, model: &mut Model, op: Op) {
    match op {
        Op::Insert { rev, kind, name, body } if in_range(leaf, rev) => {
            let key = rev << 15 | u64::from(leaf.free_seq(rev));
            let used = model.range(rev << 15..(rev + 1) << 15).next_back();
            assert_eq!(key, used.map_or(rev << 15, |(&last, _)| last + 1));
            let fits = size(model) + 18 + name.len() + body.body().len() <= Leaf::CAPACITY;
            assert_eq!(leaf.fits(name.len(), body.body().len()), fits);
            let slot = leaf.insert(key, kind, &name, body.body());
            assert_eq!(slot.is_ok(), fits);
            if let Ok(slot) = slot {
                model.insert(key, (kind, name, body));
                assert_eq!(leaf.entry(slot).key, key);
            }
        }
        Op::Replace { at, body } if !model.is_empty() => {
            let slot = at % model.len();
            let (_, _, was) = model.values_mut().nth(slot).unwrap();
            let old = std::mem::replace(was, body.clone());
            let fits = size(model) <= Leaf::CAPACITY;
            assert_eq!(leaf.replace(slot, body.body()).is_ok(), fits);
            if !fits {
                model.values_mut().nth(slot).unwrap().2 = old;
            }
        }
        Op::Remove { at } if !model.is_empty() => {
            let slot = at % model.len();
            leaf.remove(slot);
            let key = *model.keys().nth(slot).unwrap();
            model.remove(&key);
        }
        Op::Split { upper } if leaf.depth() < 48 => {
            let next = leaf.next();
            let depth = leaf.depth() + 1;
            let other = leaf.split();
            assert_eq!((leaf.next(), other.next()), (next, 0));
            assert_eq!((leaf.depth(), other.depth()), (depth, depth));
            let above = model.split_off(&(other.prefix() << 15));
            agree(leaf, model);
            agree(&other, &above);
            if upper {
                *leaf = other;
                *model = above;
            }
        }
        _ => {}
    }
}

#[test]
fn an_empty_leaf_has_nothing() {
    let mut leaf = Leaf::new(0, 0);
    assert_eq!(leaf.size(), 16);
    assert_eq!(leaf.search(0, b""), None);
    assert_eq!(leaf.find_key(0), None);
    assert_eq!(leaf.lower_bound(5), 0);
    assert_eq!(leaf.free_seq((1 << 48) - 1), 0);
    assert_eq!(leaf.split().count(), 0);
}

#[test]
fn at_full_depth_nothing_splits() {
    let mut leaf = Leaf::new(5, 48);
    leaf.insert(5 << 15, 1, b"a", Body::Link(1)).unwrap();
    assert_eq!(leaf.split().count(), 0);
    assert_eq!((leaf.count(), leaf.depth()), (1, 48));
}

#[test]
fn names_have_at_most_255_bytes() {
    let mut leaf = Leaf::new(0, 0);
    assert_eq!(leaf.insert(0, 1, &[b'x'; 256], Body::Link(1)), Err(Full));
    assert_eq!(leaf.insert(0, 1, &[b'x'; 255], Body::Link(1)), Ok(0));
    assert_eq!(leaf.entry(0).name, [b'x'; 255]);
}

#[test]
fn sequence_numbers_end_above_the_last() {
    let mut leaf = Leaf::new(0, 0);
    leaf.insert(3 << 15 | 0x7fff, 1, b"a", Body::Link(1)).unwrap();
    assert_eq!(leaf.free_seq(3), 0x8000);
    assert_eq!(leaf.free_seq(2), 0);
    assert_eq!(leaf.free_seq(4), 0);
}

#[test]
fn inode_blocks_are_sorted_by_number() {
    let mut leaf = Leaf::new(0, 0);
    for ino in [9u64, 1, 70_000, 5, 1 << 47] {
        leaf.insert(ino, 0, b"", Body::Embedded(&ino.to_le_bytes())).unwrap();
    }
    let keys: Vec<u64> = (0..5).map(|slot| leaf.entry(slot).key).collect();
    assert_eq!(keys, [1, 5, 9, 70_000, 1 << 47]);
    assert_eq!(leaf.find_key(70_000), Some(3));
    assert_eq!(leaf.find_key(6), None);
}

proptest! {
    #[test]
    fn a_leaf_is_a_sorted_map(ops in prop::collection::vec(ops(), 0..150)) {
        let (mut leaf, mut model) = (Leaf::new(0, 0), Model::new());
        leaf.set_next(42);
        for op in ops {
            apply(&mut leaf, &mut model, op);
            assert_eq!(leaf.size(), size(&model));
        }
        agree(&leaf, &model);
    }
}
