//! The flash translation layer: where pages lie, and what is moved when blocks are reclaimed.
//!
//! A page-mapping layer with greedy garbage collection: writes are appended to an open block; when
//! free blocks run out, the block with the fewest valid units is taken, what is valid in it goes to
//! a block of its own, and it is erased (Bux and Iliadis 2010; Desnoyers 2012).
//!
//! Memory is bounded: of every so many neighbouring mapping units one stands for all, chosen by a
//! hash, and the others are not mapped. What is moved counts for all, and is charged evenly to what
//! is written until blocks are reclaimed again. Amplification depends on how often units are
//! written and on the spare part, not on how many there are, so that the sample behaves as the
//! whole does; Waldspurger et al. (FAST 2015) sample caches in this way.

mod blocks;

use super::scatter;
use blocks::Blocks;

/// Units that are mapped, at most.
const MAPPED: u64 = 1 << 18;
/// Units in an erase block of the sample: so many that amplification is within 5 % of what it is
/// with the thousands that a real block has.
const PER_BLOCK: u32 = 256;
/// Free blocks that reclaiming keeps.
const RESERVE: usize = 2;
/// Nothing is stored for this unit, or in this place.
const NONE: u32 = u32::MAX;

/// A place: block and slot in one number.
type Place = u32;

/// A translation layer.
#[derive(Debug, Clone)]
pub(super) struct Ftl {
    /// Neighbouring units of which one is mapped.
    group: u64,
    /// Where each mapped unit is.
    map: Vec<Place>,
    /// What is in each place.
    unit: Vec<u32>,
    blocks: Blocks,
    host: Frontier,
    moved: Frontier,
    /// Units moved and not yet charged, and the units written that they are charged to.
    owed: u64,
    span: u64,
}

/// The block that is being written, and how far.
#[derive(Debug, Clone, Copy)]
struct Frontier {
    block: u32,
    used: u32,
}

impl Ftl {
    /// A layer for `units` mapping units with `spare` times as much flash besides. Nothing is
    /// stored in it; or, when `full`, everything, as after long uniformly random writing.
    pub fn new(units: u64, spare: f64, full: bool) -> Ftl {
        let group = units.div_ceil(MAPPED).max(1);
        let mapped = units.div_ceil(group).max(1);
        let data = mapped.div_ceil(u64::from(PER_BLOCK));
        let least = RESERVE as u64 + 4;
        // Blocks that are open or kept free hold no data; they are not part of what is spare.
        let count = data + ((mapped as f64 * spare / f64::from(PER_BLOCK)) as u64).max(2) + least;
        let mut blocks = Blocks::new(count as u32, PER_BLOCK);
        let unit = vec![NONE; count as usize * PER_BLOCK as usize];
        let mut open = || Frontier { block: blocks.take_free().unwrap_or(0), used: 0 };
        let (host, moved) = (open(), open());
        let map = vec![NONE; mapped as usize];
        let mut ftl = Ftl { group, map, unit, blocks, host, moved, owed: 0, span: 0 };
        if full {
            ftl.fill();
            // So that it reclaims from the beginning.
            for at in 0..9 * u64::from(PER_BLOCK) / 2 {
                ftl.write_one((scatter(at) % mapped) as u32);
                ftl.charge(group);
            }
        }
        ftl
    }

