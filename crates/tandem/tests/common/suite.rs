//! The runner of the POSIX tests: each test has a volume of its own (or a directory of
//! `TANDEM_TEST_DIR`), goes on after a failed assertion, and ends with a clean `check`.

use super::sys::{self, Errno, R};
use super::users::own_fs;
use super::volume::{Shape, Volume, skip};
use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// Past this a test's daemon is killed, so that a wedged mount fails instead of hanging.
const LIMIT: Duration = Duration::from_secs(120);

/// A test under way. The thread's working directory is an empty directory of the file system.
pub struct T {
    root: PathBuf,
    tandem: bool,
    magic: i64,
    context: RefCell<String>,
    failures: RefCell<Vec<String>>,
    count: Cell<u64>,
}

impl T {
    /// The directory that the test works in.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether this is the file system under test, and not one that the tests are tested on.
    pub fn tandem(&self) -> bool {
        self.tandem
    }

    /// Whether this is tmpfs, which lacks a few things.
    pub fn tmpfs(&self) -> bool {
        self.magic == sys::TMPFS_MAGIC
    }

    /// What the next assertions are about.
    pub fn about(&self, context: impl Into<String>) {
        *self.context.borrow_mut() = context.into();
    }

    #[track_caller]
    fn judge(&self, good: bool, message: impl FnOnce() -> String) -> bool {
        self.count.set(self.count.get() + 1);
        if !good {
            let (at, context) = (Location::caller(), self.context.borrow());
            let sep = if context.is_empty() { "" } else { ": " };
            let line = format!("{}:{}: {context}{sep}{}", at.file(), at.line(), message());
            self.failures.borrow_mut().push(line);
        }
        good
    }

    /// This holds.
    #[track_caller]
    pub fn yes(&self, what: &str, holds: bool) -> bool {
        self.judge(holds, || format!("not so: {what}"))
    }

    /// These are equal.
    #[track_caller]
    pub fn eq<V: PartialEq + Debug>(&self, got: V, want: V) -> bool {
        let good = got == want;
        self.judge(good, || {
            let short = |v: &V| format!("{v:?}").chars().take(300).collect::<String>();
            format!("got {}, want {}", short(&got), short(&want))
        })
    }

    /// The call succeeds.
    #[track_caller]
    pub fn ok<V>(&self, result: R<V>) -> Option<V> {
        self.judge(result.is_ok(), || {
            format!("got {:?}, want success", result.as_ref().err().map(|e| e.0).map(Errno))
        });
        result.ok()
    }

    /// The call fails like this.
    #[track_caller]
    pub fn err<V>(&self, result: R<V>, want: i32) -> bool {
        self.one_of(result, &[want])
    }

    /// The call fails in one of these ways.
    #[track_caller]
    pub fn one_of<V>(&self, result: R<V>, want: &[i32]) -> bool {
        let good = matches!(&result, Err(e) if want.contains(&e.0));
        self.judge(good, || {
            let want: Vec<Errno> = want.iter().map(|e| Errno(*e)).collect();
            match result {
                Ok(_) => format!("got success, want {want:?}"),
                Err(e) => format!("got {e:?}, want {want:?}"),
            }
        })
    }

    /// Nothing has this name.
    #[track_caller]
    pub fn gone(&self, path: &str) -> bool {
        self.err(sys::lstat(path), sys::ENOENT)
    }
}

/// Waits until a new time stamp is sure to differ from one taken before.
pub fn tick() {
    std::thread::sleep(Duration::from_millis(15));
}

/// Where the suite is to work instead of on volumes of its own.
pub fn given_dir() -> Option<PathBuf> {
    std::env::var_os("TANDEM_TEST_DIR").map(PathBuf::from)
}

/// Runs a test on a volume of the usual shape.
#[track_caller]
pub fn posix(test: impl FnOnce(&T)) {
    posix_on(Shape::default(), test);
}

