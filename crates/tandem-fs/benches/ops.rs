//! The cost of operations in process: one thread, devices in memory, all commits included.
//!
//! Prints microseconds per operation, the median of five rounds on fresh volumes. The directory
//! bench shows that the cost per entry does not grow with the directory.

use std::sync::Arc;
use std::time::Instant;

use tandem_device::{Device, MemoryDevice};
use tandem_fs::{Cred, MkfsOptions, MountOptions, ROOT, SystemEnv, Volume, WriteFlags};

/// The allocator of the `tandem` binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 5;
const FILES: u32 = 200_000;
const PER_DIR: u32 = 1000;

/// Bytes of the data device that are touched beforehand: a RAM disk has its pages already.
const TOUCHED: u64 = 1 << 30;

fn volume() -> Arc<Volume> {
    let meta: Arc<dyn Device> = Arc::new(MemoryDevice::new("meta", 4 << 30));
    let data: Arc<dyn Device> = Arc::new(MemoryDevice::new("data", 16 << 30));
    let env = Arc::new(SystemEnv);
    for off in (0..TOUCHED).step_by(1 << 20) {
        data.write_at(&[1; 1 << 20], off).expect("write");
        if off < TOUCHED / 4 {
            meta.write_at(&[1; 1 << 20], off).expect("write");
        }
    }
    Volume::mkfs(Arc::clone(&meta), Some(Arc::clone(&data)), &MkfsOptions::default(), env.clone())
        .expect("mkfs");
    let opts = MountOptions { background: false, ..MountOptions::default() };
    Volume::open(meta, Some(data), opts, env).expect("open")
}

fn timed(n: u32, f: impl FnOnce()) -> f64 {
    let start = Instant::now();
    f();
    start.elapsed().as_secs_f64() * 1e6 / f64::from(n)
}

/// Directories with names of files in them.
struct Tree {
    dirs: Vec<u64>,
    names: Vec<String>,
}

impl Tree {
    fn new(vol: &Volume) -> Tree {
        let root = Cred::root();
        let dirs = (0..FILES / PER_DIR)
            .map(|d| {
                vol.mkdir(&root, ROOT, format!("dir{d}").as_bytes(), 0o755, 0).expect("mkdir").ino
            })
            .collect();
        Tree { dirs, names: (0..PER_DIR).map(|n| format!("file-{n:06}.c")).collect() }
    }

    fn each(&self, mut f: impl FnMut(u64, &[u8])) {
        for &dir in &self.dirs {
            for name in &self.names {
                f(dir, name.as_bytes());
            }
        }
    }
}

fn round(payload: usize) -> [f64; 4] {
    let vol = volume();
    let root = Cred::root();
    let tree = Tree::new(&vol);
    let data = vec![7u8; payload];
    let create = timed(FILES, || {
        tree.each(|dir, name| {
            let ino = vol.mknod(&root, dir, name, 0o644, 0, 0).expect("mknod").ino;
            if payload > 0 {
                vol.write(&root, ino, 0, &data, WriteFlags::default()).expect("write");
            }
            vol.forget(ino, 1);
        });
        vol.sync().expect("sync");
    });
    let lookup = timed(FILES, || {
        tree.each(|dir, name| {
            let ino = vol.lookup(&root, dir, name).expect("lookup").ino;
            vol.forget(ino, 1);
        });
    });
    let stat = {
        let inos: Vec<u64> = (0..FILES as u64).map(|n| 3 + tree.dirs.len() as u64 + n).collect();
        timed(FILES, || {
            for &ino in &inos {
                vol.getattr(ino).expect("getattr");
            }
        })
    };
    let unlink = timed(FILES, || {
        tree.each(|dir, name| vol.unlink(&root, dir, name).expect("unlink"));
        vol.sync().expect("sync");
    });
    [create, lookup, stat, unlink]
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn table(title: &str, labels: [&str; 4], rounds: Vec<[f64; 4]>) {
    println!("{title}");
    for (i, label) in labels.iter().enumerate() {
        let all: Vec<f64> = rounds.iter().map(|r| r[i]).collect();
        let (low, high) =
            (all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(0.0, f64::max));
        println!("  {label:<28} {:>7.3} us   ({low:.3} to {high:.3})", median(all));
    }
}

fn directory(entries: u32) -> [f64; 4] {
    let vol = volume();
    let root = Cred::root();
    let dir = vol.mkdir(&root, ROOT, b"big", 0o755, 0).expect("mkdir").ino;
    let name = |n: u32| format!("entry{n:09}");
    let create = timed(entries, || {
        for n in 0..entries {
            let ino = vol.mknod(&root, dir, name(n).as_bytes(), 0o644, 0, 0).expect("mknod").ino;
            vol.forget(ino, 1);
        }
        vol.sync().expect("sync");
    });
    let mut at = 12345u64;
    let looks = entries.min(200_000);
    let lookup = timed(looks, || {
        for _ in 0..looks {
            at = at.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let n = ((at >> 33) % u64::from(entries)) as u32;
            let ino = vol.lookup(&root, dir, name(n).as_bytes()).expect("lookup").ino;
            vol.forget(ino, 1);
        }
    });
    let mut seen = Vec::new();
    let list = timed(entries, || {
        let mut cookie = 0;
        loop {
            let mut given = 0;
            vol.readdir_plus(&root, dir, cookie, &mut |e, _| {
                if given == 200 {
                    return false;
                }
                cookie = e.cookie;
                seen.push(e.ino);
                given += 1;
                true
            })
            .expect("readdir");
            if given == 0u32 {
                break;
            }
        }
    });
    assert_eq!(seen.len(), entries as usize + 2);
    for ino in seen {
        vol.forget(ino, 1);
    }
    let unlink = timed(entries, || {
        for n in 0..entries {
            vol.unlink(&root, dir, name(n).as_bytes()).expect("unlink");
        }
        vol.sync().expect("sync");
    });
    [create, lookup, list, unlink]
}

fn main() {
    if std::env::args().any(|a| a == "--list") {
        return;
    }
    if let Some(n) = std::env::args().nth(1).and_then(|a| a.parse().ok()) {
        println!("{:?}", if n == 4096 { round(4096) } else { directory(n) });
        return;
    }
    let ops = ["create", "look up (cached)", "getattr (cached)", "unlink"];
    let dirs = ["create", "look up at random", "readdir with attributes", "unlink"];
    table("empty files, 1,000 a directory", ops, (0..ROUNDS).map(|_| round(0)).collect());
    table(
        "files of 4 KiB",
        ["create and write 4 KiB", ops[1], ops[2], ops[3]],
        (0..ROUNDS).map(|_| round(4096)).collect(),
    );
    for entries in [10_000, 1_000_000] {
        table(
            &format!("one directory of {entries} entries, per entry"),
            dirs,
            (0..3).map(|_| directory(entries)).collect(),
        );
    }
}
