//! Mounting after a crash, by the number of files on the volume.
//!
//! On devices in memory, so many empty files are made, 200 to a directory, and the volume is
//! unmounted. Then it is mounted with `checkpoint=60s` and files' modes are changed at full speed,
//! with a sync after every 1000, until the log since the last checkpoint is nearly as long as it can
//! become within a minute (`MountOptions::checkpoint` says what bounds it): `set=same` changes the
//! same 10,000 files however many there are, `set=all` files at random. There the power fails, and
//! a copy of what is then on M is mounted, five times over. The time is that from the call of
//! `Volume::open` until a file's name has been looked up.
//!
//! `cargo bench -p tandem-fs --bench recovery -- files=10000,5000000 set=same,all runs=5 cache=256`
//! are the defaults.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tandem_device::{Device, MemoryDevice};
use tandem_fs::{Cred, MkfsOptions, MountOptions, ROOT, SetAttr, SystemEnv, Volume};

/// The allocator of the `tandem` binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PER_DIR: u64 = 200;

/// Files of the smaller set.
const FEW: u64 = 10_000;

/// The log since the last checkpoint is to be as long as this, in bytes.
const LOG: u64 = 124 << 20;

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ x >> 31) % n
    }
}

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

/// A volume with so many files, not mounted; their i-node numbers.
fn volume(files: u64, cache: u64) -> (Devices, Vec<u64>) {
    let devices = Devices::new();
    let (meta, data) = (Arc::clone(&devices.meta), Arc::clone(&devices.data));
    let options = MkfsOptions::default();
    Volume::mkfs(meta, Some(data), &options, Arc::new(SystemEnv)).expect("mkfs");
    let vol = devices.open(cache);
    let root = Cred::root();
    let mut inos = Vec::new();
    for d in 0..files.div_ceil(PER_DIR) {
        let name = format!("directory-{d:06}");
        let dir = vol.mkdir(&root, ROOT, name.as_bytes(), 0o755, 0).expect("mkdir").ino;
        for n in 0..PER_DIR.min(files - d * PER_DIR) {
            let name = format!("file-{n:06}-with-a-name.c");
            let ino = vol.mknod(&root, dir, name.as_bytes(), 0o644, 0, 0).expect("mknod").ino;
            vol.forget(ino, 1);
            inos.push(ino);
        }
        vol.forget(dir, 1);
    }
    vol.shutdown().expect("shutdown");
    (devices, inos)
}

/// Changes files until the log is long. Returns its bytes since the last checkpoint, and how long
/// they took.
fn write_log(devices: &Devices, inos: &[u64], cache: u64) -> (u64, Duration) {
    let (vol, root) = (devices.open(cache), Cred::root());
    let mut rng = Rng(1);
    let count = |vol: &Volume| {
        let stats = vol.stats();
        (stats.checkpoints, stats.log.bytes_logged)
    };
    let (mut begun, mut from) = (Instant::now(), count(&vol));
    for n in 0u32.. {
        let ino = inos[rng.below(inos.len() as u64) as usize];
        let set = SetAttr { mode: Some(0o600 | n & 0o77), ..SetAttr::default() };
        vol.setattr(&root, ino, &set).expect("setattr");
        if n % 1000 < 999 {
            continue;
        }
        vol.sync().expect("sync");
        let now = count(&vol);
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

fn main() {
    if std::env::args().any(|a| a == "--list") {
        return;
    }
    let number = |name, default| option(name, default).parse::<u64>().unwrap_or(1);
    let (runs, cache) = (number("runs", "5"), number("cache", "256") << 20);
    println!("   files  set   log MiB  took s  commits  open ms");
    for files in option("files", "10000,5000000").split(',').filter_map(|n| n.parse().ok()) {
        let (made, inos) = volume(files, cache);
        for set in option("set", "same,all").split(',') {
            let few = if set == "same" { inos.len().min(FEW as usize) } else { inos.len() };
            let devices = made.copy();
            let (log, took) = write_log(&devices, &inos[..few], cache);
            let mut times = Vec::new();
            let mut commits = 0;
            for _ in 0..runs {
                let left = devices.copy();
                let begun = Instant::now();
                let vol = left.open(cache);
                vol.lookup(&Cred::root(), ROOT, b"directory-000000").expect("lookup");
                times.push(begun.elapsed().as_secs_f64() * 1000.0);
                commits = vol.stats().recovered_commits;
            }
            let times: Vec<String> = times.iter().map(|ms| format!("{ms:.0}")).collect();
            println!(
                "{files:>8}  {set:<4}  {:>7.1}  {:>6.1}  {commits:>7}  {}",
                log as f64 / f64::from(1 << 20),
                took.as_secs_f64(),
                times.join(" ")
            );
        }
    }
}
