//! The whole tree, and the space that it takes.

use std::sync::Arc;

use tandem_fs::Ino;
use tandem_fs::check::{CheckOptions, check};

use super::{Outcome, World, told, wrong};
use crate::model::device::Pair;
use crate::model::env::TestEnv;
use crate::model::op::Profile;
use crate::model::tree::{Body, Name};

impl World {
    /// Compares everything that the model knows with the volume.
    pub fn compare(&mut self) -> Outcome {
        self.env.set(self.op);
        let inos: Vec<Ino> = self.tree.nodes.keys().copied().collect();
        for ino in inos {
            self.check_node(ino)?;
            self.compare_node(ino)?;
        }
        Ok(())
    }

    fn compare_node(&mut self, ino: Ino) -> Outcome {
        let node = self.tree.get(ino).clone();
        match &node.body {
            Body::File(content) => {
                for (off, len) in content.stretches() {
                    self.read(ino, off, len)?;
                }
            }
            Body::Dir { entries, .. } => {
                let window = if self.cfg.profile == Profile::Names { 500 } else { 7 };
                self.list(ino, window, true)?;
                for (name, &child) in entries {
                    let attr = told("lookup", self.vol.lookup(&self.cred, ino, name))?;
                    self.vol.forget(attr.ino, 1);
                    self.check_attr(child, &attr)?;
                }
            }
            Body::Link(_) => self.readlink(ino)?,
            Body::Special => {}
        }
        self.listxattr(ino)?;
        let names: Vec<Name> = node.xattrs.keys().map(Arc::clone).collect();
        for name in names {
            self.getxattr(ino, &name)?;
        }
        Ok(())
    }

    /// After a sync: the space in use is that of the files, when nothing is unlinked and open.
    pub fn check_space(&mut self) -> Outcome {
        if self.tree.nodes.values().any(|n| n.nlink == 0) {
            return Ok(());
        }
        let (mut blocks, block) = (0, u64::from(self.cfg.block));
        for (&ino, _) in self.tree.nodes.iter().filter(|(_, n)| n.file().is_some()) {
            let has = told("getattr", self.vol.getattr(ino))?.blocks * 512;
            if has % block != 0 {
                return wrong(format!("{}: {has} bytes on D", self.tree.path(ino)));
            }
            blocks += has / block;
        }
        let statfs = self.vol.statfs();
        let used = self.free_at_start.saturating_sub(statfs.blocks_free);
        if used != blocks {
            return wrong(format!("{used} blocks in use or promised, but files have {blocks}"));
        }
        // The hidden directory counts.
        let (has, want) = (self.vol.info().inodes, self.tree.nodes.len() as u64 + 1);
        if has != want {
            return wrong(format!("{has} i-nodes in use, not {want}"));
        }
        Ok(())
    }

    /// Removes everything; the space must come back.
    pub fn empty(&mut self) -> Outcome {
        self.op += 1;
        self.env.set(self.op);
        self.did = "emptying".into();
        for (ino, n) in std::mem::take(&mut self.holds) {
            self.vol.forget(ino, n);
            self.reap(ino);
        }
        while self.tree.nodes.len() > 1 {
            for spot in self.tree.spots() {
                let Ok(ino) = self.tree.find(&spot) else { continue };
                let done = match &self.tree.get(ino).body {
                    Body::Dir { entries, .. } if !entries.is_empty() => continue,
                    Body::Dir { .. } => self.vol.rmdir(&self.cred, spot.dir, &spot.name),
                    _ => self.vol.unlink(&self.cred, spot.dir, &spot.name),
                };
                let name = String::from_utf8_lossy(&spot.name).into_owned();
                told(&format!("removing {name:?} of {}", spot.dir), done)?;
                let now = self.now();
                self.tree.remove(&spot, now);
                self.reap(ino);
            }
        }
        told("sync", self.vol.sync())?;
        let free = self.vol.statfs().blocks_free;
        if free != self.free_at_start {
            return wrong(format!(
                "{free} blocks free after deleting all, not {}",
                self.free_at_start
            ));
        }
        self.compare()
    }
}

/// Has the devices of a volume that is not mounted verified.
pub fn verify(pair: &Pair, env: &Arc<TestEnv>) -> Outcome {
    let options = CheckOptions { threads: 1, memory: 64 << 20 };
    let env: Arc<dyn tandem_fs::Env> = Arc::clone(env) as _;
    let report = check(pair.meta(), pair.data(), &options, env, &|_| {});
    let report = told("check", report)?;
    if report.is_sound() {
        return Ok(());
    }
    let lines: Vec<String> = report.problems.iter().take(8).map(|p| format!("  {p}")).collect();
    wrong(format!("check finds {} problems:\n{}", report.problems.len(), lines.join("\n")))
}
