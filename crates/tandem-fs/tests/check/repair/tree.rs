//! All that can be seen of a volume, to be compared.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tandem_fs::fs::Fs;
use tandem_fs::{Cred, FileKind, Time, Volume};

/// What can be seen of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub ino: u64,
    pub mode: u32,
    pub nlink: u32,
    pub size: u64,
    pub mtime: Time,
    /// Of every block that is not all zeros.
    pub contents: BTreeMap<u64, u64>,
    pub target: Vec<u8>,
    pub attributes: BTreeMap<Vec<u8>, Vec<u8>>,
}

pub type Tree = BTreeMap<String, Seen>;

/// Everything below the root.
pub fn tree(vol: &Arc<Volume>) -> Tree {
    let fs = Fs::new(Arc::clone(vol), Cred::root());
    let mut tree = Tree::new();
    let mut dirs = vec![String::new()];
    while let Some(dir) = dirs.pop() {
        for entry in fs.read_dir(format!("/{dir}")).unwrap() {
            let name = String::from_utf8_lossy(&entry.name).into_owned();
            let path = if dir.is_empty() { name } else { format!("{dir}/{name}") };
            let seen = seen(&fs, &format!("/{path}"));
            assert_eq!(seen.ino, entry.ino, "{path}");
            if entry.kind == FileKind::Directory {
                dirs.push(path.clone());
            }
            tree.insert(path, seen);
        }
    }
    tree
}

fn seen(fs: &Fs, path: &str) -> Seen {
    let attr = fs.symlink_metadata(path).unwrap();
    let vol = fs.volume();
    let target = match attr.kind() {
        FileKind::Symlink => fs.read_link(path).unwrap(),
        _ => Vec::new(),
    };
    let names = vol.listxattr(&Cred::root(), attr.ino).unwrap();
    let names = names.split(|b| *b == 0).filter(|name| !name.is_empty());
    let value = |name: &[u8]| vol.getxattr(&Cred::root(), attr.ino, name).unwrap();
    let attributes = names.map(|name| (name.to_vec(), value(name))).collect();
    let contents = match attr.kind() {
        FileKind::Regular => contents(vol, attr.ino),
        _ => BTreeMap::new(),
    };
    let (mode, nlink, size, mtime) = (attr.mode, attr.nlink, attr.size, attr.mtime);
    Seen { ino: attr.ino, mode, nlink, size, mtime, contents, target, attributes }
}

/// Hashes of the blocks of a file on a volume of data blocks of the default size.
fn contents(vol: &Arc<Volume>, ino: u64) -> BTreeMap<u64, u64> {
    const BLOCK: u64 = 4096;
    let mut blocks = BTreeMap::new();
    let mut from = 0;
    loop {
        let extents = vol.extents(ino, from, 100).unwrap();
        let Some(last) = extents.last() else { return blocks };
        let next = last.logical + u64::from(last.len);
        for extent in extents.iter().filter(|extent| !extent.unwritten) {
            for block in extent.logical..extent.logical + u64::from(extent.len) {
                let mut bytes = vec![0; BLOCK as usize];
                vol.read(ino, block * BLOCK, &mut bytes).unwrap();
                if bytes.iter().any(|b| *b != 0) {
                    let mut hasher = DefaultHasher::new();
                    bytes.hash(&mut hasher);
                    blocks.insert(block, hasher.finish());
                }
            }
        }
        from = next;
    }
}
