//! What the calls that make things durable mean, where it is not said elsewhere: the tests that
//! `docs/semantics.md` names.

mod common;

use common::sys::{self, *};
use common::volume::{Loop, Shape, Volume, cli, image, skip, tandem};
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::process::{Command, Stdio};

/// Nothing is committed unless somebody asks.
const NEVER: &str = "flush=1h,checkpoint=1h,allow_other";

fn put(v: &Volume, name: &str, data: &[u8]) -> OwnedFd {
    let fd = open(v.at(name), O_CREAT | O_RDWR, 0o644).unwrap();
    assert_eq!(sys::write(&fd, data), Ok(data.len()));
    fd
}

fn close(fd: OwnedFd) -> R<()> {
    raw(SYS_close, [fd.into_raw_fd().into(), 0, 0, 0, 0, 0]).map(drop)
}

fn commits(v: &Volume) -> u64 {
    let out = cli(&["stats", &v.mnt().to_string_lossy(), "--json"]).must();
    let all: serde_json::Value = serde_json::from_str(&out.out).unwrap();
    all["volume"]["commits"].as_u64().unwrap()
}

#[test]
fn close_promises_nothing() {
    if skip() {
        return;
    }
    let mut v = Volume::make(Shape::default());
    v.mount_with(NEVER);
    let before = commits(&v);
    close(put(&v, "f", b"closed")).unwrap();
    assert_eq!(commits(&v), before);
    v.crash();
    v.mount();
    assert_eq!(names(v.mnt()), Ok(vec![]));
    v.finish();
}

#[test]
fn an_fsync_is_of_all_names_and_of_one_files_contents() {
    if skip() {
        return;
    }
    let mut v = Volume::make(Shape::default());
    v.mount_with(NEVER);
    mkdir(v.at("d"), 0o700).unwrap();
    let other = put(&v, "other", b"not asked for");
    let file = put(&v, "d/file", b"asked for");
    setxattr(v.at("d/file"), true, "user.a", b"1", 0).unwrap();
    fdatasync(&file).unwrap();
    drop((other, file));
    v.crash();
    v.mount();
    assert_eq!(std::fs::read(v.at("d/file")).unwrap(), b"asked for");
    assert_eq!(getxattr(v.at("d/file"), "user.a"), Ok(b"1".to_vec()));
    assert_eq!(lstat(v.at("d")).unwrap().perm(), 0o700);
    // What the others have not asked for may be missing, but is never wrong.
    assert_eq!(std::fs::read(v.at("other")).unwrap(), b"");
    v.finish();
}

#[test]
fn syncfs_of_image_files_does_not_reach_the_daemon() {
    if skip() {
        return;
    }
    let mut v = Volume::make(Shape::default());
    v.mount_with(NEVER);
    let fd = put(&v, "f", b"synced?");
    let before = commits(&v);
    syncfs(&fd).unwrap();
    assert_eq!(commits(&v), before, "it does now: semantics.md has to be written anew");
    fsync(&fd).unwrap();
    assert!(commits(&v) > before);
    drop(fd);
    v.finish();
}

/// Mounted by the command itself, as the devices are not the volume's image files.
#[test]
fn syncfs_of_block_devices_makes_all_durable() {
    if skip() {
        return;
    }
    let v = Volume::images(Shape { meta: 64 << 20, data: 0, ..Shape::default() });
    image(&v.dir().join("two"), 64 << 20);
    let Some(meta) = Loop::new(&v.meta(), &[]) else { return };
    let Some(data) = Loop::new(&v.dir().join("two"), &[]) else { return };
    cli(&["mkfs", &meta.0, "--data", &data.0]).must();
    let mnt = v.mnt().to_string_lossy().into_owned();
    let mount = || {
        let child = Command::new(tandem())
            .args(["mount", &meta.0, &mnt, "--data", &data.0, "--foreground", "-o", NEVER])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while !std::fs::read_to_string("/proc/self/mountinfo").unwrap().contains(&mnt) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        child
    };
    let mut child = mount();
    let files: Vec<OwnedFd> =
        (0..20).map(|i| put(&v, &format!("f{i}"), &[i as u8; 5000])).collect();
    syncfs(&files[0]).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(files);
    sys::umount(&v.mnt(), MNT_DETACH).unwrap();
    let child = mount();
    for i in 0..20u8 {
        assert_eq!(std::fs::read(v.at(&format!("f{i}"))).unwrap(), [i; 5000]);
    }
    cli(&["umount", &mnt]).must();
    drop(child);
    cli(&["check", &meta.0, "--data", &data.0]).must();
}

#[test]
fn a_dead_daemon_is_told_by_every_call() {
    if skip() {
        return;
    }
    let mut v = Volume::mounted(Shape::default());
    let fd = put(&v, "f", b"kept");
    fsync(&fd).unwrap();
    let (pid, mnt) = (v.pid().unwrap(), v.mnt());
    sys::kill(pid, SIGKILL).unwrap();
    // The kernel notices when the daemon's last descriptor is closed.
    let gone = [ENOTCONN, ECONNABORTED];
    let told = (0..1000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        sys::pwrite(&fd, b"more", 0).err()
    });
    assert!(gone.contains(&told.expect("never told").0));
    for call in [fsync(&fd), mkdir(v.at("d"), 0o755), lstat(v.at("f")).map(drop)] {
        assert!(call.is_err_and(|e| gone.contains(&e.0)), "{call:?}");
    }
    assert!(fd.as_raw_fd() > 0);
    drop(fd);
    // The dead mount is still there, and can be taken away.
    assert!(
        std::fs::read_to_string("/proc/self/mountinfo").unwrap().contains(&*mnt.to_string_lossy())
    );
    cli(&["umount", &mnt.to_string_lossy()]).must_fail().says(&["not shut down cleanly"]);
    v.crash();
    v.mount();
    assert_eq!(std::fs::read(v.at("f")).unwrap(), b"kept");
    v.finish();
}
