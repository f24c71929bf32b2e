//! The life of a volume in memory: made, filled, remounted, emptied.

use std::sync::Arc;

use tandem_device::{Device, MemoryDevice};
use tandem_disk::fault::{FaultDevice, Faults};
use tandem_fs::{
    Cred, Error, FallocFlags, MkfsOptions, MountOptions, ROOT, RenameFlags, SetAttr, SystemEnv,
    Volume, Whence, WriteFlags, XattrMode,
};

struct Rig {
    meta: Arc<dyn Device>,
    data: Arc<dyn Device>,
}

impl Rig {
    fn new(options: &MkfsOptions) -> Rig {
        let meta: Arc<dyn Device> = Arc::new(MemoryDevice::new("meta", 64 << 20));
        let data: Arc<dyn Device> = Arc::new(MemoryDevice::new("data", 256 << 20));
        Volume::mkfs(Arc::clone(&meta), Some(Arc::clone(&data)), options, Arc::new(SystemEnv))
            .unwrap();
        Rig { meta, data }
    }

    fn open(&self) -> Arc<Volume> {
        let opts = MountOptions { background: false, ..MountOptions::default() };
        Volume::open(
            Arc::clone(&self.meta),
            Some(Arc::clone(&self.data)),
            opts,
            Arc::new(SystemEnv),
        )
        .unwrap()
    }
}

fn names(vol: &Volume, dir: u64) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let mut cookie = 0;
    loop {
        let mut given = 0;
        vol.readdir(&Cred::root(), dir, cookie, &mut |e| {
            given += 1;
            cookie = e.cookie;
            out.push(e.name.to_vec());
            given < 100
        })
        .unwrap();
        if given == 0 {
            break;
        }
    }
    out.sort();
    out
}

#[test]
fn a_tree_survives_remounts_and_crashes() {
    let rig = Rig::new(&MkfsOptions::default());
    let root = Cred::root();
    let free = {
        let vol = rig.open();
        let free = vol.statfs().blocks_free;
        vol.shutdown().unwrap();
        free
    };
    let vol = rig.open();
    let dir = vol.mkdir(&root, ROOT, b"dir", 0o755, 0).unwrap().ino;
    for i in 0..3000u32 {
        let name = format!("file{i}");
        let ino = vol.mknod(&root, dir, name.as_bytes(), 0o644, 0, 0).unwrap().ino;
        if i % 3 == 0 {
            vol.write(
                &root,
                ino,
                0,
                &vec![i as u8; (i % 9000) as usize + 1],
                WriteFlags::default(),
            )
            .unwrap();
        }
        vol.forget(ino, 1);
    }
    vol.fsync(dir, false).unwrap();
    let late = vol.mknod(&root, dir, b"late", 0o644, 0, 0).unwrap().ino;
    vol.forget(late, 1);
    drop(vol); // a crash: nothing after the fsync is durable

    let vol = rig.open();
    assert_eq!(vol.stats().recovered_commits, 1);
    assert_eq!(names(&vol, dir).len(), 3002);
    assert_eq!(vol.lookup(&root, dir, b"late").unwrap_err().errno(), libc::ENOENT);
    for i in (0..3000u32).step_by(7) {
        let name = format!("file{i}");
        let attr = vol.lookup(&root, dir, name.as_bytes()).unwrap();
        let size = attr.size;
        assert!(size == 0 || size == u64::from(i % 9000) + 1, "{name}: {size}");
        vol.forget(attr.ino, 1);
    }
    vol.sync().unwrap();
    for i in (0..3000u32).step_by(3) {
        let name = format!("file{i}");
        let attr = vol.lookup(&root, dir, name.as_bytes()).unwrap();
        let mut buf = vec![0; 10000];
        let n = vol.read(attr.ino, 0, &mut buf).unwrap();
        assert_eq!(n as u64, attr.size);
        assert!(buf[..n].iter().all(|&b| b == i as u8), "{name}");
        vol.forget(attr.ino, 1);
    }
    for i in 0..3000u32 {
        vol.unlink(&root, dir, format!("file{i}").as_bytes()).unwrap();
    }
    vol.rmdir(&root, ROOT, b"dir").unwrap();
    assert_eq!(names(&vol, ROOT), [b".".to_vec(), b"..".to_vec()]);
    vol.sync().unwrap();
    assert_eq!(vol.statfs().blocks_free, free);
    vol.shutdown().unwrap();
    let vol = rig.open();
    assert_eq!(vol.statfs().blocks_free, free);
    assert_eq!(vol.stats().recovered_commits, 0);
}

