//! Contents of files that are made: text, so that `grep` and `diff` treat it as such.

use std::io::Read;

/// Words of a text.
const WORDS: usize = 4096;

/// Bytes of text that files are cut from.
const POOL: usize = 1 << 20;

/// Text from a seed.
pub(super) struct Text {
    pool: Vec<u8>,
}

impl Text {
    pub fn new(seed: u64) -> Text {
        let mut random = fastrand::Rng::with_seed(seed);
        let words: Vec<String> = (0..WORDS)
            .map(|_| (0..random.usize(2..11)).map(|_| random.lowercase()).collect())
            .collect();
        let (mut pool, mut line) = (Vec::with_capacity(POOL + 16), 0);
        while pool.len() < POOL {
            // The short words more often than the long ones, as in a language.
            let word = &words[random.usize(..WORDS).min(random.usize(..WORDS))];
            pool.extend_from_slice(word.as_bytes());
            line += word.len() + 1;
            let ends = line > 60;
            pool.push(if ends { b'\n' } else { b' ' });
            line = if ends { 0 } else { line };
        }
        Text { pool }
    }

    /// The contents of the file of this number: no two are alike.
    pub fn file(&self, number: u64, size: u64) -> impl Read + '_ {
        let start = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % self.pool.len() as u64) as usize;
        let head = std::io::Cursor::new(format!("file {number}\n").into_bytes());
        head.chain(Endless { pool: &self.pool, at: start }).take(size)
    }
}

struct Endless<'a> {
    pool: &'a [u8],
    at: usize,
}

impl Read for Endless<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let rest = &self.pool[self.at..];
        let n = rest.len().min(into.len());
        into[..n].copy_from_slice(&rest[..n]);
        self.at = (self.at + n) % self.pool.len();
        Ok(n)
    }
}
