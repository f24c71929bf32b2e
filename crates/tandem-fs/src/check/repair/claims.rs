//! Which data blocks are in use: a bit each, for as much of D as anything claims.

use std::collections::BTreeMap;

use crate::space::Run;

/// Data blocks in one piece of the map.
const PIECE: u64 = 1 << 15;

type Bits = [u64; PIECE as usize / 64];

/// Data blocks that somebody has claimed.
#[derive(Default)]
pub(super) struct Claims {
    pieces: BTreeMap<u64, Box<Bits>>,
}

impl Claims {
    /// Claims blocks. Those that somebody has claimed before are given to `twice`.
    pub fn claim(&mut self, run: Run, twice: &mut dyn FnMut(Run)) {
        let mut at = run.start;
        let mut shared: Option<Run> = None;
        while at < run.end() {
            let bits =
                self.pieces.entry(at / PIECE).or_insert_with(|| Box::new([0; PIECE as usize / 64]));
            let (word, from) = ((at % PIECE / 64) as usize, at % 64);
            let count = (64 - from).min(run.end() - at);
            let mask = u64::MAX >> (64 - count) << from;
            if bits[word] & mask == 0 {
                shared.take().into_iter().for_each(&mut *twice);
            } else {
                for bit in from..from + count {
                    let taken = bits[word] >> bit & 1 == 1;
                    let block = at - from + bit;
                    match &mut shared {
                        Some(run) if taken && run.end() == block => run.len += 1,
                        _ => {
                            shared.take().into_iter().for_each(&mut *twice);
                            shared = taken.then_some(Run { start: block, len: 1 });
                        }
                    }
                }
            }
            bits[word] |= mask;
            at += count;
        }
        shared.into_iter().for_each(twice);
    }

    /// All claimed blocks as runs, in order.
    pub fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        self.pieces.iter().flat_map(|(&piece, bits)| {
            let (mut from, bits) = (0, &**bits);
            std::iter::from_fn(move || {
                let start = next(bits, from, true)?;
                let end = next(bits, start, false).unwrap_or(PIECE);
                from = end;
                Some(Run { start: piece * PIECE + start, len: end - start })
            })
        })
    }

    /// How many blocks are claimed.
    pub fn count(&self) -> u64 {
        let ones = |bits: &Bits| bits.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        self.pieces.values().map(|bits| ones(bits)).sum()
    }

    /// Bytes that the map takes.
    pub fn memory(&self) -> u64 {
        self.pieces.len() as u64 * (size_of::<Bits>() as u64 + 32)
    }
}

/// The next bit from `from` on that is set, or not.
fn next(bits: &Bits, from: u64, set: bool) -> Option<u64> {
    let mut at = from;
    while at < PIECE {
        let word = bits[(at / 64) as usize];
        let left = (if set { word } else { !word }) >> (at % 64);
        if left != 0 {
            return Some(at + u64::from(left.trailing_zeros()));
        }
        at = (at / 64 + 1) * 64;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn claims_are_a_set(
            runs in prop::collection::vec((0u64..70_000, 1u64..300), 1..60),
        ) {
            let mut claims = Claims::default();
            let mut model = std::collections::BTreeSet::new();
            for (start, len) in runs {
                let mut twice = Vec::new();
                claims.claim(Run { start, len }, &mut |run| twice.push(run));
                let blocks: Vec<u64> = twice.iter().flat_map(|r| r.start..r.end()).collect();
                let expected: Vec<u64> =
                    (start..start + len).filter(|block| !model.insert(*block)).collect();
                prop_assert_eq!(blocks, expected);
            }
            let all: Vec<u64> = claims.runs().flat_map(|r| r.start..r.end()).collect();
            prop_assert_eq!(all, model.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(claims.count(), model.len() as u64);
        }
    }
}
