//! Many runs: a bitmap, with a tree over it that knows the longest run of every part. Taking,
//! putting and finding a run of any length is logarithmic, however fragmented the group is.

use super::Piece;

const LEAF_WORDS: usize = 8;
const LEAF_BLOCKS: u32 = 64 * LEAF_WORDS as u32;

/// Free blocks of a part of the bitmap: at its start, at its end, and the longest run in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Span {
    prefix: u32,
    suffix: u32,
    longest: u32,
}

impl Span {
    /// The span of two halves of `half` blocks each.
    fn join(left: Span, right: Span, half: u32) -> Span {
        Span {
            prefix: if left.prefix == half { half + right.prefix } else { left.prefix },
            suffix: if right.suffix == half { half + left.suffix } else { right.suffix },
            longest: left.longest.max(right.longest).max(left.suffix + right.prefix),
        }
    }
}

/// One bit per block, set when it is free; bits beyond the group's end are clear.
#[derive(Debug)]
pub(super) struct Bitmap {
    words: Vec<u64>,
    /// Root at 1, children of `n` at `2n` and `2n + 1`; a leaf covers `LEAF_WORDS` words.
    tree: Vec<Span>,
    leaves: usize,
    runs: usize,
}

impl Bitmap {
    pub fn new(size: u32, runs: &[Piece]) -> Bitmap {
        let leaves = (size.div_ceil(LEAF_BLOCKS) as usize).next_power_of_two();
        let mut map = Bitmap {
            words: vec![0; size.div_ceil(LEAF_BLOCKS) as usize * LEAF_WORDS],
            tree: vec![Span::default(); 2 * leaves],
            leaves,
            runs: runs.len(),
        };
        for &(start, len) in runs {
            for_words(start, len, |word, mask| map.words[word] |= mask);
        }
        map.update(0, map.words.len() / LEAF_WORDS - 1);
        map
    }

    pub fn count(&self) -> usize {
        self.runs
    }

    pub fn longest(&self) -> u32 {
        self.tree[1].longest
    }

    pub fn memory(&self) -> usize {
        self.words.len() * 8 + self.tree.len() * size_of::<Span>()
    }

    pub fn take(&mut self, start: u32, len: u32) {
        debug_assert!(self.free_from(start) >= len);
        for_words(start, len, |word, mask| self.words[word] &= !mask);
        self.runs = self.runs + self.neighbours(start, len) - 1;
        self.update(leaf_of(start), leaf_of(start + len - 1));
    }

    pub fn put(&mut self, start: u32, len: u32) {
        debug_assert!(!self.any_free(start, len));
        for_words(start, len, |word, mask| self.words[word] |= mask);
        self.runs = self.runs + 1 - self.neighbours(start, len);
        self.update(leaf_of(start), leaf_of(start + len - 1));
    }

    pub fn any_free(&self, start: u32, len: u32) -> bool {
        self.next_free(start, start + len) < start + len
    }

    pub fn free_from(&self, block: u32) -> u32 {
        let end = self.end();
        let mut at = block;
        while at < end {
            if at.is_multiple_of(LEAF_BLOCKS)
                && self.tree[self.leaves + leaf_of(at)].prefix == LEAF_BLOCKS
            {
                at += LEAF_BLOCKS;
                continue;
            }
            let ones = self.ones_in_word(at);
            at += ones;
            if ones == 0 || !at.is_multiple_of(64) {
                break;
            }
        }
        at.min(end).saturating_sub(block)
    }

    pub fn next_run(&self, from: u32, want: u32) -> Option<Piece> {
        let mut tail = 0;
        let span = self.leaves as u32 * LEAF_BLOCKS;
        let start = self.find(1, 0, span, from, want, &mut tail)?;
        Some((start, self.free_from(start)))
    }

    pub fn runs(&self) -> Vec<Piece> {
        let mut runs = Vec::with_capacity(self.runs);
        let mut at = self.next_free(0, self.end());
        while at < self.end() {
            let len = self.free_from(at);
            runs.push((at, len));
            at = self.next_free(at + len, self.end());
        }
        runs
    }

