//! Random operations on a file and on a tree, compared with a model in memory.

use super::kinds::{get, pattern, put};
use crate::common::random::Random;
use crate::common::suite::{T, given_dir, posix, posix_on, tick};
use crate::common::sys::*;
use crate::common::volume::Shape;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

const MAX: usize = 600_000;

struct File<'a> {
    t: &'a T,
    fd: OwnedFd,
    direct: Option<OwnedFd>,
    model: Vec<u8>,
    random: Random,
}

impl File<'_> {
    fn range(&mut self) -> (usize, usize) {
        let len = [10, 600, 5000, 70_000, 200_000][self.random.below(5)];
        let (off, len) = (self.random.below(MAX - 200_000), 1 + self.random.below(len));
        if self.random.below(3) == 0 { (off & !4095, (len + 4095) & !4095) } else { (off, len) }
    }

    fn store(&mut self, off: usize, data: &[u8]) {
        if self.model.len() < off + data.len() {
            self.model.resize(off + data.len(), 0);
        }
        self.model[off..off + data.len()].copy_from_slice(data);
    }

    fn clear(&mut self, off: usize, len: usize, extend: bool) {
        if extend && self.model.len() < off + len {
            self.model.resize(off + len, 0);
        }
        let end = (off + len).min(self.model.len());
        if off < end {
            self.model[off..end].fill(0);
        }
    }

    fn step(&mut self) {
        let (off, len) = self.range();
        let seed = self.random.next();
        let t = self.t;
        match self.random.below(16) {
            0..4 => {
                let data = pattern(len, seed);
                t.eq(pwrite(&self.fd, &data, off as i64), Ok(len));
                self.store(off, &data);
            }
            4 => {
                t.ok(ftruncate(&self.fd, off as i64));
                self.model.resize(off, 0);
            }
            5 => {
                let mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
                t.ok(fallocate(&self.fd, mode, off as i64, len as i64));
                self.clear(off, len, false);
            }
            6 if !t.tmpfs() => {
                let keep = seed.is_multiple_of(2);
                let mode = FALLOC_FL_ZERO_RANGE | if keep { FALLOC_FL_KEEP_SIZE } else { 0 };
                t.ok(fallocate(&self.fd, mode, off as i64, len as i64));
                self.clear(off, len, !keep);
            }
            7 => {
                let mode = if seed.is_multiple_of(2) { FALLOC_FL_KEEP_SIZE } else { 0 };
                t.ok(fallocate(&self.fd, mode, off as i64, len as i64));
                if mode == 0 && self.model.len() < off + len {
                    self.model.resize(off + len, 0);
                }
            }
            8 => self.copy(off, len),
            9 if !self.model.is_empty() => {
                let size = self.model.len();
                let map = Map::new(&self.fd, size, PROT_READ | PROT_WRITE, MAP_SHARED).unwrap();
                let (off, len) = (off % size, len.min(size - off % size).min(5000));
                let data = pattern(len, seed);
                map.put(off, &data);
                self.store(off, &data);
            }
            10 => {
                if let Some(direct) = &self.direct {
                    let (off, len) = (off & !4095, (len + 4095) & !4095);
                    let data = Aligned::new(len, seed as u8);
                    t.eq(pwrite(direct, data.bytes(), off as i64), Ok(len));
                    self.store(off, data.bytes());
                }
            }
            11 => drop(t.ok(fsync(&self.fd))),
            12 => {
                let _ = fdatasync(&self.fd);
                drop_pages(&self.fd);
            }
            _ => {
                let end = (off + len).min(self.model.len());
                let want = self.model.get(off..end).unwrap_or(&[]);
                let got = pread(&self.fd, len, off as i64).unwrap();
                t.yes(&format!("{len} bytes at {off}"), got == want);
            }
        }
        t.eq(fstat(&self.fd).map(|s| s.size), Ok(self.model.len() as u64));
    }

    fn copy(&mut self, off: usize, len: usize) {
        let from = self.random.below(self.model.len() + 1);
        let len = len.min(self.model.len() - from);
        let apart = from + len <= off || off + len <= from;
        if apart && len > 0 {
            let got = copy_file_range(&self.fd, Some(from as i64), &self.fd, Some(off as i64), len);
            self.t.eq(got, Ok(len));
            let data = self.model[from..from + len].to_vec();
            self.store(off, &data);
        }
    }

    fn compare(&self) {
        let got = pread(&self.fd, MAX * 2, 0).unwrap();
        let same = got.len() == self.model.len();
        let first = got.iter().zip(&self.model).position(|(a, b)| a != b);
        self.t.yes(&format!("all of it: {first:?}"), same && first.is_none());
        // Every byte that is not zero is reported as data.
        let (mut at, mut zero) = (0, true);
        while zero && at < self.model.len() {
            let data =
                lseek(&self.fd, at as i64, SEEK_DATA).map_or(self.model.len(), |v| v as usize);
            zero = self.model[at..data].iter().all(|b| *b == 0);
            at = lseek(&self.fd, data as i64, SEEK_HOLE).map_or(self.model.len(), |v| v as usize);
        }
        self.t.yes("holes are zero", zero);
    }
}

