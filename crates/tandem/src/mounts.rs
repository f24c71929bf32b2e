//! The kernel's mount table.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One mount of a Tandem volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The `st_dev` of what is in it: major and minor number.
    pub dev: (u32, u32),
    /// Where it is mounted.
    pub dir: PathBuf,
    /// What it was mounted from: the metadata device.
    pub source: PathBuf,
    /// The type, as `fuse.tandem`.
    pub fs_type: String,
}

/// The Tandem volumes that are mounted, the latest last.
pub fn tandem_mounts() -> Vec<Mount> {
    mounts().into_iter().filter(|mount| mount.fs_type.ends_with(".tandem")).collect()
}

/// The mount whose mount point is `dir`, which need not answer: nothing in it is touched.
pub fn at(dir: &Path) -> Option<Mount> {
    let dir = resolve(dir);
    mounts().into_iter().rev().find(|mount| mount.dir == dir)
}

/// Where the volume on the metadata device `meta` is mounted.
pub fn of_device(meta: &Path) -> Option<Mount> {
    let meta = meta.canonicalize().ok()?;
    tandem_mounts().into_iter().rev().find(|mount| {
        mount.source == meta || mount.source.canonicalize().is_ok_and(|source| source == meta)
    })
}

/// An absolute path without links, found without asking the last directory itself anything: it
/// may be the mount point of a daemon that is gone.
pub fn resolve(dir: &Path) -> PathBuf {
    if let Ok(path) = dir.canonicalize() {
        return path;
    }
    let absolute = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
    match (absolute.parent().and_then(|parent| parent.canonicalize().ok()), absolute.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => absolute,
    }
}

fn mounts() -> Vec<Mount> {
    let table = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    table.split(|&byte| byte == b'\n').filter_map(parse).collect()
}

/// Parses a line of /proc/self/mountinfo (proc(5)).
fn parse(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let (major, minor) = std::str::from_utf8(fields.get(2)?).ok()?.split_once(':')?;
    let dash = fields.iter().position(|field| *field == b"-")?;
    Some(Mount {
        dev: (major.parse().ok()?, minor.parse().ok()?),
        dir: unescape(fields.get(4)?),
        fs_type: String::from_utf8_lossy(fields.get(dash + 1)?).into_owned(),
        source: unescape(fields.get(dash + 2)?),
    })
}

/// Undoes the kernel's `\040` for a space, and the like.
fn unescape(field: &[u8]) -> PathBuf {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, tail)) = rest.split_first() {
        let octal = match (byte, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..]) => {
                Some(((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'))
            }
            _ => None,
        };
        out.push(octal.unwrap_or(byte));
        rest = if octal.is_some() { &tail[3..] } else { tail };
    }
    PathBuf::from(OsString::from_vec(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_table() {
        let line = b"36 35 0:57 / /a\\040b\\134 rw,noatime shared:1 master:2 - fuse.tandem \
                     /tmp/m\\011.img rw,user_id=0";
        let expected = Mount {
            dev: (0, 57),
            dir: "/a b\\".into(),
            source: "/tmp/m\t.img".into(),
            fs_type: "fuse.tandem".into(),
        };
        assert_eq!(parse(line), Some(expected));
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"36 35 x / /a rw - ext4 /dev/sda"), None);
    }

    #[test]
    fn the_root_is_mounted() {
        assert_eq!(at(Path::new("/proc")).map(|mount| mount.fs_type), Some("proc".to_string()));
        assert_eq!(at(Path::new("/proc/self")), None);
    }
}
