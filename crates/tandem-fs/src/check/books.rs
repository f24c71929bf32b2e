//! Double-entry bookkeeping. What a volume says twice is entered twice with opposite signs, into
//! the account of the block, the i-node or the data block that it is about; when both sides say the
//! same, the account balances. Entries are numbers drawn from the fact under a secret key, so a sum
//! of zero means that all of them cancel out (but for a chance of 2^-64); and as sums do not depend
//! on the order, a volume is read once, in the order of its log, by any number of threads.
//!
//! Several accounts share one sum, so the memory is as small as one likes. Those whose sum is not
//! zero are kept in detail when the volume is read again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::env::Env;

/// Whose account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Subject {
    /// A metadata block, by its id.
    Block(u64),
    /// An i-node.
    Inode(u64),
    /// The border between this data block and the one before it.
    Border(u64),
}

/// What is entered. The side that refers to the subject enters with a plus, the subject itself
/// with a minus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Fact {
    /// What a block is: [`super::place::Place`].
    Is,
    /// The hashes of a directory leaf: prefix and depth.
    Range,
    /// Where an i-node's record is: the i-node map's two words.
    Home,
    /// An entry leads to the i-node: its type. The i-node has as many as it has links.
    Link,
    /// An entry of the hidden directory leads to it. It has one when it has no links.
    Hidden,
    /// The directory that a directory lies in.
    Parent,
    /// Entries of a directory.
    Entries,
    /// Directories among them.
    Subdirs,
    /// Data blocks in use, or free, end here; with a minus, begin here.
    Edge,
    /// It cannot be read, so nothing can be said of it. Counts nothing.
    Unknown,
}

/// One of the two words of a fact that has none.
pub(super) const NO: [u64; 2] = [0, 0];

/// What one side says of a subject.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub fact: Fact,
    pub words: [u64; 2],
    /// How often it was entered with a plus, by whom first and by whom last.
    pub plus: i64,
    pub plus_by: [u64; 2],
    /// As many with a minus.
    pub minus: i64,
    pub minus_by: [u64; 2],
}

type Rows = FxHashMap<(Subject, Fact, [u64; 2]), Row>;

/// Accounts kept in detail.
struct Detail {
    buckets: FxHashSet<u32>,
    rows: Mutex<Rows>,
    limit: usize,
    overflow: AtomicBool,
}

/// The books.
pub(super) struct Books {
    keys: [u64; 5],
    sums: Vec<AtomicU64>,
    detail: Option<Detail>,
}

/// A product of 128 bits, folded (as in wyhash).
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl Books {
    /// Books with `sums` sums, a power of two, under a key from `env`.
    pub fn new(sums: usize, env: &dyn Env) -> Books {
        let mut zeros = Vec::new();
        zeros.resize_with(sums.next_power_of_two(), AtomicU64::default);
        Books { keys: std::array::from_fn(|_| env.random()), sums: zeros, detail: None }
    }

    /// Enters a fact `times` times; `by` is who says it, for messages.
    pub fn enter(&self, subject: Subject, fact: Fact, words: [u64; 2], times: i64, by: u64) {
        let (class, number) = match subject {
            Subject::Block(id) => (1, id),
            Subject::Inode(ino) => (2, ino),
            Subject::Border(block) => (3, block),
        };
        let bucket = self.bucket(class, number);
        match &self.detail {
            None => {
                let subject_hash = fold(number ^ self.keys[0], self.keys[1] ^ class);
                let words_hash = fold(words[0] ^ self.keys[2], words[1] ^ self.keys[3]);
                let value = fold(subject_hash ^ words_hash, self.keys[4] ^ fact as u64);
                self.sums[bucket].fetch_add(value.wrapping_mul(times as u64), Ordering::Relaxed);
            }
            Some(detail) => detail.keep(bucket as u32, subject, fact, words, times, by),
        }
    }

    /// The sum of an account. Those of neighbours lie side by side: they are entered together.
    fn bucket(&self, class: u64, number: u64) -> usize {
        let line = (number >> 3 ^ class << 60).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        (line << 3 | number & 7) as usize & (self.sums.len() - 1)
    }

    /// Whether accounts are kept in detail: then what cancels out at once is entered all the same.
    pub fn in_detail(&self) -> bool {
        self.detail.is_some()
    }

    /// Sums that are not zero, once everything has been entered.
    pub fn unbalanced(&self) -> Vec<u32> {
        let open =
            |(n, sum): (usize, &AtomicU64)| (sum.load(Ordering::Relaxed) != 0).then_some(n as u32);
        self.sums.iter().enumerate().filter_map(open).collect()
    }

    /// From now on keeps the accounts of these sums in detail, at most `limit` rows.
    pub fn watch(&mut self, buckets: &[u32], limit: usize) {
        self.detail = Some(Detail {
            buckets: buckets.iter().copied().collect(),
            rows: Mutex::default(),
            limit,
            overflow: AtomicBool::new(false),
        });
    }

    /// The accounts kept in detail, by subject, those of one subject together; and whether they
    /// are all there.
    pub fn take(&mut self) -> (Vec<(Subject, Vec<Row>)>, bool) {
        let Some(detail) = self.detail.take() else { return (Vec::new(), true) };
        let mut rows: Vec<(Subject, Row)> =
            detail.rows.into_inner().into_iter().map(|(key, row)| (key.0, row)).collect();
        rows.sort_unstable_by_key(|(subject, row)| (*subject, row.fact, row.words));
        let accounts = rows
            .chunk_by(|a, b| a.0 == b.0)
            .map(|rows| (rows[0].0, rows.iter().map(|(_, row)| *row).collect()))
            .collect();
        (accounts, !detail.overflow.into_inner())
    }
}

