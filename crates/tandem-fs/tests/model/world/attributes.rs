//! Attributes, ordinary and extended, and what symbolic links say.

use std::sync::Arc;

use tandem_fs::{Cred, Ino, SetAttr, SetTime, Time, XattrMode};

use super::{Outcome, World, told, wrong};
use crate::model::content::pattern;
use crate::model::op::{Op, Set};
use crate::model::tree::{Body, Name};

impl World {
    pub(super) fn attributes(&mut self, op: &Op) -> Outcome {
        match *op {
            Op::SetAttr { node, set } => {
                let ino = match set {
                    Set::SizeAndMode(..) => self.pick_file(node),
                    _ => self.pick_node(node),
                };
                let ino = self.target(ino);
                self.setattr(ino, set)
            }
            Op::GetAttr { node } => self.check_node(self.pick_node(node)),
            Op::SetXattr { node, name, len, mode } => {
                let ino = self.target(self.pick_node(node));
                self.setxattr(ino, &xattr_name(name), len as usize, mode)
            }
            Op::GetXattr { node, name } => {
                let ino = self.target(self.pick_node(node));
                self.getxattr(ino, &xattr_name(name))
            }
            Op::RemoveXattr { node, name } => {
                let ino = self.target(self.pick_node(node));
                self.removexattr(ino, &xattr_name(name))
            }
            Op::ListXattr { node } => {
                let ino = self.target(self.pick_node(node));
                self.listxattr(ino)
            }
            Op::Readlink { node } => {
                let ino = self.target(self.pick_node(node));
                self.readlink(ino)
            }
            _ => Ok(()),
        }
    }

    fn setattr(&mut self, ino: Ino, set: Set) -> Outcome {
        let (now, node) = (self.now(), self.tree.get(ino).clone());
        let (kind, dir) = (node.mode & libc::S_IFMT, node.is_dir());
        let mut after = node.clone();
        after.ctime = now;
        let mut want = Ok(());
        let at = |secs| Time { secs, nanos: (now.nanos / 3) * 2 };
        let ask = match set {
            Set::Mode(mode) => {
                after.mode = kind | mode & 0o7777;
                SetAttr { mode: Some(mode), ..SetAttr::default() }
            }
            Set::Owner(uid, gid) => {
                let gid = gid % 1000;
                (after.uid, after.gid) = (uid, gid);
                if !dir {
                    after.mode &= !libc::S_ISUID;
                    if after.mode & libc::S_IXGRP != 0 {
                        after.mode &= !libc::S_ISGID;
                    }
                }
                SetAttr { uid: Some(uid), gid: Some(gid), ..SetAttr::default() }
            }
            Set::Times(a, m) => {
                (after.atime, after.mtime) = (at(a), at(m));
                let (atime, mtime) = (Some(SetTime::At(at(a))), Some(SetTime::At(at(m))));
                SetAttr { atime, mtime, ..SetAttr::default() }
            }
            Set::Now => {
                (after.atime, after.mtime) = (now, now);
                let now = Some(SetTime::Now);
                SetAttr { atime: now, mtime: now, ..SetAttr::default() }
            }
            Set::SizeAndMode(size, mode) => {
                match &mut after.body {
                    Body::File(content) => Arc::make_mut(content).truncate(size),
                    Body::Dir { .. } => want = Err(libc::EISDIR),
                    _ => want = Err(libc::EINVAL),
                }
                after.mode = kind | mode & 0o7777;
                after.mtime = now;
                SetAttr { size: Some(size), mode: Some(mode), ..SetAttr::default() }
            }
        };
        let got = self.vol.setattr(&self.cred, ino, &ask);
        let Some(attr) = self.agree("setattr", got, want)? else { return self.check_node(ino) };
        *self.tree.change(ino) = after;
        self.check_attr(ino, &attr)
    }

    fn xattr_bytes(&self) -> usize {
        self.tree.nodes.values().flat_map(|n| n.xattrs.values()).map(|v| v.len()).sum()
    }

