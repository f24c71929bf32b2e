//! A real volume in memory, through the kernel, by every transport.

mod common;

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use common::{LoopDevice, transports};
use rustix::fs::{CWD, FallocateFlags, RenameFlags, StatxFlags, XattrFlags};
use tandem_device::{Device, MemoryDevice};
use tandem_fs::{MkfsOptions, MountOptions, SystemEnv, Volume};
use tandem_fuse::{Door, DoorOptions, TransportChoice, Unmount, mount};
use tempfile::TempDir;

/// Two devices in memory with a volume on them.
struct Disks(Arc<dyn Device>, Arc<dyn Device>);

impl Disks {
    fn new() -> Disks {
        let meta: Arc<dyn Device> = Arc::new(MemoryDevice::new("M", 32 << 20));
        let data: Arc<dyn Device> = Arc::new(MemoryDevice::new("D", 256 << 20));
        let env = Arc::new(SystemEnv);
        Volume::mkfs(meta.clone(), Some(data.clone()), &MkfsOptions::default(), env).unwrap();
        Disks(meta, data)
    }

    fn mount(&self, options: DoorOptions) -> Mount {
        let env = Arc::new(SystemEnv);
        let (meta, data) = (self.0.clone(), Some(self.1.clone()));
        let volume = Volume::open(meta, data, MountOptions::default(), env).unwrap();
        let dir = tempfile::Builder::new().prefix("fuse-test").tempdir().unwrap();
        let session = mount(volume.clone(), dir.path(), &options).unwrap();
        let door = session.unmounter();
        let thread = Some(std::thread::spawn(move || session.run()));
        Mount { volume, dir, door, thread }
    }
}

struct Mount {
    volume: Arc<Volume>,
    dir: TempDir,
    door: Door,
    thread: Option<JoinHandle<tandem_fuse::Result<()>>>,
}

impl Mount {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn end(mut self) {
        common::unmount(&self.door);
        self.thread.take().unwrap().join().unwrap().unwrap();
        self.volume.shutdown().unwrap();
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.thread.is_some() {
            let _ = self.door.unmount(Unmount::Lazy);
        }
    }
}

fn options(transport: TransportChoice) -> DoorOptions {
    let allow_other = rustix::process::geteuid().is_root();
    DoorOptions { transport, allow_other, ..DoorOptions::default() }
}

fn tree(dir: &Path) -> Vec<(String, u64)> {
    let mut all: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|e| {
            let e = e.unwrap();
            (e.file_name().into_string().unwrap(), e.metadata().unwrap().len())
        })
        .collect();
    all.sort();
    all
}

#[test]
fn what_was_written_is_there_after_a_remount() {
    for transport in transports() {
        let disks = Disks::new();
        let m = disks.mount(options(transport));
        fs::create_dir(m.path("d")).unwrap();
        for i in 0..3000usize {
            fs::write(m.path(&format!("d/file number {i}")), vec![i as u8; i % 700]).unwrap();
        }
        for i in (0..3000).step_by(3) {
            fs::remove_file(m.path(&format!("d/file number {i}"))).unwrap();
        }
        let big: Vec<u8> = (0..9_000_000u32).map(|i| (i ^ (i >> 11)) as u8).collect();
        fs::write(m.path("big"), &big).unwrap();
        symlink("big", m.path("link")).unwrap();
        fs::hard_link(m.path("big"), m.path("d/other name")).unwrap();
        let before = tree(&m.path("d"));
        assert_eq!(before.len(), 2001);
        let ino = fs::metadata(m.path("big")).unwrap().ino();
        m.end();

        let m = disks.mount(options(transport));
        assert_eq!(tree(&m.path("d")), before);
        assert_eq!(fs::read(m.path("link")).unwrap(), big);
        let meta = fs::metadata(m.path("d/other name")).unwrap();
        assert_eq!((meta.ino(), meta.nlink()), (ino, 2));
        assert_eq!(fs::read(m.path("d/file number 1000")).unwrap(), vec![1000u32 as u8; 300]);
        fs::remove_dir_all(m.path("d")).unwrap();
        assert_eq!(fs::metadata(m.path("big")).unwrap().nlink(), 1);
        m.end();
    }
}

