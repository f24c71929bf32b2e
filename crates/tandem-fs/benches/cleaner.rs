//! The cleaner under random updates of metadata, at a given share of live bytes.
//!
//! On devices in memory, directories of 200 empty files each are made until the live bytes of M are
//! the given share of all bytes of all segments, whatever of them goes to summaries, padding and
//! reserves (`of=raw`), or of what blocks can count on in them (`of=usable`). Then files' access
//! times are set at random, each of which rewrites a leaf of its directory, until a multiple of M's
//! size has been logged. The times are random too, and were so when the files were made: what is
//! live stays what it was.
//!
//! - `uniform`: all files alike;
//! - `hot`: 90 % of the updates go to the files of every tenth directory.
//!
//! `cargo bench -p tandem-fs --bench cleaner -- share=60,70,80 of=raw updates=uniform,hot times=20
//! mib=256 cache=256 seeds=1` are the defaults. The table has, for each run: write amplification
//! (bytes logged by those that the cleaner did not move, checkpoints counting as not moved); the
//! same with what checkpoints, deltas and framing cost counted too (bytes logged by those of changed
//! blocks); what live blocks took up in a victim, in per cent of a segment; of the bytes logged, how
//! many per cent were changed blocks, moved ones, tables at checkpoints, deltas, summaries and
//! padding; checkpoints; the rate of updates; the longest update as its caller saw it; and how many
//! took longer than 1, 10 and 100 ms. Amplification repeats to about one per cent with the same
//! seed: when the background thread commits depends on the machine.

#[path = "common/rng.rs"]
mod rng;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rng::Rng;
use tandem_device::{Device, MemoryDevice};
use tandem_fs::{
    Cred, Env, Error, MkfsOptions, MountOptions, ROOT, SetAttr, SetTime, SystemEnv, Time, Volume,
};

/// The allocator of the `tandem` binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PER_DIR: u64 = 200;

/// One directory in so many is hot.
const HOT: u64 = 10;

/// The system's clocks, but a random millisecond of one day where a time is stored: ctimes change
/// with every update, and are as long in the beginning as later.
struct SomeDay(AtomicU64);

impl Env for SomeDay {
    fn now(&self) -> Time {
        let mut rng = Rng(self.0.fetch_add(1, Ordering::Relaxed) << 20);
        let ms = rng.below(24 * 60 * 60 * 1000);
        Time { secs: (1 << 30) + (ms / 1000) as i64, nanos: (ms % 1000) as u32 * 1_000_000 }
    }

    fn random(&self) -> u64 {
        SystemEnv.random()
    }

    fn monotonic(&self) -> u64 {
        SystemEnv.monotonic()
    }
}

struct Plan {
    share: u64,
    raw: bool,
    times: u64,
    size: u64,
    cache: u64,
    seed: u64,
    hot: bool,
}

fn volume(plan: &Plan) -> Arc<Volume> {
    let meta: Arc<dyn Device> = Arc::new(MemoryDevice::new("meta", plan.size));
    let data: Arc<dyn Device> = Arc::new(MemoryDevice::new("data", 1 << 30));
    let env = Arc::new(SomeDay(AtomicU64::new(0)));
    let options = MkfsOptions::default();
    Volume::mkfs(Arc::clone(&meta), Some(Arc::clone(&data)), &options, env.clone()).expect("mkfs");
    let options = MountOptions { cache: plan.cache, ..MountOptions::default() };
    Volume::open(meta, Some(data), options, env).expect("open")
}

/// Live bytes in per mille.
fn live(vol: &Volume, raw: bool) -> u64 {
    let log = vol.stats().log;
    let bytes = if raw { log.segment_size } else { log.usable_bytes };
    log.live_bytes * 1000 / (log.segments * bytes)
}

/// Directories of files, by i-node number, until the share is reached or nothing fits any more.
fn fill(vol: &Volume, plan: &Plan, rng: &mut Rng) -> Vec<Vec<u64>> {
    let root = Cred::root();
    let mut dirs = Vec::new();
    loop {
        if dirs.len() % 8 == 0 {
            vol.sync().expect("sync");
        }
        if live(vol, plan.raw) >= plan.share * 10 {
            break;
        }
        let name = format!("directory-{:06}", dirs.len());
        let dir = match vol.mkdir(&root, ROOT, name.as_bytes(), 0o755, 0) {
            Ok(dir) => dir.ino,
            Err(Error::Posix(_)) => break,
            Err(e) => panic!("{e}"),
        };
        let files = (0..PER_DIR).map_while(|n| {
            let name = format!("file-{n:06}-with-a-name.c");
            let ino = vol.mknod(&root, dir, name.as_bytes(), 0o100_644, 0, 0).ok()?.ino;
            vol.setattr(&root, ino, &accessed(rng)).ok()?;
            vol.forget(ino, 1);
            Some(ino)
        });
        dirs.push(files.collect());
    }
    vol.sync().expect("sync");
    dirs.retain(|dir: &Vec<u64>| !dir.is_empty());
    dirs
}

