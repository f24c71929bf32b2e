//! Names: made, linked, moved, removed.

use std::collections::BTreeMap;
use std::sync::Arc;

use tandem_fs::{Attr, Ino, RenameFlags};

use super::{Outcome, World, inode_of, told, wrong};
use crate::model::op::{At, Op, Pick};
use crate::model::tree::{Body, Inode, Spot};

const KINDS: [u32; 5] =
    [libc::S_IFREG, libc::S_IFIFO, libc::S_IFCHR, libc::S_IFBLK, libc::S_IFSOCK];

impl World {
    pub(super) fn naming(&mut self, op: &Op) -> Outcome {
        match *op {
            Op::Mknod { at, kind, mode, hold } => {
                let kind = KINDS[usize::from(kind)];
                self.mknod(at, kind, mode, hold)
            }
            Op::Mkdir { at, mode, hold } => self.mkdir(at, mode, hold),
            Op::Symlink { at, len } => self.symlink(at, len as usize),
            Op::Tmpfile { dir } => self.tmpfile(dir),
            Op::Link { node, at } => self.link(node, at),
            Op::Unlink { at } => self.unlink(at, false),
            Op::Rmdir { at } => self.unlink(at, true),
            Op::Rename { from, to, flags } => {
                self.rename(from, to, RenameFlags::from_bits_retain(flags))
            }
            Op::Lookup { at, hold } => self.lookup(at, hold),
            Op::Forget { held, all } => self.forget(held, all),
            _ => Ok(()),
        }
    }

    fn place(&mut self, at: At) -> Spot {
        let spot = self.spot(at);
        let name = String::from_utf8_lossy(&spot.name[..spot.name.len().min(24)]).into_owned();
        self.did += &format!(" [{} {name:?}]", spot.dir);
        spot
    }

    /// Whether there are as many i-nodes as the run shall have.
    fn crowded(&self) -> bool {
        self.tree.nodes.len() >= self.cfg.nodes
    }

    fn mknod(&mut self, at: At, kind: u32, mode: u32, hold: bool) -> Outcome {
        if self.crowded() {
            return self.unlink(At::Old(mode.wrapping_add(self.op as u32 * 77)), false);
        }
        let spot = self.place(at);
        let device = matches!(kind, libc::S_IFCHR | libc::S_IFBLK);
        let rdev = if device { 0x0503 } else { 0 };
        let want = self.tree.may_create(&spot);
        let got = self.vol.mknod(&self.cred, spot.dir, &spot.name, kind | mode, rdev, 0);
        let Some(attr) = self.agree("mknod", got, want)? else { return Ok(()) };
        let body = if kind == libc::S_IFREG { Body::File(Arc::default()) } else { Body::Special };
        self.made(&spot, &attr, kind | mode, rdev, body, hold)
    }

    fn mkdir(&mut self, at: At, mode: u32, hold: bool) -> Outcome {
        let dirs = self.tree.nodes.values().filter(|n| n.is_dir()).count();
        if self.crowded() || dirs > 60 {
            return self.unlink(at, true);
        }
        let spot = self.place(at);
        let want = self.tree.may_create(&spot);
        let got = self.vol.mkdir(&self.cred, spot.dir, &spot.name, mode, 0);
        let Some(attr) = self.agree("mkdir", got, want)? else { return Ok(()) };
        let body = Body::Dir { parent: spot.dir, entries: BTreeMap::new() };
        self.made(&spot, &attr, libc::S_IFDIR | mode, 0, body, hold)
    }

    fn symlink(&mut self, at: At, len: usize) -> Outcome {
        if self.crowded() {
            return Ok(());
        }
        let spot = self.place(at);
        let target = vec![b'a' + (self.op % 26) as u8; len];
        let want = match len {
            0 => Err(libc::ENOENT),
            4096.. => Err(libc::ENAMETOOLONG),
            _ => self.tree.may_create(&spot),
        };
        let got = self.vol.symlink(&self.cred, spot.dir, &spot.name, &target);
        let Some(attr) = self.agree("symlink", got, want)? else { return Ok(()) };
        self.made(&spot, &attr, libc::S_IFLNK | 0o777, 0, Body::Link(target), false)
    }