fn file_against_model(t: &T, seeds: std::ops::Range<u64>, steps: usize) {
    for seed in seeds {
        let name = format!("f{seed}");
        let fd = open(&name, O_CREAT | O_RDWR, 0o644).unwrap();
        let direct = open(&name, O_RDWR | O_DIRECT, 0).ok();
        let random = Random::new(seed * 7919 + 1);
        let mut file = File { t, fd, direct, model: Vec::new(), random };
        for step in 0..steps {
            t.about(format!("seed {seed} step {step}"));
            file.step();
            if step % 50 == 49 {
                file.compare();
            }
        }
        t.about(format!("seed {seed} at the end"));
        file.compare();
        fsync(&file.fd).unwrap();
        drop_pages(&file.fd);
        file.compare();
    }
}

#[test]
fn a_file() {
    posix(|t| file_against_model(t, 1..5, 400));
}

#[test]
fn a_file_in_other_shapes() {
    if given_dir().is_some() {
        return;
    }
    let mkfs = |args: &[&str]| args.iter().map(|s| (*s).to_owned()).collect();
    let shapes: [(u64, Vec<String>); 4] = [
        (2 << 30, mkfs(&["--data-block-size", "512"])),
        (2 << 30, mkfs(&["--data-block-size", "64K"])),
        (0, mkfs(&["--metadata-size", "128M"])),
        (0, mkfs(&["--metadata-size", "128M", "--data-block-size", "1K"])),
    ];
    for (i, (data, mkfs)) in shapes.into_iter().enumerate() {
        let shape = Shape {
            meta: if data == 0 { 2 << 30 } else { 128 << 20 },
            data,
            mkfs,
            ..Shape::default()
        };
        let seed = 100 + i as u64;
        posix_on(shape, |t| file_against_model(t, seed..seed + 1, 400));
    }
}

/// A directory's entries: a directory, or a file's contents.
type Tree = BTreeMap<String, Option<Vec<u8>>>;

fn parent_exists(tree: &Tree, path: &str) -> bool {
    path.rsplit_once('/').is_none_or(|(up, _)| matches!(tree.get(up), Some(None)))
}

fn below<'a>(tree: &'a Tree, path: &str) -> impl Iterator<Item = &'a String> {
    let prefix = format!("{path}/");
    tree.keys().filter(move |k| k.starts_with(&prefix))
}

