//! What a crash leaves is sound: every state of M between two of its writes, and with the last one
//! torn.

use std::io;
use std::sync::Arc;

use tandem_device::{Device, DeviceStats, MemoryDevice};
use tandem_fs::check::{CheckOptions, ProblemKind, check};
use tandem_fs::{MkfsOptions, MountOptions, Volume};

use crate::churn::churn;
use crate::rig::{Numbers, Steady};

/// A device that keeps every write.
struct Recorder {
    inner: MemoryDevice,
    writes: std::sync::Mutex<Vec<(u64, Vec<u8>)>>,
}

impl Device for Recorder {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn read_at(&self, buf: &mut [u8], off: u64) -> io::Result<()> {
        self.inner.read_at(buf, off)
    }

    fn write_at(&self, buf: &[u8], off: u64) -> io::Result<()> {
        self.writes.lock().unwrap().push((off, buf.to_vec()));
        self.inner.write_at(buf, off)
    }

    fn write_vectored_at(&self, bufs: &[io::IoSlice<'_>], off: u64) -> io::Result<()> {
        let bytes: Vec<u8> = bufs.iter().flat_map(|buf| buf.iter().copied()).collect();
        self.write_at(&bytes, off)
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn read_only(&self) -> bool {
        false
    }

    fn stats(&self) -> DeviceStats {
        self.inner.stats()
    }
}

/// Makes a volume and works on it; returns how many writes made it.
fn work(
    meta: &Arc<Recorder>,
    data: &Arc<dyn Device>,
    hash_bits: u8,
    numbers: &mut Numbers,
) -> usize {
    let env: Arc<Steady> = Arc::default();
    let device: Arc<dyn Device> = Arc::clone(meta) as _;
    let options = MkfsOptions {
        metadata_size: Some(4 << 20),
        hash_bits: Some(hash_bits),
        ..MkfsOptions::default()
    };
    Volume::mkfs(Arc::clone(&device), Some(Arc::clone(data)), &options, env.clone()).unwrap();
    let made = meta.writes.lock().unwrap().len();
    for round in 0..4 {
        let checkpoint = std::time::Duration::from_millis(5);
        let opts = MountOptions { background: false, checkpoint, ..MountOptions::default() };
        let (meta, data) = (Arc::clone(&device), Some(Arc::clone(data)));
        let vol = Volume::open(meta, data, opts, env.clone()).unwrap();
        churn(&vol, numbers, 300);
        if round % 2 == 0 {
            vol.sync().unwrap();
        } else {
            vol.shutdown().unwrap();
        }
    }
    made
}

#[test]
fn every_state_between_two_writes_is_sound() {
    let seeds = std::env::var("SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
    for seed in 0..seeds {
        replay(seed, if seed % 2 == 0 { 48 } else { 3 });
    }
}

fn replay(seed: u64, hash_bits: u8) {
    let inner = MemoryDevice::new("meta", 4 << 20);
    let meta = Arc::new(Recorder { inner, writes: Default::default() });
    let data: Arc<dyn Device> = Arc::new(MemoryDevice::new("data", 64 << 20));
    let made = work(&meta, &data, hash_bits, &mut Numbers(seed));
    let writes = std::mem::take(&mut *meta.writes.lock().unwrap());
    assert!(writes.len() > made + 80, "{}", writes.len());
    let device: Arc<dyn Device> = Arc::new(MemoryDevice::new("meta", 4 << 20));
    let options = CheckOptions { threads: 1, memory: 16 << 20 };
    let problems = || {
        let (meta, data) = (Arc::clone(&device), Some(Arc::clone(&data)));
        let report = check(meta, data, &options, Arc::new(Steady::default()), &|_| {}).unwrap();
        assert!(report.unverified.is_empty());
        report.problems
    };
    for (n, (at, bytes)) in writes.iter().enumerate() {
        if n >= made {
            device.write_at(&bytes[..bytes.len() / 1024 * 512], *at).unwrap();
            let mut torn = problems();
            if *at < 65536 {
                // The other checkpoint serves.
                torn.retain(|p| p.kind != ProblemKind::Checkpoint);
            }
            assert!(torn.is_empty(), "seed {seed}, write {n} torn: {torn:#?}");
        }
        device.write_at(bytes, *at).unwrap();
        if n >= made {
            let found = problems();
            assert!(
                found.is_empty(),
                "seed {seed}, write {n} of {} bytes at {at}: {found:#?}",
                bytes.len()
            );
        }
    }
}