    fn tmpfile(&mut self, dir: Pick) -> Outcome {
        if self.crowded() {
            return Ok(());
        }
        let dir = self.pick_dir(dir);
        self.did += &format!(" [{dir}]");
        let want = self.tree.entries(dir).map(drop);
        let got = self.vol.tmpfile(&self.cred, dir, 0o640, 0);
        let Some(attr) = self.agree("tmpfile", got, want)? else { return Ok(()) };
        let mut node =
            self.new_node(dir, &attr, libc::S_IFREG | 0o640, 0, Body::File(Arc::default()));
        node.nlink = 0;
        self.admit(attr.ino, node)?;
        *self.holds.entry(attr.ino).or_default() += 1;
        self.check_attr(attr.ino, &attr)
    }

    fn new_node(&self, dir: Ino, attr: &Attr, mode: u32, rdev: u32, body: Body) -> Inode {
        let above = self.tree.get(dir);
        let inherits = above.mode & libc::S_ISGID != 0;
        let is_dir = matches!(body, Body::Dir { .. });
        let now = self.now();
        Inode {
            mode: if inherits && is_dir { mode | libc::S_ISGID } else { mode },
            nlink: if is_dir { 2 } else { 1 },
            uid: self.cred.uid,
            gid: if inherits { above.gid } else { self.cred.gid },
            rdev,
            atime: now,
            mtime: now,
            ctime: now,
            btime: now,
            ..inode_of(attr, body)
        }
    }

    fn admit(&mut self, ino: Ino, node: Inode) -> Outcome {
        if self.tree.nodes.contains_key(&ino) {
            return wrong(format!(
                "a new i-node has the number {ino}, which {} has",
                self.tree.path(ino)
            ));
        }
        if !self.seen.insert((ino, node.generation)) {
            return wrong(format!(
                "i-node {ino} of generation {} for the second time",
                node.generation
            ));
        }
        self.tree.nodes.insert(ino, Arc::new(node));
        Ok(())
    }

    fn made(
        &mut self,
        spot: &Spot,
        attr: &Attr,
        mode: u32,
        rdev: u32,
        body: Body,
        hold: bool,
    ) -> Outcome {
        let node = self.new_node(spot.dir, attr, mode, rdev, body);
        self.admit(attr.ino, node)?;
        self.entered(spot, attr.ino);
        self.hold(attr.ino, hold);
        self.check_attr(attr.ino, attr)?;
        self.check_node(attr.ino)?;
        self.check_node(spot.dir)
    }

    fn entered(&mut self, spot: &Spot, ino: Ino) {
        let now = self.now();
        self.tree.enter(spot, ino, now);
        self.touch_cursors(spot);
    }

    /// The volume has taken a hold for us.
    fn hold(&mut self, ino: Ino, keep: bool) {
        if keep {
            *self.holds.entry(ino).or_default() += 1;
        } else {
            self.vol.forget(ino, 1);
        }
    }

    fn link(&mut self, node: Pick, at: At) -> Outcome {
        let ino = match node % 3 {
            0 => self.holds.keys().copied().nth(node as usize / 3 % self.holds.len().max(1)),
            _ => None,
        };
        let ino = ino.unwrap_or_else(|| self.pick_node(node / 3));
        let spot = self.place(at);
        self.did += &format!(" {}", self.tree.path(ino));
        let node = self.tree.get(ino);
        // A removed directory's number is all that is left of it.
        let want = self.tree.may_create(&spot);
        let want = want.and(if node.is_dir() { Err(libc::EPERM) } else { Ok(()) });
        let got = self.vol.link(&self.cred, ino, spot.dir, &spot.name);
        let Some(attr) = self.agree("link", got, want)? else { return Ok(()) };
        let now = self.now();
        let node = self.tree.change(ino);
        node.nlink += 1;
        node.ctime = now;
        self.entered(&spot, ino);
        self.hold(ino, false);
        self.check_attr(ino, &attr)?;
        self.check_node(spot.dir)
    }

