//! Devices that fail under a mounted volume: who is told what, and what goes on.
//!
//! An image file that is cut short under the daemon cannot be read past its end; one on a tmpfs
//! that is full cannot be written.

mod common;

use common::random::Random;
use common::sys::{self, *};
use common::volume::{Shape, Volume, cli, image, skip};
use std::fs::File;
use std::io::Write;
use std::os::fd::IntoRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const MIB: usize = 1 << 20;

/// Bytes without repetition.
fn bytes(len: usize, seed: usize) -> Vec<u8> {
    let mut random = Random::new(seed as u64);
    (0..len.div_ceil(4)).flat_map(|_| (random.next() as u32).to_le_bytes()).take(len).collect()
}

fn store(path: &Path, data: &[u8]) {
    let fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0o644).unwrap();
    assert_eq!(write(&fd, data), Ok(data.len()));
    fsync(&fd).unwrap();
}

/// What `tandem stats --json` says at this path of names.
fn stat_of(v: &Volume, path: &[&str]) -> serde_json::Value {
    let out = cli(&["stats", &v.mnt().to_string_lossy(), "--json"]).must();
    let all: serde_json::Value = serde_json::from_str(&out.out).unwrap();
    path.iter().fold(&all["volume"], |v, name| &v[name]).clone()
}

/// A tmpfs of its own, gone with this value.
struct Small(PathBuf);

impl Small {
    fn new(dir: PathBuf, size: &str) -> Small {
        std::fs::create_dir(&dir).unwrap();
        sys::mount("tmpfs", &dir, "tmpfs", 0, &format!("size={size}")).unwrap();
        Small(dir)
    }

    fn resize(&self, size: &str) {
        sys::mount("tmpfs", &self.0, "tmpfs", MS_REMOUNT, &format!("size={size}")).unwrap();
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = sys::umount(&self.0, MNT_DETACH);
    }
}

/// A volume one of whose image files (`name`) lies on a small tmpfs, by a symbolic link.
fn over_small(name: &str, device: u64, size: &str) -> (Volume, Small) {
    let mut v = Volume::images(Shape { meta: 64 << 20, data: 256 << 20, ..Shape::default() });
    let small = Small::new(v.dir().join("small"), size);
    let target = small.0.join(name);
    image(&target, device);
    std::fs::remove_file(v.dir().join(name)).unwrap();
    symlink(&target, v.dir().join(name)).unwrap();
    v.mkfs().must();
    v.mount();
    (v, small)
}

