//! Volumes on image files, mounted by the real command.

use super::program::{self, Output, run, wait};
use super::sys;
use super::users::is_root;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const START: Duration = Duration::from_secs(30);
const STOP: Duration = Duration::from_secs(120);

/// The `tandem` command under test.
pub fn tandem() -> PathBuf {
    std::env::var_os("TANDEM_BIN")
        .map(PathBuf::from)
        .or(option_env!("CARGO_BIN_EXE_tandem").map(PathBuf::from))
        .expect("cargo's CARGO_BIN_EXE_tandem, or TANDEM_BIN")
}

/// The command with these arguments, run to its end.
pub fn cli<S: AsRef<std::ffi::OsStr>>(args: &[S]) -> Output {
    run(Command::new(tandem()).args(args).env("NO_COLOR", "1"))
}

/// Why nothing can be mounted here, if so. Where there is a `/dev/fuse`, failing is a failure.
pub fn cannot_mount() -> Option<&'static str> {
    if !is_root() {
        Some("not root")
    } else if !Path::new("/dev/fuse").exists() {
        Some("no /dev/fuse")
    } else {
        None
    }
}

/// Says why a test does nothing; true when it must.
pub fn skip() -> bool {
    match cannot_mount() {
        Some(why) => println!("not run: {why}"),
        None => return false,
    }
    true
}

/// A new directory in memory where there is room, else where temporary files go.
pub fn scratch() -> TempDir {
    let shm = Path::new("/dev/shm");
    let base = if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() };
    let dir = tempfile::Builder::new().prefix("tandem-test-").tempdir_in(base).unwrap();
    // Other users walk through it.
    sys::chmod(dir.path(), 0o755).unwrap();
    dir
}

/// An image file of this many bytes, without any blocks.
pub fn image(path: &Path, size: u64) {
    File::create(path).and_then(|f| f.set_len(size)).unwrap();
}

/// How large, and how mounted.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Bytes of the metadata device.
    pub meta: u64,
    /// Bytes of the data device; 0: one device for both.
    pub data: u64,
    /// More arguments of `mkfs`.
    pub mkfs: Vec<String>,
    /// Mount options.
    pub options: String,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape {
            meta: 256 << 20,
            data: 4 << 30,
            mkfs: vec![],
            options: "allow_other,default_permissions".into(),
        }
    }
}

/// A volume on image files of its own, which go with it.
pub struct Volume {
    dir: TempDir,
    shape: Shape,
    daemon: Option<Child>,
}

impl Volume {
    /// Image files and an empty mount point; nothing is made or mounted yet.
    pub fn images(shape: Shape) -> Volume {
        let dir = scratch();
        std::fs::create_dir(dir.path().join("mnt")).unwrap();
        let v = Volume { dir, shape, daemon: None };
        image(&v.meta(), v.shape.meta);
        if v.shape.data > 0 {
            image(&v.data(), v.shape.data);
        }
        v
    }

    /// A volume that `mkfs` has made.
    #[track_caller]
    pub fn make(shape: Shape) -> Volume {
        let v = Volume::images(shape);
        v.mkfs().must();
        v
    }

    /// A volume that is mounted.
    #[track_caller]
    pub fn mounted(shape: Shape) -> Volume {
        let mut v = Volume::make(shape);
        v.mount();
        v
    }

    /// Where its files are.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The metadata device.
    pub fn meta(&self) -> PathBuf {
        self.dir.path().join("meta.img")
    }