/// Runs a test on a volume of this shape.
#[track_caller]
pub fn posix_on(shape: Shape, test: impl FnOnce(&T)) {
    match given_dir() {
        Some(dir) => in_directory(&dir, test),
        None if skip() => {}
        None => on_volume(shape, test),
    }
}

fn in_directory(dir: &Path, test: impl FnOnce(&T)) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let dir = dir.join(format!("t{}-{n}", std::process::id()));
    std::fs::create_dir(&dir).unwrap();
    sys::chmod(&dir, 0o777).unwrap();
    let failures = work(&dir, test);
    std::fs::remove_dir_all(&dir).unwrap();
    report(failures);
}

/// Prepares a directory, then runs a test in it while its file system is mounted `ro`.
#[track_caller]
pub fn read_only(prepare: impl FnOnce(), test: impl FnOnce(&T)) {
    if let Some(given) = given_dir() {
        let dir = given.join(format!("ro{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let mut failures = work(&dir, |_| prepare());
        let text = dir.to_string_lossy();
        sys::mount(&text, &dir, "", sys::MS_BIND, "").unwrap();
        sys::mount(&text, &dir, "", sys::MS_BIND | sys::MS_REMOUNT | sys::MS_RDONLY, "").unwrap();
        failures.extend(work(&dir, test));
        sys::umount(&dir, sys::MNT_DETACH).unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        return report(failures);
    }
    if skip() {
        return;
    }
    let mut volume = Volume::mounted(Shape::default());
    let dir = volume.at("test");
    std::fs::create_dir(&dir).unwrap();
    let mut failures = work(&dir, |_| prepare());
    volume.umount();
    volume.mount_with("ro,allow_other,default_permissions");
    failures.extend(work(&dir, test));
    failures.extend(volume.try_umount().err());
    failures.extend(volume.try_check().err());
    report(failures);
}

fn on_volume(shape: Shape, test: impl FnOnce(&T)) {
    let mut volume = Volume::mounted(shape);
    let pid = volume.pid().expect("a child");
    let (done, watch) = mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        let late = watch.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout);
        if late {
            let _ = sys::kill(pid, sys::SIGKILL);
        }
        late
    });
    let dir = volume.at("test");
    let mut failures = match std::fs::create_dir(&dir) {
        Ok(()) => {
            let _ = sys::chmod(&dir, 0o777);
            work(&dir, test)
        }
        Err(e) => vec![format!("mkdir in a new volume: {e}")],
    };
    failures.extend(volume.try_umount().err().map(|e| format!("unmounting: {e}")));
    drop(done);
    if watchdog.join().unwrap() {
        failures.push(format!("the daemon was killed after {LIMIT:?}"));
    } else {
        failures.extend(volume.try_check().err().map(|e| format!("check afterwards: {e}")));
    }
    report(failures);
}

fn work(dir: &Path, test: impl FnOnce(&T)) -> Vec<String> {
    own_fs().expect("a working directory of this thread's own");
    sys::umask(0o022);
    sys::chdir(dir).unwrap();
    let magic = sys::fs_type(".").unwrap();
    let t = T {
        root: dir.to_owned(),
        tandem: magic == sys::FUSE_SUPER_MAGIC,
        magic,
        context: RefCell::default(),
        failures: RefCell::default(),
        count: Cell::default(),
    };
    let end = catch_unwind(AssertUnwindSafe(|| test(&t)));
    sys::chdir("/").unwrap();
    let mut failures = t.failures.into_inner();
    if let Err(panic) = end {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        failures.push(format!("stopped: {}: {text}", t.context.borrow()));
    }
    println!("{} assertions, {} failed", t.count.get(), failures.len());
    failures
}

fn report(failures: Vec<String>) {
    if !failures.is_empty() {
        let many = failures.len();
        let list = failures.into_iter().take(40).collect::<Vec<_>>().join("\n  ");
        panic!("{many} failures:\n  {list}");
    }
}
