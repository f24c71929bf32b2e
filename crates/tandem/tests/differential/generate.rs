//! Sequences of operations from a seed. They do not depend on what the operations give, so a part
//! of a sequence is a sequence, and each file system can run it by itself.

use super::op::{Name, Op, SLOTS, Step, USERS};
use crate::common::random::Random;
use crate::common::sys::*;
use crate::common::users::{ALICE, BOB, TEAM};

/// What a sequence may contain.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// tmpfs takes part, which cannot zero a range, and where removing an access list takes the
    /// set-group bit.
    pub tmpfs: bool,
    /// Steps between two surveys.
    pub survey: usize,
    /// A remount in the middle.
    pub remount: bool,
}

/// The largest offset that is written at, in bytes.
const REACH: usize = 400_000;

const MODES: [u32; 12] =
    [0o644, 0o600, 0o755, 0o777, 0o1777, 0o2775, 0o6755, 0, 0o4711, 0o2644, 0o7777, 0o711];

const XATTRS: [&str; 6] = ["user.a", "user.b", "trusted.t", "security.s", "nonsense", "user."];

const ACLS: [&str; 2] = ["system.posix_acl_access", "system.posix_acl_default"];

/// The sequence of this seed.
pub fn sequence(seed: u64, steps: usize, range: Range) -> Vec<Step> {
    let mut g = Generator { random: Random::new(seed), range };
    let mut out: Vec<Step> = (0..steps)
        .map(|i| match i {
            _ if range.remount && i == steps / 2 => Step { who: 0, op: Op::Remount },
            _ if i % range.survey == range.survey - 1 => Step { who: 0, op: Op::Survey },
            _ => g.step(),
        })
        .collect();
    if range.remount {
        out.push(Step { who: 0, op: Op::Remount });
    }
    out.push(Step { who: 0, op: Op::Survey });
    out
}

struct Generator {
    random: Random,
    range: Range,
}

impl Generator {
    fn step(&mut self) -> Step {
        // Root succeeds more often, which is where most can differ.
        let who = if self.random.once_in(3) { self.random.below(USERS.len()) } else { 0 };
        let op = match self.random.below(100) {
            0..16 => self.opening(),
            16..40 => self.contents(),
            40..48 => self.shape(),
            48..54 => self.many(),
            54..76 => self.names(),
            76..90 => self.attributes(),
            _ => self.looking(),
        };
        Step { who, op }
    }

    fn name(&mut self) -> Name {
        match self.random.below(90) {
            0 => vec![b'x'; 255],
            1 => vec![b'y'; 256],
            2 => b" white\nspace\t".to_vec(),
            3 => b"\xff\xfe\x01*?".to_vec(),
            4 => "grüße".into(),
            5 => b"...".to_vec(),
            _ => format!("n{}", self.random.below(4)).into(),
        }
    }

    fn path(&mut self) -> Name {
        let depth = 1 + self.random.of(&[0usize, 0, 0, 0, 1, 1, 1, 2]);
        let parts: Vec<Name> = (0..depth).map(|_| self.name()).collect();
        let mut path = parts.join(&b'/');
        match self.random.below(80) {
            0 => path.push(b'/'),
            1 => path.extend(b"/."),
            2 => path.extend(b"/.."),
            3 => path.extend(b"//n1"),
            4 => path.insert(0, b'/'),
            5 => path.extend(b"/../n2"),
            6 if self.random.once_in(4) => path = Vec::new(),
            6 if self.random.once_in(3) => path = b"n0/".repeat(1400),
            6 => path = b".".to_vec(),
            _ => {}
        }
        path
    }

    fn slot(&mut self) -> usize {
        self.random.below(SLOTS)
    }

    fn mode(&mut self) -> u32 {
        self.random.of(&MODES)
    }

    fn length(&mut self) -> usize {
        let most = self.random.of(&[1, 10, 600, 5000, 5000, 40_000, 150_000]);
        1 + self.random.below(most)
    }

    fn extent(&mut self) -> (usize, usize) {
        let (off, len) = (self.random.below(REACH), self.length());
        match self.random.below(4) {
            0 => (off & !4095, len.next_multiple_of(4096)),
            1 => (off & 0xfff, len),
            _ => (off, len),
        }
    }

