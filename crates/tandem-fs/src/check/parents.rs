//! Whether directories lead to the root. Every directory lies in the one that it calls its
//! parent; what is left to go wrong is a circle.

use super::report::{Findings, ProblemKind};
use crate::types::ROOT;

/// A directory whose way up has not been followed.
const NEW: u8 = 0;
/// On the way that is being followed.
const HERE: u8 = 1;
/// Followed.
const DONE: u8 = 2;

/// Looks for circles in pairs of directory and parent. Returns a directory of each.
pub(super) fn circles(mut pairs: Vec<(u64, u64)>) -> Vec<u64> {
    pairs.sort_unstable();
    pairs.dedup_by_key(|pair| pair.0);
    let mut state = vec![NEW; pairs.len()];
    let mut found = Vec::new();
    let above = |at: usize| pairs.binary_search_by_key(&pairs[at].1, |pair| pair.0).ok();
    for start in 0..pairs.len() {
        let mut at = Some(start);
        while let Some(n) = at.filter(|&n| state[n] == NEW) {
            state[n] = HERE;
            at = if pairs[n].1 == ROOT { None } else { above(n) };
        }
        if let Some(n) = at.filter(|&n| state[n] == HERE) {
            found.push(pairs[n].0);
        }
        at = Some(start);
        while let Some(n) = at.filter(|&n| state[n] == HERE) {
            state[n] = DONE;
            at = above(n);
        }
    }
    found
}

/// Reports circles.
pub(super) fn report(pairs: Vec<(u64, u64)>, device: &str, findings: &Findings) {
    for dir in circles(pairs) {
        let what = format!("{device}: directory {dir}");
        let detail = "its parents lead in a circle: the root does not lead to it";
        findings.conclude(ProblemKind::DirectoryLoop, what, detail);
    }
}

#[cfg(test)]
mod tests {
    use super::circles;

    #[test]
    fn trees_have_none_and_each_circle_is_found_once() {
        assert_eq!(circles(vec![(3, 1), (4, 3), (9, 4), (5, 77)]), Vec::<u64>::new());
        assert_eq!(circles(vec![(3, 3)]), [3]);
        let mut found = circles(vec![(8, 4), (4, 5), (5, 6), (6, 4), (10, 11), (11, 10), (7, 1)]);
        found.sort_unstable();
        assert_eq!(found.len(), 2);
        assert!((4..7).contains(&found[0]) && (10..12).contains(&found[1]));
    }
}
