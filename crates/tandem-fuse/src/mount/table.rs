//! What is mounted where, and the settings of a mount that only sysfs has.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use crate::options::DoorOptions;

/// A line of `/proc/self/mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// `major:minor` of the mount's device number.
    pub(super) device: String,
    pub(super) dir: PathBuf,
    pub(super) fstype: String,
    pub(super) source: String,
}

impl Entry {
    pub(super) fn is_ours(&self) -> bool {
        matches!(self.fstype.split_once('.'), Some(("fuse" | "fuseblk", "tandem")))
    }

    fn parse(line: &[u8]) -> Option<Entry> {
        let fields: Vec<&[u8]> = line.split(|&b| b == b' ').collect();
        let dash = fields.iter().position(|f| *f == b"-")?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some(Entry {
            device: text(fields.get(2)?),
            dir: PathBuf::from(OsString::from_vec(unescaped(fields.get(4)?))),
            fstype: text(fields.get(dash + 1)?),
            source: text(&unescaped(fields.get(dash + 2)?)),
        })
    }
}

/// The mount that one sees on `dir`: the last one there.
pub(super) fn find(dir: &Path) -> Option<Entry> {
    let table = std::fs::read("/proc/self/mountinfo").ok()?;
    let mut entries = table.split(|&b| b == b'\n').filter_map(Entry::parse);
    entries.rfind(|entry| entry.dir.as_os_str().as_bytes() == dir.as_os_str().as_bytes())
}

/// `\040` and the like stand for bytes.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, tail)) = rest.split_first() {
        let digits = tail.get(..3).filter(|d| d.iter().all(|b| (b'0'..=b'7').contains(b)));
        match digits {
            Some(d) if byte == b'\\' => {
                let value = d.iter().fold(0u32, |v, b| v * 8 + u32::from(b - b'0'));
                out.push(value as u8);
                rest = &tail[3..];
            }
            _ => {
                out.push(byte);
                rest = tail;
            }
        }
    }
    out
}

/// `dir` without symbolic links and dots, and without asking the file system mounted on it.
pub(super) fn resolve(dir: &Path) -> PathBuf {
    let absolute = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
    if absolute.components().any(|c| c == Component::ParentDir) {
        return absolute.canonicalize().unwrap_or(absolute);
    }
    match (absolute.parent().and_then(|p| p.canonicalize().ok()), absolute.file_name()) {
        (Some(parent), Some(name)) => {
            let joined = parent.join(name);
            match std::fs::symlink_metadata(&joined) {
                Ok(meta) if meta.is_symlink() => joined.canonicalize().unwrap_or(joined),
                _ => joined,
            }
        }
        _ => absolute,
    }
}

/// Raises the mount's readahead, and with the write-back cache its share of dirty memory (1 %
/// otherwise). Root only; a mount does without.
pub(super) fn tune(entry: &Entry, options: &DoorOptions) {
    let suffix = if entry.fstype.starts_with("fuseblk") { "-fuseblk" } else { "" };
    let bdi = Path::new("/sys/class/bdi").join(format!("{}{suffix}", entry.device));
    let set = |name: &str, value: u32| {
        if let Err(e) = std::fs::write(bdi.join(name), value.to_string()) {
            tracing::debug!("{}: {e}", bdi.join(name).display());
        }
    };
    set("read_ahead_kb", options.readahead >> 10);
    if options.writeback {
        set("max_ratio", 40);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_mountinfo() {
        let line =
            b"36 35 0:45 / /mnt/a\\040b rw,noatime shared:1 - fuse.tandem /dev/x rw,user_id=0";
        let entry = Entry::parse(line).unwrap();
        assert_eq!(entry.dir, Path::new("/mnt/a b"));
        assert_eq!((&*entry.device, &*entry.source), ("0:45", "/dev/x"));
        assert!(entry.is_ours());
        assert!(Entry::parse(b"").is_none());
        assert!(Entry::parse(b"1 2 3 - x").is_none());
    }

    #[test]
    fn paths_are_resolved_up_to_the_mount() {
        assert_eq!(resolve(Path::new("/proc/self/../1")), Path::new("/proc/1"));
        assert_eq!(resolve(Path::new("/")), Path::new("/"));
        assert!(find(Path::new("/")).is_some());
        assert!(find(Path::new("/no/such/mount")).is_none());
    }
}