    fn opening(&mut self) -> Op {
        let mut flags = self.random.of(&[O_RDONLY, O_WRONLY, O_RDWR, O_RDWR, O_RDWR, O_RDWR]);
        for (often, flag) in [
            (2, O_CREAT),
            (15, O_EXCL),
            (6, O_TRUNC),
            (6, O_APPEND),
            (15, O_NOFOLLOW),
            (30, O_DIRECTORY),
            (30, O_SYNC),
            (30, O_DSYNC),
            (60, O_PATH),
        ] {
            if self.random.once_in(often) {
                flags |= flag;
            }
        }
        // Never waits for the other end of a FIFO.
        flags |= O_NONBLOCK;
        match self.random.below(30) {
            0 => Op::Close { slot: self.slot() },
            1..6 => Op::OpenAt { dir: self.slot(), path: self.path(), flags, slot: self.slot() },
            6 => {
                let flags = O_TMPFILE | O_RDWR;
                Op::Open { path: self.path(), flags, mode: self.mode(), slot: self.slot() }
            }
            7..11 => {
                let flags = O_RDONLY | O_DIRECTORY;
                Op::Open { path: self.path(), flags, mode: 0, slot: self.slot() }
            }
            _ => Op::Open { path: self.path(), flags, mode: self.mode(), slot: self.slot() },
        }
    }

    fn contents(&mut self) -> Op {
        let (slot, seed) = (self.slot(), self.random.next());
        let (off, len) = self.extent();
        match self.random.below(20) {
            0..3 => Op::Write { slot, len, seed },
            3..8 => Op::Pwrite { slot, off: off as i64, len, seed },
            8..10 => Op::Read { slot, len },
            10..14 => Op::Pread { slot, off: off as i64, len },
            14 => Op::MapRead { slot, off, len },
            15 => Op::MapWrite { slot, off, len: len.min(9000), seed },
            16 => Op::Fsync { slot, data: seed.is_multiple_of(2) },
            17 if seed.is_multiple_of(8) => Op::Sync { slot },
            17 => Op::Append { slot, on: seed.is_multiple_of(2) },
            18 => {
                let whence = self.random.of(&[SEEK_SET, SEEK_CUR, SEEK_END]);
                let off = if seed.is_multiple_of(2) { off as i64 } else { -(len as i64) };
                Op::Seek { slot, off, whence }
            }
            _ => Op::Holes { slot },
        }
    }

    /// What changes where a file has data.
    fn shape(&mut self) -> Op {
        let (off, len) = self.extent();
        let (off, len, slot) = (off as i64, len as i64, self.slot());
        let keep = FALLOC_FL_KEEP_SIZE;
        match self.random.below(12) {
            0..2 => Op::Ftruncate { slot, len: off },
            2 => Op::Truncate { path: self.path(), len: off },
            3 => Op::Ftruncate { slot, len: -1 },
            4 => {
                let mode = self.random.of(&[
                    FALLOC_FL_PUNCH_HOLE,
                    keep | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE,
                    1 << 20,
                ]);
                Op::Fallocate { slot, mode, off, len }
            }
            5 => Op::Fallocate { slot, mode: 0, off, len: self.random.of(&[0, -1]) },
            6..8 if !self.range.tmpfs => {
                let mode = FALLOC_FL_ZERO_RANGE | self.random.of(&[0, keep]);
                Op::Fallocate { slot, mode, off, len }
            }
            8..10 => Op::Fallocate { slot, mode: FALLOC_FL_PUNCH_HOLE | keep, off, len },
            _ => Op::Fallocate { slot, mode: self.random.of(&[0, keep]), off, len },
        }
    }

    /// What has two descriptors.
    fn many(&mut self) -> Op {
        let (from, to) = (self.slot(), self.slot());
        let (off, len) = self.extent();
        match self.random.below(3) {
            0 => Op::Sendfile { from, to, off: off as i64, len },
            _ => {
                let other = self.random.below(REACH) as i64;
                let off = (!self.random.once_in(3)).then_some((off as i64, other));
                Op::Copy { from, to, off, len }
            }
        }
    }