    /// Finds the first run of `want` blocks from `from` on in node `n`, which covers `span` blocks
    /// from `low` on. `tail` is the length of the free run that ends where the node begins, and on
    /// return without a result where it ends.
    fn find(
        &self,
        n: usize,
        low: u32,
        span: u32,
        from: u32,
        want: u32,
        tail: &mut u32,
    ) -> Option<u32> {
        if low + (span - 1) < from {
            return None;
        }
        let node = self.tree[n];
        if low >= from {
            if *tail + node.prefix >= want {
                return Some(low - *tail);
            }
            if node.longest < want {
                *tail = if node.prefix == span { *tail + span } else { node.suffix };
                return None;
            }
        }
        if n >= self.leaves {
            return self.find_in_leaf(from.max(low), low + span, want, tail);
        }
        let half = span / 2;
        self.find(2 * n, low, half, from, want, tail)
            .or_else(|| self.find(2 * n + 1, low + half, half, from, want, tail))
    }

    fn find_in_leaf(&self, mut at: u32, end: u32, want: u32, tail: &mut u32) -> Option<u32> {
        let end = end.min(self.end());
        while at < end {
            let ones = self.ones_in_word(at);
            *tail += ones;
            at += ones;
            if *tail >= want {
                return Some(at - *tail);
            }
            if at < end && (ones == 0 || !at.is_multiple_of(64)) {
                *tail = 0;
                at = self.next_free(at, end);
            }
        }
        None
    }

    /// How many of the blocks from `block` to the end of its word are free without a gap.
    fn ones_in_word(&self, block: u32) -> u32 {
        (self.words[block as usize / 64] >> (block % 64)).trailing_ones()
    }

    /// The first free block from `block` on, or `end`.
    fn next_free(&self, block: u32, end: u32) -> u32 {
        let mut at = block;
        while at < end {
            let word = self.words[at as usize / 64] >> (at % 64);
            if word != 0 {
                return (at + word.trailing_zeros()).min(end);
            }
            at = (at / 64 + 1) * 64;
        }
        end
    }

    /// How many of the two blocks around a run are free.
    fn neighbours(&self, start: u32, len: u32) -> usize {
        let free = |block: u32| block < self.end() && self.ones_in_word(block) > 0;
        usize::from(start > 0 && free(start - 1)) + usize::from(free(start + len))
    }

    fn end(&self) -> u32 {
        self.words.len() as u32 * 64
    }

    /// Brings the tree up to date over the leaves `first..=last`.
    fn update(&mut self, first: usize, last: usize) {
        for leaf in first..=last {
            let words = &self.words[leaf * LEAF_WORDS..(leaf + 1) * LEAF_WORDS];
            self.tree[self.leaves + leaf] = span_of(words);
        }
        let (mut low, mut high, mut half) = (self.leaves + first, self.leaves + last, LEAF_BLOCKS);
        while low > 1 {
            (low, high) = (low / 2, high / 2);
            for n in low..=high {
                self.tree[n] = Span::join(self.tree[2 * n], self.tree[2 * n + 1], half);
            }
            half *= 2;
        }
    }
}

fn leaf_of(block: u32) -> usize {
    (block / LEAF_BLOCKS) as usize
}

/// Calls `f` with each word that holds some of the blocks, and their bits in it.
fn for_words(start: u32, len: u32, mut f: impl FnMut(usize, u64)) {
    let (mut at, end) = (start, start + len);
    while at < end {
        let bits = (64 - at % 64).min(end - at);
        f(at as usize / 64, (u64::MAX >> (64 - bits)) << (at % 64));
        at += bits;
    }
}

fn span_of(words: &[u64]) -> Span {
    let (mut span, mut tail, mut whole) = (Span::default(), 0, true);
    for &word in words {
        if word == u64::MAX {
            tail += 64;
            continue;
        }
        let head = tail + word.trailing_ones();
        if whole {
            span.prefix = head;
            whole = false;
        }
        span.longest = span.longest.max(head).max(longest_in(word));
        tail = word.leading_ones();
    }
    if whole {
        span.prefix = tail;
    }
    span.suffix = tail;
    span.longest = span.longest.max(tail);
    span
}

/// The longest run of ones in a word, by halving: after a step, a bit says that as many ones as
/// the steps have added up to begin there.
fn longest_in(word: u64) -> u32 {
    let mut powers = [word; 6];
    if word == 0 {
        return 0;
    }
    let mut k = 1;
    while k < 6 {
        powers[k] = powers[k - 1] & (powers[k - 1] >> (1 << (k - 1)));
        if powers[k] == 0 {
            break;
        }
        k += 1;
    }
    let (mut len, mut found) = (1 << (k - 1), powers[k - 1]);
    for step in (0..k - 1).rev() {
        let longer = found & (powers[step] >> len);
        if longer != 0 {
            found = longer;
            len += 1 << step;
        }
    }
    len
}
