//! The operations that sequences consist of. What they apply to is chosen on the tree of
//! `ground`, and is another thing when an operation before has changed that tree: the sequence is
//! a different one then, which is as good.

use crate::model::op::{At, Op, Set};

/// An operation, or a few that make sense together only.
pub struct Letter {
    pub name: &'static str,
    pub steps: Vec<Op>,
}

/// The `n`th directory, or regular file, in the order of i-node numbers.
fn nth(n: u32) -> u32 {
    7 * n + 1
}

fn new(dir: u32, name: u32) -> At {
    At::Any(nth(dir), name)
}

const FILE: u8 = 0;

fn create(at: At) -> Op {
    Op::Mknod { at, kind: FILE, mode: 0o644, hold: false }
}

fn write(file: u32, off: u64, len: u32) -> Op {
    Op::Write { file: nth(file), off, len, sync: false }
}

fn fallocate(file: u32, flags: u32, off: u64, len: u64) -> Op {
    Op::Fallocate { file: nth(file), flags, off, len }
}

fn rename(from: u32, to: At, flags: u32) -> Op {
    Op::Rename { from: At::Old(from), to, flags }
}

const EXCHANGE: u32 = 2;

/// All letters.
pub fn letters() -> Vec<Letter> {
    let one = |name, op| Letter { name, steps: vec![op] };
    let mut all = names();
    all.extend(contents());
    all.extend([
        one("chmod file", Op::SetAttr { node: 1, set: Set::Mode(0o600) }),
        one("chown root", Op::SetAttr { node: 0, set: Set::Owner(7, 8) }),
        one("utimes dir", Op::SetAttr { node: 2, set: Set::Times(5, 6) }),
        one("truncate and chmod", Op::SetAttr { node: nth(1), set: Set::SizeAndMode(100, 0o604) }),
        one("setxattr", Op::SetXattr { node: 1, name: 0, len: 20, mode: 0 }),
        one("setxattr, large", Op::SetXattr { node: 1, name: 1, len: 3000, mode: 0 }),
        one("setxattr, huge", Op::SetXattr { node: 2, name: 1, len: 50_000, mode: 0 }),
        one("removexattr", Op::RemoveXattr { node: 6, name: 2 }),
        // An even number asks for the contents only.
        one("fsync file", Op::Fsync { node: 1 }),
        one("fdatasync file", Op::Fsync { node: 1 + 9 * 8 + 1 }),
        one("fsync root", Op::Fsync { node: 0 }),
        one("fsync file 2", Op::Fsync { node: 5 }),
        one("fsync dir", Op::Fsync { node: 2 }),
        one("sync", Op::Sync),
    ]);
    all
}

fn names() -> Vec<Letter> {
    let one = |name, op| Letter { name, steps: vec![op] };
    let few = |name, steps: &[Op]| Letter { name, steps: steps.to_vec() };
    let hold = |at| Op::Lookup { at: At::Old(at), hold: true };
    let unlink = |at| Op::Unlink { at: At::Old(at) };
    vec![
        one("create", create(new(0, 10))),
        one("create in dir", create(new(1, 11))),
        one("create, long name", create(new(1, 22))),
        few("create and write", &[create(new(2, 12)), write(3, 0, 2100)]),
        one("mkdir", Op::Mkdir { at: new(0, 13), mode: 0o755, hold: false }),
        one("mkdir in dir", Op::Mkdir { at: new(1, 14), mode: 0o755, hold: false }),
        one("mknod", Op::Mknod { at: new(1, 15), kind: 2, mode: 0o600, hold: false }),
        one("symlink", Op::Symlink { at: new(0, 16), len: 40 }),
        one("symlink, long", Op::Symlink { at: new(1, 17), len: 1500 }),
        one("link", Op::Link { node: 3 * 5 + 1, at: new(2, 18) }),
        one("link, another", Op::Link { node: 3 + 1, at: new(0, 19) }),
        one("unlink one of two links", unlink(0)),
        one("unlink", unlink(4)),
        few("unlink, held", &[hold(4), unlink(4)]),
        one("unlink symlink", unlink(3)),
        one("rmdir", Op::Rmdir { at: At::Old(2) }),
        one("rename", rename(0, new(0, 20), 0)),
        one("rename across", rename(4, new(0, 21), 0)),
        one("rename over a file", rename(4, At::Old(0), 0)),
        one("rename over a file, across", rename(0, At::Old(5), 0)),
        one("rename over a directory", rename(1, At::Old(2), 0)),
        one("rename directory across", rename(2, new(1, 24), 0)),
        one("exchange", rename(0, At::Old(4), EXCHANGE)),
        one("exchange file and directory", rename(4, At::Old(2), EXCHANGE)),
        few("replace", &[create(new(0, 25)), write(3, 0, 1300), rename(2, At::Old(0), 0)]),
    ]
}

fn contents() -> Vec<Letter> {
    let one = |name, op| Letter { name, steps: vec![op] };
    vec![
        one("overwrite", write(0, 0, 700)),
        one("overwrite in the middle", write(1, 300, 1000)),
        one("write behind the end", write(0, 5000, 300)),
        one("write to unwritten", write(2, 2048, 1500)),
        one("append", Op::Append { file: nth(0), len: 1800 }),
        one("append, file 2", Op::Append { file: nth(1), len: 4000 }),
        one("O_SYNC write", Op::Write { file: nth(1), off: 0, len: 2000, sync: true }),
        one("truncate to nothing", Op::Truncate { file: nth(0), size: 0 }),
        one("truncate", Op::Truncate { file: nth(1), size: 1000 }),
        one("truncate, longer", Op::Truncate { file: nth(1), size: 9000 }),
        one("fallocate", fallocate(0, 0, 2000, 3000)),
        one("fallocate, same size", fallocate(1, 1, 0, 6000)),
        one("punch a hole", fallocate(0, 3, 1024, 1024)),
        one("zero a range", fallocate(0, 0x10, 500, 1700)),
        one("copy", Op::Copy { src: nth(0), from: 0, dst: nth(1), to: 512, len: 1500 }),
    ]
}
