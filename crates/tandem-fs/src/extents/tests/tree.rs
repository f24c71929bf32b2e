//! Trees against a model.

use proptest::prelude::*;
use tandem_format::Extent;

use super::store::{Fault, Store};
use super::{Model, extent};
use crate::extents::list::MAX_LEN;
use crate::extents::*;

type Small = Store<8, 8>;
type Full = Store<168, 252>;

#[derive(Debug, Clone)]
enum Op {
    Insert { at: u64, len: u64, place: u64, unwritten: bool },
    Append { gap: u64, len: u64 },
    Remove { at: u64, len: u64 },
    Convert { at: u64, len: u64 },
    Map { at: u64, len: u64 },
}

const BLOCKS: u64 = 3000;

fn op() -> impl Strategy<Value = Op> {
    let len = || prop_oneof![6 => 1..6u64, 2 => 1..60u64, 1 => 1..BLOCKS];
    prop_oneof![
        8 => (0..BLOCKS, len(), 0..3u64, any::<bool>())
            .prop_map(|(at, len, place, unwritten)| Op::Insert { at, len, place, unwritten }),
        3 => (0..3u64, 1..4u64).prop_map(|(gap, len)| Op::Append { gap, len }),
        4 => (0..BLOCKS, len()).prop_map(|(at, len)| Op::Remove { at, len }),
        2 => (0..BLOCKS, len()).prop_map(|(at, len)| Op::Convert { at, len }),
        1 => (0..BLOCKS, len()).prop_map(|(at, len)| Op::Map { at, len }),
    ]
}

struct Rig {
    /// Some nodes are missing when an operation begins.
    forgets: bool,
    store: Small,
    tree: TreeRoot,
    model: Model,
    random: u64,
}

impl Rig {
    /// Every second block: a tree of two levels or three.
    fn new(extents: u64, random: u64) -> Rig {
        let list: Vec<Extent> = (0..extents).map(|i| extent(2 * i, 2 * i, 1, i % 3 == 0)).collect();
        let mut store = Small::default();
        let tree = tree_build(&mut store, &list);
        Rig { forgets: true, store, tree, model: Model::of(&list), random: random | 1 }
    }

    /// Makes the call with some nodes missing, and checks that a miss comes before any change.
    fn call(&mut self, mut f: impl FnMut(&mut Small, &mut TreeRoot) -> Result<(), Fault>) {
        let random = &mut self.random;
        self.store.forget(|_| {
            *random ^= *random << 13;
            *random ^= *random >> 7;
            *random ^= *random << 17;
            self.forgets && (*random).is_multiple_of(2)
        });
        loop {
            let (nodes, tree) = (self.store.nodes.clone(), self.tree);
            self.store.begin();
            match f(&mut self.store, &mut self.tree) {
                Ok(()) => return,
                Err(Fault::Miss(id)) => {
                    assert!(!self.store.changing && self.tree == tree && self.store.nodes == nodes);
                    self.store.load(id);
                }
                Err(Fault::Bad(bad)) => panic!("{bad}"),
            }
        }
    }

    fn insert(&mut self, new: Extent) {
        if new.len.is_multiple_of(2) {
            self.call(|store, tree| tree_insert(store, tree, new));
        } else {
            // Whoever has looked at the range need not expect a miss.
            let (from, to) = (new.logical, end(&new));
            self.call(|store, tree| tree_map(store, tree, from, to, &mut |_| true));
            self.store.begin();
            tree_insert(&mut self.store, &mut self.tree, new).unwrap();
        }
        self.model.insert(&new);
    }

    fn remove(&mut self, from: u64, to: u64) {
        let mut removed = Vec::new();
        self.call(|store, tree| tree_remove(store, tree, from, to, &mut removed));
        assert_eq!(Model::of(&removed), self.model.remove(from, to));
    }

    fn convert(&mut self, from: u64, to: u64) {
        self.call(|store, tree| tree_convert(store, tree, from, to));
        let changed = self.model.convert(from, to);
        assert!(changed > 0 || self.store.written.is_empty(), "nodes written without a change");
    }

