//! How often the doors hold each i-node: one byte an i-node in chunks of 256, so that a kernel
//! that knows ten million i-nodes costs ten megabytes.

use rustc_hash::FxHashMap;

use crate::types::Ino;

const CHUNK: u64 = 256;
const MANY: u8 = u8::MAX;

struct Chunk {
    counts: Box<[u8; CHUNK as usize]>,
    used: u16,
}

/// Counts of holds.
#[derive(Default)]
pub(crate) struct Holds {
    chunks: FxHashMap<u64, Chunk>,
    /// Counts from 255 up.
    many: FxHashMap<Ino, u64>,
}

impl Holds {
    /// One more.
    pub fn add(&mut self, ino: Ino) {
        let chunk = self
            .chunks
            .entry(ino / CHUNK)
            .or_insert_with(|| Chunk { counts: Box::new([0; CHUNK as usize]), used: 0 });
        let count = &mut chunk.counts[(ino % CHUNK) as usize];
        match *count {
            0 => {
                *count = 1;
                chunk.used += 1;
            }
            MANY => *self.many.entry(ino).or_insert(u64::from(MANY)) += 1,
            _ => {
                *count += 1;
                if *count == MANY {
                    self.many.insert(ino, u64::from(MANY));
                }
            }
        }
    }

    /// How many there are.
    pub fn get(&self, ino: Ino) -> u64 {
        let Some(chunk) = self.chunks.get(&(ino / CHUNK)) else { return 0 };
        match chunk.counts[(ino % CHUNK) as usize] {
            MANY => self.many.get(&ino).copied().unwrap_or(0),
            n => u64::from(n),
        }
    }

    /// Drops `n`; returns how many are left. Dropping more than there are drops all.
    pub fn sub(&mut self, ino: Ino, n: u64) -> u64 {
        let left = self.get(ino).saturating_sub(n);
        let Some(chunk) = self.chunks.get_mut(&(ino / CHUNK)) else { return 0 };
        let count = &mut chunk.counts[(ino % CHUNK) as usize];
        let was = *count;
        if left >= u64::from(MANY) {
            self.many.insert(ino, left);
        } else {
            if was == MANY {
                self.many.remove(&ino);
            }
            *count = left as u8;
        }
        if was != 0 && left == 0 {
            chunk.used -= 1;
            if chunk.used == 0 {
                self.chunks.remove(&(ino / CHUNK));
            }
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::Holds;

    #[test]
    fn counts_past_a_byte_and_back() {
        let mut holds = Holds::default();
        for n in 1..=1000 {
            holds.add(7);
            assert_eq!(holds.get(7), n);
        }
        assert_eq!(holds.get(8), 0);
        assert_eq!(holds.sub(7, 700), 300);
        assert_eq!(holds.sub(7, 45), 255);
        assert_eq!(holds.sub(7, 1), 254);
        holds.add(7);
        assert_eq!(holds.get(7), 255);
        assert_eq!(holds.sub(7, 1000), 0);
        assert!(holds.chunks.is_empty() && holds.many.is_empty());
    }
}