    fn names(&mut self) -> Op {
        let (path, other) = (self.path(), self.path());
        match self.random.below(24) {
            0..6 => Op::Mkdir { path, mode: self.mode() },
            6 => {
                let kind = self.random.of(&[S_IFIFO, S_IFCHR, S_IFBLK, S_IFSOCK, S_IFREG, S_IFDIR]);
                Op::Mknod { path, mode: kind | self.mode(), dev: makedev(7, 300) }
            }
            7..10 => {
                let target = match self.random.below(8) {
                    0 => vec![b't'; self.random.of(&[59, 60, 1000, 4095])],
                    1 => path.clone(),
                    2 => [b"../", &other[..]].concat(),
                    3 => b".".to_vec(),
                    _ => other,
                };
                Op::Symlink { target, path }
            }
            10..13 => Op::Link { from: path, to: other, follow: self.random.once_in(4) },
            13 => Op::LinkOpen { slot: self.slot(), to: path },
            14..16 => Op::Unlink { path },
            16..18 => Op::Rmdir { path },
            _ => {
                let flags = self.random.of(&[
                    0,
                    0,
                    0,
                    RENAME_NOREPLACE,
                    RENAME_EXCHANGE,
                    RENAME_EXCHANGE,
                    RENAME_NOREPLACE | RENAME_EXCHANGE,
                ]);
                Op::Rename { from: path, to: other, flags }
            }
        }
    }

    /// An owner and a group, of which one may stay as it is.
    fn owner(&mut self) -> (u32, u32) {
        let uid = self.random.of(&[0, ALICE.uid, BOB.uid, u32::MAX]);
        let gid = self.random.of(&[0, ALICE.gid, BOB.gid, TEAM, u32::MAX]);
        if uid == gid { (0, gid) } else { (uid, gid) }
    }

    fn attributes(&mut self) -> Op {
        let (path, follow) = (self.path(), self.random.once_in(2));
        match self.random.below(16) {
            0..3 => Op::Chmod { path, mode: self.mode() },
            3 => Op::Fchmod { slot: self.slot(), mode: self.mode() },
            4..6 => {
                let (uid, gid) = self.owner();
                Op::Chown { path, uid, gid, follow }
            }
            6 => {
                let (uid, gid) = self.owner();
                Op::Fchown { slot: self.slot(), uid, gid }
            }
            7..10 => {
                let mut time = || (!self.random.once_in(4)).then(|| self.random.below(1000) as i64);
                let (atime, mtime) = (time(), time());
                Op::Times { path, atime, mtime, follow }
            }
            10..12 => {
                let value = vec![b'v'; self.random.of(&[0, 1, 20, 200])];
                let flags = self.random.of(&[0, 0, XATTR_CREATE, XATTR_REPLACE]);
                Op::Setxattr { path, name: self.random.of(&XATTRS), value, flags, follow }
            }
            12 if self.range.tmpfs => Op::Removexattr { path, name: self.random.of(&XATTRS) },
            12 => Op::Removexattr { path, name: self.attribute() },
            13..15 => {
                let value = self.acl();
                Op::Setxattr { path, name: self.random.of(&ACLS), value, flags: 0, follow: true }
            }
            _ => Op::Umask { mask: self.random.of(&[0o22, 0, 0o77, 0o27]) },
        }
    }

    fn attribute(&mut self) -> &'static str {
        if self.random.once_in(3) { self.random.of(&ACLS) } else { self.random.of(&XATTRS) }
    }

    /// A POSIX ACL as the kernel takes it, now and then a wrong one.
    fn acl(&mut self) -> Vec<u8> {
        let mut bit = || self.random.below(8) as u16;
        let mut entries = vec![(1u16, bit(), u32::MAX)];
        let (named, group, mask, other) = (bit(), bit(), bit(), bit());
        let long = !self.random.once_in(3);
        if long {
            entries.push((2, named, ALICE.uid));
        }
        entries.push((4, group, u32::MAX));
        if long && self.random.once_in(2) {
            entries.push((8, named, TEAM));
        }
        if long && !self.random.once_in(20) {
            entries.push((0x10, mask, u32::MAX));
        }
        entries.push((0x20, other, u32::MAX));
        let mut out = 2u32.to_le_bytes().to_vec();
        for (tag, rights, id) in entries {
            out.extend(tag.to_le_bytes());
            out.extend(rights.to_le_bytes());
            out.extend(id.to_le_bytes());
        }
        out
    }

    fn looking(&mut self) -> Op {
        let path = self.path();
        match self.random.below(10) {
            0..2 => Op::Stat { path, follow: self.random.once_in(2) },
            2 => Op::Fstat { slot: self.slot() },
            3 => Op::Readlink { path },
            4 => Op::Access { path, mode: self.random.below(8) as i32 },
            5 => Op::Getxattr { path, name: self.attribute(), len: self.random.of(&[0, 5, 300]) },
            6 => Op::Listxattr { path },
            7 => Op::List { slot: self.slot() },
            _ => Op::Names { path },
        }
    }
}
