//! The order in which the blocks of a commit are logged.

use std::cmp::Reverse;

use tandem_format::Kind;

use super::write::FEW;
use crate::error::Result;
use crate::log::{Item, Ranks};
use crate::volume::Core;

impl Core {
    /// Puts the blocks of a commit in order. What is fresh comes first, what is cold behind it, the
    /// youngest first, so that most segments hold one or the other. Cold is what the cleaner moves,
    /// and, once clean segments are few, what had not been changed for longer than the mean.
    pub(super) fn by_warmth(&self, items: &mut [Item], ranks: &Ranks) -> Result<()> {
        let (scarce, mean) = {
            let st = self.state.lock();
            (st.segs.clean() < st.segs.count() / 2, st.segs.mean_stamp())
        };
        if scarce {
            for few in items.chunks_mut(FEW) {
                self.run(|st| {
                    for item in few.iter_mut() {
                        // What has been read in an order of its own is not cold.
                        if item.stamp.is_none() && !item.key.is_some_and(|k| ranks.place(k).0) {
                            let loc = st.map_get(item.id)?;
                            item.stamp = st.segs.stamp_of(loc).filter(|&stamp| stamp < mean);
                        }
                    }
                    Ok(())
                })?;
            }
        }
        items.sort_unstable_by_key(|item| {
            let age = item.stamp.map_or(0, |stamp| u64::MAX - stamp);
            (age, item.key.map(|key| ranks.place(key)), dualfs(item))
        });
        Ok(())
    }
}

/// DualFS §2.2: an i-node's directory blocks, then its extent blocks by rising level, each in inverse
/// logical order, files in inverse order; shared i-node blocks last.
fn dualfs(item: &Item) -> impl Ord + use<> {
    let place = (Reverse(item.owner), item.kind as u8, item.level);
    (item.kind == Kind::Inode, place, Reverse(item.index))
}
