//! Erase blocks by how much of them is valid.

const NONE: u32 = u32::MAX;

/// Blocks: free, open, or closed; the closed ones in a list for each count of valid units.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    valid: Vec<u32>,
    closed: Vec<bool>,
    next: Vec<u32>,
    before: Vec<u32>,
    /// First and last of each list: the one closed first, or emptied to this count first, leads.
    lists: Vec<(u32, u32)>,
    /// No list before this one has a block.
    least: usize,
    free: Vec<u32>,
}

impl Blocks {
    /// `count` free blocks of `units` units.
    pub fn new(count: u32, units: u32) -> Blocks {
        let each = count as usize;
        Blocks {
            valid: vec![0; each],
            closed: vec![false; each],
            next: vec![NONE; each],
            before: vec![NONE; each],
            lists: vec![(NONE, NONE); units as usize + 1],
            least: 0,
            free: (0..count).rev().collect(),
        }
    }

    /// How many are free.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// A free block, which is open from now on.
    pub fn take_free(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// An open block is full.
    pub fn close(&mut self, block: u32) {
        self.closed[block as usize] = true;
        self.link(block);
    }

    /// Takes the closed block with the fewest valid units; it is open from now on.
    pub fn take_emptiest(&mut self) -> Option<u32> {
        while self.lists.get(self.least)?.0 == NONE {
            self.least += 1;
        }
        let block = self.lists[self.least].0;
        self.unlink(block);
        self.closed[block as usize] = false;
        Some(block)
    }

    /// A block whose units have all been moved is free.
    pub fn erase(&mut self, block: u32) {
        self.valid[block as usize] = 0;
        self.free.push(block);
    }

    /// A unit was written to an open block.
    pub fn gain(&mut self, block: u32) {
        self.valid[block as usize] += 1;
    }

    /// A unit in a block is valid no more.
    pub fn lose(&mut self, block: u32) {
        let linked = self.closed[block as usize];
        if linked {
            self.unlink(block);
        }
        self.valid[block as usize] -= 1;
        if linked {
            self.link(block);
        }
    }

    fn link(&mut self, block: u32) {
        let list = self.valid[block as usize] as usize;
        let last = self.lists[list].1;
        self.before[block as usize] = last;
        self.next[block as usize] = NONE;
        match last {
            NONE => self.lists[list].0 = block,
            last => self.next[last as usize] = block,
        }
        self.lists[list].1 = block;
        self.least = self.least.min(list);
    }

    fn unlink(&mut self, block: u32) {
        let list = self.valid[block as usize] as usize;
        let (before, next) = (self.before[block as usize], self.next[block as usize]);
        match before {
            NONE => self.lists[list].0 = next,
            before => self.next[before as usize] = next,
        }
        match next {
            NONE => self.lists[list].1 = before,
            next => self.before[next as usize] = before,
        }
    }

    #[cfg(test)]
    pub fn valid(&self) -> &[u32] {
        &self.valid
    }
}
