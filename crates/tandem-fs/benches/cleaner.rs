//! The cleaner under random updates of metadata, at a given share of live bytes.
//!
//! On devices in memory, directories of 200 empty files each are made until the live bytes of M are
//! the given share of **all bytes of all segments**, whatever of them goes to summaries, padding and
//! reserves. Then files' access times are set at random, each of which rewrites a leaf of its
//! directory, until a multiple of M's size has been logged:
//!
//! - `uniform`: all files alike;
//! - `hot/cold`: 90 % of the updates go to the files of every tenth directory.
//!
//! `cargo bench -p tandem-fs --bench cleaner -- [SHARES [TIMES [MIB [SEED]]]]`, for example
//! `-- 60,70,80 20 512 1`. The table has, for each run: the share; write amplification (bytes logged
//! by bytes logged that the cleaner did not move; checkpoints count as not moved); bytes that live
//! blocks took up in a victim, on the mean, in per cent of a segment; blocks moved; checkpoints; the
//! rate of updates; the longest update as its caller saw it; and how many took longer than 1, 10 and
//! 100 ms. Figures of amplification repeat to about one per cent with the same seed: when the
//! background thread commits depends on the machine.

use std::sync::Arc;
use std::time::Instant;

use tandem_device::{Device, MemoryDevice};
use tandem_fs::{
    Cred, Error, MkfsOptions, MountOptions, ROOT, SetAttr, SetTime, SystemEnv, Time, Volume,
};

/// The allocator of the `tandem` binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PER_DIR: u64 = 200;

/// One directory in so many is hot.
const HOT: u64 = 10;

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

struct Plan {
    share: u64,
    times: u64,
    size: u64,
    seed: u64,
    hot: bool,
}

fn volume(size: u64) -> Arc<Volume> {
    let meta: Arc<dyn Device> = Arc::new(MemoryDevice::new("meta", size));
    let data: Arc<dyn Device> = Arc::new(MemoryDevice::new("data", 1 << 30));
    let env = Arc::new(SystemEnv);
    let options = MkfsOptions::default();
    Volume::mkfs(Arc::clone(&meta), Some(Arc::clone(&data)), &options, env.clone()).expect("mkfs");
    Volume::open(meta, Some(data), MountOptions::default(), env).expect("open")
}

fn live(vol: &Volume) -> u64 {
    let log = vol.stats().log;
    log.live_bytes * 1000 / (log.segments * log.segment_size)
}

/// Directories of files, by i-node number, until the share is reached or nothing fits any more.
fn fill(vol: &Volume, share: u64) -> Vec<Vec<u64>> {
    let root = Cred::root();
    let mut dirs = Vec::new();
    loop {
        if dirs.len() % 8 == 0 {
            vol.sync().expect("sync");
        }
        if live(vol) >= share * 10 {
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
            // Another time than the other three makes the record as long as it gets.
            vol.setattr(&root, ino, &accessed(n)).ok()?;
            vol.forget(ino, 1);
            Some(ino)
        });
        dirs.push(files.collect());
    }
    vol.sync().expect("sync");
    dirs.retain(|dir: &Vec<u64>| !dir.is_empty());
    dirs
}

fn accessed(n: u64) -> SetAttr {
    let atime = Some(SetTime::At(Time { secs: (1 << 30) + n as i64, nanos: 123_456_789 }));
    SetAttr { atime, ..SetAttr::default() }
}

fn run(plan: &Plan) {
    let vol = volume(plan.size);
    let root = Cred::root();
    let dirs = fill(&vol, plan.share);
    let mut rng = Rng(plan.seed);
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
        let at = Instant::now();
        if let Err(e) = vol.setattr(&root, ino, &accessed(updates)) {
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
    println!(
        "{:<9} {:>5.1} {:>6.2} {:>7.1} {:>9} {:>6} {:>9.0} {:>10.1} {:>7} {:>6} {:>6}",
        if plan.hot { "hot/cold" } else { "uniform" },
        live(&vol) as f64 / 10.0,
        logged as f64 / (logged - moved) as f64,
        bytes as f64 * 100.0 / (victims.max(1) * after.log.segment_size) as f64,
        after.cleaner.blocks_moved - before.cleaner.blocks_moved,
        after.checkpoints - before.checkpoints,
        updates as f64 / secs,
        longest as f64 / 1000.0,
        slow[0],
        slow[1],
        slow[2],
    );
    println!("          {:?}", after.cleaner);
    println!("          {:?}", after.stalls);
    vol.shutdown().expect("shutdown");
}

fn main() {
    if std::env::args().any(|a| a == "--list") {
        return;
    }
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let number =
        |n: usize, default: u64| args.get(n).and_then(|a| a.parse().ok()).unwrap_or(default);
    let shares = args.first().map_or("60,70,80", String::as_str);
    println!(
        "{:<9} {:>5} {:>6} {:>7} {:>9} {:>6} {:>9} {:>10} {:>7} {:>6} {:>6}",
        "updates",
        "live",
        "write",
        "victims",
        "blocks",
        "check-",
        "updates",
        "longest",
        "over",
        "over",
        "over"
    );
    println!(
        "{:<9} {:>5} {:>6} {:>7} {:>9} {:>6} {:>9} {:>10} {:>7} {:>6} {:>6}",
        "", "%", "ampl.", "live %", "moved", "points", "a second", "ms", "1 ms", "10 ms", "100 ms"
    );
    for share in shares.split(',').filter_map(|s| s.parse().ok()) {
        for hot in [false, true] {
            let (times, size, seed) = (number(1, 20), number(2, 512) << 20, number(3, 1));
            run(&Plan { share, times, size, seed, hot });
        }
    }
}
