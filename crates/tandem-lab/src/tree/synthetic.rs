//! Trees made from a seed.
//!
//! The defaults are those of the Linux 6.1 source, measured (83,731 entries of
//! `linux-source-6.1`, the topmost directory included): 78,579 files, 5,096 directories, 56 links,
//! 1,298,681,992 bytes. The logarithm of the sizes of files that are not empty has a mean of 8.225
//! (median 3,733 bytes) and a standard deviation of 1.618; 65 % are larger than 2,048 bytes. 6.3 %
//! of the directories hold no file; the logarithm of the number of files in the others has a mean
//! of 1.963 (7.1 files) and a standard deviation of 1.175. Directories by depth, the topmost one
//! at 0: 1, 24, 608, 1,505, 1,383, 835, 287, 233, 164, 56. Names have 12.3 letters on average.
//!
//! What is made has exactly so many files and directories; sizes and files per directory are
//! log-normal and independent of each other and of the depth, which Linux's are not altogether
//! (shallow directories have more files). The largest sizes of Linux lie above the log-normal curve:
//! a made tree's mean is 13.8 kB, Linux's is 16.5 kB.

use std::path::PathBuf;

use super::contents::Text;
use super::{Entry, Kind, TreeError, Visitor};

/// Directories of Linux 6.1 by depth.
pub const LINUX_DEPTHS: [f64; 10] =
    [1.0, 24.0, 608.0, 1505.0, 1383.0, 835.0, 287.0, 233.0, 164.0, 56.0];

/// Median size of Linux 6.1's files that are not empty, in bytes.
pub const LINUX_MEDIAN: f64 = 3733.0;

/// Standard deviation of the logarithm of their sizes.
pub const LINUX_SIGMA: f64 = 1.618;

/// Files to a directory in Linux 6.1.
pub const LINUX_FILES_PER_DIRECTORY: f64 = 78_579.0 / 5_096.0;

/// Standard deviation of the logarithm of the number of files in a directory.
const SPREAD: f64 = 1.175;

/// Share of directories without files.
const BARE: f64 = 0.063;

/// The same of the number of directories in a directory: few have many. 21 % of Linux's have any.
const BRANCHING: f64 = 2.0;

/// Times of what is made: the first day of 2020.
const MTIME: u64 = 1_577_836_800;

/// A tree to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// What random choices begin with.
    pub seed: u64,
    /// Regular files.
    pub files: u64,
    /// Directories, the topmost one included; at least 1.
    pub directories: u64,
    /// Shares of directories by depth, from the topmost one (0); of any sum.
    pub depths: Vec<f64>,
    /// Median size of files, in bytes.
    pub median: f64,
    /// Standard deviation of the logarithm of the sizes; 0: all are alike.
    pub sigma: f64,
    /// Largest size, in bytes.
    pub largest: u64,
}

impl Shape {
    /// Like Linux 6.1, with so many files.
    pub fn linux(seed: u64, files: u64) -> Shape {
        Shape {
            seed,
            files,
            directories: ((files as f64 / LINUX_FILES_PER_DIRECTORY).round() as u64).max(1),
            depths: LINUX_DEPTHS.to_vec(),
            median: LINUX_MEDIAN,
            sigma: LINUX_SIGMA,
            largest: 24 << 20,
        }
    }

    /// Gives every entry to `f`, the topmost directory `tree` first, in the order of names.
    ///
    /// # Errors
    /// Those of `f`.
    pub fn each(&self, f: &mut Visitor<'_>) -> Result<(), TreeError> {
        let mut random = fastrand::Rng::with_seed(self.seed);
        let parents = self.parents(&mut random);
        let held = self.held(parents.len(), &mut random);
        let mut children = vec![Vec::new(); parents.len()];
        for (dir, &parent) in parents.iter().enumerate().skip(1) {
            children[parent].push(dir);
        }
        let mut making =
            Making { shape: self, text: Text::new(self.seed), random, held, children, made: 0 };
        making.directory(0, PathBuf::from("tree"), f)
    }

    /// The parent of each directory, in the order of depth; the topmost one is its own.
    fn parents(&self, random: &mut fastrand::Rng) -> Vec<usize> {
        let mut parents = vec![0];
        let below: f64 = self.depths.iter().skip(1).sum();
        let wanted = self.directories.saturating_sub(1) as f64;
        let (mut level, mut weight) = (0..1, 0.0);
        for share in self.depths.iter().skip(1) {
            weight += share;
            let end = 1 + (wanted * weight / below).round() as usize;
            if end <= level.end {
                continue;
            }
            let mut sum = 0.0;
            let sums: Vec<f64> = level
                .clone()
                .map(|_| {
                    sum += normal(random, BRANCHING).exp();
                    sum
                })
                .collect();
            for _ in level.end..end {
                let at = random.f64() * sum;
                parents.push(level.start + sums.partition_point(|&s| s <= at).min(sums.len() - 1));
            }
            level = level.end..end;
        }
        // All depths but the topmost have no share.
        parents.resize((self.directories.max(1)) as usize, 0);
        parents
    }

