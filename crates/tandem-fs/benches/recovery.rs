//! Mounting after a crash, by the number of files on the volume.
//!
//! On devices in memory, so many empty files are made, 200 to a directory, and the volume is
//! unmounted. Then it is mounted with `checkpoint=60s` and changed at full speed, with a sync after
//! every 1000 changes, until the log since the last checkpoint is nearly as long as it can become
//! within a minute (`MountOptions::checkpoint` says what bounds it). `load=modes` changes files'
//! modes; `load=mixed` by turns a mode, a file's name, a new file with a block of contents, and the
//! removal of a new file. `set=same` does so in the same 50 directories, 10,000 files, however many
//! there are, `set=all` in directories at random. There the power fails, and a copy of what is then
//! on M is mounted, five times over. The time is that from the call of `Volume::open` until a file's
//! name has been looked up: what passes, and what this process has of the processors.
//!
//! `cargo bench -p tandem-fs --bench recovery -- files=10000,5000000 set=same,all load=mixed,modes
//! runs=5 cache=256` are the defaults.

#[path = "common/rng.rs"]
mod rng;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rng::Rng;
use rustix::time::{ClockId, clock_gettime};
use tandem_device::{Device, MemoryDevice};
use tandem_fs::{
    Cred, FallocFlags, Ino, MkfsOptions, MountOptions, ROOT, RenameFlags, SetAttr, SystemEnv,
    Volume,
};

/// The allocator of the `tandem` binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PER_DIR: u64 = 200;

/// Files of the smaller set.
const FEW: u64 = 10_000;

/// The log since the last checkpoint is to be as long as this, in bytes.
const LOG: u64 = 124 << 20;

struct Devices {
    meta: Arc<dyn Device>,
    data: Arc<dyn Device>,
}

impl Devices {
    fn new() -> Devices {
        let meta = Arc::new(MemoryDevice::new("meta", 4 << 30));
        Devices { meta, data: Arc::new(MemoryDevice::new("data", 1 << 30)) }
    }

    fn open(&self, cache: u64) -> Arc<Volume> {
        let options = MountOptions {
            cache,
            background: false,
            checkpoint: Duration::from_secs(60),
            ..MountOptions::default()
        };
        let (meta, data) = (Arc::clone(&self.meta), Arc::clone(&self.data));
        Volume::open(meta, Some(data), options, Arc::new(SystemEnv)).expect("open")
    }

    /// What is on M, on a device of its own.
    fn copy(&self) -> Devices {
        let meta = MemoryDevice::new("meta", self.meta.size());
        let mut piece = vec![0; 64 << 10];
        for off in (0..self.meta.size()).step_by(piece.len()) {
            self.meta.read_at(&mut piece, off).expect("read");
            if piece.iter().any(|&byte| byte != 0) {
                meta.write_at(&piece, off).expect("write");
            }
        }
        Devices { meta: Arc::new(meta), data: Arc::clone(&self.data) }
    }
}

/// A directory, and its files; `name(n)` is what the nth is called.
struct Dir {
    ino: Ino,
    files: Vec<Ino>,
}

fn name(n: usize, renamed: bool) -> String {
    format!("file-{n:06}-with-a-name.{}", if renamed { "h" } else { "c" })
}

/// A volume with so many files, not mounted.
fn volume(files: u64, cache: u64) -> (Devices, Vec<Dir>) {
    let devices = Devices::new();
    let (meta, data) = (Arc::clone(&devices.meta), Arc::clone(&devices.data));
    let options = MkfsOptions::default();
    Volume::mkfs(meta, Some(data), &options, Arc::new(SystemEnv)).expect("mkfs");
    let vol = devices.open(cache);
    let root = Cred::root();
    let mut dirs = Vec::new();
    for d in 0..files.div_ceil(PER_DIR) {
        let ino = vol.mkdir(&root, ROOT, format!("directory-{d:06}").as_bytes(), 0o755, 0);
        let mut dir = Dir { ino: ino.expect("mkdir").ino, files: Vec::new() };
        for n in 0..PER_DIR.min(files - d * PER_DIR) as usize {
            let made = vol.mknod(&root, dir.ino, name(n, false).as_bytes(), 0o644, 0, 0);
            dir.files.push(made.expect("mknod").ino);
        }
        dir.files.iter().for_each(|ino| vol.forget(*ino, 1));
        vol.forget(dir.ino, 1);
        dirs.push(dir);
    }
    vol.shutdown().expect("shutdown");
    (devices, dirs)
}

/// What is done to a volume.
struct Load<'a> {
    vol: &'a Volume,
    dirs: Vec<&'a Dir>,
    mixed: bool,
    rng: Rng,
    /// Files that have another name now.
    renamed: HashMap<Ino, bool>,
    /// Files made, and not yet removed: directory and number.
    made: VecDeque<(Ino, u32)>,
}

