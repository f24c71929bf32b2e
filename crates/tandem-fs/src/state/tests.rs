//! Block ids that were given up.

use std::sync::Arc;

use tandem_device::{Device, MemoryDevice};

use crate::cache::Key;
use crate::log;
use crate::{Cred, Ino, MkfsOptions, MountOptions, ROOT, SystemEnv, Volume};

fn volume() -> Arc<Volume> {
    let meta: Arc<dyn Device> = Arc::new(MemoryDevice::new("meta", 32 << 20));
    let data: Arc<dyn Device> = Arc::new(MemoryDevice::new("data", 32 << 20));
    let env = Arc::new(SystemEnv);
    let options = MkfsOptions::default();
    Volume::mkfs(Arc::clone(&meta), Some(Arc::clone(&data)), &options, env.clone()).unwrap();
    let opts = MountOptions { background: false, ..MountOptions::default() };
    Volume::open(meta, Some(data), opts, env).unwrap()
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
