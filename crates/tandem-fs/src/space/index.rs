//! An array of values that finds the greatest, and the nearest that is great enough, in
//! logarithmic time.

/// A complete binary tree of maxima over the values, in one vector: the root at 1, the children of
/// `n` at `2n` and `2n + 1`.
#[derive(Debug)]
pub(super) struct MaxTree<T> {
    leaves: usize,
    nodes: Vec<T>,
}

impl<T: Copy + Ord + Default> MaxTree<T> {
    /// A tree over `values`.
    pub fn new(values: impl ExactSizeIterator<Item = T>) -> MaxTree<T> {
        let leaves = values.len().next_power_of_two();
        let mut nodes = vec![T::default(); 2 * leaves];
        for (node, value) in nodes[leaves..].iter_mut().zip(values) {
            *node = value;
        }
        for n in (1..leaves).rev() {
            nodes[n] = nodes[2 * n].max(nodes[2 * n + 1]);
        }
        MaxTree { leaves, nodes }
    }

    /// The value at `i`.
    pub fn get(&self, i: u32) -> T {
        self.nodes[self.leaves + i as usize]
    }

    /// Sets the value at `i`.
    pub fn set(&mut self, i: u32, value: T) {
        let mut n = self.leaves + i as usize;
        if self.nodes[n] == value {
            return;
        }
        self.nodes[n] = value;
        while n > 1 {
            n /= 2;
            let max = self.nodes[2 * n].max(self.nodes[2 * n + 1]);
            if self.nodes[n] == max {
                break;
            }
            self.nodes[n] = max;
        }
    }

    /// The greatest value, and the first place that has it.
    pub fn max(&self) -> (u32, T) {
        (self.descend(1, self.nodes[1], true), self.nodes[1])
    }

    /// Places with a value of at least `least`, the nearest to `from` first (the higher of two
    /// equally near).
    pub fn outward(&self, from: u32, least: T) -> Outward<'_, T> {
        Outward {
            tree: self,
            from,
            least,
            up: self.at_or_after(from, least),
            down: self.before(from, least),
        }
    }

    /// The first place from `i` on with a value of at least `least`.
    fn at_or_after(&self, i: u32, least: T) -> Option<u32> {
        if i as usize >= self.leaves {
            return None;
        }
        let mut n = self.leaves + i as usize;
        while self.nodes[n] < least {
            while n & 1 == 1 {
                n /= 2;
            }
            if n == 0 {
                return None;
            }
            n += 1;
        }
        Some(self.descend(n, least, true))
    }

    /// The last place before `i` with a value of at least `least`.
    fn before(&self, i: u32, least: T) -> Option<u32> {
        let mut n = self.leaves + i as usize;
        loop {
            while n & 1 == 0 {
                n /= 2;
            }
            if n == 1 {
                return None;
            }
            n -= 1;
            if self.nodes[n] >= least {
                return Some(self.descend(n, least, false));
            }
        }
    }

    fn descend(&self, mut n: usize, least: T, first: bool) -> u32 {
        while n < self.leaves {
            let (near, far) = if first { (2 * n, 2 * n + 1) } else { (2 * n + 1, 2 * n) };
            n = if self.nodes[near] >= least { near } else { far };
        }
        (n - self.leaves) as u32
    }
}

/// See [`MaxTree::outward`].
pub(super) struct Outward<'a, T> {
    tree: &'a MaxTree<T>,
    from: u32,
    least: T,
    up: Option<u32>,
    down: Option<u32>,
}

impl<T: Copy + Ord + Default> Iterator for Outward<'_, T> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let up_distance = self.up.map(|up| up - self.from);
        let down_distance = self.down.map(|down| self.from - down);
        match (up_distance, down_distance) {
            (None, None) => None,
            (Some(up), down) if down.is_none_or(|down| up <= down) => {
                let here = self.from + up;
                self.up = self.tree.at_or_after(here + 1, self.least);
                Some(here)
            }
            _ => {
                let here = self.down?;
                self.down = self.tree.before(here, self.least);
                Some(here)
            }
        }
    }
}
