//! Paths, files and directories on a volume, shaped like `std::fs`: for programs that use a volume
//! without a mount.
//!
//! ```
//! use std::sync::Arc;
//! use tandem_device::{Device, MemoryDevice};
//! use tandem_fs::{Cred, MkfsOptions, MountOptions, SystemEnv, Volume, fs::Fs};
//!
//! # fn main() -> tandem_fs::Result<()> {
//! let meta: Arc<dyn Device> = Arc::new(MemoryDevice::new("m", 16 << 20));
//! let data: Arc<dyn Device> = Arc::new(MemoryDevice::new("d", 64 << 20));
//! Volume::mkfs(meta.clone(), Some(data.clone()), &MkfsOptions::default(), Arc::new(SystemEnv))?;
//! let volume = Volume::open(meta, Some(data), MountOptions::default(), Arc::new(SystemEnv))?;
//! let fs = Fs::new(volume, Cred::root());
//! fs.create_dir_all("/a/b")?;
//! fs.write("/a/b/c", b"contents")?;
//! assert_eq!(fs.read("/a/b/c")?, b"contents");
//! assert_eq!(fs.read_dir("/a/b")?[0].name, b"c");
//! fs.remove_dir_all("/a")?;
//! fs.volume().shutdown()?;
//! # Ok(())
//! # }
//! ```

use std::collections::VecDeque;
use std::path::{Component, Path};
use std::sync::Arc;

use std::os::unix::ffi::OsStrExt;

use crate::error::{Error, Result};
use crate::types::{Attr, Cred, FileKind, Ino, ROOT, RenameFlags, SetAttr, WriteFlags};
use crate::volume::Volume;

/// Symbolic links followed in one path, as the kernel has it.
const LINKS_MAX: usize = 40;

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Name.
    pub name: Vec<u8>,
    /// I-node number.
    pub ino: Ino,
    /// Type.
    pub kind: FileKind,
}

/// A volume as somebody sees it.
#[derive(Clone)]
pub struct Fs {
    volume: Arc<Volume>,
    cred: Cred,
}

/// An open file. It holds its i-node, so that it stays while its names may go.
pub struct File {
    volume: Arc<Volume>,
    cred: Cred,
    ino: Ino,
}

fn posix<T>(errno: i32) -> Result<T> {
    Err(Error::Posix(errno))
}

impl Fs {
    /// The volume as `cred` sees it. With `cred.enforce` permissions are checked.
    pub fn new(volume: Arc<Volume>, cred: Cred) -> Fs {
        Fs { volume, cred }
    }

    /// The volume.
    pub fn volume(&self) -> &Arc<Volume> {
        &self.volume
    }

    /// Resolves a path to a held i-node. Without `follow` a symbolic link at its end is the result.
    fn resolve(&self, path: &Path, follow: bool) -> Result<Attr> {
        let mut todo: VecDeque<Vec<u8>> = components(path);
        let mut links = 0;
        let mut at = self.hold(ROOT)?;
        while let Some(name) = todo.pop_front() {
            let next = self.volume.lookup(&self.cred, at.ino, &name);
            let from = at.ino;
            self.volume.forget(from, 1);
            let next = next?;
            if next.kind() == FileKind::Symlink && (follow || !todo.is_empty()) {
                let target = self.volume.readlink(next.ino);
                self.volume.forget(next.ino, 1);
                links += 1;
                if links > LINKS_MAX {
                    return posix(libc::ELOOP);
                }
                let target = target?;
                for part in
                    components(Path::new(std::ffi::OsStr::from_bytes(&target))).into_iter().rev()
                {
                    todo.push_front(part);
                }
                at = self.hold(if target.starts_with(b"/") { ROOT } else { from })?;
                continue;
            }
            at = next;
        }
        Ok(at)
    }

    fn hold(&self, ino: Ino) -> Result<Attr> {
        self.volume.lookup(&self.cred, ino, b".")
    }

    /// Runs something on a path's directory and last name.
    fn at<T>(&self, path: &Path, f: impl FnOnce(Ino, &[u8]) -> Result<T>) -> Result<T> {
        let Some(name) = path.file_name() else { return posix(libc::EINVAL) };
        let dir = self.resolve(path.parent().unwrap_or(Path::new("/")), true)?;
        let done = f(dir.ino, name.as_bytes());
        self.volume.forget(dir.ino, 1);
        done
    }