    fn map(&mut self, from: u64, to: u64) {
        let mut seen: Vec<Extent> = Vec::new();
        self.call(|store, tree| {
            let from = seen.last().map_or(from, end);
            tree_map(store, tree, from, to, &mut |e| {
                seen.push(*e);
                true
            })
        });
        assert_eq!(Model::of(&seen), self.model.range(from, to));
        let mut first = None;
        self.call(|store, tree| {
            tree_map(store, tree, from, u64::MAX, &mut |e| {
                first = Some(e.logical);
                false
            })
        });
        assert_eq!(first, self.model.0.range(from..).next().map(|b| *b.0));
        let mut last = None;
        self.call(|store, tree| {
            last = tree_last(store, tree)?;
            Ok(())
        });
        assert_eq!(last.map(|e| end(&e) - 1), self.model.0.keys().next_back().copied());
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Insert { at, len, place, unwritten } => {
                let len = self.model.hole(at, len) as u32;
                let new = extent(at, at + place * 1_000_000, len, unwritten);
                self.insert(new);
            }
            Op::Append { gap, len } => {
                let at = self.model.0.keys().next_back().map_or(0, |b| b + 1) + gap;
                self.insert(extent(at, at, len as u32, false));
            }
            Op::Remove { at, len } => self.remove(at, at + len),
            Op::Convert { at, len } => self.convert(at, at + len),
            Op::Map { at, len } => self.map(at, at + len),
        }
        assert_eq!(self.store.model(&self.tree, false), self.model);
    }
}

proptest! {
    #[test]
    fn trees_against_model(
        extents in prop_oneof![0..1000u64, 0..20u64],
        random in any::<u64>(),
        ops in prop::collection::vec(op(), 1..60),
    ) {
        let mut rig = Rig::new(extents, random);
        for op in ops {
            rig.apply(op);
        }
        rig.remove(0, u64::MAX);
        prop_assert_eq!(rig.tree, TreeRoot::default());
        prop_assert!(rig.store.nodes.is_empty());
    }

    /// Small changes leave no node away from the right edge with too few entries.
    #[test]
    fn nodes_stay_filled(
        extents in 400..1000u64,
        random in any::<u64>(),
        changes in prop::collection::vec((0..2000u64, 1..9u64, 0..3u8), 1..200),
    ) {
        let mut rig = Rig { forgets: false, ..Rig::new(extents, random) };
        for (at, len, what) in changes {
            match what {
                0 => rig.apply(Op::Insert { at, len, place: 0, unwritten: false }),
                1 => rig.apply(Op::Remove { at, len }),
                _ => rig.apply(Op::Convert { at, len }),
            }
            rig.store.check(&rig.tree, true);
        }
    }

    /// Whatever a node turns into, no call panics or loops.
    #[test]
    fn damaged_trees(
        victim in any::<prop::sample::Index>(),
        damage in 0..6u8,
        value in 0..800u64,
        ops in prop::collection::vec((0..4u8, 0..700u64, 1..300u64), 1..20),
    ) {
        let mut rig = Rig::new(300, 1);
        let ids: Vec<u64> = rig.store.nodes.keys().copied().collect();
        let id = *victim.get(&ids);
        let node = rig.store.nodes.get_mut(&id).unwrap();
        let at = value as usize % 8;
        match damage {
            0 => node.level ^= 1,
            1 => node.children.clear(),
            2 => node.extents.clear(),
            3 => node.extents.iter_mut().for_each(|e| e.logical += value),
            4 => node.children.get_mut(at).into_iter().for_each(|c| c.1 = ids[value as usize % ids.len()]),
            _ => node.children.get_mut(at).into_iter().for_each(|c| c.0 = value),
        }
        for (what, at, len) in ops {
            let (store, tree) = (&mut rig.store, &mut rig.tree);
            store.begin();
            let _ = match what {
                0 => tree_insert(store, tree, extent(at, at, len as u32, false)),
                1 => tree_remove(store, tree, at, at + len, &mut Vec::new()),
                2 => tree_convert(store, tree, at, at + len),
                _ => tree_map(store, tree, at, at + len, &mut |_| true),
            };
        }
    }
}

#[test]
fn a_file_that_grows_leaves_full_nodes_behind() {
    let (mut store, mut tree) = (Full::default(), TreeRoot::default());
    let count = 168 * 252 * 2;
    for i in 0..count {
        store.begin();
        tree_insert(&mut store, &mut tree, extent(2 * i, 3 * i, 1, false)).unwrap();
    }
    assert_eq!((tree.height, tree.extents, tree.blocks), (2, count, count));
    assert_eq!(store.nodes.len(), 252 * 2 + 2 + 1);
    store.check(&tree, true);
    // As trimmed from its end.
    while let Some(last) = tree_last(&mut store, &tree).unwrap() {
        store.begin();
        tree_remove(
            &mut store,
            &mut tree,
            last.logical.saturating_sub(999),
            u64::MAX,
            &mut Vec::new(),
        )
        .unwrap();
    }
    assert_eq!(tree, TreeRoot::default());
    assert!(store.nodes.is_empty());
}