/// Some second of half a year.
fn accessed(rng: &mut Rng) -> SetAttr {
    let secs = (1 << 30) + rng.below(1 << 24) as i64;
    let atime = Some(SetTime::At(Time { secs, nanos: 123_456_789 }));
    SetAttr { atime, ..SetAttr::default() }
}

fn run(plan: &Plan) {
    let vol = volume(plan);
    let root = Cred::root();
    let mut rng = Rng(plan.seed);
    let dirs = fill(&vol, plan, &mut rng);
    let before = vol.stats();
    let (begun, mut updates) = (Instant::now(), 0u64);
    let (mut longest, mut slow) = (0, [0u64; 3]);
    let until = before.log.bytes_logged + plan.times * plan.size;
    while updates % 4096 != 0 || vol.stats().log.bytes_logged < until {
        let hot = plan.hot && rng.below(10) < 9;
        let dir = match (plan.hot, hot) {
            (false, _) => rng.below(dirs.len() as u64),
            (_, true) => rng.below((dirs.len() as u64).div_ceil(HOT)) * HOT,
            _ => rng.below(dirs.len() as u64),
        };
        let files = &dirs[dir as usize];
        let ino = files[rng.below(files.len() as u64) as usize];
        let change = accessed(&mut rng);
        let at = Instant::now();
        if let Err(e) = vol.setattr(&root, ino, &change) {
            panic!("{e}: {:?}", vol.stats());
        }
        let us = at.elapsed().as_micros() as u64;
        longest = longest.max(us);
        for (count, bound) in slow.iter_mut().zip([1_000, 10_000, 100_000]) {
            *count += u64::from(us > bound);
        }
        updates += 1;
    }
    let secs = begun.elapsed().as_secs_f64();
    let after = vol.stats();
    let logged = after.log.bytes_logged - before.log.bytes_logged;
    let moved = after.log.bytes_moved - before.log.bytes_moved;
    let victims = after.cleaner.segments_cleaned - before.cleaner.segments_cleaned;
    let bytes = after.cleaner.bytes_moved - before.cleaner.bytes_moved;
    let (is, was) = (after.log.logged, before.log.logged);
    let changed = is.changed - was.changed;
    let part = |is: u64, was: u64| (is - was) as f64 * 100.0 / logged as f64;
    println!(
        "{:<8} {:>5.1} {:>4} {:>6.2} {:>6.2} {:>7.1} {:>4.0} {:>4.0} {:>4.1} {:>4.1} {:>4.1} {:>6} {:>8.0} {:>8.1} {:>6} {:>6} {:>6}",
        if plan.hot { "hot" } else { "uniform" },
        live(&vol, plan.raw) as f64 / 10.0,
        plan.seed,
        logged as f64 / (logged - moved) as f64,
        logged as f64 / changed as f64,
        bytes as f64 * 100.0 / (victims.max(1) * after.log.segment_size) as f64,
        part(is.changed, was.changed),
        part(is.moved, was.moved),
        part(is.tables, was.tables),
        part(is.deltas, was.deltas),
        part(is.framing, was.framing),
        after.checkpoints - before.checkpoints,
        updates as f64 / secs,
        longest as f64 / 1000.0,
        slow[0],
        slow[1],
        slow[2],
    );
    if std::env::var_os("VERBOSE").is_some() {
        println!("          {:?}", after.cleaner);
        println!("          {:?}", after.stalls);
    }
    vol.shutdown().expect("shutdown");
}

/// The value of the argument `name=value`, or what it is without one.
fn option(name: &str, default: &str) -> String {
    let args = std::env::args().skip(1);
    let mut values = args.filter_map(|a| a.strip_prefix(name)?.strip_prefix('=').map(String::from));
    values.next().unwrap_or_else(|| default.into())
}

fn number(name: &str, default: u64) -> u64 {
    option(name, "").parse().unwrap_or(default)
}

fn numbers(name: &str, default: &str) -> Vec<u64> {
    option(name, default).split(',').filter_map(|n| n.parse().ok()).collect()
}

fn main() {
    if std::env::args().any(|a| a == "--list") {
        return;
    }
    println!(
        "updates   live seed  ampl.    all victims  cha- moved tab- del- fram- check- updates  longest   over   over   over"
    );
    println!(
        "             %                     live %  nged    %  les%  tas%  ing% points       /s       ms   1 ms  10 ms 100 ms"
    );
    let raw = option("of", "raw") == "raw";
    for share in numbers("share", "60,70,80") {
        for updates in option("updates", "uniform,hot").split(',') {
            for seed in numbers("seeds", "1") {
                run(&Plan {
                    share,
                    raw,
                    times: number("times", 20),
                    size: number("mib", 256) << 20,
                    cache: number("cache", 256) << 20,
                    seed,
                    hot: updates == "hot",
                });
            }
        }
    }
}