    /// Drops the hold that came with an answer.
    fn dropped(&self, attr: Attr) -> Attr {
        self.volume.forget(attr.ino, 1);
        attr
    }

    /// Attributes of what a path leads to, links followed.
    ///
    /// # Errors
    /// As stat(2).
    pub fn metadata(&self, path: impl AsRef<Path>) -> Result<Attr> {
        Ok(self.dropped(self.resolve(path.as_ref(), true)?))
    }

    /// Attributes of a path itself.
    ///
    /// # Errors
    /// As lstat(2).
    pub fn symlink_metadata(&self, path: impl AsRef<Path>) -> Result<Attr> {
        Ok(self.dropped(self.resolve(path.as_ref(), false)?))
    }

    /// Opens an existing file.
    ///
    /// # Errors
    /// As open(2).
    pub fn open(&self, path: impl AsRef<Path>) -> Result<File> {
        let attr = self.resolve(path.as_ref(), true)?;
        Ok(File { volume: Arc::clone(&self.volume), cred: self.cred.clone(), ino: attr.ino })
    }

    /// Opens a file, empty: a new one, or an old one without its contents.
    ///
    /// # Errors
    /// As open(2).
    pub fn create(&self, path: impl AsRef<Path>) -> Result<File> {
        let path = path.as_ref();
        let made = self.at(path, |dir, name| self.volume.mknod(&self.cred, dir, name, 0o644, 0, 0));
        match made {
            Ok(attr) => Ok(File {
                volume: Arc::clone(&self.volume),
                cred: self.cred.clone(),
                ino: attr.ino,
            }),
            Err(Error::Posix(libc::EEXIST)) => {
                let file = self.open(path)?;
                file.set_len(0)?;
                Ok(file)
            }
            Err(e) => Err(e),
        }
    }

    /// A file's contents.
    ///
    /// # Errors
    /// As open(2) and read(2).
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Vec<u8>> {
        let file = self.open(path)?;
        let mut out = Vec::new();
        let mut buf = vec![0; 1 << 20];
        loop {
            let n = file.read_at(&mut buf, out.len() as u64)?;
            if n == 0 {
                return Ok(out);
            }
            out.extend_from_slice(&buf[..n]);
        }
    }

