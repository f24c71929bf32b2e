//! What the programs that look at placement share: a volume whose contents go nowhere.

use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tandem_device::{Counters, Device, DeviceStats, MemoryDevice};
use tandem_fs::{Env, MkfsOptions, MountOptions, Time, Volume};

/// Bytes that a kernel asks for at once.
pub const READ: usize = 128 << 10;

/// The standard library's clock, which valgrind can follow; every run with the same random numbers.
pub struct Clock;

impl Env for Clock {
    fn now(&self) -> Time {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time { secs: now.as_secs() as i64, nanos: now.subsec_nanos() }
    }
    fn random(&self) -> u64 {
        0x9e37_79b9_7f4a_7c15
    }
    fn monotonic(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
    }
}

/// Keeps its first bytes only, and counts.
pub struct Null {
    head: MemoryDevice,
    size: u64,
    counters: Counters,
}

const HEAD: u64 = 1 << 20;
impl Device for Null {
    fn name(&self) -> &str {
        "null"
    }
    fn size(&self) -> u64 {
        self.size
    }
    fn read_at(&self, buf: &mut [u8], off: u64) -> io::Result<()> {
        self.counters.read(buf.len() as u64);
        if off + buf.len() as u64 <= HEAD {
            return self.head.read_at(buf, off);
        }
        Ok(())
    }
    fn write_at(&self, buf: &[u8], off: u64) -> io::Result<()> {
        self.counters.write(buf.len() as u64);
        if off + buf.len() as u64 <= HEAD {
            return self.head.write_at(buf, off);
        }
        Ok(())
    }
    fn write_vectored_at(&self, bufs: &[io::IoSlice<'_>], _off: u64) -> io::Result<()> {
        self.counters.write(bufs.iter().map(|b| b.len() as u64).sum());
        Ok(())
    }
    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
    fn discard(&self, _off: u64, _len: u64) -> io::Result<()> {
        Ok(())
    }
    fn read_only(&self) -> bool {
        false
    }
    fn stats(&self) -> DeviceStats {
        self.counters.snapshot()
    }
}

/// The devices of a volume.
pub struct Rig {
    /// M.
    pub meta: Arc<dyn Device>,
    data: Arc<dyn Device>,
}

impl Rig {
    /// A new volume with `meta` bytes of M, and `size` bytes of D in data blocks of `block` bytes.
    pub fn new(meta: u64, size: u64, block: u32) -> Rig {
        let meta: Arc<dyn Device> = Arc::new(MemoryDevice::new("meta", meta));
        let head = MemoryDevice::new("head", HEAD);
        let data: Arc<dyn Device> = Arc::new(Null { head, size, counters: Counters::default() });
        let opts = MkfsOptions { data_block_size: Some(block), ..MkfsOptions::default() };
        Volume::mkfs(Arc::clone(&meta), Some(Arc::clone(&data)), &opts, Arc::new(Clock))
            .expect("mkfs");
        Rig { meta, data }
    }

    /// Mounts it.
    pub fn open(&self, opts: MountOptions) -> Arc<Volume> {
        self.open_through(Arc::clone(&self.meta), opts)
    }

    /// The same through a device that stands before M.
    pub fn open_through(&self, meta: Arc<dyn Device>, opts: MountOptions) -> Arc<Volume> {
        Volume::open(meta, Some(Arc::clone(&self.data)), opts, Arc::new(Clock)).expect("open")
    }
}

/// Reads files one after the other, each to its end; returns their bytes.
pub fn read(vol: &Volume, files: &[u64]) -> u64 {
    let mut buf = vec![0; READ];
    let mut sum = 0;
    for &ino in files {
        let mut at = 0;
        loop {
            let n = vol.read(ino, at, &mut buf).expect("read");
            at += n as u64;
            if n < buf.len() {
                break;
            }
        }
        sum += at;
    }
    sum
}
