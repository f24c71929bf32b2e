//! What walks through a tree ask of D: requests, bytes, and how continuously directories lie.
//!
//! In process, on a data device that keeps nothing but counts. The tree is the list on standard
//! input, a line `size path` for each file and `- path` for each directory, parents first:
//!
//! ```sh
//! tar tvf linux.tar | awk '/^d/ {print "-", $6} /^-/ {print $3, $6}' |
//!     cargo run --release -p tandem-fs --example walks -- [FLUSH-MS] [BLOCK-SIZE]
//! ```
//!
//! Prints a table: every order of reading, with and without the mechanisms.

#[path = "common/rig.rs"]
mod rig;

use std::io::{self, BufRead};
use std::time::{Duration, Instant};

use rig::{READ, Rig, read};
use tandem_fs::{Cred, MountOptions, ROOT, Volume, WriteFlags};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Bytes of D, and of M.
const SIZE: u64 = 16 << 30;
const META: u64 = 512 << 20;

struct Entry {
    path: String,
    size: Option<u64>,
}

fn tree() -> Vec<Entry> {
    let parse = |line: String| {
        let (size, path) = line.split_once(' ')?;
        Some(Entry { path: path.trim_end_matches('/').into(), size: size.parse().ok() })
    };
    io::stdin().lock().lines().filter_map(|line| parse(line.expect("input"))).collect()
}

fn untar(vol: &Volume, top: &str, entries: &[Entry]) {
    let cred = Cred::root();
    let mut dirs = std::collections::HashMap::new();
    let first = vol.mkdir(&cred, ROOT, top.as_bytes(), 0o755, 0).expect("mkdir").ino;
    let bytes = vec![7; READ];
    for e in entries {
        let (dir, name) = e.path.rsplit_once('/').unwrap_or(("", &e.path));
        let parent = *dirs.get(dir).unwrap_or(&first);
        let Some(size) = e.size else {
            let ino = vol.mkdir(&cred, parent, name.as_bytes(), 0o755, 0).expect("mkdir").ino;
            dirs.insert(e.path.as_str(), ino);
            continue;
        };
        let ino = vol.mknod(&cred, parent, name.as_bytes(), 0o644, 0, 0).expect("mknod").ino;
        let mut at = 0;
        while at < size {
            // tar writes 10 KiB at a time.
            let n = (size - at).min(10 << 10) as usize;
            vol.write(&cred, ino, at, &bytes[..n], WriteFlags::default()).expect("write");
            at += n as u64;
        }
        vol.forget(ino, 1);
    }
}

/// A directory as readdir tells it.
struct Dir {
    entries: Vec<(Vec<u8>, u64, Option<Dir>)>,
}

fn list(vol: &Volume, ino: u64) -> Dir {
    let (mut entries, mut cookie) = (Vec::new(), 0);
    loop {
        let before = cookie;
        vol.readdir(&Cred::root(), ino, cookie, &mut |e| {
            cookie = e.cookie;
            if e.name != b"." && e.name != b".." {
                entries.push((e.name.to_vec(), e.ino, e.kind == tandem_fs::FileKind::Directory));
            }
            true
        })
        .expect("readdir");
        if cookie == before {
            break;
        }
    }
    let deeper = |(name, ino, dir): (Vec<u8>, u64, bool)| (name, ino, dir.then(|| list(vol, ino)));
    Dir { entries: entries.into_iter().map(deeper).collect() }
}

impl Dir {
    fn sort(&mut self, by_name: bool) {
        match by_name {
            true => self.entries.sort_by(|a, b| a.0.cmp(&b.0)),
            false => self.entries.sort_by_key(|e| e.1),
        }
        self.entries.iter_mut().filter_map(|e| e.2.as_mut()).for_each(|d| d.sort(by_name));
    }

    fn files(&self, out: &mut Vec<u64>) {
        for (_, ino, dir) in &self.entries {
            match dir {
                Some(dir) => dir.files(out),
                None => out.push(*ino),
            }
        }
    }

