//! Blocks that were prefetched: the order in which they go when nobody asks for them, and who did.

use std::collections::VecDeque;

use super::Key;

/// First uses that are remembered for relocation.
const MOST_USES: usize = 1 << 16;

/// Which request brought a block, and how long the block is on M, in grains.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Brought {
    pub request: u32,
    pub grains: u16,
}

/// The first use of a block since it was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstUse {
    pub key: Key,
    pub brought: Brought,
}

/// Prefetched blocks that nobody has asked for yet, oldest first, and the order of first uses.
#[derive(Default)]
pub(crate) struct Ahead {
    ring: VecDeque<Key>,
    bytes: usize,
    uses: VecDeque<FirstUse>,
    /// Whether anybody wants to know the order of first uses.
    pub tracked: bool,
    /// Prefetched blocks that were asked for.
    pub used: u64,
    /// Prefetched blocks that went without.
    pub wasted: u64,
}

impl Ahead {
    pub(super) fn add(&mut self, key: Key, mem: usize) {
        self.ring.push_back(key);
        self.bytes += mem;
    }

    pub(super) fn drop(&mut self, mem: usize) {
        self.bytes -= mem;
    }

    pub(super) fn asked_for(&mut self, key: Key, brought: Brought, mem: usize) {
        self.drop(mem);
        self.used += 1;
        self.note(FirstUse { key, brought });
    }

    /// Remembers the first use of a block with an id.
    pub fn note(&mut self, first: FirstUse) {
        if !self.tracked || first.key.id().is_none() {
            return;
        }
        if self.uses.len() == MOST_USES {
            self.uses.pop_front();
        }
        self.uses.push_back(first);
    }

    /// Takes the first uses of what requests up to number `last` brought, in their order.
    pub fn take_uses(&mut self, last: u32) -> Vec<FirstUse> {
        let (taken, left) = self.uses.drain(..).partition(|u| u.brought.request <= last);
        let left: Vec<FirstUse> = left;
        self.uses = left.into();
        taken
    }

    pub(super) fn compact(&mut self, most: usize, is_ahead: impl Fn(Key) -> bool) {
        if self.ring.len() > most {
            self.ring.retain(|&key| is_ahead(key));
        }
    }

    pub(super) fn oldest(&mut self) -> Option<Key> {
        self.ring.pop_front()
    }

    pub(super) fn len(&self) -> usize {
        self.ring.len()
    }

    /// Bytes of memory that they take up.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
