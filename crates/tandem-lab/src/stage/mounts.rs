//! The kernel's table of mounts, and undoing them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::mount::UnmountFlags;

/// What mounts and unmounts FUSE for ordinary users.
pub(crate) const HELPER: &str = "fusermount3";

/// Is something mounted on the directory?
pub(crate) fn is_mounted(dir: &Path) -> bool {
    let dir = real(dir);
    mounts().contains(&dir)
}

/// Unmounts whatever lies on or in a directory, the last mounted first; what is in use is detached.
/// What is left is returned.
pub(crate) fn unmount_all(dir: &Path) -> Vec<PathBuf> {
    let dir = real(dir);
    let within = || mounts().into_iter().filter(|mount| mount.starts_with(&dir));
    for mount in within().collect::<Vec<_>>().into_iter().rev() {
        let gone = (0..20).any(|attempt| {
            if attempt > 0 {
                std::thread::sleep(Duration::from_millis(50));
            }
            unmount(&mount, UnmountFlags::empty())
        });
        if !gone {
            unmount(&mount, UnmountFlags::DETACH);
        }
    }
    within().collect()
}

/// Whether it could be unmounted. Ordinary users have mounted through FUSE's helper, and unmount so.
fn unmount(mount: &Path, flags: UnmountFlags) -> bool {
    if rustix::process::geteuid().is_root() {
        return rustix::mount::unmount(mount, flags).is_ok();
    }
    let how = if flags.contains(UnmountFlags::DETACH) { "-uz" } else { "-u" };
    let mut helper = Command::new(HELPER);
    helper.args([how, "--"]).arg(mount).stdin(Stdio::null()).stderr(Stdio::null());
    helper.status().is_ok_and(|status| status.success())
}

/// The path without links, found without touching its end, which may be the mount point of a
/// daemon that is gone.
fn real(dir: &Path) -> PathBuf {
    let parent = dir.parent().and_then(|parent| parent.canonicalize().ok());
    match (parent, dir.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => dir.to_owned(),
    }
}

/// Where something is mounted, in the order in which it was.
fn mounts() -> Vec<PathBuf> {
    table().into_iter().map(|mount| mount.point).collect()
}

/// A line of the table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Which directory of the file system is mounted.
    pub root: PathBuf,
    /// Where.
    pub point: PathBuf,
    /// The file system's type.
    pub kind: String,
    /// Its own options, with commas between.
    pub options: String,
}

/// The table, in the order in which mounts were made.
pub(crate) fn table() -> Vec<Mount> {
    let table = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    table.split(|&byte| byte == b'\n').filter_map(parse).collect()
}

/// A line as proc_pid_mountinfo(5) has it; a hyphen ends a number of fields that are optional.
fn parse(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let hyphen = fields.iter().skip(6).position(|field| *field == b"-")? + 6;
    let text = |at: usize| Some(String::from_utf8_lossy(fields.get(at)?).into_owned());
    Some(Mount {
        root: unescape(fields[3]),
        point: unescape(fields[4]),
        kind: text(hyphen + 1)?,
        options: text(hyphen + 3)?,
    })
}

/// Undoes the kernel's `\040` for a space, and the like.
fn unescape(field: &[u8]) -> PathBuf {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, tail)) = rest.split_first() {
        match (byte, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                out.push(((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'));
                rest = after;
            }
            _ => {
                out.push(byte);
                rest = tail;
            }
        }
    }
    PathBuf::from(OsString::from_vec(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_table() {
        let line =
            b"35 31 0:32 /a /sys/fs/my\\040cgroup rw,relatime shared:9 - cgroup cgroup rw,memory";
        let (root, point) = ("/a".into(), "/sys/fs/my cgroup".into());
        let (kind, options) = ("cgroup".to_owned(), "rw,memory".to_owned());
        assert_eq!(parse(line), Some(Mount { root, point, kind, options }));
        assert_eq!(parse(b""), None);
        assert!(table().iter().any(|mount| mount.kind == "proc"));
    }

    #[test]
    fn escapes() {
        assert_eq!(unescape(br"/a\040b\134"), Path::new(r"/a b\"));
        assert!(is_mounted(Path::new("/proc")));
        assert!(!is_mounted(Path::new("/proc/self")));
    }
}
