//! How placement holds out: a volume is aged in process, and what becomes of its files and of its
//! free space is shown as it ages; then new files are put on it, and both are read, their metadata
//! first. With `--rests`, their metadata are then changed and left alone so often instead.
//!
//! ```sh
//! cargo run --release -p tandem-fs --example ageing -- [--fill 80] [--times 10] [--mib 1024]
//!     [--meta 256] [--block 4096] [--sizes tiny|small|large] [--commit 256] [--seed 1]
//!     [--rests 40] [--changes 500]
//! ```
//!
//! `commit` is how many MiB are written between two commits. D keeps nothing but counts.

mod history;
mod metadata;
#[path = "../common/rig.rs"]
mod rig;

use std::sync::Arc;

use history::{Ageing, DIRECTORIES, Random, Target};
use rig::{READ, Rig, read};
use tandem_fs::{Cred, MountOptions, ROOT, Volume, WriteFlags};

type Res<T> = Result<T, tandem_fs::Error>;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How files lie: files, extents, followers in their directory, and those that are continuous.
#[derive(Default)]
struct Layout([u64; 4]);

impl Layout {
    fn of(vol: &Volume, dirs: &[Vec<(u64, u64)>]) -> Layout {
        let mut sums = [0; 4];
        for files in dirs {
            let mut runs = Vec::new();
            for &(_, ino) in files {
                let extents = vol.extents(ino, 0, usize::MAX).expect("extents");
                if let (Some(first), Some(last)) = (extents.first(), extents.last()) {
                    runs.push((first.start, last.start + u64::from(last.len)));
                    sums[0] += 1;
                    sums[1] += extents.len() as u64;
                }
            }
            runs.sort_unstable();
            sums[2] += runs.len().saturating_sub(1) as u64;
            sums[3] += runs.windows(2).filter(|w| w[0].1 == w[1].0).count() as u64;
        }
        Layout(sums)
    }

    fn show(&self, what: &str, vol: &Volume) {
        let [files, extents, followers, continuous] = self.0;
        let info = vol.info();
        let percent = |a: u64, b: u64| a as f64 * 100.0 / b.max(1) as f64;
        println!(
            "{what:>9} {:>6.1} {files:>8} {:>8.3} {:>8.1} {:>8} {:>8}",
            percent(info.blocks - info.free_blocks, info.blocks),
            extents as f64 / files.max(1) as f64,
            percent(continuous, followers),
            info.free_runs.unwrap_or(0),
            info.longest_free_run.unwrap_or(0),
        );
    }
}

/// A volume on which a history is carried out.
struct Aged {
    vol: Arc<Volume>,
    /// The directories' i-node numbers.
    dirs: Vec<u64>,
    /// By directory: numbers and i-node numbers of the files.
    files: Vec<Vec<(u64, u64)>>,
    bytes: Vec<u8>,
    written: u64,
    /// Bytes between two commits.
    commit: u64,
    /// Bytes between two lines of the table.
    line: u64,
}

impl Aged {
    fn new(vol: Arc<Volume>, commit: u64, line: u64) -> Aged {
        let mkdir = |n| {
            let name = format!("d{n:03}");
            vol.mkdir(&Cred::root(), ROOT, name.as_bytes(), 0o755, 0).expect("mkdir").ino
        };
        let dirs = (0..DIRECTORIES).map(mkdir).collect();
        let files = vec![Vec::new(); DIRECTORIES];
        Aged { vol, dirs, files, bytes: vec![7; READ], written: 0, commit, line }
    }

    fn line(&self) {
        let what = format!("{} MiB", self.written >> 20);
        Layout::of(&self.vol, &self.files).show(&what, &self.vol);
    }

    fn write(&mut self, dir: u64, name: &str, size: usize) -> Res<u64> {
        let cred = Cred::root();
        let ino = self.vol.mknod(&cred, dir, name.as_bytes(), 0o644, 0, 0)?.ino;
        for at in (0..size).step_by(READ) {
            let part = &self.bytes[..READ.min(size - at)];
            self.vol.write(&cred, ino, at as u64, part, WriteFlags::default())?;
        }
        self.vol.forget(ino, 1);
        let before = self.written;
        self.written += size as u64;
        if before / self.commit != self.written / self.commit {
            self.vol.sync()?;
        }
        if before / self.line != self.written / self.line {
            self.line();
        }
        Ok(ino)
    }

    /// Directories of new files, as an archive has them, of so many bytes in all.
    fn unpack(&mut self, bytes: u64) -> Res<Vec<Vec<(u64, u64)>>> {
        let mut random = Random::new(77);
        let (mut trees, end) = (Vec::new(), self.written + bytes);
        while self.written < end {
            let name = format!("new{}", trees.len());
            let dir = self.vol.mkdir(&Cred::root(), ROOT, name.as_bytes(), 0o755, 0)?.ino;
            let mut files = Vec::new();
            for n in 0..1 + random.below(40) {
                let size = 256usize << random.below(8);
                let size = size + random.below(size as u64) as usize;
                files.push((n, self.write(dir, &format!("file{n}"), size)?));
            }
            trees.push(files);
        }
        self.vol.sync()?;
        Ok(trees)
    }
}

impl Target for Aged {
    type Error = tandem_fs::Error;

    fn create(&mut self, dir: usize, number: u64, size: usize, _: &mut Random) -> Res<()> {
        let ino = self.write(self.dirs[dir], &format!("f{number:07}"), size)?;
        self.files[dir].push((number, ino));
        Ok(())
    }