impl Load<'_> {
    /// The `n`th change.
    fn change(&mut self, n: u32) {
        let (vol, root) = (self.vol, Cred::root());
        let dir = self.dirs[self.rng.below(self.dirs.len() as u64) as usize];
        let place = self.rng.below(dir.files.len() as u64) as usize;
        let ino = dir.files[place];
        match if self.mixed { n % 4 } else { 0 } {
            0 => {
                let set = SetAttr { mode: Some(0o600 | n & 0o77), ..SetAttr::default() };
                vol.setattr(&root, ino, &set).expect("setattr");
            }
            1 => {
                let renamed = self.renamed.entry(ino).or_default();
                let (from, to) = (name(place, *renamed), name(place, !*renamed));
                let flags = RenameFlags::empty();
                vol.rename(&root, dir.ino, from.as_bytes(), dir.ino, to.as_bytes(), flags)
                    .expect("rename");
                *renamed = !*renamed;
            }
            2 => {
                let name = format!("new-{n}");
                let made = vol.mknod(&root, dir.ino, name.as_bytes(), 0o644, 0, 0);
                let ino = made.expect("mknod").ino;
                vol.fallocate(&root, ino, FallocFlags::empty(), 0, 4096).expect("fallocate");
                vol.forget(ino, 1);
                self.made.push_back((dir.ino, n));
            }
            // A thousand stay.
            _ if self.made.len() > 1000 => {
                let Some((dir, n)) = self.made.pop_front() else { return };
                vol.unlink(&root, dir, format!("new-{n}").as_bytes()).expect("unlink");
            }
            _ => {}
        }
    }
}

/// Changes files until the log is long. Returns its bytes since the last checkpoint, and how long
/// they took.
fn write_log(devices: &Devices, dirs: &[Dir], mixed: bool, cache: u64) -> (u64, Duration) {
    let vol = devices.open(cache);
    let (renamed, made) = Default::default();
    let mut load =
        Load { vol: &vol, dirs: dirs.iter().collect(), mixed, rng: Rng(1), renamed, made };
    let count = || {
        let stats = vol.stats();
        (stats.checkpoints, stats.log.bytes_logged)
    };
    let (mut begun, mut from) = (Instant::now(), count());
    for n in 0u32.. {
        load.change(n);
        if n % 1000 < 999 {
            continue;
        }
        vol.sync().expect("sync");
        let now = count();
        if now.0 != from.0 {
            (begun, from) = (Instant::now(), now);
        }
        if now.1 - from.1 > LOG {
            let took = begun.elapsed();
            // Without a background thread nothing is written any more.
            return (now.1 - from.1, took);
        }
    }
    unreachable!("the log has an end")
}

/// The value of the argument `name=value`, or what it is without one.
fn option(name: &str, default: &str) -> String {
    let args = std::env::args().skip(1);
    let mut values = args.filter_map(|a| a.strip_prefix(name)?.strip_prefix('=').map(String::from));
    values.next().unwrap_or_else(|| default.into())
}

/// What this process has had of the processors.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Mounts a copy of what the crash has left, so many times. Returns the times, what they took of the
/// processors, and the commits found in the log.
fn mount(devices: &Devices, runs: u64, cache: u64) -> (Vec<Duration>, Vec<Duration>, u64) {
    let (mut times, mut used, mut commits) = (Vec::new(), Vec::new(), 0);
    for _ in 0..runs {
        let left = devices.copy();
        let (begun, before) = (Instant::now(), cpu());
        let vol = left.open(cache);
        vol.lookup(&Cred::root(), ROOT, b"directory-000000").expect("lookup");
        times.push(begun.elapsed());
        used.push(cpu() - before);
        commits = vol.stats().recovered_commits;
    }
    (times, used, commits)
}

fn list(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let times: Vec<String> =
        times.iter().map(|time| format!("{:.0}", time.as_secs_f64() * 1000.0)).collect();
    times.join(" ")
}

fn main() {
    if std::env::args().any(|a| a == "--list") {
        return;
    }
    let number = |name, default| option(name, default).parse::<u64>().unwrap_or(1);
    let (runs, cache) = (number("runs", "5"), number("cache", "256") << 20);
    println!("   files  set   load   log MiB  took s  commits  open ms; of the processors");
    for files in option("files", "10000,5000000").split(',').filter_map(|n| n.parse().ok()) {
        let (made, dirs) = volume(files, cache);
        for load in option("load", "mixed,modes").split(',') {
            for set in option("set", "same,all").split(',') {
                let few = (FEW / PER_DIR) as usize;
                let few = if set == "same" { dirs.len().min(few) } else { dirs.len() };
                let devices = made.copy();
                let (log, took) = write_log(&devices, &dirs[..few], load == "mixed", cache);
                let (times, used, commits) = mount(&devices, runs, cache);
                println!(
                    "{files:>8}  {set:<4}  {load:<5}  {:>7.1}  {:>6.1}  {commits:>7}  {}; {}",
                    log as f64 / f64::from(1 << 20),
                    took.as_secs_f64(),
                    list(times),
                    list(used)
                );
            }
        }
    }
}
