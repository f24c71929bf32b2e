//! What the tests of the door share.

use std::fs::{self, File};

use std::time::{Duration, Instant};

use tandem_fuse::{Door, DoorError, TransportChoice, Unmount};

/// The transports that can be had here; the others are named on stderr.
pub fn transports() -> Vec<TransportChoice> {
    if File::options().read(true).write(true).open("/dev/fuse").is_err() {
        eprintln!("skipped: /dev/fuse cannot be opened");
        return vec![];
    }
    let switch = fs::read_to_string("/sys/module/fuse/parameters/enable_uring");
    if switch.is_ok_and(|s| s.trim() == "Y") {
        vec![TransportChoice::Classic, TransportChoice::Uring]
    } else {
        eprintln!("skipped: transport=uring (fuse.enable_uring is not on)");
        vec![TransportChoice::Classic]
    }
}

/// Unmounts what no test uses any more. For a moment it may look used: a process that another
/// test is just starting has a copy of every descriptor.
pub fn unmount(door: &Door) {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match door.unmount(Unmount::Polite) {
            Err(DoorError::Busy(_)) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other.unwrap(),
        }
    }
}

/// A block device over a small file, for the name of it.
pub struct LoopDevice {
    pub path: String,
    _image: tempfile::NamedTempFile,
}

impl LoopDevice {
    pub fn new() -> Option<LoopDevice> {
        let image = tempfile::NamedTempFile::new().ok()?;
        image.as_file().set_len(1 << 20).ok()?;
        let out = std::process::Command::new("losetup")
            .args(["--find", "--show"])
            .arg(image.path())
            .output()
            .ok()
            .filter(|out| out.status.success())?;
        let path = String::from_utf8(out.stdout).ok()?.trim().to_owned();
        Some(LoopDevice { path, _image: image })
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = std::process::Command::new("losetup").arg("-d").arg(&self.path).status();
    }
}