#[test]
fn names_and_their_special_cases() {
    for transport in transports() {
        let disks = Disks::new();
        let m = disks.mount(options(transport));
        fs::write(m.path("a"), "a").unwrap();
        fs::write(m.path("b"), "b").unwrap();
        let rename = |from: &str, to: &str, flags| {
            rustix::fs::renameat_with(CWD, m.path(from), CWD, m.path(to), flags)
        };
        assert!(rename("a", "b", RenameFlags::NOREPLACE).is_err());
        rename("a", "b", RenameFlags::EXCHANGE).unwrap();
        assert_eq!(fs::read_to_string(m.path("a")).unwrap(), "b");
        rename("a", "c", RenameFlags::empty()).unwrap();
        assert!(fs::metadata(m.path("a")).is_err());

        let long = "n".repeat(256);
        let e = File::create(m.path(&long)).unwrap_err();
        assert_eq!(e.raw_os_error(), Some(libc::ENAMETOOLONG));
        let odd = std::ffi::OsStr::from_bytes(b"\xff\x01\n odd");
        File::create(m.dir.path().join(odd)).unwrap();
        fs::metadata(m.dir.path().join(odd)).unwrap();

        let mut tmp = OpenOptions::new();
        tmp.read(true).write(true).custom_flags(libc::O_TMPFILE);
        let mut f = tmp.open(m.dir.path()).unwrap();
        f.write_all(b"born without a name").unwrap();
        let proc = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&f));
        let follow = rustix::fs::AtFlags::SYMLINK_FOLLOW;
        rustix::fs::linkat(CWD, proc, CWD, m.path("named"), follow).unwrap();
        drop(f);
        assert_eq!(fs::read_to_string(m.path("named")).unwrap(), "born without a name");

        let mut f = File::options().read(true).write(true).open(m.path("named")).unwrap();
        fs::remove_file(m.path("named")).unwrap();
        let mut text = String::new();
        f.read_to_string(&mut text).unwrap();
        assert_eq!((text.len(), f.metadata().unwrap().nlink()), (19, 0));
        drop(f);
        m.end();
    }
}

#[test]
fn attributes_and_their_limits() {
    for transport in transports() {
        let disks = Disks::new();
        let m = disks.mount(options(transport));
        let path = m.path("f");
        fs::write(&path, "x").unwrap();
        for secs in [-5_000_000_000i64, -1, 0, 5_000_000_000] {
            let t = rustix::fs::Timespec { tv_sec: secs, tv_nsec: 123_456_789 };
            let times = rustix::fs::Timestamps { last_access: t, last_modification: t };
            rustix::fs::utimensat(CWD, &path, &times, rustix::fs::AtFlags::empty()).unwrap();
            let meta = fs::metadata(&path).unwrap();
            assert_eq!((meta.mtime(), meta.mtime_nsec()), (secs, 123_456_789));
        }
        let btime = rustix::fs::statx(CWD, &path, rustix::fs::AtFlags::empty(), StatxFlags::BTIME);
        let btime = btime.unwrap();
        assert_ne!(btime.stx_mask & StatxFlags::BTIME.bits(), 0);
        assert!(btime.stx_btime.tv_sec > 1_600_000_000);

        rustix::fs::setxattr(&path, "user.k", b"value", XattrFlags::empty()).unwrap();
        assert!(rustix::fs::setxattr(&path, "user.k", b"v", XattrFlags::CREATE).is_err());
        let mut value = [0; 100];
        let n = rustix::fs::getxattr(&path, "user.k", &mut value[..]).unwrap();
        assert_eq!(&value[..n], b"value");
        assert_eq!(rustix::fs::getxattr_query(&path, "user.k").unwrap(), 5);
        let e = rustix::fs::getxattr(&path, "user.k", &mut value[..2]).unwrap_err();
        assert_eq!(e, rustix::io::Errno::RANGE);
        let n = rustix::fs::listxattr(&path, &mut value[..]).unwrap();
        assert_eq!(&value[..n], b"user.k\0");
        rustix::fs::removexattr(&path, "user.k").unwrap();
        assert_eq!(rustix::fs::listxattr(&path, &mut value[..]).unwrap(), 0);

        if rustix::process::geteuid().is_root() {
            let fifo = m.path("dev");
            let dev = rustix::fs::makedev(259, 70_000);
            let kind = rustix::fs::FileType::BlockDevice;
            rustix::fs::mknodat(CWD, &fifo, kind, 0o600.into(), dev).unwrap();
            assert_eq!(fs::metadata(&fifo).unwrap().rdev(), dev);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o6755)).unwrap();
            std::os::unix::fs::chown(&path, Some(1234), Some(99)).unwrap();
            let meta = fs::metadata(&path).unwrap();
            assert_eq!((meta.uid(), meta.gid(), meta.mode() & 0o7777), (1234, 99, 0o755));
        }
        let stat = rustix::fs::statvfs(m.dir.path()).unwrap();
        assert!(stat.f_blocks > 60_000 && stat.f_bavail > 0 && stat.f_namemax == 255);
        m.end();
    }
}