    /// Files with a place, those that begin where another of the directory ends, first ones.
    fn adjacency(&self, vol: &Volume) -> (u64, u64, u64) {
        let mut runs = Vec::new();
        let mut sum = (0, 0, 0);
        for (_, ino, dir) in &self.entries {
            if let Some(dir) = dir {
                let (a, b, c) = dir.adjacency(vol);
                sum = (sum.0 + a, sum.1 + b, sum.2 + c);
            } else {
                let extents = vol.extents(*ino, 0, 1000).expect("extents");
                if let (Some(first), Some(last)) = (extents.first(), extents.last()) {
                    runs.push((first.start, last.start + u64::from(last.len)));
                }
            }
        }
        runs.sort_unstable();
        sum.0 += runs.len() as u64;
        sum.1 += runs.windows(2).filter(|w| w[0].1 == w[1].0).count() as u64;
        sum.2 += u64::from(!runs.is_empty());
        sum
    }
}

fn walk(rig: &Rig, name: &str, files: &[u64], cross_file: bool) {
    let opts = MountOptions { cross_file, background: false, ..MountOptions::default() };
    let vol = rig.open(opts);
    let before = vol.stats().data.counts;
    let start = Instant::now();
    read(&vol, files);
    let secs = start.elapsed().as_secs_f64();
    let done = vol.stats().data.counts - before;
    let s = vol.stats().cross_file;
    println!(
        "{name:>22} {:>4} {:>8} {:>7.0} {:>9.1} {:>8} {:>7} {:>6.2}",
        if cross_file { "on" } else { "off" },
        done.reads,
        done.read_bytes as f64 / (1 << 20) as f64,
        done.read_bytes as f64 / 1024.0 / done.reads.max(1) as f64,
        s.hits,
        s.wasted_bytes >> 20,
        secs,
    );
    vol.shutdown().expect("shutdown");
}

fn tell(what: &str, dir: &Dir, vol: &Volume) {
    let (files, adjacent, dirs) = dir.adjacency(vol);
    println!(
        "{what}: {files} files in {dirs} directories, {adjacent} begin where a neighbour ends: {:.1} % of those that have one",
        adjacent as f64 * 100.0 / (files - dirs).max(1) as f64
    );
}

fn main() {
    let mut args = std::env::args().skip(1).filter_map(|a| a.parse::<u64>().ok());
    let flush = Duration::from_millis(args.next().unwrap_or(5000));
    let block = args.next().map_or(4096, |b| b as u32);
    let entries = tree();
    let bytes: u64 = entries.iter().filter_map(|e| e.size).sum();
    println!("{} entries, {} MiB", entries.len(), bytes >> 20);
    for continuous in [true, false] {
        let rig = Rig::new(META, SIZE, block);
        let opts = MountOptions { continuous, flush, ..MountOptions::default() };
        let vol = rig.open(opts.clone());
        let start = Instant::now();
        untar(&vol, "a", &entries);
        untar(&vol, "b", &entries);
        vol.sync().expect("sync");
        println!(
            "continuous={continuous}, two trees made in {:.1} s",
            start.elapsed().as_secs_f64()
        );
        println!("{:?}", vol.stats().continuity);
        let mut all = list(&vol, ROOT);
        tell("both trees", &all, &vol);
        vol.shutdown().expect("shutdown");
        println!(
            "{:>22} {:>4} {:>8} {:>7} {:>9} {:>8} {:>7} {:>6}",
            "order", "", "requests", "MiB", "KiB each", "hits", "wasted", "s"
        );
        for order in ["readdir", "name", "i-node"] {
            match order {
                "name" => all.sort(true),
                "i-node" => all.sort(false),
                _ => {}
            }
            let mut trees = all.entries.iter().filter_map(|e| e.2.as_ref()).map(|d| {
                let mut files = Vec::new();
                d.files(&mut files);
                files
            });
            let (Some(a), Some(b)) = (trees.next(), trees.next()) else { return };
            for on in [true, false] {
                walk(&rig, &format!("{order}, one tree"), &a, on);
                if order == "name" {
                    let both: Vec<u64> = a.iter().zip(&b).flat_map(|(a, b)| [*a, *b]).collect();
                    walk(&rig, "name, both by turns", &both, on);
                }
            }
        }
    }
}