/// Goes on until the daemon has noticed; time decides nothing but how long to wait.
fn until(what: &str, mut there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !there() {
        assert!(start.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn failed_writes(name: &str, device: u64, size: &str, flood: impl Fn(&Volume)) {
    let (mut v, small) = over_small(name, device, size);
    let kept = bytes(300_000, 1);
    store(&v.at("kept"), &kept);
    assert_eq!(stat_of(&v, &["state"]), "read-write");
    // Both are told, each time that they ask.
    let fd = open(v.at("lost"), O_CREAT | O_RDWR, 0o644).unwrap();
    let other = open(v.at("lost"), O_RDWR, 0).unwrap();
    assert_eq!(pwrite(&fd, &bytes(MIB, 2), 0), Ok(MIB));
    flood(&v);
    until("the device is full", || stat_of(&v, &["state"]) == "failed");
    for _ in 0..2 {
        assert_eq!(fsync(&fd), Err(Errno(EIO)));
        assert_eq!(fdatasync(&other), Err(Errno(EIO)));
    }
    // Nothing more is accepted; what is there can be read, and what was lost as long as it is open.
    assert_eq!(pwrite(&fd, b"more", 0), Err(Errno(EROFS)));
    assert_eq!(mkdir(v.at("dir"), 0o755), Err(Errno(EROFS)));
    assert_eq!(std::fs::read(v.at("kept")).unwrap(), kept);
    assert_eq!(pread(&other, 100, 0).unwrap(), bytes(100, 2));
    // The cause is told once, with the device, and can be asked for.
    let device = v.dir().join(name).to_string_lossy().into_owned();
    let cause = stat_of(&v, &["failed"]).to_string();
    assert!(cause.contains(&device) && cause.contains("No space left"), "{cause}");
    let counted = if name == "meta.img" { "metadata" } else { "data" };
    let failures = ["write", "flush"].map(|op| stat_of(&v, &[counted, "errors", op]).as_u64());
    assert!(failures.iter().flatten().sum::<u64>() > 0, "{failures:?}");
    let log = v.log();
    assert_eq!(log.matches("read-only from now on").count(), 1, "{log}");
    assert_eq!(log.matches("ERROR").count(), 1, "{log}");
    // Closing tells nothing, as on other file systems.
    for fd in [fd, other] {
        assert!(raw(SYS_close, [fd.into_raw_fd().into(), 0, 0, 0, 0, 0]).is_ok());
    }
    let end = v.try_umount().expect_err("the volume is not clean");
    assert!(end.contains("lost"), "{end}");
    // What was durable is there, when there is room again.
    small.resize("400M");
    v.try_check().unwrap();
    v.mount();
    assert_eq!(std::fs::read(v.at("kept")).unwrap(), kept);
    store(&v.at("again"), &bytes(MIB, 3));
    v.finish();
}

#[test]
fn writes_to_d() {
    if skip() {
        return;
    }
    failed_writes("data.img", 256 << 20, "8M", |v| {
        let fd = open(v.at("large"), O_CREAT | O_WRONLY, 0o644).unwrap();
        let _ = write(&fd, &bytes(12 * MIB, 4));
        let told = fsync(&fd).expect_err("12 MiB do not fit");
        assert!([EIO, ENOSPC].contains(&told.0), "{told}");
    });
}

#[test]
fn writes_to_m() {
    if skip() {
        return;
    }
    failed_writes("meta.img", 64 << 20, "6M", |v| {
        let told = (0..).find_map(|i| {
            let dir = v.at(&format!("d{i}"));
            mkdir(&dir, 0o755).err().or_else(|| {
                for j in 0..3000 {
                    let name = format!("{}{j}", "long name ".repeat(12));
                    if let Err(e) = create(dir.join(name), 0o644) {
                        return Some(e);
                    }
                }
                fsync(&open(&dir, O_RDONLY, 0).unwrap()).err()
            })
        });
        let told = told.unwrap();
        assert!([EIO, ENOSPC, EROFS].contains(&told.0), "{told}");
    });
}

/// Nobody asks for anything to be durable: the background thread is the first to meet the error.
#[test]
fn writes_to_m_behind_everyone() {
    if skip() {
        return;
    }
    failed_writes("meta.img", 64 << 20, "6M", |v| {
        let mut filler = File::create(v.dir().join("small/filler")).unwrap();
        let full = std::iter::repeat_with(|| filler.write_all(&[1; 4096])).find_map(Result::err);
        assert_eq!(full.and_then(|e| e.raw_os_error()), Some(ENOSPC));
    });
}

#[test]
fn reads_of_d() {
    if skip() {
        return;
    }
    let mut v = Volume::mounted(Shape { meta: 64 << 20, data: 256 << 20, ..Shape::default() });
    mkdir(v.at("some dir"), 0o755).unwrap();
    let (first, second) = (bytes(4 * MIB, 1), bytes(8 * MIB, 2));
    store(&v.at("first"), &first);
    store(&v.at("some dir/second"), &second);
    // With nothing in memory.
    v.remount();
    let marker = second[4 * MIB..4 * MIB + 4096].to_vec();
    let at = find(&v.data(), &marker).expect("the contents lie on D as they are");
    let size = std::fs::metadata(v.data()).unwrap().len();
    File::options().write(true).open(v.data()).unwrap().set_len(at).unwrap();

    let fd = open(v.at("some dir/second"), O_RDWR, 0).unwrap();
    assert_eq!(pread(&fd, 4096, 4 * MIB as i64), Err(Errno(EIO)));
    assert_eq!(pread(&fd, 4096, 4 * MIB as i64 - 4096).unwrap(), second[4 * MIB - 4096..4 * MIB]);
    assert_eq!(std::fs::read(v.at("first")).unwrap(), first);
    // File, device and block.
    let block = (at - 65536) / 4096;
    let (device, log) = (v.data().to_string_lossy().into_owned(), v.log());
    let line = log.lines().find(|l| l.contains("/some dir/second")).expect(&log);
    assert!(line.contains(&device) && line.contains(&format!("block {block} ")), "{line}");
    assert_eq!(stat_of(&v, &["state"]), "read-write");
    assert!(stat_of(&v, &["data", "errors", "read"]).as_u64().unwrap() > 0);
    // And nothing else: the volume goes on.
    drop(fd);
    store(&v.at("third"), b"written and durable");
    File::options().write(true).open(v.data()).unwrap().set_len(size).unwrap();
    v.finish();
}

/// Where these bytes are in a file, at a multiple of 4096.
fn find(path: &Path, what: &[u8]) -> Option<u64> {
    let all = std::fs::read(path).unwrap();
    all.chunks(4096).position(|c| c == what).map(|i| i as u64 * 4096)
}

#[test]
fn both_superblocks() {
    let v = Volume::make(Shape::default());
    v.cli("info", &[]).must();
    Volume::poke(&v.meta(), 100, |b| b[0] ^= 1, 1);
    let dump = || cli(&["dump", &v.meta().to_string_lossy(), "superblock"]);
    dump().must().says(&["damaged"]);
    let size = std::fs::metadata(v.meta()).unwrap().len();
    Volume::poke(&v.meta(), size - 4096 + 100, |b| b[0] ^= 1, 1);
    dump().must_fail().says(&["both superblocks are damaged"]);
}
