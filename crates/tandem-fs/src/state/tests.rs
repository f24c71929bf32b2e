//! Block ids that were given up; directories that are known by hearsay.

use std::sync::Arc;

use tandem_device::{Device, MemoryDevice};
use tandem_format::{IMAP_PER_BLOCK, Kind};

use crate::cache::Key;
use crate::log;
use crate::{Cred, Ino, MkfsOptions, MountOptions, ROOT, SystemEnv, Volume};

fn devices() -> [Arc<dyn Device>; 2] {
    let device = |name| Arc::new(MemoryDevice::new(name, 32 << 20)) as Arc<dyn Device>;
    let [meta, data] = ["meta", "data"].map(device);
    let (options, env) = (MkfsOptions::default(), Arc::new(SystemEnv));
    Volume::mkfs(Arc::clone(&meta), Some(Arc::clone(&data)), &options, env).unwrap();
    [meta, data]
}

fn open([meta, data]: &[Arc<dyn Device>; 2]) -> Arc<Volume> {
    // Renewing access times asks the i-node map.
    let (background, prefetch, atime) = (false, 0, crate::Atime::Never);
    let opts = MountOptions { background, prefetch, atime, ..MountOptions::default() };
    Volume::open(Arc::clone(meta), Some(Arc::clone(data)), opts, Arc::new(SystemEnv)).unwrap()
}

fn volume() -> Arc<Volume> {
    let [meta, data] = devices();
    let opts = MountOptions { background: false, ..MountOptions::default() };
    Volume::open(meta, Some(data), opts, Arc::new(SystemEnv)).unwrap()
}

/// A directory with a file, and the block id of its leaf.
fn directory(vol: &Volume, name: &[u8]) -> Ino {
    let dir = vol.mkdir(&Cred::root(), ROOT, name, 0o755, 0).unwrap().ino;
    vol.mknod(&Cred::root(), dir, b"file", 0o644, 0, 0).unwrap();
    dir
}

/// A block that was given up is on M, and in the block map, until the commit is durable. Prefetching
/// meets it there beside others, and must not bring it back: nothing refers to it any more.
#[test]
fn blocks_given_up_are_not_prefetched() {
    let vol = volume();
    let dirs = [directory(&vol, b"one"), directory(&vol, b"other")];
    vol.sync().unwrap();
    let leaf = |dir| vol.core.state.lock().dir_root(dir).ok().map(|root| root.root).unwrap();
    let [one, other] = dirs.map(leaf);
    let load_other = || {
        let mut st = vol.core.state.lock();
        st.cache.remove(Key::block(one));
        st.cache.remove(Key::block(other));
        drop(st);
        assert!(log::load(&vol.core, Key::block(other)).unwrap());
        let st = vol.core.state.lock();
        assert!(st.cache.contains(Key::block(other)));
        st.cache.contains(Key::block(one))
    };
    assert!(load_other(), "they lie beside each other");
    vol.core.state.lock().free_id(one);
    assert!(!load_other());
    assert!(vol.core.state.lock().going.contains(&one));
    // Once no metadata on M refers to it, the id is free.
    vol.sync().unwrap();
    let st = vol.core.state.lock();
    assert!(!st.going.contains(&one));
    assert!(st.ids.free.contains(&one));
}

/// Entries of a directory with their attributes: names and i-node numbers.
fn listed(vol: &Volume, dir: Ino) -> Vec<(Vec<u8>, Ino)> {
    let (mut all, mut cookie) = (Vec::new(), 0);
    loop {
        let before = cookie;
        vol.readdir_plus(&Cred::root(), dir, before, &mut |e, _| {
            cookie = e.cookie;
            all.push((e.name.to_vec(), e.ino));
            true
        })
        .unwrap();
        if cookie == before {
            all.retain(|(name, _)| name != b"." && name != b"..");
            return all;
        }
    }
}

/// A walk finds directories in entries: where their records lie need not be looked up.
#[test]
fn a_walk_does_without_the_inode_map() {
    let devices = devices();
    let vol = open(&devices);
    for n in 0..400 {
        directory(&vol, format!("directory {n}").as_bytes());
    }
    vol.shutdown().unwrap();
    let vol = open(&devices);
    let mut dirs = listed(&vol, ROOT);
    assert_eq!(dirs.len(), 400);
    dirs.truncate(20);
    for (_, dir) in &dirs {
        assert_eq!(listed(&vol, *dir)[0].0, b"file");
    }
    let st = vol.core.state.lock();
    let blocks = 1..=800 / IMAP_PER_BLOCK as u64;
    let read = blocks.filter(|&n| st.cache.contains(Key::table(Kind::Imap, 0, n))).count();
    assert_eq!(read, 0, "blocks of the i-node map");
}

/// What an entry says is good for reading; who changes something hears it from the i-node map.
#[test]
fn hearsay_is_not_changed() {
    let devices = devices();
    let vol = open(&devices);
    let dir = directory(&vol, b"one");
    vol.readdir(&Cred::root(), dir, 0, &mut |_| true).unwrap();
    vol.shutdown().unwrap();
    let vol = open(&devices);
    vol.lookup(&Cred::root(), ROOT, b"one").unwrap();
    {
        let mut st = vol.core.state.lock();
        assert!(st.nodes.get(dir).is_some_and(|node| node.hearsay));
        while st.imap_put(dir, [0, 0]).is_err() {
            drop(st);
            let number = dir / IMAP_PER_BLOCK as u64;
            log::load(&vol.core, Key::table(Kind::Imap, 0, number)).unwrap();
            st = vol.core.state.lock();
        }
    }
    assert_eq!(listed(&vol, dir).len(), 1);
    let made = vol.mknod(&Cred::root(), dir, b"new", 0o644, 0, 0);
    assert!(matches!(made, Err(crate::Error::Posix(libc::ESTALE))), "{made:?}");
    vol.sync().unwrap();
    assert_eq!(vol.stats().failed, None);
}
