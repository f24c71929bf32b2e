//! Reading a volume into a model.

use std::collections::BTreeMap;
use std::sync::Arc;

use tandem_fs::{Cred, Ino, ROOT, Whence};

use super::{Outcome, World, inode_of, told, wrong};
use crate::model::content::Content;
use crate::model::tree::{Body, Inode, Name, Tree};

impl World {
    /// Reads everything that there is on the volume.
    pub fn dump(&self) -> Outcome<Tree> {
        let mut tree = Tree::default();
        let mut todo = vec![ROOT];
        while let Some(ino) = todo.pop() {
            if tree.nodes.contains_key(&ino) {
                continue;
            }
            let node = self.dump_node(ino)?;
            if let Body::Dir { entries, .. } = &node.body {
                todo.extend(entries.values());
            }
            tree.nodes.insert(ino, Arc::new(node));
        }
        Ok(tree)
    }

    fn dump_node(&self, ino: Ino) -> Outcome<Inode> {
        let attr = told("getattr", self.vol.getattr(ino))?;
        let body = match attr.mode & libc::S_IFMT {
            libc::S_IFREG => Body::File(Arc::new(self.dump_file(ino, attr.size)?)),
            libc::S_IFDIR => self.dump_dir(ino)?,
            libc::S_IFLNK => Body::Link(told("readlink", self.vol.readlink(ino))?),
            _ => Body::Special,
        };
        let mut node = inode_of(&attr, body);
        let names = told("listxattr", self.vol.listxattr(&Cred::root(), ino))?;
        for name in names.split(|&b| b == 0).filter(|n| !n.is_empty()) {
            let value = told("getxattr", self.vol.getxattr(&self.cred, ino, name))?;
            node.xattrs.insert(Arc::from(name), Arc::new(value));
        }
        Ok(node)
    }

    fn dump_file(&self, ino: Ino, size: u64) -> Outcome<Content> {
        let mut content = Content::default();
        let mut buf = vec![0; 256 << 10];
        let mut at = 0;
        while let Ok(from) = self.vol.seek(ino, at, Whence::Data) {
            let to = told("seek", self.vol.seek(ino, from, Whence::Hole))?;
            at = from;
            while at < to {
                let n = buf.len().min((to - at) as usize);
                let got = told("read", self.vol.read(ino, at, &mut buf[..n]))?;
                if got == 0 {
                    return wrong(format!("i-node {ino}: nothing to read at {at} of {size}"));
                }
                content.write(at, &buf[..got]);
                at += got as u64;
            }
        }
        content.size = size;
        Ok(content)
    }

    fn dump_dir(&self, ino: Ino) -> Outcome<Body> {
        let mut entries: BTreeMap<Name, Ino> = BTreeMap::new();
        let (mut cookie, mut parent) = (0, 0);
        loop {
            let mut given = false;
            let mut twice = false;
            let done = self.vol.readdir(&self.cred, ino, cookie, &mut |e| {
                (cookie, given) = (e.cookie, true);
                match e.name {
                    b"." => {}
                    b".." => parent = e.ino,
                    name => twice |= entries.insert(Arc::from(name), e.ino).is_some(),
                }
                true
            });
            told("readdir", done)?;
            if twice {
                return wrong(format!("directory {ino} has a name twice"));
            }
            if !given {
                return Ok(Body::Dir { parent, entries });
            }
        }
    }
}