    fn delete(&mut self, dir: usize, number: u64) -> Res<()> {
        let name = format!("f{number:07}");
        self.vol.unlink(&Cred::root(), self.dirs[dir], name.as_bytes())?;
        self.files[dir].retain(|f| f.0 != number);
        Ok(())
    }
}

/// Reads directories one after the other, each in readdir's order, as `grep -r` does.
fn walk(rig: &Rig, what: &str, dirs: &[Vec<(u64, u64)>], names: &[u64]) {
    for cross_file in [true, false] {
        let opts = MountOptions { cross_file, background: false, ..MountOptions::default() };
        let vol = rig.open(opts);
        let mut order = Vec::new();
        for (files, &dir) in dirs.iter().zip(names) {
            let known: std::collections::HashSet<u64> = files.iter().map(|f| f.1).collect();
            let mut cookie = 0;
            loop {
                let before = cookie;
                vol.readdir(&Cred::root(), dir, cookie, &mut |e| {
                    cookie = e.cookie;
                    order.extend(known.get(&e.ino));
                    true
                })
                .expect("readdir");
                if cookie == before {
                    break;
                }
            }
        }
        let before = vol.stats().data.counts;
        let asked = read(&vol, &order);
        let (done, s) = (vol.stats().data.counts - before, vol.stats().cross_file);
        println!(
            "{what:>9} {:>4} {:>9} {:>9.1} {:>9.1} {:>6.2} {:>9} {:>6} {:>6}",
            if cross_file { "on" } else { "off" },
            done.reads,
            done.read_bytes as f64 / (1 << 20) as f64,
            asked as f64 / (1 << 20) as f64,
            done.read_bytes as f64 / asked.max(1) as f64,
            s.hits,
            s.directory_width >> 10,
            s.width >> 10,
        );
        vol.shutdown().expect("shutdown");
    }
}

/// What the command line says.
struct Args {
    ageing: Ageing,
    /// MiB of D, and of M.
    mib: u64,
    meta: u64,
    block: u32,
    /// MiB between two commits.
    commit: u64,
    /// Changes between two rests, and how often.
    changes: u64,
    rests: u64,
}

impl Args {
    fn parse() -> Result<Args, Box<dyn std::error::Error>> {
        let ageing = Ageing::default();
        let mut args =
            Args { ageing, mib: 1024, meta: 256, block: 4096, commit: 256, changes: 500, rests: 0 };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let value = words.next().ok_or(format!("{word}: a value is missing"))?;
            match word.as_str() {
                "--fill" => args.ageing.fill = value.parse()?,
                "--times" => args.ageing.times = value.parse()?,
                "--seed" => args.ageing.seed = value.parse()?,
                "--mib" => args.mib = value.parse()?,
                "--meta" => args.meta = value.parse()?,
                "--block" => args.block = value.parse()?,
                "--commit" => args.commit = value.parse()?,
                "--changes" => args.changes = value.parse()?,
                "--rests" => args.rests = value.parse()?,
                "--sizes" if value == "tiny" => args.ageing.sizes = history::TINY,
                "--sizes" if value == "small" => args.ageing.sizes = history::SMALL,
                "--sizes" if value == "large" => args.ageing.sizes = history::LARGE,
                _ => return Err(format!("{word} {value}: not known").into()),
            }
        }
        Ok(args)
    }
}

/// Walks through the metadata, and reading of all files.
fn measure(rig: &Rig, aged: &Aged, trees: &[Vec<(u64, u64)>], args: &Args) -> Res<()> {
    let vol = &aged.vol;
    let lookup = |n: usize| {
        let name = format!("new{n}");
        vol.lookup(&Cred::root(), ROOT, name.as_bytes()).map(|found| found.ino)
    };
    let names: Vec<u64> = (0..trees.len()).map(lookup).collect::<Result<_, _>>()?;
    vol.shutdown()?;
    metadata::show(rig);
    if args.rests > 0 {
        let files: Vec<u64> = aged.files.iter().flatten().map(|file| file.1).collect();
        return metadata::wear(rig, &files, args.rests, args.changes);
    }
    println!("     read ahead  requests  MiB read     asked  ratio      hits    dir others");
    walk(rig, "aged", &aged.files, &aged.dirs);
    walk(rig, "new", trees, &names);
    metadata::show(rig);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::parse()?;
    let size = args.mib << 20;
    let rig = Rig::new(args.meta << 20, size, args.block);
    let vol = rig.open(MountOptions { background: false, ..MountOptions::default() });
    println!("  written full, %   files  extents   cont, % free runs  longest");
    let mut aged = Aged::new(vol, args.commit << 20, size * 2);
    let wanted = size * args.ageing.fill / 100;
    let done = history::age(&args.ageing, wanted, Random::new(args.ageing.seed), &mut aged)?;
    aged.vol.sync()?;
    aged.line();
    println!("{done:?}, {} commits", aged.vol.stats().commits);
    println!("{:?}", aged.vol.stats().affinity);
    println!("{:?}", aged.vol.stats().continuity);
    let space = aged.vol.statfs();
    let left = space.blocks_free * u64::from(space.block_size);
    let trees = aged.unpack(left / 4)?;
    Layout::of(&aged.vol, &trees).show("new", &aged.vol);
    measure(&rig, &aged, &trees, &args)?;
    Ok(())
}
