//! Where files lie: how many of a directory's files begin where their neighbour ends.

use crate::common::fs::{Fs, Res, run};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tandem_device::{Access, Device, FileDevice};
use tandem_fs::{Cred, FileKind, MountOptions, SystemEnv, Volume};

/// How a tree's files lie.
#[derive(Clone, Copy, Default, Debug)]
pub struct Layout {
    /// Files with contents.
    pub files: u64,
    /// Their extents.
    pub extents: u64,
    /// Files that have a predecessor in their directory, by first block.
    pub followers: u64,
    /// Those of them that begin where it ends.
    pub continuous: u64,
}

impl Layout {
    /// Share of the followers that are continuous, in per cent.
    pub fn percent(&self) -> f64 {
        100.0 * self.continuous as f64 / self.followers.max(1) as f64
    }

    /// Adds a directory's files: first block, block behind the last one, extents.
    fn add(&mut self, mut files: Vec<(u64, u64, u64)>) {
        files.sort_unstable();
        self.files += files.len() as u64;
        self.extents += files.iter().map(|f| f.2).sum::<u64>();
        for pair in files.windows(2) {
            self.followers += 1;
            self.continuous += u64::from(pair[0].1 == pair[1].0);
        }
    }
}

/// The layout of everything below a directory of the file system, which is unmounted for it.
pub fn layout(fs: &mut Fs, below: &Path) -> Res<Layout> {
    if fs.name != "tandem" {
        return peer(&fs.root().join(below));
    }
    fs.umount()?;
    let found = volume(&fs.devices(), &Path::new("/").join(below));
    fs.mount()?;
    found
}

fn volume(devices: &[PathBuf; 2], below: &Path) -> Res<Layout> {
    let open =
        |path| -> Res<Arc<dyn Device>> { Ok(Arc::new(FileDevice::open(path, Access::ReadOnly)?)) };
    let opts = MountOptions { read_only: true, background: false, ..MountOptions::default() };
    let [meta, data] = devices;
    let volume = Volume::open(open(meta)?, Some(open(data)?), opts, Arc::new(SystemEnv))?;
    let fs = tandem_fs::fs::Fs::new(Arc::clone(&volume), Cred::default());
    let mut layout = Layout::default();
    let mut todo = vec![below.to_owned()];
    while let Some(dir) = todo.pop() {
        let mut files = Vec::new();
        for entry in fs.read_dir(&dir)? {
            if entry.kind == FileKind::Directory {
                use std::os::unix::ffi::OsStrExt;
                todo.push(dir.join(std::ffi::OsStr::from_bytes(&entry.name)));
            } else if entry.kind == FileKind::Regular {
                let extents = volume.extents(entry.ino, 0, usize::MAX)?;
                if let (Some(first), Some(last)) = (extents.first(), extents.last()) {
                    let end = last.start + u64::from(last.len);
                    files.push((first.start, end, extents.len() as u64));
                }
            }
        }
        layout.add(files);
    }
    volume.shutdown()?;
    Ok(layout)
}

/// The same by FIEMAP, as filefrag(8) shows it.
fn peer(below: &Path) -> Res<Layout> {
    let line = "find . -type f -size +0 -print0 | xargs -0 filefrag -v -b512";
    let text = run(Command::new("sh").args(["-ec", line]).current_dir(below), false)?;
    let mut dirs: BTreeMap<PathBuf, Vec<(u64, u64, u64)>> = BTreeMap::new();
    let mut file: Option<(u64, u64, u64)> = None;
    for line in text.lines() {
        let columns: Vec<&str> = line.split(':').collect();
        if let Some((path, _)) = line.rsplit_once(": ").filter(|(_, end)| end.contains("extent")) {
            if let (Some(found), Some(dir)) = (file.take(), Path::new(path).parent()) {
                dirs.entry(dir.to_owned()).or_default().push(found);
            }
        } else if let [_, _, physical, ..] = columns.as_slice()
            && let Some((first, last)) = physical.split_once("..")
            && let (Ok(first), Ok(last)) = (first.trim().parse(), last.trim().parse::<u64>())
        {
            let (start, _, extents) = file.unwrap_or((first, 0, 0));
            file = Some((start, last + 1, extents + 1));
        }
    }
    let mut layout = Layout::default();
    dirs.into_values().for_each(|files| layout.add(files));
    Ok(layout)
}
