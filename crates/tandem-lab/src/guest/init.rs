//! The guest's first process.

use std::ffi::CString;
use std::io;
use std::path::Path;

use rustix::io::Errno;
use rustix::mount::MountFlags;
use rustix::system::RebootCommand;

/// Mounts what programs expect, and the work directory (two above the file `out`) so that it can be
/// written.
pub(crate) fn begin(out: &Path) -> io::Result<()> {
    for (kind, dir) in [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("tmpfs", "/run"),
        ("tmpfs", "/dev/shm"),
        ("mqueue", "/dev/mqueue"),
    ] {
        if dir.starts_with("/dev/") {
            let _ = std::fs::create_dir(dir);
        }
        match mount(kind, Path::new(dir), None) {
            // The kernel itself mounts some.
            Ok(()) | Err(Errno::BUSY) => {}
            // Not every kernel has message queues.
            Err(Errno::NODEV) if kind == "mqueue" => {}
            Err(error) => return Err(because(format!("mount {kind} on {dir}"), error)),
        }
    }
    let stage = out.parent().unwrap_or(Path::new("/"));
    let work = stage.parent().unwrap_or(stage);
    // It may lie below what was just mounted over the host's, /dev/shm for one.
    std::fs::create_dir_all(work)?;
    mount("hostfs", work, Some(work))
        .map_err(|error| because(format!("mount the host's {}", work.display()), error))
}

/// Switches the guest off.
pub(crate) fn end() -> ! {
    // All of this kernel, which is the run's alone; the host's is not concerned.
    rustix::fs::sync();
    let error = rustix::system::reboot(RebootCommand::PowerOff);
    // An init that ends is a panic, which ends the guest as well.
    eprintln!("agent: switching off: {error:?}");
    std::process::exit(1)
}

fn mount(kind: &str, dir: &Path, data: Option<&Path>) -> Result<(), Errno> {
    use std::os::unix::ffi::OsStrExt;
    let data = data.map(|data| CString::new(data.as_os_str().as_bytes())).transpose();
    let data = data.map_err(|_| Errno::INVAL)?;
    rustix::mount::mount("none", dir, kind, MountFlags::empty(), data.as_deref())
}

fn because(what: String, error: Errno) -> io::Error {
    io::Error::other(format!("{what}: {}", io::Error::from(error)))
}