#[test]
fn holes_and_ranges() {
    for transport in transports() {
        let disks = Disks::new();
        let m = disks.mount(options(transport));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true);
        let f = options.open(m.path("sparse")).unwrap();
        f.write_all_at(b"end", 1 << 40).unwrap();
        f.write_all_at(b"start", 0).unwrap();
        assert_eq!(f.metadata().unwrap().len(), (1 << 40) + 3);
        let hole = rustix::fs::seek(&f, rustix::fs::SeekFrom::Hole(0)).unwrap();
        assert!((4096..1 << 20).contains(&hole), "{hole}");
        assert_eq!(rustix::fs::seek(&f, rustix::fs::SeekFrom::Data(hole)).unwrap(), 1 << 40);
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&f, punch, 0, 4096).unwrap();
        let mut start = [1; 5];
        f.read_exact_at(&mut start, 0).unwrap();
        assert_eq!(start, [0; 5]);
        rustix::fs::fallocate(&f, FallocateFlags::empty(), 0, 1 << 20).unwrap();
        assert!(f.metadata().unwrap().blocks() >= 2048);
        let other = FallocateFlags::COLLAPSE_RANGE;
        assert_eq!(rustix::fs::fallocate(&f, other, 0, 4096), Err(rustix::io::Errno::OPNOTSUPP));

        let data: Vec<u8> = (0..3_000_000u32).map(|i| (i >> 3) as u8).collect();
        fs::write(m.path("from"), &data).unwrap();
        let (from, mut to) =
            (File::open(m.path("from")).unwrap(), options.open(m.path("to")).unwrap());
        let (mut a, mut b, mut left) = (0, 0, data.len());
        while left > 0 {
            let n =
                rustix::fs::copy_file_range(&from, Some(&mut a), &to, Some(&mut b), left).unwrap();
            assert_ne!(n, 0);
            left -= n;
        }
        let mut copy = Vec::new();
        to.seek(SeekFrom::Start(0)).unwrap();
        to.read_to_end(&mut copy).unwrap();
        assert!(copy == data);
        to.set_len(10).unwrap();
        to.sync_all().unwrap();
        assert_eq!(fs::read(m.path("to")).unwrap(), &data[..10]);
        drop((f, from, to));
        m.end();
    }
}

/// Unmounting a fuseblk mount returns when the volume is clean; shutting it down once more, as
/// its owner does, changes nothing.
#[test]
fn unmounting_waits_for_the_volume() {
    for transport in transports() {
        let Some(device) = LoopDevice::new() else {
            eprintln!("skipped: no loop device to be had");
            return;
        };
        let disks = Disks::new();
        for round in 0..3 {
            let fuseblk = Some(PathBuf::from(&device.path));
            let m = disks.mount(DoorOptions { fuseblk, ..options(transport) });
            for i in 0..round {
                assert_eq!(fs::read(m.path(&format!("{i}"))).unwrap(), [i; 100]);
            }
            fs::write(m.path(&format!("{round}")), [round; 100]).unwrap();
            File::open(m.path("0")).unwrap().sync_all().unwrap();
            m.end();
        }
    }
}

/// A file is found again by its handle when every cache has forgotten it, and not any more when
/// another has taken its place.
#[test]
fn file_handles() {
    for transport in transports() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: not root");
            return;
        }
        let disks = Disks::new();
        let m = disks.mount(options(transport));
        fs::create_dir_all(m.path("x/y")).unwrap();
        fs::write(m.path("x/y/z"), "found").unwrap();
        let handle = handle::of(&m.path("x/y/z"));
        let root = File::open(m.dir.path()).unwrap();
        let _ = fs::write("/proc/sys/vm/drop_caches", "2");
        let mut text = String::new();
        handle::open(&root, &handle).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "found");
        fs::remove_file(m.path("x/y/z")).unwrap();
        fs::write(m.path("x/y/other"), "x").unwrap();
        let e = handle::open(&root, &handle).unwrap_err();
        assert_eq!(e.raw_os_error(), Some(libc::ESTALE));
        drop(root);
        m.end();
    }
}

#[allow(unsafe_code, reason = "no library offers handles")]
mod handle {
    use super::*;
    use std::os::fd::{AsRawFd, FromRawFd};

    #[repr(C)]
    pub struct Handle {
        bytes: libc::c_uint,
        kind: libc::c_int,
        data: [u8; 128],
    }

    pub fn of(path: &Path) -> Handle {
        let path = CString::new(path.as_os_str().as_bytes()).unwrap();
        let mut handle = Handle { bytes: 128, kind: 0, data: [0; 128] };
        let mut mount = 0;
        // SAFETY: the handle has the size that it says, and the path ends.
        let r = unsafe {
            libc::name_to_handle_at(
                libc::AT_FDCWD,
                path.as_ptr(),
                (&raw mut handle).cast(),
                &raw mut mount,
                0,
            )
        };
        assert_eq!(r, 0, "{}", std::io::Error::last_os_error());
        handle
    }

    pub fn open(mount: &File, handle: &Handle) -> std::io::Result<File> {
        // SAFETY: the kernel only reads the handle.
        let fd = unsafe {
            libc::open_by_handle_at(
                mount.as_raw_fd(),
                (&raw const *handle).cast_mut().cast(),
                libc::O_RDONLY,
            )
        };
        if fd < 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and nobody else's.
        Ok(unsafe { File::from_raw_fd(fd) })
    }
}
