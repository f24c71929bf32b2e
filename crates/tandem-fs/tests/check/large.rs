//! How long a check takes. Not run by itself:
//!
//! `FILES=1000000 cargo test --release --test check large -- --ignored --nocapture`
//!
//! With `IMAGES=DIR` the volume is made on two image files, when they are not there yet; a second
//! run then does nothing but check.

use std::sync::Arc;

use tandem_device::{Access, Device, FileDevice, MemoryDevice};
use tandem_fs::check::{CheckOptions, check};
use tandem_fs::{Cred, FallocFlags, MkfsOptions, MountOptions, ROOT, SystemEnv, Volume};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// A device of this name and size, and whether it is new.
fn device(name: &str, size: u64) -> (Arc<dyn Device>, bool) {
    let Ok(dir) = std::env::var("IMAGES") else {
        return (Arc::new(MemoryDevice::new(name, size)), true);
    };
    let path = std::path::Path::new(&dir).join(name);
    let new = !path.exists();
    let device = if new {
        FileDevice::create(&path, size)
    } else {
        FileDevice::open(&path, Access::ReadOnly)
    };
    (Arc::new(device.unwrap()), new)
}

fn make(meta: &Arc<dyn Device>, data: &Arc<dyn Device>, files: u64) {
    let env = Arc::new(SystemEnv);
    let (meta, data) = (Arc::clone(meta), Some(Arc::clone(data)));
    Volume::mkfs(Arc::clone(&meta), data.clone(), &MkfsOptions::default(), env.clone()).unwrap();
    let opts = MountOptions { background: false, ..MountOptions::default() };
    let vol = Volume::open(meta, data, opts, env).unwrap();
    let root = Cred::root();
    let (mut above, mut dir) = (ROOT, ROOT);
    let subdir = |parent, name: String| {
        let ino = vol.mkdir(&root, parent, name.as_bytes(), 0o755, 0).unwrap().ino;
        vol.forget(ino, 1);
        ino
    };
    for i in 0..files {
        if i % 1000 == 0 {
            above = subdir(ROOT, format!("above{i}"));
        }
        if i % 20 == 0 {
            dir = subdir(above, format!("directory{i}"));
        }
        let name = format!("some-file-{i}.txt");
        let ino = vol.mknod(&root, dir, name.as_bytes(), 0o644, 0, 0).unwrap().ino;
        // Every file has an extent, none takes memory for its contents.
        vol.fallocate(&root, ino, FallocFlags::empty(), 0, 4096).unwrap();
        vol.forget(ino, 1);
        if i % 50_000 == 0 {
            vol.sync().unwrap();
        }
    }
    vol.shutdown().unwrap();
}

#[test]
#[ignore = "takes long"]
fn large() {
    let (files, memory) = (number("FILES", 200_000), number("MEMORY", 256));
    let (meta, new) = device("meta", files * 1024 + (64 << 20));
    let (data, _) = device("data", files * 8192 + (64 << 20));
    if new {
        make(&meta, &data, files);
    }
    for threads in [1, 2] {
        let options = CheckOptions { threads, memory: memory << 20 };
        let before = meta.stats();
        let env = Arc::new(SystemEnv);
        let (m, d) = (Arc::clone(&meta), Some(Arc::clone(&data)));
        let report = check(m, d, &options, env, &|_| {}).unwrap();
        assert!(report.is_sound(), "{report:#?}");
        let now = meta.stats();
        println!(
            "{} i-nodes, {} directories, {} blocks, {} MB in use: {:.3} s with {threads} threads, {} reads of {} MB",
            report.inodes,
            report.directories,
            report.metadata_blocks,
            report.bytes_live >> 20,
            report.seconds,
            now.reads - before.reads,
            (now.read_bytes - before.read_bytes) >> 20,
        );
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default());
}
