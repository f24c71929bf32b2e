//! Volumes with one of everything.

use tandem_fs::{
    Cred, FallocFlags, Ino, ROOT, RenameFlags, SetAttr, Volume, WriteFlags, XattrMode,
};

/// An access control list with a named user.
fn acl() -> Vec<u8> {
    let mut bytes = 2u32.to_le_bytes().to_vec();
    let entries: [(u16, u16, u32); 5] =
        [(1, 7, u32::MAX), (2, 5, 1000), (4, 5, u32::MAX), (16, 7, u32::MAX), (32, 0, u32::MAX)];
    for (tag, perm, id) in entries {
        bytes.extend_from_slice(&tag.to_le_bytes());
        bytes.extend_from_slice(&perm.to_le_bytes());
        bytes.extend_from_slice(&id.to_le_bytes());
    }
    bytes
}

/// Makes a file and lets go of it.
pub fn file(vol: &Volume, dir: Ino, name: &str, bytes: usize) -> Ino {
    let root = Cred::root();
    let ino = vol.mknod(&root, dir, name.as_bytes(), 0o644, 0, 0).unwrap().ino;
    if bytes > 0 {
        vol.write(&root, ino, 0, &vec![7; bytes], WriteFlags::default()).unwrap();
    }
    vol.forget(ino, 1);
    ino
}

pub fn dir(vol: &Volume, parent: Ino, name: &str) -> Ino {
    let ino = vol.mkdir(&Cred::root(), parent, name.as_bytes(), 0o755, 0).unwrap().ino;
    vol.forget(ino, 1);
    ino
}

/// One of everything.
pub fn everything(vol: &Volume) {
    let root = Cred::root();
    let early = vol.symlink(&root, ROOT, b"early", &[b'x'; 4000]).unwrap().ino;
    vol.forget(early, 1);
    let many = dir(vol, ROOT, "many");
    for i in 0..1500 {
        file(vol, many, &format!("file{i}"), if i % 5 == 0 { i * 7 } else { 0 });
    }
    vol.sync().unwrap();
    let mut at = dir(vol, ROOT, "deep");
    for i in 0..12 {
        file(vol, at, "here", 100 * i);
        at = dir(vol, at, &format!("level{i}"));
    }
    let links = dir(vol, ROOT, "links");
    let linked = file(vol, links, "one", 5000);
    for name in ["two", "three"] {
        vol.link(&root, linked, ROOT, name.as_bytes()).unwrap();
        vol.forget(linked, 1);
    }
    for (name, len) in [("short", 10), ("long", 4000)] {
        let ino = vol.symlink(&root, links, name.as_bytes(), &vec![b'x'; len]).unwrap().ino;
        vol.forget(ino, 1);
    }
    let kinds = [
        ("fifo", libc::S_IFIFO),
        ("sock", libc::S_IFSOCK),
        ("chr", libc::S_IFCHR),
        ("blk", libc::S_IFBLK),
    ];
    for (name, kind) in kinds {
        let ino = vol.mknod(&root, links, name.as_bytes(), kind | 0o600, 0x0103, 0).unwrap().ino;
        vol.forget(ino, 1);
    }
    attributes(vol);
    contents(vol);
    let from = dir(vol, ROOT, "from");
    file(vol, from, "gone", 3000);
    vol.rename(&root, ROOT, b"from", links, b"to", RenameFlags::empty()).unwrap();
    vol.unlink(&root, from, b"gone").unwrap();
    vol.unlink(&root, ROOT, b"early").unwrap();
    vol.sync().unwrap();
}

fn attributes(vol: &Volume) {
    let root = Cred::root();
    let small = file(vol, ROOT, "small-attributes", 10);
    vol.setxattr(&root, small, b"user.a", b"value", XattrMode::Any).unwrap();
    vol.setxattr(&root, small, b"trusted.b", b"", XattrMode::Any).unwrap();
    vol.setxattr(&root, small, b"system.posix_acl_access", &acl(), XattrMode::Any).unwrap();
    let large = file(vol, ROOT, "large-attributes", 0);
    vol.setxattr(&root, large, b"user.x", &[1; 20_000], XattrMode::Any).unwrap();
    vol.setxattr(&root, large, b"security.y", &[2; 9_000], XattrMode::Any).unwrap();
    let with_default = dir(vol, ROOT, "with-default");
    vol.setxattr(&root, with_default, b"system.posix_acl_default", &acl(), XattrMode::Any).unwrap();
    dir(vol, with_default, "inherits");
    file(vol, with_default, "inherits-too", 0);
    // Two directories with records that are too large to lie in their entries.
    let outside = dir(vol, ROOT, "outside");
    let between = dir(vol, outside, "between");
    for ino in [outside, dir(vol, between, "outside-too")] {
        vol.setxattr(&root, ino, b"user.big", &[3; 1500], XattrMode::Any).unwrap();
        file(vol, ino, "inside", 1);
    }
}

fn contents(vol: &Volume) {
    let root = Cred::root();
    let data = dir(vol, ROOT, "data");
    let sparse = file(vol, data, "sparse", 0);
    for i in 0..700u64 {
        vol.write(&root, sparse, i * 3 * 65536, &[1; 100], WriteFlags::default()).unwrap();
        if i % 100 == 99 {
            vol.fsync(sparse, false).unwrap();
        }
    }
    let few = file(vol, data, "few", 0);
    for i in 0..5u64 {
        vol.write(&root, few, i * 1_000_000, &[1; 10], WriteFlags::default()).unwrap();
    }
    let reserved = file(vol, data, "reserved", 100);
    vol.fallocate(&root, reserved, FallocFlags::KEEP_SIZE, 0, 1 << 20).unwrap();
    vol.sync().unwrap();
    vol.write(&root, reserved, 300_000, &[2; 50_000], WriteFlags::default()).unwrap();
    vol.fallocate(
        &root,
        reserved,
        FallocFlags::KEEP_SIZE | FallocFlags::PUNCH_HOLE,
        100_000,
        70_000,
    )
    .unwrap();
    file(vol, data, "plain", 1 << 20);
    let cut = file(vol, data, "cut", 1 << 20);
    vol.sync().unwrap();
    vol.setattr(&root, cut, &SetAttr { size: Some(1000), ..SetAttr::default() }).unwrap();
}