    pub fn unlink(&mut self, at: At, rmdir: bool) -> Outcome {
        let spot = self.place(at);
        let now = self.now();
        let (what, want, got) = if rmdir {
            ("rmdir", self.tree.may_rmdir(&spot), self.vol.rmdir(&self.cred, spot.dir, &spot.name))
        } else {
            (
                "unlink",
                self.tree.may_unlink(&spot),
                self.vol.unlink(&self.cred, spot.dir, &spot.name),
            )
        };
        let full = self.full;
        if self.agree(what, got, want.map(drop))?.is_none() {
            // Deleting works on a full volume.
            return if self.full > full { wrong(format!("{what} says ENOSPC")) } else { Ok(()) };
        }
        self.touch_cursors(&spot);
        let ino = self.tree.remove(&spot, now);
        self.check_node(spot.dir)?;
        self.reap(ino);
        self.check_node(ino)?;
        Ok(())
    }

    fn rename(&mut self, from: At, to: At, flags: RenameFlags) -> Outcome {
        let (from, to) = (self.place(from), self.place(to));
        let want = self.tree.may_rename(&from, &to, flags);
        let got = self.vol.rename(&self.cred, from.dir, &from.name, to.dir, &to.name, flags);
        if self.agree("rename", got, want.map(drop))?.is_none() {
            return Ok(());
        }
        let Ok((true, replaced)) = want else { return Ok(()) };
        let exchange = flags.contains(RenameFlags::EXCHANGE);
        let src = told("rename", self.tree.find(&from).map_err(tandem_fs::Error::Posix))?;
        let now = self.now();
        self.touch_cursors(&from);
        self.touch_cursors(&to);
        self.tree.rename(&from, &to, exchange, now);
        for ino in [from.dir, to.dir, src] {
            self.check_node(ino)?;
        }
        if let Some(ino) = replaced {
            self.reap(ino);
            self.check_node(ino)?;
            self.over = (!exchange && self.tree.get(src).file().is_some()).then_some(src);
        }
        Ok(())
    }

    fn lookup(&mut self, at: At, hold: bool) -> Outcome {
        let spot = self.place(at);
        let parent = self.tree.get(spot.dir).is_dir().then(|| self.tree.parent(spot.dir));
        let want = match &*spot.name {
            name if name.len() > 255 => Err(libc::ENAMETOOLONG),
            b"." if self.tree.get(spot.dir).nlink == 0 => Err(libc::ESTALE),
            b"." => Ok(spot.dir),
            b".." => Ok(parent.unwrap_or(spot.dir)),
            _ => match self.tree.find(&spot) {
                Ok(ino) => Ok(ino),
                Err(e) => Err(e),
            },
        };
        // The parent of a removed directory may be anywhere, or gone.
        if *spot.name == *b".." && self.tree.get(spot.dir).nlink == 0 {
            return Ok(());
        }
        let got = self.vol.lookup(&self.cred, spot.dir, &spot.name);
        let Some(attr) = self.agree("lookup", got, want.map(drop))? else { return Ok(()) };
        let ino = want.unwrap_or_default();
        self.hold(ino, hold && self.holds.len() < 40);
        self.check_attr(ino, &attr)
    }

    fn forget(&mut self, held: Pick, all: bool) -> Outcome {
        let n = self.holds.len().max(1);
        let Some((&ino, &count)) = self.holds.iter().nth(held as usize % n) else { return Ok(()) };
        self.did += &format!(" {}", self.tree.path(ino));
        let drop = if all { count } else { 1 };
        self.vol.forget(ino, drop);
        if count == drop {
            self.holds.remove(&ino);
        } else {
            self.holds.insert(ino, count - drop);
        }
        self.reap(ino);
        Ok(())
    }
}
