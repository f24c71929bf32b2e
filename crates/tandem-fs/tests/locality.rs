//! What metadata prefetching and relocation are worth, counted in requests to M. The clock stands
//! still, so nothing depends on how fast a device is.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tandem_device::{Device, DeviceStats, MemoryDevice};
use tandem_fs::{Atime, Cred, Env, Ino, MkfsOptions, MountOptions, ROOT, Stats, Time, Volume};

/// A clock that stands still, and always the same numbers.
struct Still;

impl Env for Still {
    fn now(&self) -> Time {
        Time { secs: 1_700_000_000, nanos: 0 }
    }

    fn random(&self) -> u64 {
        0x5eed_0123_4567_89ab
    }

    fn monotonic(&self) -> u64 {
        1
    }
}

struct Rig {
    meta: Arc<dyn Device>,
    data: Arc<dyn Device>,
    dirs: Vec<Ino>,
    /// Directories in a directory of each level.
    shape: [usize; 3],
}

/// Files in each directory.
const FILES: usize = 12;

impl Rig {
    /// A tree, written depth first.
    fn new() -> Rig {
        Rig::on(Arc::new(MemoryDevice::new("meta", 64 << 20)), [12, 10, 8])
    }

    fn on(meta: Arc<dyn Device>, shape: [usize; 3]) -> Rig {
        let data: Arc<dyn Device> = Arc::new(MemoryDevice::new("data", 256 << 20));
        let options = MkfsOptions::default();
        Volume::mkfs(Arc::clone(&meta), Some(Arc::clone(&data)), &options, Arc::new(Still))
            .unwrap();
        let mut rig = Rig { meta, data, dirs: Vec::new(), shape };
        let vol = rig.open(MountOptions::default());
        rig.grow(&vol, ROOT, 0);
        vol.shutdown().unwrap();
        rig
    }

    fn grow(&mut self, vol: &Volume, dir: Ino, level: usize) {
        let root = Cred::root();
        self.dirs.push(dir);
        for n in 0..FILES {
            let name = format!("a file with an ordinary name {n}");
            vol.mknod(&root, dir, name.as_bytes(), 0o644, 0, 0).unwrap();
        }
        for n in 0..self.shape.get(level).copied().unwrap_or(0) {
            let name = format!("directory {n}");
            let sub = vol.mkdir(&root, dir, name.as_bytes(), 0o755, 0).unwrap().ino;
            self.grow(vol, sub, level + 1);
        }
    }

    fn open(&self, opts: MountOptions) -> Arc<Volume> {
        let opts = MountOptions { background: false, atime: Atime::Never, ..opts };
        let (meta, data) = (Arc::clone(&self.meta), Arc::clone(&self.data));
        Volume::open(meta, Some(data), opts, Arc::new(Still)).unwrap()
    }

    /// Lists directories with attributes on a fresh mount, with a commit now and then.
    fn walk(&self, opts: &MountOptions, dirs: &[Ino]) -> Walk {
        let vol = self.open(opts.clone());
        let before = vol.stats().metadata.counts;
        let mut entries = 0;
        for (n, &dir) in dirs.iter().enumerate() {
            let mut cookie = 0;
            loop {
                let mut given = 0;
                vol.readdir_plus(&Cred::root(), dir, cookie, &mut |entry, _| {
                    (cookie, given) = (entry.cookie, given + 1);
                    true
                })
                .unwrap();
                if given == 0 {
                    break;
                }
                entries += given;
            }
            if n % 100 == 99 {
                vol.sync().unwrap();
            }
        }
        let read = vol.stats().metadata.counts - before;
        vol.shutdown().unwrap();
        let stats = vol.stats();
        Walk { entries, requests: read.reads, bytes: read.read_bytes, stats }
    }
}

struct Walk {
    entries: usize,
    requests: u64,
    bytes: u64,
    stats: Stats,
}

fn shuffled(dirs: &[Ino]) -> Vec<Ino> {
    let mut out = dirs.to_vec();
    let mut x = 88_172_645_463_325_252u64;
    for n in (1..out.len()).rev() {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        out.swap(n, (x % (n as u64 + 1)) as usize);
    }
    out
}

#[test]
fn a_walk_in_the_order_of_writing_takes_few_requests_and_writes_nothing() {
    let rig = Rig::new();
    let walk = |prefetch| {
        rig.walk(&MountOptions { prefetch, ..MountOptions::default() }, &rig.dirs.clone())
    };
    let (alone, ahead) = (walk(0), walk(16));
    assert!(ahead.requests * 8 <= alone.requests, "{} and {}", ahead.requests, alone.requests);
    let live = ahead.stats.log.live_bytes;
    assert!(ahead.bytes * 10 <= live * 13, "{} bytes of {live}", ahead.bytes);
    assert_eq!(ahead.stats.prefetch.wasted, 0);
    for walk in [alone, ahead] {
        assert_eq!((walk.stats.relocation.relocated, walk.stats.commits), (0, 0));
    }
}

