//! Operations as plain data, so that a failing list can be cut down and printed: what they apply
//! to is a number that is resolved, when they run, among what there is.

use super::env::Rng;

/// One of the i-nodes of the kind that an operation wants.
pub type Pick = u32;

/// Where an entry is, or is to be.
#[derive(Debug, Clone, Copy)]
pub enum At {
    /// One of the names that exist.
    Old(u32),
    /// A directory and the number of a name, which may exist.
    Any(Pick, u32),
}

/// What to set.
#[derive(Debug, Clone, Copy)]
pub enum Set {
    Mode(u32),
    Owner(u32, u32),
    Times(i64, i64),
    Now,
    SizeAndMode(u64, u32),
}

#[derive(Debug, Clone, Copy)]
pub enum Op {
    /// File, device, fifo or socket (`kind` 0 to 4).
    Mknod {
        at: At,
        kind: u8,
        mode: u32,
        hold: bool,
    },
    Mkdir {
        at: At,
        mode: u32,
        hold: bool,
    },
    Symlink {
        at: At,
        len: u32,
    },
    Tmpfile {
        dir: Pick,
    },
    Link {
        node: Pick,
        at: At,
    },
    Unlink {
        at: At,
    },
    Rmdir {
        at: At,
    },
    Rename {
        from: At,
        to: At,
        flags: u32,
    },
    Lookup {
        at: At,
        hold: bool,
    },
    Forget {
        held: Pick,
        all: bool,
    },
    Write {
        file: Pick,
        off: u64,
        len: u32,
        sync: bool,
    },
    Append {
        file: Pick,
        len: u32,
    },
    Read {
        file: Pick,
        off: u64,
        len: u32,
    },
    Truncate {
        file: Pick,
        size: u64,
    },
    Fallocate {
        file: Pick,
        flags: u32,
        off: u64,
        len: u64,
    },
    Copy {
        src: Pick,
        from: u64,
        dst: Pick,
        to: u64,
        len: u32,
    },
    Seek {
        file: Pick,
        off: u64,
        hole: bool,
    },
    SetAttr {
        node: Pick,
        set: Set,
    },
    GetAttr {
        node: Pick,
    },
    SetXattr {
        node: Pick,
        name: u8,
        len: u32,
        mode: u8,
    },
    GetXattr {
        node: Pick,
        name: u8,
    },
    RemoveXattr {
        node: Pick,
        name: u8,
    },
    ListXattr {
        node: Pick,
    },
    Readlink {
        node: Pick,
    },
    /// Lists a directory in windows of `window` entries.
    List {
        dir: Pick,
        window: u32,
        plus: bool,
    },
    /// Opens a listing that goes on between other operations.
    OpenDir {
        dir: Pick,
    },
    /// Goes on with one of them.
    Step {
        cursor: Pick,
        n: u32,
    },
    Fsync {
        node: Pick,
    },
    Sync,
    Remount,
    /// The whole tree.
    Compare,
}

/// What a run is about: which operations are frequent, how many names there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    Mixed,
    /// Many entries in few directories.
    Names,
    /// Much writing to few files.
    Data,
    /// Many extended attributes.
    Xattrs,
    /// Small changes, each of them durable: the log goes round.
    Syncs,
    /// Two files in very many pieces.
    Pieces,
    /// Whatever takes space on D.
    FillData,
    /// Whatever takes space on M.
    FillMeta,
}

/// Makes operations from a seed.
pub struct Maker {
    pub rng: Rng,
    pub profile: Profile,
    /// No remounts, as when other threads use the volume.
    pub shared: bool,
}

impl Maker {
    fn at(&mut self, old: u64) -> At {
        if self.rng.below(100) < old {
            return At::Old(self.rng.u32());
        }
        let names = match self.profile {
            Profile::Names => 3000,
            Profile::Data => 12,
            Profile::Pieces => 3,
            Profile::FillData => 200,
            Profile::FillMeta => 2000,
            _ => 60,
        };
        At::Any(self.rng.u32(), self.rng.below(names) as u32)
    }

