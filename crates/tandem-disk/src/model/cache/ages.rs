//! Which segment was used longest ago.

/// Segments from the one used longest ago to the one used last, as a ring in which one more
/// number than there are segments stands for its ends.
#[derive(Debug, Clone)]
pub(super) struct Ages {
    /// Before and behind each.
    links: Vec<(usize, usize)>,
}

impl Ages {
    pub(super) fn new(count: usize) -> Ages {
        let around = |at: usize| ((at + count) % (count + 1), (at + 1) % (count + 1));
        Ages { links: (0..=count).map(around).collect() }
    }

    /// The one used longest ago, but not `but`.
    pub(super) fn oldest(&self, but: Option<usize>) -> Option<usize> {
        let ends = self.links.len() - 1;
        let first = self.links[ends].1;
        let found = if Some(first) == but { self.links[first].1 } else { first };
        Some(found).filter(|&found| found != ends)
    }

    /// Makes one the last used.
    pub(super) fn renew(&mut self, at: usize) {
        self.remove(at);
        let ends = self.links.len() - 1;
        self.insert(at, self.links[ends].0, ends);
    }

    /// Makes one the first to be taken.
    pub(super) fn expire(&mut self, at: usize) {
        self.remove(at);
        let ends = self.links.len() - 1;
        self.insert(at, ends, self.links[ends].1);
    }

    fn remove(&mut self, at: usize) {
        let (before, behind) = self.links[at];
        self.links[before].1 = behind;
        self.links[behind].0 = before;
    }

    fn insert(&mut self, at: usize, before: usize, behind: usize) {
        self.links[at] = (before, behind);
        self.links[before].1 = at;
        self.links[behind].0 = at;
    }
}
