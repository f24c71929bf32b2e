//! Tests of lists and trees of extents.

mod list;
mod store;
mod tree;

use std::collections::BTreeMap;

use tandem_format::Extent;

/// The mapping of a file block by block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Model(BTreeMap<u64, (u64, bool)>);

impl Model {
    fn of(extents: &[Extent]) -> Model {
        let mut model = Model::default();
        extents.iter().for_each(|e| model.insert(e));
        model
    }

    fn insert(&mut self, e: &Extent) {
        for i in 0..u64::from(e.len) {
            assert_eq!(
                self.0.insert(e.logical + i, (e.start + i, e.unwritten)),
                None,
                "mapped twice"
            );
        }
    }

    fn remove(&mut self, from: u64, to: u64) -> Model {
        let keys: Vec<u64> = self.0.range(from..to).map(|b| *b.0).collect();
        Model(keys.into_iter().filter_map(|key| self.0.remove_entry(&key)).collect())
    }

    fn convert(&mut self, from: u64, to: u64) -> u64 {
        let unwritten = self.0.range_mut(from..to).filter(|b| b.1.1);
        unwritten.map(|b| b.1.1 = false).count() as u64
    }

    fn range(&self, from: u64, to: u64) -> Model {
        Model(self.0.range(from..to).map(|(k, v)| (*k, *v)).collect())
    }

    /// Blocks from `at` on without a place, at most `most`.
    fn hole(&self, at: u64, most: u64) -> u64 {
        self.0.range(at..at + most).next().map_or(most, |b| b.0 - at)
    }
}

fn extent(logical: u64, start: u64, len: u32, unwritten: bool) -> Extent {
    Extent { logical, start, len, unwritten }
}