    fn off(&mut self) -> u64 {
        let far = match self.rng.below(40) {
            _ if self.profile == Profile::Pieces => 24 << 20,
            0 => return self.rng.pick(&[1 << 32, 1 << 44, (1 << 62) + 5, (1 << 63) - 70_000]),
            n @ 1..4 => 1 << (17 + n),
            n @ 4..14 => 1 << (n + 3),
            _ => 70_000,
        };
        let off = self.rng.below(far);
        match self.rng.below(4) {
            0 => off / 4096 * 4096,
            1 => off / 512 * 512,
            _ => off,
        }
    }

    fn len(&mut self) -> u32 {
        let most = match self.rng.below(20) {
            1.. if self.profile == Profile::Pieces => 1500,
            0 => 300_000,
            1..4 => 70_000,
            4..8 => 9000,
            8..12 => 4096,
            _ => 600,
        };
        let len = self.rng.below(most) as u32 + 1;
        match self.rng.below(5) {
            0 => len.next_multiple_of(4096),
            1 => len.next_multiple_of(512),
            _ => len,
        }
    }

    fn xattr_len(&mut self) -> u32 {
        let most = match self.profile {
            Profile::FillMeta => self.rng.pick(&[100, 3000, 9000, 20_000, 65_537, 65_537]),
            _ => self.rng.pick(&[1, 20, 100, 100, 1000, 3000, 9000, 65_537]),
        };
        self.rng.below(most) as u32
    }

    fn mode(&mut self) -> u32 {
        self.rng.pick(&[0o644, 0o600, 0o755, 0o4755, 0o2755, 0, 0o7777])
    }

    pub fn next(&mut self) -> Op {
        let (names, data, xattrs, other) = match self.profile {
            Profile::Mixed => (45, 35, 8, 12),
            Profile::Names => (82, 5, 1, 12),
            Profile::Data => (12, 78, 1, 9),
            Profile::Pieces => (1, 93, 1, 5),
            Profile::Syncs => (30, 6, 10, 54),
            Profile::Xattrs => (30, 10, 48, 12),
            Profile::FillData => (30, 58, 4, 8),
            Profile::FillMeta => (50, 6, 38, 6),
        };
        let n = self.rng.below(names + data + xattrs + other);
        match () {
            () if n < names => self.naming(),
            () if n < names + data => self.contents(),
            () if n < names + data + xattrs => self.attributes(),
            () => self.other(),
        }
    }

    fn naming(&mut self) -> Op {
        // A volume that is full waits for holds to go.
        let full = matches!(self.profile, Profile::FillData | Profile::FillMeta);
        let hold = self.rng.one_in(if full { 400 } else { 12 });
        let removing = match self.profile {
            Profile::Names => 30,
            Profile::FillMeta => 5,
            _ => 22,
        };
        match self.rng.below(100) {
            n if n >= removing && n < 30 => self.naming(),
            n if n < removing => Op::Unlink { at: self.at(90) },
            30..58 => {
                let kind = if self.rng.one_in(12) { self.rng.below(5) as u8 } else { 0 };
                Op::Mknod { at: self.at(2), kind, mode: self.mode(), hold }
            }
            58..64 => Op::Mkdir { at: self.at(5), mode: self.mode(), hold },
            64..67 => {
                let most = self.rng.pick(&[1, 40, 901, 1500, 4097]);
                Op::Symlink { at: self.at(5), len: self.rng.below(most) as u32 }
            }
            67..72 => Op::Link { node: self.rng.u32(), at: self.at(5) },
            72..75 => Op::Rmdir { at: self.at(80) },
            75..77 if !full => Op::Tmpfile { dir: self.rng.u32() },
            75..92 => {
                let flags = self.rng.pick(&[0, 0, 0, 1, 2, 2, 3]);
                Op::Rename { from: self.at(95), to: self.at(45), flags }
            }
            92..96 => Op::Lookup { at: self.at(70), hold: !full },
            _ => Op::Forget { held: self.rng.u32(), all: self.rng.one_in(2) },
        }
    }