    /// How many files each directory holds.
    fn held(&self, directories: usize, random: &mut fastrand::Rng) -> Vec<u64> {
        let mut weights: Vec<f64> = (0..directories)
            .map(|_| {
                let weight = normal(random, SPREAD).exp();
                if random.f64() < BARE { 0.0 } else { weight }
            })
            .collect();
        let mut sum: f64 = weights.iter().sum();
        if sum == 0.0 {
            weights[0] = 1.0;
            sum = 1.0;
        }
        let (mut reached, mut given) = (0.0, 0);
        weights
            .iter()
            .map(|weight| {
                reached += weight;
                let end = ((self.files as f64 * reached / sum).round() as u64).min(self.files);
                let here = end.saturating_sub(given);
                given += here;
                here
            })
            .collect()
    }
}

/// A normal variate of mean 0 (Box and Muller 1958).
fn normal(random: &mut fastrand::Rng, sigma: f64) -> f64 {
    let (u, v) = (1.0 - random.f64(), random.f64());
    sigma * (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

struct Making<'a> {
    shape: &'a Shape,
    text: Text,
    random: fastrand::Rng,
    held: Vec<u64>,
    children: Vec<Vec<usize>>,
    made: u64,
}

impl Making<'_> {
    fn directory(
        &mut self,
        dir: usize,
        path: PathBuf,
        f: &mut Visitor<'_>,
    ) -> Result<(), TreeError> {
        let entry = Entry { path, kind: Kind::Directory, mode: 0o755, mtime: MTIME };
        f(&entry, &mut std::io::empty())?;
        let mut inside: Vec<(String, Option<usize>)> = Vec::new();
        for number in 0..self.held[dir] {
            let ending = if self.random.f64() < 0.4 { "h" } else { "c" };
            inside.push((format!("{}{number}.{ending}", self.name(3..13)), None));
        }
        for child in std::mem::take(&mut self.children[dir]) {
            inside.push((format!("{}{child}", self.name(2..9)), Some(child)));
        }
        inside.sort();
        for (name, child) in inside {
            let path = entry.path.join(name);
            match child {
                Some(child) => self.directory(child, path, f)?,
                None => self.file(path, f)?,
            }
        }
        Ok(())
    }

    fn name(&mut self, length: std::ops::Range<usize>) -> String {
        (0..self.random.usize(length)).map(|_| self.random.lowercase()).collect()
    }

    fn file(&mut self, path: PathBuf, f: &mut Visitor<'_>) -> Result<(), TreeError> {
        let size = (self.shape.median * normal(&mut self.random, self.shape.sigma).exp()).round();
        let size = (size as u64).min(self.shape.largest);
        self.made += 1;
        let entry = Entry { path, kind: Kind::File(size), mode: 0o644, mtime: MTIME };
        f(&entry, &mut self.text.file(self.made, size))
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{Hash, Hasher};

    use super::*;
    use crate::tree::Figures;

    /// What a tree consists of, and a hash of all of it.
    fn made(shape: &Shape) -> (Figures, u64) {
        let mut figures = Figures::default();
        let mut hash = std::hash::DefaultHasher::new();
        let mut known = std::collections::HashSet::new();
        shape
            .each(&mut |entry, contents| {
                if let Some(parent) = entry.path.parent().filter(|p| !p.as_os_str().is_empty()) {
                    assert!(known.contains(parent), "{parent:?} after what is in it");
                }
                assert!(known.insert(entry.path.clone()), "{:?} twice", entry.path);
                figures.count(&entry.path, &entry.kind);
                entry.path.hash(&mut hash);
                let mut bytes = Vec::new();
                contents.read_to_end(&mut bytes).expect("contents");
                if let Kind::File(size) = entry.kind {
                    assert_eq!(bytes.len() as u64, size);
                }
                bytes.hash(&mut hash);
                Ok(())
            })
            .expect("tree");
        (figures, hash.finish())
    }

    #[test]
    fn like_linux() {
        let shape = Shape::linux(1, 20_000);
        let (figures, _) = made(&shape);
        assert_eq!((figures.files, figures.directories), (20_000, 1297));
        assert_eq!(figures.depth, 11);
        let mean = figures.bytes as f64 / figures.files as f64;
        // Log-normal: median x exp(sigma²/2) = 13,822; its error here is about 340.
        assert!((12_000.0..15_500.0).contains(&mean), "{mean}");
        let over = figures.over_2k as f64 / figures.files as f64;
        assert!((0.62..0.67).contains(&over), "{over}");
    }

    #[test]
    fn from_the_seed() {
        let shape = |seed| Shape::linux(seed, 300);
        assert_eq!(made(&shape(7)), made(&shape(7)));
        assert_ne!(made(&shape(7)).1, made(&shape(8)).1);
    }

    #[test]
    fn odd_shapes() {
        for (files, directories, depths) in [
            (0, 1, vec![1.0]),
            (5, 1, vec![1.0, 3.0]),
            (5, 4, vec![1.0]),
            (3, 40, vec![1.0, 0.001, 1.0, 0.0, 2.0]),
        ] {
            let shape = Shape {
                files,
                directories,
                depths,
                sigma: 0.0,
                median: 10.0,
                ..Shape::linux(3, 1)
            };
            let (figures, _) = made(&shape);
            assert_eq!((figures.files, figures.directories), (files, directories));
            assert_eq!(figures.bytes, files * 10);
        }
    }
}
