//! The work without a mount, through the file system's own interface.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use tandem_device::{Access, Device};
use tandem_format::Time;
use tandem_fs::{
    Attr, Cred, FileKind, Ino, MountOptions, ROOT, SetAttr, SetTime, SystemEnv, Volume, WriteFlags,
};

use super::mounted::{STEPS, check, make};
use super::place::Place;
use super::report::{Counts, Phase};
use super::tree::Tree;
use super::{program, say};
use crate::devices;

const CHUNK: usize = 1 << 20;

/// Makes a volume, does every step with the volume opened and closed around it, and checks it.
pub fn run(place: &Place, tree: &Tree) -> Result<Vec<Phase>> {
    let (meta, data) = make(place, tree)?;
    let mut phases = Vec::new();
    for name in STEPS {
        phases.push(phase(name, &meta, &data, tree)?);
        if name == "compare" || name == "remove" {
            check(&meta, &data)?;
        }
    }
    Ok(phases)
}

fn phase(name: &'static str, meta: &Path, data: &Path, tree: &Tree) -> Result<Phase> {
    program::go_on()?;
    say(&format!("{name}, through the library"));
    let opened = devices::open(meta, Some(data), Access::ReadWrite)?;
    let options = MountOptions::default();
    let volume = Volume::open(opened.meta(), opened.data(), options, Arc::new(SystemEnv))?;
    let work = Work { volume: &volume, cred: Cred::root() };
    let start = Instant::now();
    match name {
        "copy in" => work.copy(&tree.dir),
        "find" => work.find(ROOT).map(|count| say(&format!("{count} entries found"))),
        "compare" => work.compare(&tree.dir),
        _ => work.remove(),
    }?;
    volume.shutdown()?;
    let time = start.elapsed();
    let data = opened.data.as_ref().map(|device| device.stats()).unwrap_or_default();
    Ok(Phase { name, time, counts: Counts { meta: opened.meta.stats(), data } })
}

struct Work<'a> {
    volume: &'a Volume,
    cred: Cred,
}

/// An entry of a directory of the machine.
struct Source {
    path: PathBuf,
    name: Vec<u8>,
    metadata: std::fs::Metadata,
}

fn sources(dir: &Path) -> Result<Vec<Source>> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(|| format!("read {}", dir.display()))? {
        let entry = entry?;
        let name = entry.file_name().as_bytes().to_vec();
        out.push(Source { path: entry.path(), name, metadata: entry.metadata()? });
    }
    out.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(out)
}

