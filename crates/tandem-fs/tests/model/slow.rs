//! A device that is slow enough for other threads of the scheduler to go on.

use std::io::{self, IoSlice};
use std::sync::Arc;

use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;
use tandem_device::{Device, DeviceStats};

use super::device::Pair;

struct Slow(Arc<dyn Device>);

impl Pair {
    /// The same devices, slower.
    pub fn slower(&self) -> Pair {
        let slow = |device| Arc::new(Slow(device)) as Arc<dyn Device>;
        Pair { devices: self.devices.clone().map(slow), ..self.clone() }
    }
}

impl Slow {
    /// Now and then a request takes as long as a whole commit of another thread.
    fn pause(&self) -> &dyn Device {
        let mut rng = thread_rng();
        let turns = if rng.gen_ratio(1, 6) { rng.gen_range(1..600) } else { 1 };
        (0..turns).for_each(|_| thread::yield_now());
        &*self.0
    }
}

impl Device for Slow {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read_at(&self, buf: &mut [u8], off: u64) -> io::Result<()> {
        self.pause().read_at(buf, off)
    }

    fn write_at(&self, buf: &[u8], off: u64) -> io::Result<()> {
        self.pause().write_at(buf, off)
    }

    fn write_vectored_at(&self, bufs: &[IoSlice<'_>], off: u64) -> io::Result<()> {
        self.pause().write_vectored_at(bufs, off)
    }

    fn flush(&self) -> io::Result<()> {
        self.pause().flush()
    }

    fn discard(&self, off: u64, len: u64) -> io::Result<()> {
        self.pause().discard(off, len)
    }

    fn read_only(&self) -> bool {
        self.0.read_only()
    }

    fn stats(&self) -> DeviceStats {
        self.0.stats()
    }
}
