//! Ageing a file system: files are created and deleted until it is as full as asked for and as many
//! have come and gone. Works on any empty directory; the same seed gives the same history where the
//! file system reports the same space.
//!
//! A step picks one of 256 directories. It either creates a batch of 1 to 32 files there, as a
//! program that unpacks or builds does, or deletes as many, chosen at random among those of the
//! directory. Sizes: 90 % of the files 256 B to 64 KiB, 9 % to 1 MiB, 1 % to 8 MiB, each uniform in
//! the logarithm (mean about 80 KiB). Below the wanted fill three steps of four create, above it
//! one of four.

use crate::common::fs::Res;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

const DIRECTORIES: usize = 256;
const BATCH: u64 = 32;

/// What the ageing shall reach.
#[derive(Clone, Copy, Debug)]
pub struct Ageing {
    /// Per cent of the file system that are in use at the end.
    pub fill: u64,
    /// Files created, and deleted, as a multiple of those that stay.
    pub times: u64,
    /// Seed of the history.
    pub seed: u64,
}

impl Default for Ageing {
    fn default() -> Ageing {
        Ageing { fill: 80, times: 10, seed: 1 }
    }
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 11) % n.max(1)
    }

    /// Uniform in the logarithm.
    fn size(&mut self) -> usize {
        let (low, high) = match self.below(100) {
            0 => (1u64 << 20, 8u64 << 20),
            1..=9 => (64 << 10, 1 << 20),
            _ => (256, 64 << 10),
        };
        let part = self.below(1 << 32) as f64 / (1u64 << 32) as f64;
        (low as f64 * (high as f64 / low as f64).powf(part)) as usize
    }
}

/// How full the file system is that a directory is on, in per cent.
pub fn full(dir: &Path) -> Res<u64> {
    let (used, total) = space(dir)?;
    Ok(used * 100 / total.max(1))
}

fn space(dir: &Path) -> Res<(u64, u64)> {
    let stat = rustix::fs::statvfs(dir)?;
    let total = stat.f_blocks.saturating_sub(stat.f_bfree).saturating_add(stat.f_bavail);
    let used = total.saturating_sub(stat.f_bavail);
    Ok((used.saturating_mul(stat.f_frsize), total.saturating_mul(stat.f_frsize)))
}

/// The history under way.
struct History<'a> {
    root: &'a Path,
    random: Random,
    /// By directory: numbers and sizes of its files.
    files: Vec<Vec<(u64, u64)>>,
    created: u64,
    deleted: u64,
    bytes: u64,
    /// Where the files' contents are cut from.
    text: Vec<u8>,
}

impl History<'_> {
    fn path(&self, dir: usize, number: u64) -> PathBuf {
        self.root.join(format!("d{dir:03}/f{number:07}"))
    }

    fn create(&mut self, dir: usize) -> Res<()> {
        let size = self.random.size();
        let number = self.created;
        let from = self.random.below((self.text.len() - size) as u64) as usize;
        File::create_new(self.path(dir, number))?.write_all(&self.text[from..from + size])?;
        self.files[dir].push((number, size as u64));
        self.created += 1;
        self.bytes += size.next_multiple_of(4096) as u64;
        Ok(())
    }

    fn delete(&mut self, dir: usize) -> Res<()> {
        let at = self.random.below(self.files[dir].len() as u64) as usize;
        let (number, size) = self.files[dir].swap_remove(at);
        std::fs::remove_file(self.path(dir, number))?;
        self.deleted += 1;
        self.bytes -= size.next_multiple_of(4096);
        Ok(())
    }

    fn step(&mut self, wanted: u64) -> Res<()> {
        let dir = self.random.below(DIRECTORIES as u64) as usize;
        let batch = 1 + self.random.below(BATCH);
        let create = self.random.below(4) < if self.bytes < wanted { 3 } else { 1 };
        for _ in 0..batch {
            if create && self.bytes < wanted + wanted / 50 {
                self.create(dir)?;
            } else if !create && !self.files[dir].is_empty() {
                self.delete(dir)?;
            }
        }
        Ok(())
    }

    fn stay(&self) -> u64 {
        self.created - self.deleted
    }
}

/// Ages the file system that `root` is on; says what it did. `root` must be empty.
///
/// # Errors
/// Those of the file system, lack of space among them.
pub fn age(root: &Path, ageing: &Ageing) -> Res<String> {
    let (used, total) = space(root)?;
    let wanted = (total * ageing.fill / 100).saturating_sub(used);
    let mut random = Random(ageing.seed.wrapping_mul(2).wrapping_add(1));
    // Text, so that grep(1) reads the files to their ends.
    let letter = |r: u64| if r.is_multiple_of(64) { b'\n' } else { b'a' + (r % 26) as u8 };
    let text = (0..16 << 20).map(|_| letter(random.next() >> 20)).collect();
    for dir in 0..DIRECTORIES {
        std::fs::create_dir(root.join(format!("d{dir:03}")))?;
    }
    let files = vec![Vec::new(); DIRECTORIES];
    let mut h = History { root, random, files, created: 0, deleted: 0, bytes: 0, text };
    while h.bytes < wanted || h.deleted < ageing.times * h.stay() {
        h.step(wanted)?;
    }
    let stay = h.stay();
    Ok(format!(
        "{} files created, {} deleted, {stay} stay ({} MiB), {} % full",
        h.created,
        h.deleted,
        h.bytes >> 20,
        full(root)?
    ))
}