#[test]
fn equal_hashes_chain() {
    let rig = Rig::new(&MkfsOptions { hash_bits: Some(1), ..MkfsOptions::default() });
    let root = Cred::root();
    let vol = rig.open();
    for i in 0..2000u32 {
        vol.mknod(&root, ROOT, format!("n{i}").as_bytes(), 0o600, 0, 0).unwrap();
    }
    vol.sync().unwrap();
    drop(vol);
    let vol = rig.open();
    assert_eq!(names(&vol, ROOT).len(), 2002);
    for i in (0..2000u32).rev() {
        vol.lookup(&root, ROOT, format!("n{i}").as_bytes()).unwrap();
        vol.unlink(&root, ROOT, format!("n{i}").as_bytes()).unwrap();
    }
    assert_eq!(names(&vol, ROOT).len(), 2);
    vol.shutdown().unwrap();
}

#[test]
fn links_renames_attributes_and_holes() {
    let rig = Rig::new(&MkfsOptions { data_block_size: Some(512), ..MkfsOptions::default() });
    let root = Cred::root();
    let vol = rig.open();
    let a = vol.mknod(&root, ROOT, b"a", 0o644, 0, 0).unwrap().ino;
    vol.link(&root, a, ROOT, b"b").unwrap();
    assert_eq!(vol.getattr(a).unwrap().nlink, 2);
    vol.mkdir(&root, ROOT, b"d", 0o755, 0).unwrap();
    let d = vol.lookup(&root, ROOT, b"d").unwrap().ino;
    vol.rename(&root, ROOT, b"a", d, b"c", RenameFlags::empty()).unwrap();
    vol.rename(&root, ROOT, b"b", d, b"c", RenameFlags::empty()).unwrap();
    vol.setxattr(&root, a, b"user.x", &[7; 5000], XattrMode::Create).unwrap();
    vol.symlink(&root, d, b"long", &[b'x'; 4000]).unwrap();
    vol.write(&root, a, 100_000, b"tail", WriteFlags::default()).unwrap();
    assert_eq!(vol.seek(a, 0, Whence::Data).unwrap(), 100_000 / 512 * 512);
    vol.fsync(a, false).unwrap();
    assert_eq!(vol.seek(a, 0, Whence::Data).unwrap(), 100_000 / 512 * 512);
    vol.fallocate(&root, a, FallocFlags::KEEP_SIZE, 0, 50_000).unwrap();
    vol.write(&root, a, 1000, &[1; 3000], WriteFlags::default()).unwrap();
    vol.fallocate(&root, a, FallocFlags::KEEP_SIZE | FallocFlags::PUNCH_HOLE, 1500, 1000).unwrap();
    vol.setattr(&root, a, &SetAttr { size: Some(100_001), ..SetAttr::default() }).unwrap();
    vol.setattr(&root, a, &SetAttr { size: Some(100_010), ..SetAttr::default() }).unwrap();
    let check = |vol: &Volume| {
        let mut buf = vec![9; 200_000];
        assert_eq!(vol.read(a, 0, &mut buf).unwrap(), 100_010);
        assert!(buf[..1000].iter().all(|&b| b == 0));
        assert!(buf[1000..1500].iter().all(|&b| b == 1));
        assert!(buf[1500..2500].iter().all(|&b| b == 0));
        assert!(buf[2500..4000].iter().all(|&b| b == 1));
        assert!(buf[4000..100_000].iter().all(|&b| b == 0));
        assert_eq!(&buf[100_000..100_010], b"t\0\0\0\0\0\0\0\0\0");
        assert_eq!(vol.getxattr(&root, a, b"user.x").unwrap(), [7; 5000]);
        let long = vol.lookup(&root, d, b"long").unwrap().ino;
        assert_eq!(vol.readlink(long).unwrap().len(), 4000);
        assert!(matches!(vol.lookup(&root, ROOT, b"a"), Err(Error::Posix(libc::ENOENT))));
        assert_eq!(vol.lookup(&root, d, b"c").unwrap().ino, a);
    };
    check(&vol);
    vol.sync().unwrap();
    check(&vol);
    drop(vol);
    let vol = rig.open();
    check(&vol);
    vol.shutdown().unwrap();
    check(&rig.open());
}

