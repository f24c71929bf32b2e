//! The file systems that are compared, each mounted for the test.

use super::op::Step;
use super::run::{Outcome, Runner};
use crate::common::program::{have, run};
use crate::common::sys::{self, *};
use crate::common::users::own_fs;
use crate::common::volume::{Loop, Shape, Volume, image, scratch};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;
use tempfile::TempDir;

/// Past this a sequence's daemon is killed, so that a wedged mount fails instead of hanging.
const LIMIT: Duration = Duration::from_secs(300);

/// A file system mounted by the test and gone with it.
pub struct Mounted {
    dir: TempDir,
    _loop: Option<Loop>,
}

impl Mounted {
    /// tmpfs.
    pub fn tmpfs() -> Mounted {
        let dir = scratch();
        let options = "size=2G,mode=0755,nr_inodes=1M";
        sys::mount("tmpfs", dir.path(), "tmpfs", MS_NODEV | MS_NOATIME, options).unwrap();
        Mounted { dir, _loop: None }
    }

    /// ext4 on an image file in memory; `None` where it cannot be had.
    pub fn ext4() -> Option<Mounted> {
        if !have("mkfs.ext4") {
            return None;
        }
        let dir = scratch();
        let (img, mnt) = (dir.path().join("ext4.img"), dir.path().join("mnt"));
        image(&img, 2 << 30);
        std::fs::create_dir(&mnt).unwrap();
        run(Command::new("mkfs.ext4").args(["-q", "-I", "256", "-m", "0"]).arg(&img)).must();
        let device = Loop::new(&img, &[])?;
        sys::mount(&device.0, &mnt, "ext4", MS_NODEV | MS_NOATIME, "acl,user_xattr").unwrap();
        Some(Mounted { dir, _loop: Some(device) })
    }

    /// Where it is.
    pub fn mnt(&self) -> PathBuf {
        let mnt = self.dir.path().join("mnt");
        if self._loop.is_some() { mnt } else { self.dir.path().to_owned() }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = sys::umount(&self.mnt(), MNT_DETACH);
    }
}

/// All that take part.
pub struct Sides {
    tandem: Volume,
    others: Vec<(&'static str, Mounted)>,
    runs: u64,
}

/// What each made of a sequence: Tandem, then the others by name.
pub struct Outcomes {
    pub tandem: Vec<Outcome>,
    pub others: Vec<(&'static str, Vec<Outcome>)>,
}

impl Sides {
    /// Tandem with these further options, tmpfs, and ext4 where it can be had.
    pub fn new(options: &str) -> Sides {
        let options = format!("allow_other,default_permissions,noatime,nodev,{options}");
        let tandem = Volume::mounted(Shape { options, ..Shape::default() });
        let mut others = vec![("tmpfs", Mounted::tmpfs())];
        others.extend(Mounted::ext4().map(|m| ("ext4", m)));
        Sides { tandem, others, runs: 0 }
    }

    /// Runs a sequence on all of them, or without tmpfs, each in an empty directory.
    pub fn run(&mut self, steps: &[Step], tmpfs: bool) -> Outcomes {
        self.runs += 1;
        let name = format!("run{}", self.runs);
        let volume = &mut self.tandem;
        let pid = volume.pid().expect("a child");
        let others = self.others.iter().filter(|(kind, _)| tmpfs || *kind != "tmpfs");
        std::thread::scope(|scope| {
            let (done, watch) = mpsc::channel::<()>();
            scope.spawn(move || {
                if watch.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
                    let _ = sys::kill(pid, SIGKILL);
                }
            });
            let others: Vec<_> = others
                .map(|(kind, mounted)| {
                    let dir = mounted.mnt().join(&name);
                    (*kind, scope.spawn(move || at_home(&dir, steps, &mut || {})))
                })
                .collect();
            let dir = volume.mnt().join(&name);
            let tandem = scope.spawn(move || {
                at_home(&dir, steps, &mut || {
                    volume.umount();
                    volume.try_check().unwrap();
                    volume.mount();
                })
            });
            let others = others.into_iter().map(|(kind, t)| (kind, t.join().unwrap())).collect();
            let tandem = tandem.join();
            drop(done);
            Outcomes { tandem: tandem.unwrap_or_else(|e| std::panic::resume_unwind(e)), others }
        })
    }

    /// Unmounts Tandem, which must then be sound.
    pub fn finish(&mut self) {
        self.tandem.finish();
    }
}

/// Runs a sequence with `dir` as this thread's root, so that no path leads out of it.
fn at_home(dir: &Path, steps: &[Step], remount: &mut dyn FnMut()) -> Vec<Outcome> {
    own_fs().expect("a root of this thread's own");
    umask(0o022);
    let outside = open("/", O_PATH | O_DIRECTORY, 0).unwrap();
    let enter = || {
        chdir(dir).and_then(|()| chroot(".")).unwrap();
    };
    let leave = || {
        fchdir(&outside).and_then(|()| chroot(".")).unwrap();
    };
    mkdir(dir, 0o777).and_then(|()| chmod(dir, 0o777)).unwrap();
    enter();
    let mut again = || {
        leave();
        remount();
        enter();
    };
    let outcomes = Runner::new(&mut again).all(steps);
    leave();
    std::fs::remove_dir_all(dir).unwrap();
    outcomes
}
