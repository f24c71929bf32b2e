//! What is compared of an i-node, and of all of them.

use crate::common::sys::*;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::ffi::OsStrExt;

/// A time: what utimensat(2) was told, or some time since the test began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    Told(i64, u32),
    Lately,
}

/// Attributes that file systems must agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub mode: u32,
    pub nlink: u32,
    pub uid: u32,
    pub gid: u32,
    /// Bytes; 0 for a directory, where it means something else everywhere.
    pub size: u64,
    pub rdev: (u32, u32),
    pub atime: Time,
    pub mtime: Time,
}

/// An i-node with all that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub path: Vec<u8>,
    pub seen: Seen,
    /// The first path that leads to the same i-node.
    pub same: Vec<u8>,
    /// A hash of the contents, the target or the sorted names.
    pub contents: u64,
    pub attributes: Vec<(String, R<Vec<u8>>)>,
}

/// What a sequence tells utimensat(2) lies before this, in seconds since 1970.
const LATELY: i64 = 1_000_000;

/// What is compared of these attributes.
pub fn seen(s: &Stat) -> Seen {
    let time = |t: When| {
        if t.0 < LATELY && s.kind() != S_IFIFO { Time::Told(t.0, t.1) } else { Time::Lately }
    };
    Seen {
        mode: s.mode,
        nlink: s.nlink,
        uid: s.uid,
        gid: s.gid,
        size: if s.kind() == S_IFDIR { 0 } else { s.size },
        rdev: s.rdev,
        atime: time(s.atime),
        mtime: time(s.mtime),
    }
}

/// A hash of bytes.
pub fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// Everything below the root of this thread, in the order of the paths.
pub fn all() -> R<Vec<Node>> {
    let (mut out, mut first) = (Vec::new(), HashMap::new());
    let mut todo = vec![b"/".to_vec()];
    while let Some(path) = todo.pop() {
        let name = OsStr::from_bytes(&path);
        let s = lstat(name)?;
        let contents = match s.kind() {
            S_IFDIR => {
                let mut below = children(name)?;
                let hash = digest(&below.join(&0));
                // The last to be pushed is the first to be looked at.
                below.reverse();
                let join = |n: Vec<u8>| [&path[..], b"/", &n[..]].concat();
                todo.extend(below.into_iter().map(join));
                hash
            }
            S_IFLNK => digest(&readlink(name)?),
            S_IFREG => {
                let fd = open(name, O_RDONLY, 0)?;
                digest(&pread(&fd, s.size as usize + 1, 0)?)
            }
            _ => 0,
        };
        let attributes =
            listxattr(name)?.into_iter().map(|n| (n.clone(), getxattr(name, &n))).collect();
        let same = first.entry(s.ino).or_insert_with(|| path.clone()).clone();
        out.push(Node { path, seen: seen(&s), same, contents, attributes });
    }
    Ok(out)
}

fn children(dir: &OsStr) -> R<Vec<Vec<u8>>> {
    let fd = open(dir, O_RDONLY | O_DIRECTORY, 0)?;
    let names = read_dir(&fd, 32768)?.into_iter().map(|e| e.name);
    let mut names: Vec<_> = names.filter(|n| n != b"." && n != b"..").collect();
    names.sort();
    Ok(names)
}