#[test]
fn a_file_written_backwards() {
    let (mut store, mut tree) = (Full::default(), TreeRoot::default());
    for i in (0..10_000).rev() {
        store.begin();
        tree_insert(&mut store, &mut tree, extent(2 * i, 3 * i, 1, false)).unwrap();
    }
    assert_eq!(store.check(&tree, true).len(), 10_000);
    assert!(store.nodes.len() < 130);
}

#[test]
fn filling_the_holes_makes_one_extent_per_leaf_at_most() {
    for forgets in [false, true] {
        let mut rig = Rig { forgets, ..Rig::new(1000, 7) };
        rig.convert(0, u64::MAX);
        for i in 0..1000 {
            rig.insert(extent(2 * i + 1, 2 * i + 1, 1, false));
        }
        let left = rig.store.check(&rig.tree, !forgets);
        assert!(left.len() <= if forgets { 125 } else { 8 }, "{left:?}");
        assert_eq!(Model::of(&left), rig.model);
    }
}

#[test]
fn an_append_writes_the_last_leaf_only() {
    let mut rig = Rig::new(500, 3);
    let at = 5000;
    rig.insert(extent(at, 9, 1, false));
    for i in 1..4 {
        rig.insert(extent(at + 2 * i, 9, 1, false));
        assert_eq!(rig.store.written.len(), 1);
    }
}

#[test]
fn an_insertion_in_the_middle_halves_a_leaf() {
    let mut rig = Rig::new(8, 3);
    rig.insert(extent(5, 9, 1, false));
    let halves: Vec<usize> = rig.store.nodes.values().map(|node| node.extents.len()).collect();
    assert_eq!(halves, [4, 5, 0]);
}

#[test]
fn what_is_left_of_a_high_tree_is_its_last_leaf() {
    // One leaf under a node under a node, each alone at the right edge.
    for random in 1..20 {
        let mut rig = Rig::new(513, random);
        assert_eq!(rig.tree.height, 3);
        rig.remove(0, 1024);
        assert_eq!((rig.tree.height, rig.store.nodes.len()), (0, 1));
        rig.store.check(&rig.tree, true);
    }
}

#[test]
fn overlaps_are_refused() {
    let mut rig = Rig::new(100, 1);
    rig.store.forget(|_| false);
    let nodes = rig.store.nodes.clone();
    for (at, len) in [(0, 1), (1, 2), (199, 1), (15, 2), (u64::MAX, 1), (u64::MAX - 1, 2)] {
        rig.store.begin();
        let done = tree_insert(&mut rig.store, &mut rig.tree, extent(at, 0, len, false));
        assert_eq!(matches!(done, Err(Fault::Bad(_))), at != 199, "{at}");
        if at == 199 {
            rig.store.begin();
            tree_remove(&mut rig.store, &mut rig.tree, 199, 200, &mut Vec::new()).unwrap();
        }
    }
    assert_eq!(rig.store.nodes, nodes);
}

#[test]
fn the_greatest_offsets() {
    let mut rig = Rig::new(0, 1);
    let top = extent(u64::MAX - 4, 1, 4, true);
    rig.insert(top);
    rig.insert(extent(0, u64::MAX - 9, 3, true));
    rig.map(u64::MAX - 1, u64::MAX);
    rig.convert(u64::MAX - 2, u64::MAX);
    assert_eq!(rig.tree.extents, 3);
    rig.remove(1, u64::MAX);
    assert_eq!((rig.tree.extents, rig.tree.blocks), (1, 1));
    let wide = extent(1 << 62, 5, MAX_LEN, false);
    let mut store = Small::default();
    let mut tree = TreeRoot::default();
    tree_insert(&mut store, &mut tree, wide).unwrap();
    tree_insert(&mut store, &mut tree, extent(end(&wide), 5 + u64::from(MAX_LEN), 9, false))
        .unwrap();
    assert_eq!((tree.extents, tree.blocks), (2, u64::from(MAX_LEN) + 9));
}
