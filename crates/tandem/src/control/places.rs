//! Where the sockets are and what they are called.
//!
//! A daemon listens before it mounts, under a name that says so; when the mount is there, the name
//! gets the mount's device number. No two daemons ever have the same name, so none can remove
//! another's. A number is given away again while its former daemon still writes: the newest counts.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect as connect_to};

use super::PATIENCE;

/// How often a mount that is being made is looked at.
const NAP: Duration = Duration::from_millis(5);
/// Begins the names of those that have no mount yet.
const MOUNTING: &str = "mounting.";
/// Ends the names of those that listen.
const SUFFIX: &str = ".sock";

/// A part of a name that is this daemon's alone, and greater than that of any before it.
pub fn unique() -> String {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    format!("{:010}{:09}.{}", now.tv_sec, now.tv_nsec, std::process::id())
}

/// The name of a daemon that does not listen yet.
pub fn name_unready(unique: &str) -> String {
    format!(".{unique}")
}

/// The name of a daemon that is about to mount.
pub fn name_mounting(unique: &str) -> String {
    format!("{MOUNTING}{unique}{SUFFIX}")
}

/// The name of a daemon whose mount has this device number.
pub fn name_mounted(dev: (u32, u32), unique: &str) -> String {
    format!("{}{unique}{SUFFIX}", prefix(dev))
}

fn prefix((major, minor): (u32, u32)) -> String {
    format!("{major}-{minor}.")
}

/// The sockets in `dir` whose names begin so, the newest first.
fn named(dir: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with(prefix) && name.ends_with(SUFFIX))
        .collect();
    names.sort_unstable_by(|a, b| b.cmp(a));
    names.into_iter().map(|name| dir.join(name)).collect()
}

/// Removes what daemons that were killed have left behind: those of mounts with this number, or
/// those that had none yet.
pub fn clear(dir: &Path, dev: Option<(u32, u32)>) {
    for path in named(dir, &dev.map_or(MOUNTING.to_owned(), prefix)) {
        if is_dead(&path) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Whether nobody listens any more: names that end so are given only to those who do.
fn is_dead(path: &Path) -> bool {
    let try_to = || {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect_to(&socket, &SocketAddrUnix::new(path)?)
    };
    try_to() == Err(rustix::io::Errno::CONNREFUSED)
}

/// Connects to the daemon of the mount with this device number. One that is just mounting is waited
/// for: it may be the one.
pub fn connect(dirs: &[PathBuf], dev: (u32, u32)) -> Result<UnixStream> {
    let start = Instant::now();
    loop {
        // In this order: what gets its number in between is met under its new name.
        let mounting = dirs.iter().flat_map(|dir| named(dir, MOUNTING)).any(|path| !is_dead(&path));
        let mut refused = None;
        for path in dirs.iter().flat_map(|dir| named(dir, &prefix(dev))) {
            match UnixStream::connect(path) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(PATIENCE))?;
                    stream.set_write_timeout(Some(PATIENCE))?;
                    return Ok(stream);
                }
                Err(e) if matches!(e.kind(), io::ErrorKind::NotFound) => {}
                Err(e) => refused = Some(e),
            }
        }
        if mounting && start.elapsed() < PATIENCE {
            std::thread::sleep(NAP);
            continue;
        }
        match refused {
            Some(e) => return Err(e).context("cannot reach the volume's daemon; was it killed?"),
            None if rustix::process::geteuid().is_root() => {
                bail!("the volume's daemon has left no control socket; was it killed?")
            }
            None => bail!(
                "the volume's daemon has left no control socket here; was it killed, or is the \
                 mount somebody else's?"
            ),
        }
    }
}

/// Where sockets may be, the likeliest first.
pub fn all() -> Vec<PathBuf> {
    let mut places = vec![PathBuf::from("/run/tandem")];
    places.extend(user_dir());
    if rustix::process::geteuid().is_root() {
        for (parent, prefix, rest) in [("/run/user", "", "tandem"), ("/tmp", "tandem-", "")] {
            let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
            let names = entries.filter(|e| e.file_name().to_string_lossy().starts_with(prefix));
            places.extend(names.map(|entry| entry.path().join(rest)));
        }
    }
    places
}

fn user_dir() -> Option<PathBuf> {
    let uid = rustix::process::geteuid();
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(dir) if Path::new(&dir).is_absolute() => Some(Path::new(&dir).join("tandem")),
        _ if uid.is_root() => None,
        _ => Some(PathBuf::from(format!("/tmp/tandem-{}", uid.as_raw()))),
    }
}

/// The directory for this user's sockets, made if need be and nobody else's.
pub fn own() -> Result<PathBuf> {
    let uid = rustix::process::geteuid();
    let dir = match user_dir() {
        Some(dir) if !uid.is_root() => dir,
        _ => PathBuf::from("/run/tandem"),
    };
    let mode = if uid.is_root() { 0o755 } else { 0o700 };
    DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(&dir)
        .with_context(|| format!("create {}", dir.display()))?;
    let owner = dir.symlink_metadata().with_context(|| format!("stat {}", dir.display()))?;
    if !owner.is_dir() || owner.uid() != uid.as_raw() {
        bail!("{}: belongs to somebody else; remove it", dir.display());
    }
    Ok(dir)
}