    fn setxattr(&mut self, ino: Ino, name: &Name, len: usize, mode: u8) -> Outcome {
        let len = if self.xattr_bytes() + len > self.cfg.xattr_bytes { len % 64 } else { len };
        let exists = self.tree.get(ino).xattrs.contains_key(name);
        let (mode, want) = match mode {
            1 if exists => (XattrMode::Create, Err(libc::EEXIST)),
            1 => (XattrMode::Create, Ok(())),
            2 if !exists => (XattrMode::Replace, Err(libc::ENODATA)),
            2 => (XattrMode::Replace, Ok(())),
            _ => (XattrMode::Any, Ok(())),
        };
        let value = pattern(self.op as u64 ^ 0xa77 << 40, ino % 8, len);
        let want = if len > 65536 { Err(libc::E2BIG) } else { want };
        let got = self.vol.setxattr(&self.cred, ino, name, &value, mode);
        if self.agree("setxattr", got, want)?.is_none() {
            return self.check_node(ino);
        }
        let now = self.now();
        let node = self.tree.change(ino);
        node.ctime = now;
        node.xattrs.insert(Arc::clone(name), Arc::new(value));
        self.check_node(ino)?;
        self.getxattr(ino, name)
    }

    pub(super) fn getxattr(&mut self, ino: Ino, name: &Name) -> Outcome {
        let value = self.tree.get(ino).xattrs.get(name).cloned();
        let want = if value.is_some() { Ok(()) } else { Err(libc::ENODATA) };
        let got = self.vol.getxattr(&self.cred, ino, name);
        match self.agree("getxattr", got, want)? {
            Some(got) if Some(&got) != value.as_deref() => {
                wrong(format!("{}: a wrong value of {} bytes", self.tree.path(ino), got.len()))
            }
            _ => Ok(()),
        }
    }

    fn removexattr(&mut self, ino: Ino, name: &Name) -> Outcome {
        let exists = self.tree.get(ino).xattrs.contains_key(name);
        let want = if exists { Ok(()) } else { Err(libc::ENODATA) };
        let got = self.vol.removexattr(&self.cred, ino, name);
        let full = self.full;
        if self.agree("removexattr", got, want)?.is_none() {
            return if self.full > full { wrong("removexattr says ENOSPC") } else { Ok(()) };
        }
        let now = self.now();
        let node = self.tree.change(ino);
        node.ctime = now;
        node.xattrs.remove(name);
        self.check_node(ino)
    }

    pub(super) fn listxattr(&mut self, ino: Ino) -> Outcome {
        let got = told("listxattr", self.vol.listxattr(&Cred::root(), ino))?;
        let mut names: Vec<&[u8]> = got.split(|&b| b == 0).filter(|n| !n.is_empty()).collect();
        names.sort_unstable();
        let want: Vec<&[u8]> = self.tree.get(ino).xattrs.keys().map(|n| &**n).collect();
        if names != want {
            return wrong(format!(
                "{}: {} attributes listed, not {}",
                self.tree.path(ino),
                names.len(),
                want.len()
            ));
        }
        Ok(())
    }

    pub(super) fn readlink(&mut self, ino: Ino) -> Outcome {
        let target = match &self.tree.get(ino).body {
            Body::Link(target) => Ok(target.clone()),
            _ => Err(libc::EINVAL),
        };
        let got = self.vol.readlink(ino);
        match self.agree("readlink", got, target.as_ref().map(drop).map_err(|e| *e))? {
            Some(got) if Ok(&got) != target.as_ref() => {
                wrong(format!("{}: a wrong target", self.tree.path(ino)))
            }
            _ => Ok(()),
        }
    }
}

fn xattr_name(n: u8) -> Name {
    let name = match n {
        0..5 => format!("user.attribute{n}"),
        5 => "trusted.overlay.opaque".into(),
        6 => "security.selinux".into(),
        _ => format!("user.{}", "long".repeat(60)),
    };
    Name::from(name.into_bytes())
}