    /// The data device.
    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data.img")
    }

    /// The mount point.
    pub fn mnt(&self) -> PathBuf {
        self.dir.path().join("mnt")
    }

    /// A path in the volume.
    pub fn at(&self, path: &str) -> PathBuf {
        self.mnt().join(path)
    }

    /// `META [--data DATA]`.
    pub fn devices(&self) -> Vec<String> {
        let text = |p: PathBuf| p.to_string_lossy().into_owned();
        let mut args = vec![text(self.meta())];
        if self.shape.data > 0 {
            args.extend(["--data".to_owned(), text(self.data())]);
        }
        args
    }

    /// `tandem COMMAND META [--data DATA] MORE…`
    pub fn cli(&self, command: &str, more: &[&str]) -> Output {
        let mut args = vec![command.to_owned()];
        args.extend(self.devices());
        args.extend(more.iter().map(|s| (*s).to_owned()));
        cli(&args)
    }

    /// `tandem mkfs`.
    pub fn mkfs(&self) -> Output {
        self.cli("mkfs", &self.shape.mkfs.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// `tandem mount` in the background, as a user does it; for what should fail, mostly.
    pub fn try_mount(&self, options: &str) -> Output {
        let mut args = vec!["mount".to_owned()];
        args.extend(self.devices());
        args.push(self.mnt().to_string_lossy().into_owned());
        if !options.is_empty() {
            args.extend(["-o".to_owned(), options.to_owned()]);
        }
        cli(&args)
    }

    /// Mounts with the shape's options.
    #[track_caller]
    pub fn mount(&mut self) {
        let options = self.shape.options.clone();
        self.mount_with(&options);
    }

    /// Mounts with these options, the daemon being this process's child.
    #[track_caller]
    pub fn mount_with(&mut self, options: &str) {
        let said = self.log().len();
        // The mount is there a little before the daemon is ready for commands.
        self.spawn(options, |v| v.log().get(said..).is_some_and(|new| new.contains(": mounted ")));
    }

    /// The same, only until the mount can be seen.
    #[track_caller]
    pub fn mount_until_seen(&mut self) {
        let options = self.shape.options.clone();
        self.spawn(&options, |v| {
            let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
            table.contains(&*v.mnt().to_string_lossy())
        });
    }

    /// Starts the daemon as this process's child, and waits until `there`.
    #[track_caller]
    fn spawn(&mut self, options: &str, there: impl Fn(&Volume) -> bool) {
        assert!(self.daemon.is_none(), "already mounted");
        // To run everything another way: TANDEM_TEST_OPTIONS=transport=classic
        let more = std::env::var("TANDEM_TEST_OPTIONS").unwrap_or_default();
        let options = &format!("{options},{more}");
        let mut child = self.start(options);
        let start = Instant::now();
        while !there(self) {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("tandem mount -o {options}: {status}\n{}", self.log());
            }
            if start.elapsed() > START {
                let _ = child.kill();
                let _ = child.wait();
                panic!("tandem mount -o {options}: not mounted in {START:?}\n{}", self.log());
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        self.daemon = Some(child);
    }

    fn start(&self, options: &str) -> Child {
        let log = File::options().create(true).append(true).open(self.log_path()).unwrap();
        Command::new(tandem())
            .arg("mount")
            .args(self.devices())
            .arg(self.mnt())
            .args(["--foreground", "-o", options])
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap()
    }

    /// Starts a daemon and kills it so much later, whatever it is doing then.
    #[track_caller]
    pub fn mount_and_kill(&mut self, life: Duration) {
        assert!(self.daemon.is_none(), "already mounted");
        self.daemon = Some(self.start(&self.shape.options));
        std::thread::sleep(life);
        self.crash();
    }

    /// The daemon's process, while this process's child.
    pub fn pid(&self) -> Option<u32> {
        self.daemon.as_ref().map(Child::id)
    }

    fn log_path(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    /// What the daemons have said.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// Unmounts, and waits for the daemon to end well.
    pub fn try_umount(&mut self) -> Result<(), String> {
        let mnt = self.mnt().to_string_lossy().into_owned();
        let start = Instant::now();
        let mut out = cli(&["umount", &mnt]);
        // A child that another test is about to start has everybody's descriptors for a moment.
        while !out.ok() && out.err.contains("in use") && start.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(20));
            out = cli(&["umount", &mnt]);
        }
        if !out.ok() {
            let _ = sys::umount(&self.mnt(), sys::MNT_DETACH);
        }
        let ended = self.daemon.take().map(|child| wait(child, STOP));
        match ended {
            _ if !out.ok() => Err(format!("{out}\n{}", self.log())),
            Some(None) => Err(format!("the daemon did not end in {STOP:?}\n{}", self.log())),
            Some(Some(status)) if !status.success() => {
                Err(format!("the daemon ended with {status}\n{}", self.log()))
            }
            _ => Ok(()),
        }
    }

    /// Unmounts; panics when that fails or the daemon ends badly.
    #[track_caller]
    pub fn umount(&mut self) {
        self.try_umount().unwrap_or_else(|e| panic!("{e}"));
    }

    /// Unmounts and mounts again.
    #[track_caller]
    pub fn remount(&mut self) {
        self.umount();
        self.mount();
    }

    /// Sends the daemon a signal and waits for its end; no status when it does not end.
    pub fn signal(&mut self, signal: i32) -> Option<std::process::ExitStatus> {
        let child = self.daemon.take().expect("mounted");
        sys::kill(child.id(), signal).unwrap();
        wait(child, STOP)
    }

    /// Kills the daemon as a crash would, and takes the dead mount away.
    #[track_caller]
    pub fn crash(&mut self) {
        let mut child = self.daemon.take().expect("mounted");
        child.kill().unwrap();
        child.wait().unwrap();
        let _ = sys::umount(&self.mnt(), sys::MNT_DETACH);
    }

    /// `tandem check`, which must find nothing.
    pub fn try_check(&self) -> Result<(), String> {
        let out = self.cli("check", &[]);
        if out.ok() { Ok(()) } else { Err(format!("{out}\n{}", self.log())) }
    }

    /// Unmounts if mounted, and panics unless `tandem check` finds nothing.
    #[track_caller]
    pub fn finish(&mut self) {
        if self.daemon.is_some() {
            self.umount();
        }
        self.try_check().unwrap_or_else(|e| panic!("{e}"));
    }

    /// Blocks free and files used, which may take until the next commit to be as they should.
    pub fn space(&self) -> (u64, u64) {
        sys::statvfs(self.mnt()).map(|s| (s.f_bfree, s.f_files - s.f_ffree)).unwrap()
    }

    /// Panics unless at least so much of the data device is free, in parts of a thousand, soon.
    #[track_caller]
    pub fn expect_free(&self, least: u64) {
        let free = || sys::statvfs(self.mnt()).map(|s| s.f_bfree * 1000 / s.f_blocks).unwrap();
        let start = Instant::now();
        while free() < least {
            assert!(start.elapsed() < Duration::from_secs(15), "{} of 1000 free", free());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Changes bytes of a device, by hand.
    pub fn poke(path: &Path, off: u64, change: impl FnOnce(&mut [u8]), len: usize) {
        let file = File::options().read(true).write(true).open(path).unwrap();
        let mut bytes = vec![0; len];
        file.read_exact_at(&mut bytes, off).unwrap();
        change(&mut bytes);
        file.write_all_at(&bytes, off).unwrap();
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        if self.daemon.is_none() {
            // What a failed test may have left mounted in the background.
            let _ = sys::umount(&self.mnt(), sys::MNT_DETACH);
        }
        if let Some(mut child) = self.daemon.take() {
            let _ = sys::umount(&self.mnt(), sys::MNT_DETACH);
            let start = Instant::now();
            while start.elapsed() < Duration::from_secs(5) && matches!(child.try_wait(), Ok(None)) {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A block device over a file, gone with this value.
pub struct Loop(pub String);

impl Loop {
    /// `losetup`; `None` where there are no loop devices.
    pub fn new(file: &Path, options: &[&str]) -> Option<Loop> {
        if !Path::new("/dev/loop-control").exists() {
            return None;
        }
        let out = run(Command::new("losetup").args(["--find", "--show"]).args(options).arg(file));
        let name = out.must().out.trim().to_owned();
        if !options.contains(&"-r") {
            // A loop device may remember that it was read-only once.
            run(Command::new("blockdev").args(["--setrw", &name]));
        }
        Some(Loop(name))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = program::run(Command::new("losetup").args(["-d", &self.0]));
    }
}
