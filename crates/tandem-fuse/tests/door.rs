//! The door over a file system in memory: real mounts, every transport, and what the kernel makes
//! of our answers.

mod common;
mod null;

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use common::{LoopDevice, transports};
use null::Null;
use tandem_fuse::abi::Opcode;
use tandem_fuse::{Door, DoorError, DoorOptions, TransportChoice, Unmount, mount_handler};
use tempfile::TempDir;

struct Mount {
    null: Arc<Null>,
    dir: TempDir,
    door: Door,
    thread: Option<JoinHandle<tandem_fuse::Result<()>>>,
}

impl Mount {
    fn new(transport: TransportChoice, null: Null) -> Mount {
        let options = DoorOptions { transport, ..DoorOptions::default() };
        Mount::with(options, null)
    }

    fn with(options: DoorOptions, null: Null) -> Mount {
        let null = Arc::new(null);
        let dir = tempfile::Builder::new().prefix("fuse-test").tempdir().unwrap();
        let session = mount_handler(null.clone(), dir.path(), &options).unwrap();
        let door = session.unmounter();
        let thread = Some(std::thread::spawn(move || session.run()));
        Mount { null, dir, door, thread }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    /// What the handler saw during `f`, forgets left out.
    fn during(&self, f: impl FnOnce()) -> Vec<null::Seen> {
        self.null.take_seen();
        f();
        let mut seen = self.null.take_seen();
        seen.retain(|s| !matches!(s.0, Opcode::Forget | Opcode::BatchForget));
        seen
    }

    fn end(mut self) {
        common::unmount(&self.door);
        self.thread.take().unwrap().join().unwrap().unwrap();
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.thread.is_some() {
            let _ = self.door.unmount(Unmount::Lazy);
        }
    }
}

fn ops(seen: &[null::Seen]) -> Vec<Opcode> {
    seen.iter().map(|s| s.0).collect()
}

#[test]
fn files_come_back_as_they_went() {
    for transport in transports() {
        let m = Mount::new(transport, Null::new());
        let data: Vec<u8> = (0..3_000_000u32).map(|i| (i ^ (i >> 9)) as u8).collect();
        fs::create_dir(m.path("d")).unwrap();
        fs::write(m.path("d/f"), &data).unwrap();
        assert_eq!(fs::read(m.path("d/f")).unwrap(), data);
        let mut direct = OpenOptions::new();
        direct.read(true).custom_flags(libc::O_DIRECT);
        let mut aligned = vec![0u8; (1 << 20) + 4096];
        let at = aligned.as_ptr().align_offset(4096);
        let space = &mut aligned[at..at + (1 << 20)];
        direct.open(m.path("d/f")).unwrap().read_exact_at(space, 1 << 20).unwrap();
        assert_eq!(*space, data[1 << 20..2 << 20]);
        std::os::unix::fs::symlink("d/f", m.path("l")).unwrap();
        assert_eq!(fs::read_link(m.path("l")).unwrap(), Path::new("d/f"));
        for i in 0..2000 {
            File::create_new(m.path(&format!("d/name-{i:04}"))).unwrap();
        }
        assert_eq!(fs::read_dir(m.path("d")).unwrap().count(), 2001);
        for i in 0..2000 {
            fs::remove_file(m.path(&format!("d/name-{i:04}"))).unwrap();
        }
        assert!(fs::metadata(m.path("d/name-0000")).is_err());
        let long = "x".repeat(255);
        File::create(m.path(&long)).unwrap();
        fs::metadata(m.path(&long)).unwrap();

        let stats = m.door.stats();
        assert_eq!(stats.transport == "uring", transport == TransportChoice::Uring);
        assert!(stats.requests["Mknod"] >= 2002, "{stats:?}");
        let deadline = Instant::now() + Duration::from_secs(30);
        while m.null.orphans() > 0 {
            assert!(Instant::now() < deadline, "the kernel's forgets got lost");
            std::thread::sleep(Duration::from_millis(10));
        }
        m.end();
    }
}

#[test]
fn many_at_once() {
    for transport in transports() {
        let m = Mount::new(transport, Null::new());
        std::thread::scope(|s| {
            for t in 0..8 {
                let m = &m;
                s.spawn(move || {
                    for i in 0..200 {
                        let path = m.path(&format!("{t}-{i}"));
                        fs::write(&path, vec![t as u8; 10_000 + i]).unwrap();
                        assert_eq!(fs::read(&path).unwrap().len(), 10_000 + i);
                        if i % 2 == 0 {
                            fs::remove_file(&path).unwrap();
                        }
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(m.dir.path()).unwrap().count(), 800);
        m.end();
    }
}

/// ENOSYS to CREATE makes the kernel use MKNOD, without OPEN, FLUSH or RELEASE; whoever creates
/// a file may write it whatever its mode.
#[test]
fn creating_without_create() {
    for transport in transports() {
        let m = Mount::new(transport, Null { record: true, ..Null::new() });
        drop(File::create(m.path("first")).unwrap());
        let seen = m.during(|| {
            let mut f = File::create_new(m.path("f")).unwrap();
            f.write_all(b"x").unwrap();
        });
        eprintln!("create+write+close: {:?}", ops(&seen));
        let left_out = [Opcode::Getattr, Opcode::Getxattr];
        let left = ops(&seen).into_iter().filter(|op| !left_out.contains(op));
        assert_eq!(left.collect::<Vec<_>>(), [Opcode::Lookup, Opcode::Mknod, Opcode::Write]);

        assert_eq!(
            File::create_new(m.path("f")).unwrap_err().kind(),
            std::io::ErrorKind::AlreadyExists
        );
        let seen = m.during(|| drop(File::create(m.path("f")).unwrap()));
        assert!(ops(&seen).contains(&Opcode::Setattr), "O_TRUNC is a SETATTR: {seen:?}");
        assert_eq!(fs::metadata(m.path("f")).unwrap().len(), 0);

        let mut create = OpenOptions::new();
        create.read(true).write(true).create(true).mode(0o400);
        let mut f = create.open(m.path("ro")).unwrap();
        f.write_all(b"data").unwrap();
        assert_eq!(f.metadata().unwrap().permissions().mode() & 0o7777, 0o400);
        drop(f);

        let dir = OpenOptions::new()
            .write(true)
            .create(true)
            .custom_flags(libc::O_DIRECTORY)
            .open(m.path("dir"));
        let e = dir.unwrap_err();
        assert!(matches!(e.raw_os_error(), Some(libc::EINVAL | libc::EISDIR)), "{e}");
        assert!(fs::metadata(m.path("dir")).is_err());

        let tmp = OpenOptions::new().write(true).custom_flags(libc::O_TMPFILE).open(m.dir.path());
        tmp.unwrap().write_all(b"nameless").unwrap();
        m.end();
    }
}

/// Permission checks by the kernel cost a GETATTR of the directory after each change in it. Where
/// only root may enter, there is nothing to check.
#[test]
fn root_alone_is_not_checked() {
    for transport in transports() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: not root");
            return;
        }
        for allow_other in [false, true] {
            let null = Null { record: true, ..Null::new() };
            let options = DoorOptions { transport, allow_other, ..DoorOptions::default() };
            let m = Mount::with(options, null);
            drop(File::create(m.path("a")).unwrap());
            let seen = ops(&m.during(|| drop(File::create(m.path("b")).unwrap())));
            assert_eq!(seen.contains(&Opcode::Getattr), allow_other, "{seen:?}");
            m.end();
        }
    }
    let unsafe_ =
        DoorOptions { allow_other: true, default_permissions: false, ..DoorOptions::default() };
    let e = mount_handler(Arc::new(Null::new()), Path::new("/tmp"), &unsafe_).err().unwrap();
    assert!(e.to_string().contains("default_permissions"), "{e}");
}

/// A user who is not root and has no permission in the mode of what they just created.
#[test]
fn creating_what_one_may_not_open_again() {
    for transport in transports() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: not root");
            return;
        }
        let null = Null::new();
        let m = Mount::with(
            DoorOptions { transport, allow_other: true, ..DoorOptions::default() },
            null,
        );
        fs::set_permissions(m.dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let script = "umask 022; exec 3<>a && echo x >&3 && \
             set -C && (umask 777; exec 4>b && echo y >&4) && \
             (exec 5<b) 2>/dev/null && exit 9; exit 0";
        let mut sh = std::process::Command::new("sh");
        sh.arg("-ec").arg(script).current_dir(m.dir.path());
        std::os::unix::process::CommandExt::uid(&mut sh, 65_534);
        std::os::unix::process::CommandExt::gid(&mut sh, 65_534);
        assert!(sh.status().unwrap().success());
        assert_eq!(fs::read(m.path("b")).unwrap(), b"y\n");
        assert_eq!(fs::metadata(m.path("b")).unwrap().permissions().mode() & 0o777, 0);
        m.end();
    }
}

/// The kernel follows a synchronous write with one FSYNC, so the WRITE need not be synchronous;
/// it carries the flags all the same.
#[test]
fn synchronous_writes_are_followed_by_one_fsync() {
    for transport in transports() {
        let m = Mount::new(transport, Null { record: true, ..Null::new() });
        for (flag, datasync) in [(libc::O_SYNC, 0), (libc::O_DSYNC, 1)] {
            for direct in [0, libc::O_DIRECT] {
                let f = OpenOptions::new()
                    .write(true)
                    .create(true)
                    .custom_flags(flag | direct)
                    .open(m.path("f"))
                    .unwrap();
                let memory = vec![1u8; 12_288];
                let at = memory.as_ptr().align_offset(4096);
                let seen = m.during(|| f.write_all_at(&memory[at..at + 4096], 0).unwrap());
                let syncs: Vec<_> = seen.iter().filter(|s| s.0 == Opcode::Fsync).collect();
                assert_eq!(syncs, [&(Opcode::Fsync, datasync)], "{seen:?}");
                let write = seen.iter().find(|s| s.0 == Opcode::Write).unwrap();
                assert_eq!(write.1 as i32 & (flag | direct), flag | direct);
            }
        }
        m.end();
    }
}

/// A slow fsync holds up nobody else, even when there are more of them than threads and entries.
#[test]
fn waiting_requests_hold_up_nobody() {
    for transport in transports() {
        let null = Null { fsync: Duration::from_millis(700), ..Null::new() };
        let m = Mount::new(transport, null);
        let files: Vec<File> =
            (0..6).map(|i| File::create(m.path(&format!("f{i}"))).unwrap()).collect();
        std::thread::scope(|s| {
            for f in &files {
                s.spawn(move || f.sync_all().unwrap());
            }
            std::thread::sleep(Duration::from_millis(100));
            let start = Instant::now();
            for i in 0..50 {
                fs::create_dir(m.path(&format!("d{i}"))).unwrap();
            }
            assert!(start.elapsed() < Duration::from_millis(400), "{:?}", start.elapsed());
        });
        assert_eq!(m.door.stats().handed_over, 6);
        drop(files);
        m.end();
    }
}

/// Mounted as fuseblk, syncfs(2) and unmounting reach the daemon, and both wait for it.
#[test]
fn fuseblk_passes_sync_and_the_end() {
    for transport in transports() {
        let Some(device) = LoopDevice::new() else {
            eprintln!("skipped: no loop device to be had");
            return;
        };
        let null = Null { record: true, fsync: Duration::from_millis(150), ..Null::new() };
        // As the daemon has it: open, and not exclusively.
        let _held = File::options().read(true).write(true).open(&device.path).unwrap();
        let options = DoorOptions {
            transport,
            fuseblk: Some(device.path.clone().into()),
            ..DoorOptions::default()
        };
        let m = Mount::with(options, null);
        fs::write(m.path("f"), b"x").unwrap();
        let root = File::open(m.dir.path()).unwrap();
        let start = Instant::now();
        let seen = m.during(|| rustix::fs::syncfs(&root).unwrap());
        assert_eq!(ops(&seen), [Opcode::Syncfs]);
        assert!(start.elapsed() >= Duration::from_millis(150));
        drop(root);
        assert_eq!(tandem_fuse::mounted_source(m.dir.path()), Some(device.path.clone()));
        let null = m.null.clone();
        let start = Instant::now();
        m.end();
        assert!(start.elapsed() >= Duration::from_millis(150));
        assert!(ops(&null.take_seen()).contains(&Opcode::Destroy));
    }
}

#[test]
fn in_use_detached_and_forced() {
    for transport in transports() {
        let m = Mount::new(transport, Null::new());
        fs::write(m.path("f"), b"still here").unwrap();
        let mut f = File::open(m.path("f")).unwrap();
        assert!(matches!(m.door.unmount(Unmount::Polite), Err(DoorError::Busy(_))));
        assert!(tandem_fuse::unmount(Path::new("/"), Unmount::Polite).is_err());
        m.door.stop().unwrap();
        let mut text = String::new();
        f.read_to_string(&mut text).unwrap();
        assert_eq!(text, "still here");
        drop(f);
        m.end();

        if rustix::process::geteuid().is_root() {
            let m = Mount::new(transport, Null::new());
            let f = File::create(m.path("f")).unwrap();
            m.door.unmount(Unmount::Force).unwrap();
            assert!(f.set_len(5).is_err());
            drop(f);
            m.end();
        }
    }
}

#[test]
fn mistakes_have_a_remedy() {
    if transports().is_empty() {
        return;
    }
    let none = Path::new("/no/such/dir");
    let null = || Arc::new(Null::new());
    let e = mount_handler(null(), none, &DoorOptions::default()).err().unwrap();
    assert!(e.to_string().contains("must exist"), "{e}");
    let e = mount_handler(null(), Path::new("/dev/null"), &DoorOptions::default()).err().unwrap();
    assert!(e.to_string().contains("not a directory"), "{e}");
    let e = tandem_fuse::unmount(none, Unmount::Polite).err().unwrap();
    assert!(matches!(e, DoorError::NotMounted(_)), "{e}");

    let switch = "/sys/module/fuse/parameters/enable_uring";
    if fs::read_to_string(switch).is_ok_and(|s| s.trim() == "N") {
        let dir = tempfile::tempdir().unwrap();
        let options = DoorOptions { transport: TransportChoice::Uring, ..DoorOptions::default() };
        let e = mount_handler(null(), dir.path(), &options).err().unwrap();
        assert!(e.to_string().contains("echo Y > /sys/module/fuse"), "{e}");
        assert!(tandem_fuse::mounted_source(dir.path()).is_none());
    }
}