#[test]
fn what_is_promised_counts_as_used_and_what_is_deleted_as_free() {
    let rig = Rig::new(&MkfsOptions::default());
    let vol = rig.open();
    let root = Cred::root();
    let free = vol.statfs().blocks_free;
    let file = vol.mknod(&root, ROOT, b"f", 0o644, 0, 0).unwrap();
    vol.write(&root, file.ino, 0, &[7; 400_000], WriteFlags::default()).unwrap();
    assert_eq!(vol.statfs().blocks_free, free - 98);
    vol.sync().unwrap();
    assert_eq!(vol.statfs().blocks_free, free - 98);
    vol.forget(file.ino, 1);
    vol.unlink(&root, ROOT, b"f").unwrap();
    assert_eq!(vol.statfs().blocks_free, free);
    vol.sync().unwrap();
    assert_eq!(vol.statfs().blocks_free, free);
    vol.shutdown().unwrap();
}

#[test]
fn fragmentation_is_told() {
    let rig = Rig::new(&MkfsOptions::default());
    let vol = rig.open();
    let root = Cred::root();
    let before = vol.info();
    assert_eq!((before.free_runs, before.longest_free_run), (Some(2), Some(32_768)));
    for i in 0..100u32 {
        let name = format!("f{i}");
        let file = vol.mknod(&root, ROOT, name.as_bytes(), 0o644, 0, 0).unwrap();
        vol.write(&root, file.ino, 0, &[7; 8192], WriteFlags::default()).unwrap();
        vol.forget(file.ino, 1);
    }
    vol.sync().unwrap();
    for i in (0..100).step_by(2) {
        vol.unlink(&root, ROOT, format!("f{i}").as_bytes()).unwrap();
    }
    vol.sync().unwrap();
    let after = vol.info();
    assert!(after.free_runs.is_some_and(|runs| (50..=53).contains(&runs)), "{after:?}");
    vol.shutdown().unwrap();
}

#[test]
fn a_long_log_gets_a_checkpoint_before_its_time() {
    let meta: Arc<dyn Device> = Arc::new(MemoryDevice::new("meta", 512 << 20));
    let data: Arc<dyn Device> = Arc::new(MemoryDevice::new("data", 16 << 20));
    let env = Arc::new(SystemEnv);
    Volume::mkfs(meta.clone(), Some(data.clone()), &MkfsOptions::default(), env.clone()).unwrap();
    let checkpoint = std::time::Duration::from_secs(100_000);
    let opts = MountOptions { background: false, checkpoint, ..MountOptions::default() };
    let vol = Volume::open(meta, Some(data), opts, env).unwrap();
    let root = Cred::root();
    let ino = vol.mknod(&root, ROOT, b"file", 0o644, 0, 0).unwrap().ino;
    let log = |bytes: u64| {
        let until = vol.stats().log.bytes_logged + bytes;
        let mut n = 0u8;
        while vol.stats().log.bytes_logged < until {
            n = n.wrapping_add(1);
            vol.setxattr(&root, ino, b"user.x", &vec![n; 60_000], XattrMode::Any).unwrap();
            vol.sync().unwrap();
        }
        vol.stats().checkpoints
    };
    let before = log(100 << 20);
    assert_eq!(log(20 << 20), before);
    assert_eq!(log(20 << 20), before + 1);
}

#[test]
fn a_device_that_does_not_answer_is_not_one_without_a_volume() {
    let rig = Rig::new(&MkfsOptions::default());
    let silent = |rule: &str| {
        let faults = Arc::new(Faults::new(vec![rule.parse().unwrap()], 1));
        Arc::new(FaultDevice::new(Arc::clone(&rig.meta), faults)) as Arc<dyn Device>
    };
    let open = |meta: Arc<dyn Device>| {
        let opts = MountOptions { background: false, ..MountOptions::default() };
        Volume::open(meta, Some(Arc::clone(&rig.data)), opts, Arc::new(SystemEnv))
    };
    let error = open(silent("read:error")).err().unwrap();
    assert!(error.errno() == libc::EIO && !error.to_string().contains("mkfs"), "{error}");
    // The second superblock serves when it is only the first.
    open(silent("read:error,at=0+4k")).unwrap().shutdown().unwrap();
}
