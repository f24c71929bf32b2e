//! What an ageing program does: files come and go until the file system is as full as asked for and
//! as many have gone as asked for. A history is told to whoever carries it out, in process or
//! through a mount; the same seed gives the same one where the same space is wanted.
//!
//! A step picks one of 256 directories. It either creates a batch of 1 to 32 files there, as a
//! program that unpacks or builds does, or deletes as many, chosen at random among those of the
//! directory. Below the wanted fill three steps of four create, above it one of four.

/// Directories that the files lie in.
pub const DIRECTORIES: usize = 256;

const BATCH: u64 = 32;

/// What the history shall reach.
#[derive(Clone, Copy, Debug)]
pub struct Ageing {
    /// Per cent of the file system that are in use at the end.
    pub fill: u64,
    /// Files created, and deleted, as a multiple of those that stay.
    pub times: u64,
    /// Seed of the history.
    pub seed: u64,
    /// How long the files are.
    pub sizes: Sizes,
}

impl Default for Ageing {
    fn default() -> Ageing {
        Ageing { fill: 80, times: 10, seed: 1, sizes: SMALL }
    }
}

/// Files of a hundred, and their sizes in bytes: at least, below; each uniform in the logarithm.
pub type Sizes = [(u64, u64, u64); 3];

/// 90 % to 64 KiB, 9 % to 1 MiB, 1 % to 8 MiB; mean about 80 KiB.
pub const SMALL: Sizes = [(1, 1 << 20, 8 << 20), (9, 64 << 10, 1 << 20), (90, 256, 64 << 10)];

/// Half to 256 KiB, 45 % to 4 MiB, 5 % to 16 MiB; mean about 0.9 MiB.
#[allow(dead_code, reason = "one of the two programs offers it")]
pub const LARGE: Sizes =
    [(5, 4 << 20, 16 << 20), (45, 256 << 10, 4 << 20), (50, 4 << 10, 256 << 10)];

/// Of one block at most: what ages is the metadata.
#[allow(dead_code, reason = "one of the two programs offers it")]
pub const TINY: Sizes = [(1, 1, 4096), (9, 1, 4096), (90, 1, 4096)];

/// xorshift64*.
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(2).wrapping_add(1))
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 11) % n.max(1)
    }

    fn size(&mut self, sizes: &Sizes) -> usize {
        let mut percent = self.below(100);
        let mut range = (sizes[2].1, sizes[2].2);
        for &(share, low, high) in sizes {
            range = (low, high);
            if percent < share {
                break;
            }
            percent -= share;
        }
        let (low, high) = range;
        let part = self.below(1 << 32) as f64 / (1u64 << 32) as f64;
        (low as f64 * (high as f64 / low as f64).powf(part)) as usize
    }
}

/// Who carries a history out.
pub trait Target {
    /// What may go wrong.
    type Error;

    /// Makes file `number` in a directory, with `size` bytes of contents; `random` says which.
    fn create(
        &mut self,
        dir: usize,
        number: u64,
        size: usize,
        random: &mut Random,
    ) -> Result<(), Self::Error>;

    /// Removes it.
    fn delete(&mut self, dir: usize, number: u64) -> Result<(), Self::Error>;
}

/// What a history has done.
#[derive(Clone, Copy, Default, Debug)]
pub struct Done {
    /// Files created.
    pub created: u64,
    /// Files deleted.
    pub deleted: u64,
    /// Bytes of those that are left, in blocks of 4 KiB.
    pub bytes: u64,
}

impl Done {
    /// Files that are left.
    pub fn stay(&self) -> u64 {
        self.created - self.deleted
    }
}

struct History<'a, T> {
    ageing: &'a Ageing,
    target: &'a mut T,
    random: Random,
    /// By directory: numbers and sizes of its files.
    files: Vec<Vec<(u64, u64)>>,
    done: Done,
}

impl<T: Target> History<'_, T> {
    fn create(&mut self, dir: usize) -> Result<(), T::Error> {
        let size = self.random.size(&self.ageing.sizes);
        let number = self.done.created;
        self.target.create(dir, number, size, &mut self.random)?;
        self.files[dir].push((number, size as u64));
        self.done.created += 1;
        self.done.bytes += size.next_multiple_of(4096) as u64;
        Ok(())
    }

    fn delete(&mut self, dir: usize) -> Result<(), T::Error> {
        let at = self.random.below(self.files[dir].len() as u64) as usize;
        let (number, size) = self.files[dir].swap_remove(at);
        self.target.delete(dir, number)?;
        self.done.deleted += 1;
        self.done.bytes -= size.next_multiple_of(4096);
        Ok(())
    }

    fn step(&mut self, wanted: u64) -> Result<(), T::Error> {
        let dir = self.random.below(DIRECTORIES as u64) as usize;
        let batch = 1 + self.random.below(BATCH);
        let create = self.random.below(4) < if self.done.bytes < wanted { 3 } else { 1 };
        for _ in 0..batch {
            if create && self.done.bytes < wanted + wanted / 50 {
                self.create(dir)?;
            } else if !create && !self.files[dir].is_empty() {
                self.delete(dir)?;
            }
        }
        Ok(())
    }
}

/// Has a history carried out until `wanted` bytes are there and the turnover is reached. `random`
/// goes on from where the target's own preparations have left it.
///
/// # Errors
/// The target's.
pub fn age<T: Target>(
    ageing: &Ageing,
    wanted: u64,
    random: Random,
    target: &mut T,
) -> Result<Done, T::Error> {
    let files = vec![Vec::new(); DIRECTORIES];
    let mut h = History { ageing, target, random, files, done: Done::default() };
    while h.done.bytes < wanted || h.done.deleted < ageing.times * h.done.stay() {
        h.step(wanted)?;
    }
    Ok(h.done)
}