impl Detail {
    fn keep(
        &self,
        bucket: u32,
        subject: Subject,
        fact: Fact,
        words: [u64; 2],
        times: i64,
        by: u64,
    ) {
        if !self.buckets.contains(&bucket) {
            return;
        }
        let mut rows = self.rows.lock();
        if rows.len() >= self.limit && !rows.contains_key(&(subject, fact, words)) {
            self.overflow.store(true, Ordering::Relaxed);
            return;
        }
        let row = rows.entry((subject, fact, words)).or_insert(Row {
            fact,
            words,
            plus: 0,
            plus_by: [0; 2],
            minus: 0,
            minus_by: [0; 2],
        });
        let (count, who) = match times {
            0.. => (&mut row.plus, &mut row.plus_by),
            _ => (&mut row.minus, &mut row.minus_by),
        };
        if *count == 0 {
            who[0] = by;
        }
        who[1] = by;
        *count = count.saturating_add(times.saturating_abs());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::SystemEnv;

    fn inode(books: &Books, ino: u64, times: i64, by: u64) {
        books.enter(Subject::Inode(ino), Fact::Entries, NO, times, by);
    }

    #[test]
    fn what_both_sides_say_cancels_out_in_any_order() {
        let books = Books::new(64, &SystemEnv);
        for ino in 0..1000 {
            inode(&books, ino, ino as i64, 1);
            books.enter(Subject::Inode(ino), Fact::Home, [ino, 7], 1, 2);
        }
        for ino in (0..1000).rev() {
            books.enter(Subject::Inode(ino), Fact::Home, [ino, 7], -1, 2);
            (0..ino).for_each(|_| inode(&books, ino, -1, 3));
        }
        assert_eq!(books.unbalanced(), []);
    }

    #[test]
    fn what_differs_is_found_and_told_apart() {
        let mut books = Books::new(1, &SystemEnv);
        let enter = |books: &Books| {
            books.enter(Subject::Block(5), Fact::Is, [1, 2], 1, 10);
            books.enter(Subject::Block(5), Fact::Is, [1, 3], -1, 11);
            books.enter(Subject::Inode(5), Fact::Link, NO, 2, 12);
            books.enter(Subject::Inode(5), Fact::Link, NO, -2, 13);
        };
        enter(&books);
        let open = books.unbalanced();
        assert_eq!(open, [0]);
        books.watch(&open, 100);
        enter(&books);
        let (accounts, all) = books.take();
        assert!(all && accounts.len() == 2);
        let (subject, rows) = &accounts[0];
        assert_eq!((*subject, rows.len()), (Subject::Block(5), 2));
        assert_eq!((rows[0].plus, rows[0].plus_by, rows[0].minus), (1, [10, 10], 0));
        assert_eq!((accounts[1].1[0].plus, accounts[1].1[0].minus), (2, 2));
        books.watch(&open, 1);
        enter(&books);
        assert!(!books.take().1);
    }
}
