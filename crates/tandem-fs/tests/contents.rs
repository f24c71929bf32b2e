//! Where contents lie, and what reading them takes: appended files, neighbours read ahead.

use std::sync::Arc;

use tandem_device::{Device, MemoryDevice};
use tandem_fs::{
    Cred, FallocFlags, Ino, MkfsOptions, MountOptions, ROOT, SetAttr, SystemEnv, Volume, WriteFlags,
};

struct Rig {
    meta: Arc<dyn Device>,
    data: Arc<dyn Device>,
}

impl Rig {
    fn new(block: u32) -> Rig {
        let meta: Arc<dyn Device> = Arc::new(MemoryDevice::new("meta", 32 << 20));
        let data: Arc<dyn Device> = Arc::new(MemoryDevice::new("data", 128 << 20));
        let opts = MkfsOptions { data_block_size: Some(block), ..MkfsOptions::default() };
        Volume::mkfs(Arc::clone(&meta), Some(Arc::clone(&data)), &opts, Arc::new(SystemEnv))
            .unwrap();
        Rig { meta, data }
    }

    fn open(&self, cross_file: bool) -> Arc<Volume> {
        let opts = MountOptions { background: false, cross_file, ..MountOptions::default() };
        let (meta, data) = (Arc::clone(&self.meta), Arc::clone(&self.data));
        Volume::open(meta, Some(data), opts, Arc::new(SystemEnv)).unwrap()
    }
}

fn create(vol: &Volume, name: &str, bytes: &[u8]) -> Ino {
    let root = Cred::root();
    let ino = vol.mknod(&root, ROOT, name.as_bytes(), 0o644, 0, 0).unwrap().ino;
    vol.write(&root, ino, 0, bytes, WriteFlags::default()).unwrap();
    ino
}

fn read(vol: &Volume, ino: Ino) -> Vec<u8> {
    let mut buf = vec![0; 64 << 10];
    let n = vol.read(ino, 0, &mut buf).unwrap();
    buf.truncate(n);
    buf
}

#[test]
fn files_appended_by_turns_stay_in_few_pieces() {
    let rig = Rig::new(4096);
    let vol = rig.open(true);
    let logs: Vec<Ino> = (0..4).map(|i| create(&vol, &format!("log{i}"), &[1; 4096])).collect();
    vol.sync().unwrap();
    for round in 1..200u64 {
        for &ino in &logs {
            vol.write(
                &Cred::root(),
                ino,
                round * 4096,
                &[round as u8; 4096],
                WriteFlags::default(),
            )
            .unwrap();
        }
        vol.sync().unwrap();
    }
    for &ino in &logs {
        let extents = vol.extents(ino, 0, 1000).unwrap();
        assert!(extents.len() <= 8, "{} extents", extents.len());
    }
    vol.shutdown().unwrap();
}

/// Space that waits for a commit only is there for what is placed next: before it breaks up what else
/// is free, the commit comes.
#[test]
fn freed_space_is_used_before_holes() {
    let rig = Rig::new(4096);
    let vol = rig.open(true);
    let cred = Cred::root();
    let mib = vec![5; 1 << 20];
    let large = |name: &str, n: u64| {
        let ino = create(&vol, name, &mib);
        for at in 1..n {
            vol.write(&cred, ino, at << 20, &mib, WriteFlags::default()).unwrap();
        }
        vol.sync().unwrap();
    };
    let remove = |name: &str| {
        let ino = vol.lookup(&cred, ROOT, name.as_bytes()).unwrap().ino;
        vol.unlink(&cred, ROOT, name.as_bytes()).unwrap();
        vol.forget(ino, 2);
    };
    large("old", 40);
    let pairs = 100;
    for n in 0..pairs {
        large(&format!("hole-{n}"), 1);
        create(&vol, &format!("wall-{n}"), &mib[..4096]);
        if vol.statfs().blocks_free < 512 {
            break;
        }
    }
    let free = vol.statfs().blocks_free.saturating_sub(64);
    create(&vol, "filler", &mib[..(free as usize * 4096).min(mib.len())]);
    vol.sync().unwrap();
    (0..24).for_each(|n| remove(&format!("hole-{n}")));
    vol.sync().unwrap();
    remove("old");
    large("new", 20);
    let ino = vol.lookup(&cred, ROOT, b"new").unwrap().ino;
    assert_eq!(vol.extents(ino, 0, 100).unwrap().len(), 1);
}

