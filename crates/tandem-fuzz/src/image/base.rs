//! The volumes that are changed: small, with one of everything.

use std::sync::{Arc, OnceLock};

use tandem_fs::{
    Cred, FallocFlags, Ino, MkfsOptions, MountOptions, ROOT, Volume, WriteFlags, XattrMode,
};

use super::overlay::{Overlay, Work};
use super::places::Places;

/// A volume, and where everything is on it.
pub struct Base {
    pub meta: Arc<[u8]>,
    pub data: Option<Arc<[u8]>>,
    pub places: Places,
}

/// How a volume differs from the next.
struct Plan {
    single: bool,
    clean: bool,
    hash_bits: u8,
    block_size: u32,
}

const META: u64 = 4 << 20;
const DATA: u64 = 1 << 20;

/// All of them, made once.
pub fn bases() -> &'static [Base] {
    static BASES: OnceLock<Vec<Base>> = OnceLock::new();
    BASES.get_or_init(|| {
        let plan =
            |single, clean, hash_bits, block_size| Plan { single, clean, hash_bits, block_size };
        let plans = [
            plan(false, true, 48, 1024),
            plan(false, false, 48, 512),
            plan(true, true, 2, 512),
            plan(true, false, 1, 1024),
        ];
        plans.iter().map(make).collect()
    })
}

/// How volumes are mounted here.
pub fn options(read_only: bool) -> MountOptions {
    MountOptions { read_only, background: false, cache: 4 << 20, ..MountOptions::default() }
}

fn make(plan: &Plan) -> Base {
    let work = Arc::new(Work::default());
    let device = |name, size: u64| {
        Arc::new(Overlay::new(name, vec![0; size as usize].into(), Arc::clone(&work)))
    };
    let meta = device("meta", if plan.single { META + (1 << 20) + DATA } else { META });
    let data = (!plan.single).then(|| device("data", DATA));
    let how = MkfsOptions {
        metadata_size: Some(META),
        data_size: Some(DATA),
        data_block_size: Some(plan.block_size),
        hash_bits: Some(plan.hash_bits),
        ..MkfsOptions::default()
    };
    let second = || data.clone().map(|data| data as _);
    Volume::mkfs(Arc::clone(&meta) as _, second(), &how, Arc::clone(&work) as _).expect("mkfs");
    let open = || {
        work.restart();
        let env = Arc::clone(&work) as _;
        Volume::open(Arc::clone(&meta) as _, second(), options(false), env).expect("mount")
    };
    let vol = open();
    everything(&vol);
    vol.shutdown().expect("unmount");
    let vol = open();
    more(&vol);
    if plan.clean {
        vol.shutdown().expect("unmount");
    }
    drop(vol);
    let bytes = |device: &Overlay| device.peek(0, usize::MAX >> 1);
    let places = Places::new(&meta);
    Base { places, meta: bytes(&meta).into(), data: data.map(|data| bytes(&data).into()) }
}

/// Fills a file with words that name their owner and their place in it.
pub fn pattern(ino: Ino, words: std::ops::Range<u64>) -> Vec<u8> {
    words.flat_map(|n| (ino << 32 | (n + 1)).to_le_bytes()).collect()
}

fn file(vol: &Volume, dir: Ino, name: &str, pieces: &[(u64, u64)]) -> Ino {
    let root = Cred::root();
    let ino = vol.mknod(&root, dir, name.as_bytes(), 0o100_644, 0, 0).expect("mknod").ino;
    for &(at, len) in pieces {
        let bytes = pattern(ino, at / 8..(at + len) / 8);
        vol.write(&root, ino, at, &bytes, WriteFlags::default()).expect("write");
    }
    vol.forget(ino, 1);
    ino
}

fn dir(vol: &Volume, parent: Ino, name: &str) -> Ino {
    let ino = vol.mkdir(&Cred::root(), parent, name.as_bytes(), 0o755, 0).expect("mkdir").ino;
    vol.forget(ino, 1);
    ino
}

fn everything(vol: &Volume) {
    let root = Cred::root();
    let many = dir(vol, ROOT, "many");
    for i in 0..90u64 {
        let pieces = [(0, 8 * i)];
        file(vol, many, &format!("file{i}"), &pieces[..usize::from(i.is_multiple_of(8))]);
    }
    let deep = dir(vol, dir(vol, ROOT, "deep"), "deeper");
    let linked = file(vol, deep, "one", &[(0, 3000)]);
    for name in ["two", "three"] {
        vol.link(&root, linked, ROOT, name.as_bytes()).expect("link");
        vol.forget(linked, 1);
    }
    for (name, len) in [("short", 10), ("long", 3000)] {
        let made = vol.symlink(&root, deep, name.as_bytes(), &vec![b'x'; len]).expect("symlink");
        vol.forget(made.ino, 1);
    }
    for (name, mode) in [("fifo", 0o010_600), ("chr", 0o020_600), ("sock", 0o140_600)] {
        let made = vol.mknod(&root, deep, name.as_bytes(), mode, 0x0103, 0).expect("mknod");
        vol.forget(made.ino, 1);
    }
    for (name, len) in [("small", 20), ("large", 6000)] {
        let ino = file(vol, ROOT, name, &[]);
        vol.setxattr(&root, ino, b"user.a", &vec![1; len], XattrMode::Any).expect("setxattr");
    }
    let outside = dir(vol, ROOT, "outside");
    vol.setxattr(&root, outside, b"user.b", &[3; 1500], XattrMode::Any).expect("setxattr");
    file(vol, outside, "inside", &[(0, 2048)]);
    vol.sync().expect("sync");
}

/// What only the last mount has made; without a clean unmount, what roll-forward finds.
fn more(vol: &Volume) {
    let root = Cred::root();
    let data = dir(vol, ROOT, "data");
    file(vol, data, "plain", &[(0, 40_000)]);
    let pieces: Vec<(u64, u64)> = (0..180).map(|i| (i * 2048, 64)).collect();
    let sparse = file(vol, data, "sparse", &pieces);
    file(vol, data, "few", &[(0, 100), (20_000, 600), (500_000, 8)]);
    vol.sync().expect("sync");
    let reserved = file(vol, data, "reserved", &[(0, 800)]);
    vol.fallocate(&root, reserved, FallocFlags::KEEP_SIZE, 0, 30_000).expect("fallocate");
    vol.unlink(&root, ROOT, b"small").expect("unlink");
    vol.fsync(sparse, false).expect("fsync");
    let open = vol.lookup(&root, data, b"few").expect("lookup").ino;
    vol.unlink(&root, data, b"few").expect("unlink");
    vol.sync().expect("sync");
    let last = file(vol, data, "last", &[(0, 1000)]);
    vol.fsync(last, false).expect("fsync");
    vol.forget(open, 1);
}
