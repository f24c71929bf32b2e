//! Somebody at work in a directory of his own, who knows what was promised to him.

use super::cells::Cells;
use super::links::Links;
use super::replace::Replace;
use super::tail::Tail;
use crate::common::random::Random;
use crate::common::sys::R;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// A writer and its accounts.
pub struct Writer {
    key: u64,
    random: Random,
    cells: Cells,
    links: Links,
    replace: Replace,
    tail: Tail,
    /// Calls that promised durability and returned well.
    pub acknowledged: u64,
}

impl Writer {
    /// Makes its files and makes them durable.
    pub fn new(key: u64, dir: &Path, seed: u64) -> R<Writer> {
        let dir = dir.join(format!("w{}", key & 0xff));
        std::fs::create_dir_all(&dir)
            .map_err(|e| crate::common::sys::Errno(e.raw_os_error().unwrap_or(0)))?;
        Ok(Writer {
            key,
            random: Random::new(seed),
            cells: Cells::new(key, &dir)?,
            links: Links::new(&dir)?,
            replace: Replace::new(key, &dir)?,
            tail: Tail::new(key, &dir)?,
            acknowledged: 0,
        })
    }

    /// Works until the daemon is gone; errors before that are failures.
    pub fn work(&mut self, killed: &AtomicBool) -> Result<(), String> {
        loop {
            let done = match self.random.below(8) {
                0..2 => self.cells.step(&mut self.random),
                2..5 => self.links.step(&mut self.random),
                5 => self.replace.step(&mut self.random),
                _ => self.tail.step(&mut self.random),
            };
            match done {
                Ok(acknowledged) => self.acknowledged += u64::from(acknowledged),
                Err(_) if killed.load(Ordering::SeqCst) => return Ok(()),
                Err(e) => return Err(format!("writer {:#x}, while all was well: {e}", self.key)),
            }
        }
    }

    /// What was acknowledged is there, and nothing that never was.
    pub fn verify(&self) -> Result<(), String> {
        self.cells
            .verify()
            .and_then(|()| self.links.verify())
            .and_then(|()| self.replace.verify())
            .and_then(|()| self.tail.verify())
            .map_err(|e| format!("writer {:#x}: {e}", self.key))
    }
}

/// Mixes numbers into one that tells them apart.
pub fn mix(parts: &[u64]) -> u64 {
    parts.iter().fold(0x9e37_79b9_7f4a_7c15, |h, p| {
        let h = (h ^ p).wrapping_mul(0xff51_afd7_ed55_8ccd);
        h ^ (h >> 32)
    })
}

/// Bytes that nobody else writes.
pub fn bytes(key: &[u64], len: usize) -> Vec<u8> {
    let seed = mix(key);
    let words = (0..len.div_ceil(8) as u64).flat_map(|i| mix(&[seed, i]).to_le_bytes());
    words.take(len).collect()
}
