//! Few runs: a sorted list.

use super::Piece;

/// Sorted runs that neither overlap nor touch.
#[derive(Debug)]
pub(super) struct List {
    runs: Vec<Piece>,
    longest: u32,
}

impl List {
    pub fn new(runs: Vec<Piece>) -> List {
        let longest = longest_of(&runs);
        List { runs, longest }
    }

    pub fn runs(&self) -> &[Piece] {
        &self.runs
    }

    pub fn longest(&self) -> u32 {
        self.longest
    }

    pub fn memory(&self) -> usize {
        self.runs.capacity() * size_of::<Piece>()
    }

    pub fn free_from(&self, block: u32) -> u32 {
        match self.after(block).checked_sub(1).map(|i| self.runs[i]) {
            Some((start, len)) if start + len > block => start + len - block,
            _ => 0,
        }
    }

    pub fn any_free(&self, start: u32, len: u32) -> bool {
        let i = self.after(start);
        self.free_from(start) > 0 || self.runs.get(i).is_some_and(|run| run.0 < start + len)
    }

    pub fn next_run(&self, from: u32, want: u32) -> Option<Piece> {
        let here = self.free_from(from);
        if here >= want {
            return Some((from, here));
        }
        if self.longest < want {
            return None;
        }
        self.runs[self.after(from)..].iter().find(|run| run.1 >= want).copied()
    }

    pub fn take(&mut self, start: u32, len: u32) {
        let i = self.after(start) - 1;
        let (first, all) = self.runs[i];
        debug_assert!(start + len <= first + all);
        let before = start - first;
        let behind = all - before - len;
        match (before, behind) {
            (0, 0) => {
                self.runs.remove(i);
            }
            (0, _) => self.runs[i] = (start + len, behind),
            (_, 0) => self.runs[i].1 = before,
            _ => {
                self.runs[i].1 = before;
                self.runs.insert(i + 1, (start + len, behind));
            }
        }
        if all == self.longest {
            self.longest = longest_of(&self.runs);
        }
    }

    pub fn put(&mut self, start: u32, len: u32) {
        let i = self.after(start);
        debug_assert!(!self.any_free(start, len));
        let joins_before = i > 0 && self.runs[i - 1].0 + self.runs[i - 1].1 == start;
        let joins_behind = self.runs.get(i).is_some_and(|run| run.0 == start + len);
        let longest = match (joins_before, joins_behind) {
            (true, true) => {
                let behind = self.runs.remove(i).1;
                self.runs[i - 1].1 += len + behind;
                self.runs[i - 1].1
            }
            (true, false) => {
                self.runs[i - 1].1 += len;
                self.runs[i - 1].1
            }
            (false, true) => {
                self.runs[i] = (start, len + self.runs[i].1);
                self.runs[i].1
            }
            (false, false) => {
                self.runs.insert(i, (start, len));
                len
            }
        };
        self.longest = self.longest.max(longest);
    }

    /// The place of the first run that starts after `block`.
    fn after(&self, block: u32) -> usize {
        self.runs.partition_point(|run| run.0 <= block)
    }
}

fn longest_of(runs: &[Piece]) -> u32 {
    runs.iter().map(|run| run.1).max().unwrap_or(0)
}