#[test]
fn what_is_read_in_another_order_moves_and_is_found_together() {
    let second_of_two = |relocate| {
        let rig = Rig::new();
        let mut dirs = shuffled(&rig.dirs);
        dirs.truncate(dirs.len() / 4);
        let opts = MountOptions { relocate, cache: 2 << 20, ..MountOptions::default() };
        rig.walk(&opts, &dirs);
        rig.walk(&opts, &dirs)
    };
    let (off, on) = (second_of_two(false), second_of_two(true));
    assert_eq!(off.stats.relocation.relocated, 0);
    assert!(on.requests * 5 <= off.requests, "{} and {}", on.requests, off.requests);
}

#[test]
fn relocation_is_off_where_nothing_may_be_written() {
    let rig = Rig::new();
    let dirs = shuffled(&rig.dirs);
    let opts = MountOptions { read_only: true, cache: 1 << 20, ..MountOptions::default() };
    let walk = rig.walk(&opts, &dirs);
    assert_eq!((walk.stats.relocation.relocated, walk.stats.log.bytes_logged), (0, 0));
}

/// Refuses reads of metadata that take in more than one page.
struct Brittle(MemoryDevice, AtomicBool);

impl Device for Brittle {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read_at(&self, buf: &mut [u8], off: u64) -> io::Result<()> {
        if self.1.load(Ordering::SeqCst) && buf.len() > 4096 {
            return Err(io::Error::other("a bad sector"));
        }
        self.0.read_at(buf, off)
    }

    fn write_at(&self, buf: &[u8], off: u64) -> io::Result<()> {
        self.0.write_at(buf, off)
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }

    fn discard(&self, off: u64, len: u64) -> io::Result<()> {
        self.0.discard(off, len)
    }

    fn read_only(&self) -> bool {
        false
    }

    fn stats(&self) -> DeviceStats {
        self.0.stats()
    }
}

#[test]
fn neighbours_that_cannot_be_read_are_done_without() {
    let device = Arc::new(Brittle(MemoryDevice::new("meta", 64 << 20), AtomicBool::new(false)));
    let rig = Rig::on(Arc::clone(&device) as Arc<dyn Device>, [12, 10, 8]);
    device.1.store(true, Ordering::SeqCst);
    let walk = rig.walk(&MountOptions::default(), &rig.dirs.clone());
    assert_eq!(walk.entries, rig.dirs.len() * (FILES + 3) - 1);
    assert_eq!(walk.stats.prefetch.prefetched, 0);
}

#[test]
fn old_versions_beside_a_block_are_not_believed() {
    let rig = Rig::new();
    let root = Cred::root();
    let vol = rig.open(MountOptions::default());
    for n in 0..FILES - 1 {
        for &dir in &rig.dirs {
            let name = format!("a file with an ordinary name {n}");
            vol.unlink(&root, dir, name.as_bytes()).unwrap();
        }
        vol.sync().unwrap();
    }
    vol.shutdown().unwrap();
    for prefetch in [0, 1, 16, 4096] {
        let opts = MountOptions { prefetch, ..MountOptions::default() };
        let walk = rig.walk(&opts, &shuffled(&rig.dirs));
        assert_eq!(walk.entries, rig.dirs.len() * 4 - 1, "prefetch={prefetch}");
    }
}

/// `cargo test --release -p tandem-fs --test locality -- --ignored --nocapture` prints what
/// docs/design.md says of relocation.
#[test]
#[ignore = "prints figures"]
fn figures() {
    let walks = [("whole tree", 1, 12), ("a quarter", 4, 8), ("an eighth", 8, 8)];
    for (name, part, cache) in walks {
        for relocate in [false, true] {
            let meta = Arc::new(MemoryDevice::new("meta", 256 << 20));
            let rig = Rig::on(meta, [19, 17, 15]);
            let mut dirs = shuffled(&rig.dirs);
            dirs.truncate(dirs.len() / part);
            let opts = MountOptions { relocate, cache: cache << 20, ..MountOptions::default() };
            for n in 1..4 {
                let Walk { requests, bytes, stats, .. } = rig.walk(&opts, &dirs);
                let (live, logged) = (stats.log.live_bytes, stats.log.bytes_logged);
                println!(
                    "{name}, {} directories, cache={cache}M, relocate={relocate}, walk {n}: \
                     {requests} requests, {bytes} bytes read of {live}, {logged} logged, {:?}",
                    dirs.len(),
                    stats.relocation
                );
            }
        }
    }
}
