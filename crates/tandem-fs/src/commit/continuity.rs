//! How continuously contents are laid down: what flushes have placed, in how many runs.

use crate::sync::atomic::{AtomicU64, Ordering};

use crate::space::Run;

/// How contents were placed on D since the mount.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct ContinuityStats {
    /// Placements: a directory's new files together, or one file alone.
    pub placements: u64,
    /// Runs of blocks that they got.
    pub runs: u64,
    /// Files in them.
    pub files: u64,
    /// Blocks in them.
    pub blocks: u64,
    /// Files that begin where the file before them in the same placement ends.
    pub adjacent: u64,
    /// Blocks a run.
    pub mean_run_blocks: f64,
}

/// The counters behind [`ContinuityStats`].
#[derive(Debug, Default)]
pub(crate) struct Continuity {
    placements: AtomicU64,
    runs: AtomicU64,
    files: AtomicU64,
    blocks: AtomicU64,
    adjacent: AtomicU64,
}

impl Continuity {
    /// Counts a placement: files that need so many blocks each, dealt out of `runs` in order.
    pub fn count(&self, runs: &[Run], needs: impl Iterator<Item = u64>) {
        let add = |c: &AtomicU64, n: u64| c.fetch_add(n, Ordering::Relaxed);
        if runs.is_empty() {
            return;
        }
        let mut breaks = runs.iter().scan(0, |end, run| {
            *end += run.len;
            Some(*end)
        });
        let mut next_break = 0;
        let (mut files, mut at, mut adjacent) = (0, 0, 0);
        for need in needs.filter(|&need| need > 0) {
            while next_break < at {
                next_break = breaks.next().unwrap_or(u64::MAX);
            }
            adjacent += u64::from(files > 0 && next_break != at);
            files += 1;
            at += need;
        }
        add(&self.placements, 1);
        add(&self.runs, runs.len() as u64);
        add(&self.files, files);
        add(&self.blocks, at);
        add(&self.adjacent, adjacent);
    }

    /// The counters now.
    pub fn stats(&self) -> ContinuityStats {
        let count = |c: &AtomicU64| c.load(Ordering::Relaxed);
        let (runs, blocks) = (count(&self.runs), count(&self.blocks));
        ContinuityStats {
            placements: count(&self.placements),
            runs,
            files: count(&self.files),
            blocks,
            adjacent: count(&self.adjacent),
            mean_run_blocks: blocks as f64 / runs.max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_begin_where_another_ends_are_counted() {
        let c = Continuity::default();
        let runs = [Run { start: 10, len: 5 }, Run { start: 40, len: 4 }];
        // 0..2, 2..5, then a new run begins; 5..7, 7..9.
        c.count(&runs, [2, 0, 3, 2, 2].into_iter());
        let s = c.stats();
        assert_eq!((s.runs, s.files, s.blocks, s.adjacent), (2, 4, 9, 2));
        c.count(&[], [0].into_iter());
        assert_eq!(c.stats(), s);
    }
}
