//! Capturing what the kernel does to a loop device. Root only.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::OFlags;
use tandem_disk::capture::{Capture, Captured, DeviceNumber, Operation, Options};

struct Loop(PathBuf);

impl Loop {
    fn new(image: &Path) -> Loop {
        let out = Command::new("losetup").arg("-f").arg("--show").arg(image).output().unwrap();
        assert!(out.status.success(), "losetup: {}", String::from_utf8_lossy(&out.stderr));
        Loop(PathBuf::from(String::from_utf8(out.stdout).unwrap().trim()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.0).status();
    }
}

fn captured(devices: BTreeSet<DeviceNumber>, work: impl FnOnce()) -> (Vec<Captured>, u64) {
    let options = Options { devices, buffer_kib: 4096, spool: std::env::temp_dir() };
    let capture = Capture::start(&options).unwrap();
    work();
    let (requests, cost) = capture.finish().unwrap();
    (requests.map(Result::unwrap).collect(), cost.lost)
}

/// Aligned memory for direct writes: the kernel asks for 512 B.
fn sectors(n: usize, buffer: &mut Vec<u8>) -> &mut [u8] {
    *buffer = vec![0x5a; n * 512 + 512];
    let shift = buffer.as_ptr().align_offset(512);
    &mut buffer[shift..shift + n * 512]
}

fn direct(path: &Path) -> File {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OFlags::DIRECT.bits() as i32)
        .open(path)
        .unwrap()
}

/// One test, since instances are named after the process.
#[test]
fn the_running_kernel() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("not run: capturing needs root");
        return;
    }
    every_request_once();
    nothing_stays_behind();
}

fn every_request_once() {
    let image = tempfile::NamedTempFile::new().unwrap();
    image.as_file().set_len(1 << 24).unwrap();
    let disk = Loop::new(image.path());
    let number = DeviceNumber::of_disk(&disk.0).unwrap();
    let file = direct(&disk.0);
    let mut memory = Vec::new();
    let buffer = sectors(8, &mut memory);
    let (requests, lost) = captured([number].into(), || {
        for i in 0..500u64 {
            file.write_all_at(&buffer[..512 * (1 + i as usize % 8)], i * 16 * 512).unwrap();
        }
        file.sync_data().unwrap();
        for i in (0..500u64).rev() {
            file.read_exact_at(&mut buffer[..512], i * 16 * 512).unwrap();
        }
    });
    assert_eq!(lost, 0);
    let of = |wanted| requests.iter().filter(move |r| r.operation == wanted);
    let writes: Vec<_> = of(Operation::Write).map(|r| (r.sector, r.sectors)).collect();
    let expected: Vec<_> = (0..500).map(|i| (i * 16, 1 + i as u32 % 8)).collect();
    assert_eq!(writes, expected);
    let reads: Vec<_> = of(Operation::Read).map(|r| (r.sector, r.sectors)).collect();
    assert_eq!(reads, (0..500).rev().map(|i| (i * 16, 1)).collect::<Vec<_>>());
    assert_eq!(of(Operation::Flush).count(), 1);
    for request in &requests {
        assert_eq!(request.device, number);
        assert_eq!(request.error, 0);
        assert!(request.completed.is_some_and(|end| end > request.issued), "{request:?}");
    }
    assert!(requests.is_sorted_by_key(|r| r.issued));
}

fn nothing_stays_behind() {
    let own = format!("tandem-{}-", std::process::id());
    let instances = || {
        let left = std::fs::read_dir("/sys/kernel/tracing/instances").unwrap();
        let names = left.map(|e| e.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(&own)).count()
    };
    let other = DeviceNumber::new(4095, 1).unwrap();
    let (requests, lost) = captured([other].into(), || assert_eq!(instances(), 1));
    assert_eq!((requests, lost), (vec![], 0));
    assert_eq!(instances(), 0);
}