    /// The state in which uniformly random writes would have left it: a block holds the less the
    /// older it is, falling exponentially to what it has left when it is reclaimed.
    fn fill(&mut self) {
        let mut order: Vec<u32> = (0..self.map.len() as u32).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, (scatter(at as u64) % (at as u64 + 1)) as usize);
        }
        let blocks = self.blocks.free() - RESERVE - 1;
        let fullness = order.len() as f64 / (blocks as f64 * f64::from(PER_BLOCK));
        let decay = decay(fullness);
        let mut left = order.as_slice();
        // The oldest first: among equals the one closed first is reclaimed first.
        for age in (0..blocks).rev() {
            let Some(block) = self.blocks.take_free() else { return };
            // What the younger ones hold when they are full is the least that this one must.
            let wanted = f64::from(PER_BLOCK) * (-decay * (age as f64 + 0.5) / blocks as f64).exp();
            let must = left.len().saturating_sub(age * PER_BLOCK as usize);
            let count = (wanted.round() as usize).max(must).min(PER_BLOCK as usize).min(left.len());
            let (here, rest) = left.split_at(count);
            for (slot, &unit) in here.iter().enumerate() {
                self.put(unit, block * PER_BLOCK + slot as u32);
            }
            left = rest;
            self.blocks.close(block);
        }
    }

    /// Units `from..to` are written: how many units are moved meanwhile.
    pub fn write(&mut self, from: u64, to: u64) -> u64 {
        let mut charged = 0;
        for group in from / self.group..=to.saturating_sub(1) / self.group {
            let (first, end) = (group * self.group, (group + 1) * self.group);
            if self.stands(group, from, to) {
                self.write_one(group as u32);
            }
            charged += self.charge(end.min(to) - first.max(from));
        }
        charged
    }

    /// What `written` units have to pay for.
    fn charge(&mut self, written: u64) -> u64 {
        let paid = written.min(self.span);
        if paid == 0 {
            return 0;
        }
        let charge = (u128::from(self.owed) * u128::from(paid) / u128::from(self.span)) as u64;
        self.owed -= charge;
        self.span -= paid;
        charge
    }

    /// Units `from..to` are needed no more.
    pub fn trim(&mut self, from: u64, to: u64) {
        for group in from / self.group..=to.saturating_sub(1) / self.group {
            if self.stands(group, from, to)
                && let Some(place) = self.map.get_mut(group as usize)
            {
                let place = std::mem::replace(place, NONE);
                self.forget(place);
            }
        }
    }

    /// Whether the unit that stands for a group is in `from..to`.
    fn stands(&self, group: u64, from: u64, to: u64) -> bool {
        let unit = group * self.group + scatter(group) % self.group;
        (from..to).contains(&unit) && group < self.map.len() as u64
    }

    /// Writes a mapped unit.
    fn write_one(&mut self, unit: u32) {
        self.forget(self.map[unit as usize]);
        self.map[unit as usize] = NONE;
        while self.host.used == PER_BLOCK && self.blocks.free() <= RESERVE {
            let Some(moved) = self.reclaim() else { break };
            // Until the block that is opened now is full.
            self.owed += moved * self.group;
            self.span = u64::from(PER_BLOCK) * self.group;
        }
        let place = self.append(self.host);
        self.host = place.1;
        self.put(unit, place.0);
    }

    /// Moves what is valid in the block that holds least, and erases it.
    fn reclaim(&mut self) -> Option<u64> {
        let victim = self.blocks.take_emptiest()?;
        let mut moved = 0;
        for slot in 0..PER_BLOCK {
            let unit =
                std::mem::replace(&mut self.unit[(victim * PER_BLOCK + slot) as usize], NONE);
            if unit != NONE {
                let place = self.append(self.moved);
                self.moved = place.1;
                self.put(unit, place.0);
                moved += 1;
            }
        }
        self.blocks.erase(victim);
        Some(moved)
    }

    /// The next place of an open block, or of another when it is full.
    fn append(&mut self, mut frontier: Frontier) -> (Place, Frontier) {
        if frontier.used == PER_BLOCK
            && let Some(block) = self.blocks.take_free()
        {
            self.blocks.close(frontier.block);
            frontier = Frontier { block, used: 0 };
        }
        let place = frontier.block * PER_BLOCK + frontier.used;
        frontier.used += 1;
        (place, frontier)
    }

    fn put(&mut self, unit: u32, place: Place) {
        self.map[unit as usize] = place;
        self.unit[place as usize] = unit;
        self.blocks.gain(place / PER_BLOCK);
    }

    /// What is in a place is valid no more.
    fn forget(&mut self, place: Place) {
        if place != NONE {
            self.unit[place as usize] = NONE;
            self.blocks.lose(place / PER_BLOCK);
        }
    }
}

/// The rate at which blocks' validity decays from the youngest to the oldest, so that they hold
/// `fullness` of what they could in the mean: (1 − e^−x) / x = fullness.
fn decay(fullness: f64) -> f64 {
    let (mut low, mut high) = (1e-9, 1e3);
    for _ in 0..100 {
        let x: f64 = f64::midpoint(low, high);
        if (1.0 - (-x).exp()) / x > fullness { low = x } else { high = x }
    }
    low
}

#[cfg(test)]
mod tests;