    /// Makes a file with these contents, in place of what it had.
    ///
    /// # Errors
    /// As open(2) and write(2).
    pub fn write(&self, path: impl AsRef<Path>, contents: &[u8]) -> Result<()> {
        self.create(path)?.write_at(contents, 0)
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// As mkdir(2).
    pub fn create_dir(&self, path: impl AsRef<Path>) -> Result<()> {
        self.at(path.as_ref(), |dir, name| self.volume.mkdir(&self.cred, dir, name, 0o755, 0)).map(
            |attr| {
                self.dropped(attr);
            },
        )
    }

    /// Makes a directory and those above it that are missing.
    ///
    /// # Errors
    /// As mkdir(2), but not EEXIST for a directory.
    pub fn create_dir_all(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        for dir in path.ancestors().collect::<Vec<_>>().into_iter().rev() {
            if dir.file_name().is_none() {
                continue;
            }
            match self.create_dir(dir) {
                Err(Error::Posix(libc::EEXIST))
                    if self.metadata(dir)?.kind() == FileKind::Directory => {}
                done => done?,
            }
        }
        Ok(())
    }

    /// A directory's entries, without `.` and `..`.
    ///
    /// # Errors
    /// As opendir(3).
    pub fn read_dir(&self, path: impl AsRef<Path>) -> Result<Vec<Entry>> {
        let dir = self.resolve(path.as_ref(), true)?;
        let mut out = Vec::new();
        let mut cookie = 0;
        let done = loop {
            let before = cookie;
            let listed = self.volume.readdir(&self.cred, dir.ino, cookie, &mut |e| {
                cookie = e.cookie;
                if !matches!(e.name, b"." | b"..") {
                    out.push(Entry { name: e.name.to_vec(), ino: e.ino, kind: e.kind });
                }
                true
            });
            if listed.is_err() || cookie == before {
                break listed;
            }
        };
        self.volume.forget(dir.ino, 1);
        done.map(|()| out)
    }

    /// Removes anything but a directory.
    ///
    /// # Errors
    /// As unlink(2).
    pub fn remove_file(&self, path: impl AsRef<Path>) -> Result<()> {
        self.at(path.as_ref(), |dir, name| self.volume.unlink(&self.cred, dir, name))
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// As rmdir(2).
    pub fn remove_dir(&self, path: impl AsRef<Path>) -> Result<()> {
        self.at(path.as_ref(), |dir, name| self.volume.rmdir(&self.cred, dir, name))
    }

    /// Removes a directory and everything in it; follows no links.
    ///
    /// # Errors
    /// As unlink(2) and rmdir(2).
    pub fn remove_dir_all(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let mut todo = vec![(path.to_path_buf(), false)];
        while let Some((dir, emptied)) = todo.pop() {
            if emptied {
                self.remove_dir(&dir)?;
                continue;
            }
            todo.push((dir.clone(), true));
            for entry in self.read_dir(&dir)? {
                let inner = dir.join(std::ffi::OsStr::from_bytes(&entry.name));
                match entry.kind {
                    FileKind::Directory => todo.push((inner, false)),
                    _ => self.remove_file(inner)?,
                }
            }
        }
        Ok(())
    }

    /// Gives something another name, in place of what had it.
    ///
    /// # Errors
    /// As rename(2).
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
        self.at(from.as_ref(), |dir, name| {
            self.at(to.as_ref(), |newdir, newname| {
                self.volume.rename(&self.cred, dir, name, newdir, newname, RenameFlags::empty())
            })
        })
    }

    /// Gives a file a second name.
    ///
    /// # Errors
    /// As link(2).
    pub fn hard_link(&self, original: impl AsRef<Path>, link: impl AsRef<Path>) -> Result<()> {
        let attr = self.resolve(original.as_ref(), false)?;
        let done =
            self.at(link.as_ref(), |dir, name| self.volume.link(&self.cred, attr.ino, dir, name));
        self.dropped(attr);
        done.map(|attr| {
            self.dropped(attr);
        })
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// As symlink(2).
    pub fn symlink(&self, target: impl AsRef<Path>, link: impl AsRef<Path>) -> Result<()> {
        let target = target.as_ref().as_os_str().as_bytes();
        self.at(link.as_ref(), |dir, name| self.volume.symlink(&self.cred, dir, name, target)).map(
            |attr| {
                self.dropped(attr);
            },
        )
    }

    /// A symbolic link's target.
    ///
    /// # Errors
    /// As readlink(2).
    pub fn read_link(&self, path: impl AsRef<Path>) -> Result<Vec<u8>> {
        let attr = self.resolve(path.as_ref(), false)?;
        let target = self.volume.readlink(attr.ino);
        self.dropped(attr);
        target
    }
}

fn components(path: &Path) -> VecDeque<Vec<u8>> {
    path.components()
        .filter_map(|c| match c {
            Component::Normal(name) => Some(name.as_bytes().to_vec()),
            Component::ParentDir => Some(b"..".to_vec()),
            _ => None,
        })
        .collect()
}

impl File {
    /// I-node number.
    pub fn ino(&self) -> Ino {
        self.ino
    }

    /// Attributes.
    ///
    /// # Errors
    /// As fstat(2).
    pub fn metadata(&self) -> Result<Attr> {
        self.volume.getattr(self.ino)
    }

    /// Reads at a byte offset; returns how many bytes there were.
    ///
    /// # Errors
    /// As pread(2).
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.volume.read(self.ino, offset, buf)
    }

    /// Writes all of `data` at a byte offset.
    ///
    /// # Errors
    /// As pwrite(2).
    pub fn write_at(&self, data: &[u8], offset: u64) -> Result<()> {
        self.volume.write(&self.cred, self.ino, offset, data, WriteFlags::default()).map(|_| ())
    }

    /// Changes the size.
    ///
    /// # Errors
    /// As ftruncate(2).
    pub fn set_len(&self, size: u64) -> Result<()> {
        let set = SetAttr { size: Some(size), ..SetAttr::default() };
        self.volume.setattr(&self.cred, self.ino, &set).map(|_| ())
    }

    /// Makes contents, attributes and name durable.
    ///
    /// # Errors
    /// As fsync(2).
    pub fn sync_all(&self) -> Result<()> {
        self.volume.fsync(self.ino, false)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        self.volume.forget(self.ino, 1);
    }
}