impl Work<'_> {
    /// Copies what is in `dir` into the root.
    fn copy(&self, dir: &Path) -> Result<()> {
        let mut pending = vec![(dir.to_path_buf(), ROOT)];
        while let Some((dir, parent)) = pending.pop() {
            for source in sources(&dir)? {
                let made = self
                    .copy_one(&source, parent)
                    .with_context(|| format!("copy {}", source.path.display()))?;
                let Some(attr) = made else { continue };
                if source.metadata.is_dir() {
                    pending.push((source.path, attr.ino));
                }
                self.volume.forget(attr.ino, 1);
            }
        }
        Ok(())
    }

    fn copy_one(&self, source: &Source, parent: Ino) -> Result<Option<Attr>> {
        let (volume, cred, name) = (self.volume, &self.cred, &source.name[..]);
        let mode = source.metadata.mode();
        let attr = if source.metadata.is_dir() {
            volume.mkdir(cred, parent, name, mode & 0o7777, 0)?
        } else if source.metadata.is_symlink() {
            let target = std::fs::read_link(&source.path)?;
            volume.symlink(cred, parent, name, target.as_os_str().as_bytes())?
        } else if source.metadata.is_file() {
            let attr = volume.mknod(cred, parent, name, mode, 0, 0)?;
            self.fill(&source.path, attr.ino)?;
            attr
        } else {
            return Ok(None);
        };
        let nanos = u32::try_from(source.metadata.mtime_nsec()).unwrap_or(0);
        let mtime = SetTime::At(Time { secs: source.metadata.mtime(), nanos });
        let (uid, gid) = (Some(source.metadata.uid()), Some(source.metadata.gid()));
        let set = SetAttr { uid, gid, mtime: Some(mtime), ..SetAttr::default() };
        Ok(Some(volume.setattr(cred, attr.ino, &set)?))
    }

    fn fill(&self, path: &Path, ino: Ino) -> Result<()> {
        let mut file = std::fs::File::open(path)?;
        let mut buf = vec![0; CHUNK];
        let mut at = 0;
        loop {
            let read = file.read(&mut buf)?;
            let mut rest = &buf[..read];
            if rest.is_empty() {
                return Ok(());
            }
            while !rest.is_empty() {
                let flags = WriteFlags::default();
                let written = self.volume.write(&self.cred, ino, at, rest, flags)?;
                rest = rest.get(written..).unwrap_or_default();
                at += written as u64;
            }
        }
    }

    /// Visits everything below `root`, and returns how much there is.
    fn find(&self, root: Ino) -> Result<u64> {
        let mut pending = vec![root];
        let mut count = 0;
        while let Some(dir) = pending.pop() {
            for (_, attr) in self.list(dir)? {
                count += 1;
                if attr.kind() == FileKind::Directory {
                    pending.push(attr.ino);
                }
            }
        }
        Ok(count)
    }

    fn list(&self, dir: Ino) -> Result<Vec<(Vec<u8>, Attr)>> {
        let mut out = Vec::new();
        let mut cookie = 0;
        loop {
            let from = cookie;
            self.volume.readdir_plus(&self.cred, dir, from, &mut |entry, attr| {
                cookie = entry.cookie;
                if entry.name != b"." && entry.name != b".." {
                    out.push((entry.name.to_vec(), *attr));
                }
                true
            })?;
            if cookie == from {
                break;
            }
        }
        for (_, attr) in &out {
            self.volume.forget(attr.ino, 1);
        }
        Ok(out)
    }

    /// Compares what is in the root with `dir`: names, types, sizes, contents, targets.
    fn compare(&self, dir: &Path) -> Result<()> {
        let mut pending = vec![(dir.to_path_buf(), ROOT)];
        while let Some((dir, ino)) = pending.pop() {
            let mut ours = self.list(ino)?;
            ours.sort_by(|a, b| a.0.cmp(&b.0));
            let theirs = sources(&dir)?.into_iter().filter(|source| {
                let kind = source.metadata.file_type();
                kind.is_dir() || kind.is_file() || kind.is_symlink()
            });
            let theirs: Vec<Source> = theirs.collect();
            if ours.len() != theirs.len() {
                bail!("{}: {} entries became {}", dir.display(), theirs.len(), ours.len());
            }
            for ((name, attr), source) in ours.iter().zip(theirs) {
                let same = *name == source.name && self.same(attr, &source)?;
                if !same {
                    bail!("{}: is not the same in the volume", source.path.display());
                }
                if attr.kind() == FileKind::Directory {
                    pending.push((source.path, attr.ino));
                }
            }
        }
        Ok(())
    }

    fn same(&self, attr: &Attr, source: &Source) -> Result<bool> {
        let metadata = &source.metadata;
        if attr.mode & 0o170_000 != metadata.mode() & 0o170_000 {
            return Ok(false);
        }
        if metadata.is_symlink() {
            let target = std::fs::read_link(&source.path)?;
            return Ok(self.volume.readlink(attr.ino)? == target.as_os_str().as_bytes());
        }
        if !metadata.is_file() {
            return Ok(true);
        }
        if attr.size != metadata.len() {
            return Ok(false);
        }
        let mut file = std::fs::File::open(&source.path)?;
        let (mut theirs, mut ours, mut at) = (vec![0; CHUNK], vec![0; CHUNK], 0);
        loop {
            let read = file.read(&mut theirs)?;
            if read == 0 {
                return Ok(at == attr.size);
            }
            let got = self.volume.read(attr.ino, at, &mut ours[..read])?;
            if theirs[..read] != ours[..got] {
                return Ok(false);
            }
            at += read as u64;
        }
    }

    /// Removes everything.
    fn remove(&self) -> Result<()> {
        // A directory is removed when it is met the second time, empty then.
        let mut pending = vec![(ROOT, Vec::new(), ROOT, false)];
        while let Some((parent, name, dir, emptied)) = pending.pop() {
            if emptied {
                self.volume.rmdir(&self.cred, parent, &name)?;
                continue;
            }
            if dir != ROOT {
                pending.push((parent, name, dir, true));
            }
            for (name, attr) in self.list(dir)? {
                if attr.kind() == FileKind::Directory {
                    pending.push((dir, name, attr.ino, false));
                } else {
                    self.volume
                        .unlink(&self.cred, dir, &name)
                        .map_err(|e| anyhow!("unlink {}: {e}", name.escape_ascii()))?;
                }
            }
        }
        Ok(())
    }
}