fn tree_step(t: &T, tree: &mut Tree, random: &mut Random) {
    let mut path = || {
        let depth = 1 + random.below(3);
        (0..depth).map(|_| format!("{}", random.below(9))).collect::<Vec<_>>().join("/")
    };
    let (a, b) = (path(), path());
    let is_dir = |tree: &Tree, p: &str| tree.get(p) == Some(&None);
    let free = |tree: &Tree, p: &str| !tree.contains_key(p) && parent_exists(tree, p);
    let empty = |tree: &Tree, p: &str| below(tree, p).next().is_none();
    match random.below(10) {
        0..3 => {
            let good = free(tree, &a);
            t.eq(mkdir(&a, 0o755).is_ok(), good);
            if good {
                tree.insert(a, None);
            }
        }
        3..6 => {
            let good = parent_exists(tree, &a) && !is_dir(tree, &a);
            let data = pattern(random.below(6000), random.next());
            let done = open(&a, O_CREAT | O_TRUNC | O_WRONLY, 0o644).and_then(|f| write(&f, &data));
            t.eq(done.is_ok(), good);
            if good {
                tree.insert(a, Some(data));
            }
        }
        6 => {
            let good = matches!(tree.get(&a), Some(Some(_)));
            t.eq(unlink(&a).is_ok(), good);
            if good {
                tree.remove(&a);
            }
        }
        7 => {
            let good = is_dir(tree, &a) && empty(tree, &a);
            t.eq(rmdir(&a).is_ok(), good);
            if good {
                tree.remove(&a);
            }
        }
        _ => {
            let inside = b.starts_with(&format!("{a}/"));
            let fits = match (tree.get(&a), tree.get(&b)) {
                (None, _) => false,
                (Some(_), None) => parent_exists(tree, &b),
                (Some(Some(_)), Some(other)) => other.is_some(),
                (Some(None), Some(other)) => a == b || other.is_none() && empty(tree, &b),
            };
            let good = fits && !inside;
            t.eq(rename(&a, &b).is_ok(), good);
            if good && a != b {
                let moved: Vec<String> = below(tree, &a).cloned().collect();
                for old in moved {
                    let value = tree.remove(&old).unwrap();
                    tree.insert(format!("{b}{}", &old[a.len()..]), value);
                }
                let value = tree.remove(&a).unwrap();
                tree.insert(b, value);
            }
        }
    }
}

#[test]
fn a_tree() {
    posix(|t| {
        for seed in 1..4 {
            let top = format!("tree{seed}");
            mkdir(&top, 0o755).unwrap();
            chdir(&top).unwrap();
            let (mut tree, mut random) = (Tree::new(), Random::new(seed));
            for step in 0..3000 {
                t.about(format!("seed {seed} step {step}"));
                tree_step(t, &mut tree, &mut random);
            }
            t.about(format!("seed {seed}"));
            for (path, want) in &tree {
                let s = lstat(path).unwrap();
                let listed = || {
                    let prefix = path.len() + 1;
                    let all = below(&tree, path).filter(|k| !k[prefix..].contains('/'));
                    all.map(|k| k[prefix..].to_owned()).collect::<Vec<_>>()
                };
                match want {
                    Some(data) => t.yes(&format!("{path} as written"), get(path) == *data),
                    None => t.eq((s.kind(), names(path)), (S_IFDIR, Ok(listed()))),
                };
            }
            chdir(t.root()).unwrap();
        }
    });
}

#[test]
fn times_never_go_back() {
    posix(|t| {
        put("f", b"");
        let mut last = lstat("f").unwrap().ctime;
        for i in 0..30u32 {
            match i % 3 {
                0 => put("f", &i.to_le_bytes()),
                1 => chmod("f", 0o600 + i % 8).unwrap(),
                _ => setxattr("f", true, "user.i", &i.to_le_bytes(), 0).unwrap(),
            }
            let now = lstat("f").unwrap().ctime;
            t.yes("not back", now >= last);
            last = now;
        }
        tick();
        put("f", b"x");
        t.yes("forward", lstat("f").unwrap().mtime > last);
    });
}
