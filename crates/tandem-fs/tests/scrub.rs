//! Scrub against a device that cannot read one place.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tandem_device::{Device, DeviceStats, MemoryDevice};
use tandem_fs::fs::Fs;
use tandem_fs::{Cred, MkfsOptions, MountOptions, SystemEnv, Volume};

/// A device that cannot read one byte; `u64::MAX`: it can read all.
struct Spot(MemoryDevice, AtomicU64);

impl Device for Spot {
    fn name(&self) -> &str {
        "spot"
    }

    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read_at(&self, buf: &mut [u8], off: u64) -> io::Result<()> {
        let bad = self.1.load(Ordering::SeqCst);
        if (off..off + buf.len() as u64).contains(&bad) {
            return Err(io::Error::from_raw_os_error(libc::EIO));
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

fn contents(n: u8) -> Vec<u8> {
    let mut data = vec![n; 40_000];
    data[8192..12_288].fill(200 + n);
    data
}

fn volume() -> (Arc<Volume>, Arc<Spot>) {
    let meta: Arc<dyn Device> = Arc::new(MemoryDevice::new("meta", 32 << 20));
    let data = Arc::new(Spot(MemoryDevice::new("data", 64 << 20), AtomicU64::new(u64::MAX)));
    let env = Arc::new(SystemEnv);
    Volume::mkfs(meta.clone(), Some(data.clone()), &MkfsOptions::default(), env.clone()).unwrap();
    let volume = Volume::open(meta, Some(data.clone()), MountOptions::default(), env).unwrap();
    let fs = Fs::new(volume.clone(), Cred::root());
    fs.create_dir("/dir").unwrap();
    for n in 0..20 {
        fs.write(format!("/dir/file{n}"), &contents(n)).unwrap();
    }
    volume.sync().unwrap();
    (volume, data)
}

#[test]
fn a_bad_block_is_named_and_no_other() {
    let (volume, data) = volume();
    let all = volume.scrub(&mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((all.bad_total, all.complete, all.files), (0, true, 20));
    assert_eq!(all.data_bytes, 20 * 40_960);
    assert!(all.done <= all.total + all.total / 4 && all.done > all.total / 2, "{all:?}");

    let mut bytes = vec![0; 64 << 20];
    data.0.read_at(&mut bytes, 0).unwrap();
    let at = bytes.chunks(4096).position(|c| c == [207; 4096]).unwrap() as u64 * 4096;
    data.1.store(at + 100, Ordering::SeqCst);
    let report = volume.scrub(&mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(report.bad_total, 1);
    let bad = &report.bad[0];
    assert_eq!((bad.what.as_str(), bad.file_offset, bad.offset), ("/dir/file7", Some(8192), at));
    assert_eq!(report.data_bytes, all.data_bytes);

    // A reader is told the same, and that is all that happens.
    let fs = Fs::new(volume.clone(), Cred::root());
    let e = fs.open("/dir/file7").unwrap().read_at(&mut [0; 4096], 8192).unwrap_err();
    let block = (at - 65_536) / 4096;
    assert!(e.to_string().contains(&format!("spot: data block {block} (byte {at})")), "{e}");
    assert_eq!(fs.open("/dir/file7").unwrap().read_at(&mut [0; 4096], 4096).unwrap(), 4096);
    assert_eq!(volume.stats().state, "read-write");
    fs.write("/dir/more", b"more").unwrap();
    volume.sync().unwrap();
}

#[test]
fn stops_when_told() {
    let (volume, _data) = volume();
    let mut heard = 0;
    let report = volume
        .scrub(&mut |_| {
            heard += 1;
            if heard == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    assert_eq!((heard, report.complete), (3, false));
}
