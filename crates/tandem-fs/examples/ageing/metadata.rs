//! Cold walks that look at every entry, as find(1) does: what they ask of M, and how much of it is
//! live; before and after the volume is left alone, and while it is changed a little at a time.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tandem_device::{Device, DeviceStats};
use tandem_fs::{Cred, FileKind, MountOptions, ROOT, SetAttr, Volume};

use crate::history::Random;
use crate::rig::Rig;

const PAGE: u64 = 4096;

/// An interval of the background thread.
const FLUSH: Duration = Duration::from_millis(10);

/// Counts pages as a kernel does that reads each of them once, and keeps it.
struct Paged {
    inner: Arc<dyn Device>,
    seen: Mutex<HashSet<u64>>,
}

impl Paged {
    fn pages(&self) -> u64 {
        self.seen.lock().expect("lock").len() as u64
    }
}

impl Device for Paged {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn size(&self) -> u64 {
        self.inner.size()
    }
    fn read_at(&self, buf: &mut [u8], off: u64) -> io::Result<()> {
        let end = (off + buf.len() as u64).div_ceil(PAGE);
        self.seen.lock().expect("lock").extend(off / PAGE..end);
        self.inner.read_at(buf, off)
    }
    fn write_at(&self, buf: &[u8], off: u64) -> io::Result<()> {
        self.inner.write_at(buf, off)
    }
    fn flush(&self) -> io::Result<()> {
        self.inner.flush()
    }
    fn discard(&self, off: u64, len: u64) -> io::Result<()> {
        self.inner.discard(off, len)
    }
    fn read_only(&self) -> bool {
        self.inner.read_only()
    }
    fn stats(&self) -> DeviceStats {
        self.inner.stats()
    }
}

/// Looks at every entry below a directory; returns how many there are.
fn look(vol: &Volume, dir: u64) -> u64 {
    let (mut held, mut below, mut cookie) = (Vec::new(), Vec::new(), 0);
    loop {
        let before = cookie;
        vol.readdir_plus(&Cred::root(), dir, before, &mut |e, _| {
            cookie = e.cookie;
            if e.name != b"." && e.name != b".." {
                held.push(e.ino);
                below.extend((e.kind == FileKind::Directory).then_some(e.ino));
            }
            true
        })
        .expect("readdir");
        if cookie == before {
            break;
        }
    }
    held.iter().for_each(|&ino| vol.forget(ino, 1));
    held.len() as u64 + below.into_iter().map(|dir| look(vol, dir)).sum::<u64>()
}

/// A volume that is read cold, through what counts.
struct Cold {
    paged: Arc<Paged>,
    vol: Arc<Volume>,
    mounted: u64,
}

impl Cold {
    fn open(rig: &Rig, opts: MountOptions) -> Cold {
        let paged = Arc::new(Paged { inner: Arc::clone(&rig.meta), seen: Mutex::default() });
        let opts = MountOptions { relocate: false, background: false, ..opts };
        let vol = rig.open_through(Arc::clone(&paged) as Arc<dyn Device>, opts);
        let mounted = paged.pages();
        Cold { paged, vol, mounted }
    }

    /// Bytes of pages read since the mount.
    fn read(&self) -> u64 {
        (self.paged.pages() - self.mounted) * PAGE
    }

    /// The same by bytes of live metadata.
    fn ratio(&self) -> f64 {
        self.read() as f64 / self.vol.stats().log.live_bytes as f64
    }
}

/// A line for a walk with each of two widths.
fn walk(rig: &Rig, what: &str) {
    for prefetch in [16, 0] {
        let cold = Cold::open(rig, MountOptions { prefetch, ..MountOptions::default() });
        let before = cold.vol.stats().metadata.counts;
        let entries = look(&cold.vol, ROOT);
        let (done, log) = (cold.vol.stats().metadata.counts - before, cold.vol.stats().log);
        println!(
            "{what:>9} {prefetch:>8} {entries:>8} {:>8} {:>9} {:>8} {:>8} {:>6.2} {:>8}",
            done.reads,
            done.read_bytes >> 10,
            cold.read() >> 10,
            log.live_bytes >> 10,
            cold.ratio(),
            log.segments - log.clean_segments,
        );
        cold.vol.shutdown().expect("shutdown");
    }
}

/// Time passes quickly on this mount: idle time begins once a checkpoint has brought home what is dirty.
fn hasty(rig: &Rig) -> Arc<Volume> {
    rig.open(MountOptions { flush: FLUSH, checkpoint: FLUSH * 20, ..MountOptions::default() })
}

/// Leaves it alone until nothing is done any more.
fn rest(vol: &Volume) {
    let mut logged = None;
    while logged != Some(vol.stats().log.bytes_logged) {
        logged = Some(vol.stats().log.bytes_logged);
        std::thread::sleep(FLUSH * 100);
    }
}

/// Walks before and after the volume was left alone.
pub fn show(rig: &Rig) {
    println!("     find prefetch  entries requests asked,KiB read,KiB live,KiB  ratio segments");
    walk(rig, "before");
    let vol = hasty(rig);
    rest(&vol);
    let stats = vol.stats();
    println!(
        "in idle time: {} rounds, {} segments, {} KiB logged, {} KiB of blocks moved",
        stats.cleaner.idle_rounds,
        stats.cleaner.segments_cleaned,
        stats.log.bytes_logged >> 10,
        stats.cleaner.bytes_moved >> 10,
    );
    vol.shutdown().expect("shutdown");
    walk(rig, "after");
}

/// So often, the attributes of so many files picked at random are changed, 16 to a commit, and the
/// volume is left alone: what idle time logs for it, and what a cold walk reads then. The first quarter
/// does not count.
pub fn wear(rig: &Rig, files: &[u64], times: u64, changes: u64) -> Result<(), tandem_fs::Error> {
    let vol = hasty(rig);
    let mut random = Random::new(78);
    let (mut changed, mut idle, mut ratios) = (0, 0, Vec::new());
    for time in 0..times {
        let before = vol.stats().log.bytes_logged;
        for n in 1..=changes {
            let ino = files[random.below(files.len() as u64) as usize];
            let mode = Some(0o600 | random.below(64) as u32);
            vol.setattr(&Cred::root(), ino, &SetAttr { mode, ..SetAttr::default() })?;
            if n % 16 == 0 || n == changes {
                vol.sync()?;
            }
        }
        let logged = vol.stats().log.bytes_logged;
        rest(&vol);
        if time >= times / 4 {
            changed += logged - before;
            idle += vol.stats().log.bytes_logged - logged;
            let cold = Cold::open(rig, MountOptions { read_only: true, ..MountOptions::default() });
            look(&cold.vol, ROOT);
            ratios.push(cold.ratio());
        }
    }
    println!(
        "{times} times {changes} changes: {} KiB logged, {} KiB more in idle time ({:.2}); find reads {:.2} of what is live, at most {:.2}",
        changed >> 10,
        idle >> 10,
        idle as f64 / changed.max(1) as f64,
        ratios.iter().sum::<f64>() / ratios.len().max(1) as f64,
        ratios.iter().copied().fold(0.0, f64::max),
    );
    vol.shutdown()
}