    fn contents(&mut self) -> Op {
        let file = self.rng.u32();
        match self.rng.below(100) {
            0..45 if self.profile == Profile::Pieces => {
                Op::Write { file, off: self.off(), len: self.len(), sync: false }
            }
            60..62 if self.profile == Profile::Pieces => {
                Op::Fallocate { file, flags: 3, off: self.off(), len: self.rng.below(4 << 20) + 1 }
            }
            50..60 if self.profile == Profile::Pieces && !self.rng.one_in(20) => {
                Op::Append { file, len: self.len() }
            }
            0..34 => {
                Op::Write { file, off: self.off(), len: self.len(), sync: self.rng.one_in(30) }
            }
            34..48 => Op::Append { file, len: self.len() },
            48..60 => Op::Truncate { file, size: self.off() },
            60..75 => {
                let flags = self.rng.pick(&[0, 1, 3, 3, 3, 0x10, 0x11, 2]);
                let len = match self.rng.below(30) {
                    0 => 0,
                    _ => u64::from(self.len()),
                };
                Op::Fallocate { file, flags, off: self.off(), len }
            }
            75..81 => {
                let (src, from, to) = (self.rng.u32(), self.off(), self.off());
                let dst = if self.rng.one_in(3) { src } else { file };
                Op::Copy { src, from, dst, to, len: self.len() }
            }
            81..88 => Op::Seek { file, off: self.off(), hole: self.rng.one_in(2) },
            88..98 => Op::Read { file, off: self.off(), len: self.len() },
            _ => Op::SetAttr { node: file, set: Set::SizeAndMode(self.off(), self.mode()) },
        }
    }

    fn attributes(&mut self) -> Op {
        let (node, name) = (self.rng.u32(), self.rng.below(8) as u8);
        match self.rng.below(100) {
            0..45 => {
                let (len, mode) = (self.xattr_len(), self.rng.pick(&[0, 0, 0, 1, 2]));
                Op::SetXattr { node, name, len, mode }
            }
            45..55 => Op::GetXattr { node, name },
            55..70 => Op::RemoveXattr { node, name },
            70..76 => Op::ListXattr { node },
            76..84 => Op::SetAttr { node, set: Set::Mode(self.mode()) },
            84..90 => Op::SetAttr {
                node,
                set: Set::Owner(self.rng.pick(&[0, 1, 70_000]), self.rng.u32()),
            },
            90..95 => {
                let times = [-2_000_000_000, -1, 0, 1_700_000_000, 1 << 33, (1 << 39) - 1];
                let set = Set::Times(self.rng.pick(&times), self.rng.pick(&times));
                Op::SetAttr { node, set }
            }
            _ => Op::SetAttr { node, set: Set::Now },
        }
    }

    fn other(&mut self) -> Op {
        match self.rng.below(100) {
            0..56 if self.profile == Profile::Syncs => Op::Fsync { node: self.rng.u32() },
            0..14 => Op::OpenDir { dir: self.rng.u32() },
            14..50 => Op::Step { cursor: self.rng.u32(), n: self.rng.below(9) as u32 + 1 },
            50..58 => {
                let window = self.rng.pick(&[1, 3, 50, 10_000]);
                Op::List { dir: self.rng.u32(), window, plus: self.rng.one_in(2) }
            }
            58..70 => Op::Fsync { node: self.rng.u32() },
            70..76 => Op::Sync,
            76..80 if !self.shared => Op::Remount,
            80..82 => Op::Compare,
            82..90 => Op::GetAttr { node: self.rng.u32() },
            90..94 => Op::Readlink { node: self.rng.u32() },
            _ => Op::Forget { held: self.rng.u32(), all: true },
        }
    }
}