/// A directory's files are read together, and little of what lies around them once it has turned out
/// that nobody asks for that.
#[test]
fn what_lies_around_a_directory_is_left_alone() {
    let rig = Rig::new(4096);
    let vol = rig.open(true);
    let cred = Cred::root();
    let dirs: Vec<Vec<Ino>> = (0..96)
        .map(|d| {
            let dir = vol.mkdir(&cred, ROOT, format!("d{d}").as_bytes(), 0o755, 0).unwrap().ino;
            let file = |n| {
                let ino = vol.mknod(&cred, dir, format!("f{n}").as_bytes(), 0o644, 0, 0).unwrap();
                vol.write(&cred, ino.ino, 0, &[3; 8000], WriteFlags::default()).unwrap();
                ino.ino
            };
            let files = (0..16).map(file).collect();
            vol.sync().unwrap();
            create(&vol, &format!("between-{d}"), &vec![9; 768 << 10]);
            vol.sync().unwrap();
            files
        })
        .collect();
    vol.shutdown().unwrap();
    let vol = rig.open(true);
    let walk = |dirs: &[Vec<Ino>]| {
        let before = vol.stats().data.counts;
        dirs.iter().flatten().for_each(|&ino| assert_eq!(read(&vol, ino), [3; 8000]));
        vol.stats().data.counts - before
    };
    walk(&dirs[..64]);
    let then = walk(&dirs[64..]);
    let asked = 32 * 16 * 8000;
    assert!(then.read_bytes * 10 <= asked * 12, "{} bytes for {asked}", then.read_bytes);
    assert!(then.reads <= 32 * 3, "{} requests", then.reads);
    vol.shutdown().unwrap();
}

/// A file that is read from its beginning on takes fewer requests than reads, and they end with it.
#[test]
fn a_file_is_read_ahead_to_its_end() {
    let rig = Rig::new(4096);
    let vol = rig.open(true);
    let bytes: Vec<u8> = (0..3u32 << 20).map(|n| (n / 1000) as u8).collect();
    let ino = create(&vol, "file", &bytes);
    vol.sync().unwrap();
    create(&vol, "behind", &vec![1; 4 << 20]);
    vol.sync().unwrap();
    let before = vol.stats().data.counts;
    let mut buf = vec![0; 64 << 10];
    for at in (0..bytes.len()).step_by(buf.len()) {
        assert_eq!(vol.read(ino, at as u64, &mut buf).unwrap(), buf.len());
        assert_eq!(buf, bytes[at..at + buf.len()]);
    }
    let done = vol.stats().data.counts - before;
    assert!(done.reads <= 8, "{} requests", done.reads);
    assert_eq!(done.read_bytes, bytes.len() as u64);
}

#[test]
fn a_directory_is_read_in_few_requests() {
    for block in [512, 4096] {
        let rig = Rig::new(block);
        let vol = rig.open(true);
        let files: Vec<Ino> =
            (0..300).map(|i| create(&vol, &format!("file{i}"), &vec![i as u8; 3000])).collect();
        vol.sync().unwrap();
        assert!(vol.stats().continuity.adjacent >= 297);
        vol.shutdown().unwrap();
        let requests = |cross_file| {
            let vol = rig.open(cross_file);
            let before = vol.stats().data.counts.reads;
            // An order that is neither that of the names nor that of the i-nodes.
            for i in 0..300 {
                let at = i * 77 % 300;
                assert_eq!(read(&vol, files[at]), vec![at as u8; 3000]);
            }
            let stats = vol.stats();
            vol.shutdown().unwrap();
            (stats.data.counts.reads - before, stats.cross_file)
        };
        let (with, counted) = requests(true);
        let (without, nothing) = requests(false);
        assert_eq!((without, nothing.hits, nothing.misses), (300, 0, 0));
        assert!(with <= 12, "{with} requests");
        assert_eq!(counted.hits + counted.misses, 300);
        assert_eq!(counted.misses, with);
    }
}

#[test]
fn what_was_read_ahead_is_forgotten_when_it_changes() {
    let root = Cred::root();
    let rig = Rig::new(512);
    let vol = rig.open(true);
    let files: Vec<Ino> =
        (0..100).map(|i| create(&vol, &format!("file{i}"), &vec![1; 2000 + i])).collect();
    vol.sync().unwrap();
    let read_all = |vol: &Volume| files.iter().map(|&f| read(vol, f)).collect::<Vec<_>>();
    for round in 2..10u8 {
        let before = read_all(&vol);
        for (i, &ino) in files.iter().enumerate() {
            let new = vec![round; 2000 + i];
            match (i + usize::from(round)) % 5 {
                // In place, in part, anew elsewhere, zeroed, and not at all.
                0 => vol.write(&root, ino, 0, &new, WriteFlags::default()).map(drop).unwrap(),
                1 => vol
                    .write(&root, ino, 700, &new[..100], WriteFlags::default())
                    .map(drop)
                    .unwrap(),
                2 => {
                    let empty = SetAttr { size: Some(0), ..SetAttr::default() };
                    vol.setattr(&root, ino, &empty).unwrap();
                    vol.write(&root, ino, 0, &new, WriteFlags::default()).map(drop).unwrap();
                }
                3 => vol.fallocate(&root, ino, FallocFlags::ZERO_RANGE, 512, 1024).unwrap(),
                _ => {}
            }
        }
        let written = read_all(&vol);
        assert_ne!(written, before);
        vol.sync().unwrap();
        assert_eq!(read_all(&vol), written, "round {round}");
        vol.sync().unwrap();
        assert_eq!(read_all(&vol), written, "round {round}, once more");
    }
    let last = read_all(&vol);
    vol.shutdown().unwrap();
    let vol = rig.open(false);
    assert_eq!(read_all(&vol), last);
    vol.shutdown().unwrap();
}
