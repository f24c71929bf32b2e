//! What is done to trees: `find`, reading, `cp -r`, `rm -r`, with the system calls that those make.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use super::{Figures, Kind, TreeError, io, walk};

/// The buffer of coreutils' `cp` and `cat`, in bytes.
pub(super) const BUFFER: usize = 128 * 1024;

/// Takes the attributes of every entry, as `find -size` has to.
///
/// # Errors
/// [`TreeError::Io`].
pub fn find(dir: &Path) -> Result<Figures, TreeError> {
    let mut figures = Figures::default();
    walk::each(dir, &mut |path, _| {
        let meta = std::fs::symlink_metadata(path).map_err(io("stat", path))?;
        let kind = match () {
            () if meta.is_dir() => Kind::Directory,
            () if meta.is_symlink() => Kind::Link(Path::new("").to_owned()),
            () => Kind::File(meta.len()),
        };
        count(&mut figures, dir, path, &kind);
        Ok(())
    })?;
    Ok(figures)
}

fn count(figures: &mut Figures, dir: &Path, path: &Path, kind: &Kind) {
    figures.count(path.strip_prefix(dir).unwrap_or(path), kind);
}

/// Reads every regular file and every symbolic link; what was read is counted.
///
/// # Errors
/// [`TreeError::Io`].
pub fn read(dir: &Path) -> Result<Figures, TreeError> {
    let mut buffer = vec![0; BUFFER];
    visit(dir, |path| {
        let mut file = File::open(path).map_err(io("open", path))?;
        let mut size = 0;
        loop {
            match file.read(&mut buffer).map_err(io("read", path))? {
                0 => return Ok(size),
                n => size += n as u64,
            }
        }
    })
}

/// Counts the entries below `dir`; a regular file's size is what `f` says.
fn visit(
    dir: &Path,
    mut f: impl FnMut(&Path) -> Result<u64, TreeError>,
) -> Result<Figures, TreeError> {
    let mut figures = Figures::default();
    walk::each(dir, &mut |path, kind| {
        let kind = if kind.is_dir() {
            Kind::Directory
        } else if kind.is_symlink() {
            Kind::Link(std::fs::read_link(path).map_err(io("read link", path))?)
        } else {
            Kind::File(f(path)?)
        };
        count(&mut figures, dir, path, &kind);
        Ok(())
    })?;
    Ok(figures)
}

/// Copies a tree with reads and writes (no shared extents); `to` is made.
///
/// # Errors
/// [`TreeError::Io`].
pub fn copy(from: &Path, to: &Path) -> Result<Figures, TreeError> {
    let mut buffer = vec![0; BUFFER];
    let mut figures = Figures::default();
    std::fs::create_dir(to).map_err(io("create", to))?;
    walk::each(from, &mut |path, kind| {
        let relative = path.strip_prefix(from).unwrap_or(path);
        let target = to.join(relative);
        let kind = if kind.is_dir() {
            std::fs::create_dir(&target).map_err(io("create", &target))?;
            Kind::Directory
        } else if kind.is_symlink() {
            let link = std::fs::read_link(path).map_err(io("read link", path))?;
            std::os::unix::fs::symlink(&link, &target).map_err(io("create", &target))?;
            Kind::Link(link)
        } else {
            Kind::File(copy_file(path, &target, &mut buffer)?)
        };
        figures.count(relative, &kind);
        Ok(())
    })?;
    Ok(figures)
}

fn copy_file(from: &Path, to: &Path, buffer: &mut [u8]) -> Result<u64, TreeError> {
    let mut source = File::open(from).map_err(io("open", from))?;
    let mut target = File::create_new(to).map_err(io("create", to))?;
    let mut size = 0;
    loop {
        match source.read(buffer).map_err(io("read", from))? {
            0 => return Ok(size),
            n => {
                target.write_all(&buffer[..n]).map_err(io("write", to))?;
                size += n as u64;
            }
        }
    }
}

/// Compares two trees file by file as `diff -r` does, with what is in only one of them; what was
/// read of the first is counted.
///
/// # Errors
/// [`TreeError::Io`]; [`TreeError::Source`] at the first difference.
pub fn compare(left: &Path, right: &Path) -> Result<Figures, TreeError> {
    let mut buffers = (vec![0; BUFFER], vec![0; BUFFER]);
    let (mut figures, mut others) = (Figures::default(), 0);
    walk::each(right, &mut |_, _| {
        others += 1;
        Ok(())
    })?;
    // In the order of names, as diff reads directories.
    let mut pending = vec![left.to_owned()];
    while let Some(dir) = pending.pop() {
        let mut entries = walk::entries(&dir)?;
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        for (path, kind) in entries {
            let relative = path.strip_prefix(left).unwrap_or(&path);
            let other = right.join(relative);
            let kind = if kind.is_dir() {
                pending.push(path.clone());
                Kind::Directory
            } else if kind.is_symlink() {
                compare_links(&path, &other)?
            } else {
                Kind::File(compare_files(&path, &other, &mut buffers)?)
            };
            figures.count(relative, &kind);
        }
    }
    let seen = figures.directories + figures.files + figures.links;
    if seen == others {
        return Ok(figures);
    }
    let reason = format!("{others} entries where {seen} had to be");
    Err(TreeError::Source { path: right.to_owned(), reason })
}

fn compare_links(left: &Path, right: &Path) -> Result<Kind, TreeError> {
    let to = std::fs::read_link(left).map_err(io("read link", left))?;
    if std::fs::read_link(right).map_err(io("read link", right))? == to {
        return Ok(Kind::Link(to));
    }
    Err(differs(left, right))
}

fn differs(left: &Path, right: &Path) -> TreeError {
    let reason = format!("differs from {}", left.display());
    TreeError::Source { path: right.to_owned(), reason }
}

fn compare_files(
    left: &Path,
    right: &Path,
    buffers: &mut (Vec<u8>, Vec<u8>),
) -> Result<u64, TreeError> {
    let mut files = (
        File::open(left).map_err(io("open", left))?,
        File::open(right).map_err(io("open", right))?,
    );
    let mut size = 0;
    loop {
        let n = fill(&mut files.0, &mut buffers.0).map_err(io("read", left))?;
        let m = fill(&mut files.1, &mut buffers.1).map_err(io("read", right))?;
        if buffers.0[..n] != buffers.1[..m] {
            return Err(differs(left, right));
        }
        if n == 0 {
            return Ok(size);
        }
        size += n as u64;
    }
}

fn fill(file: &mut File, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut at = 0;
    while at < buffer.len() {
        match file.read(&mut buffer[at..])? {
            0 => break,
            n => at += n,
        }
    }
    Ok(at)
}

/// Removes `dir` and all that is in it; what was removed is counted, sizes are not looked at.
///
/// # Errors
/// [`TreeError::Io`].
pub fn remove(dir: &Path) -> Result<Figures, TreeError> {
    let mut figures = Figures::default();
    remove_below(dir, dir, &mut figures)?;
    std::fs::remove_dir(dir).map_err(io("remove", dir))?;
    Ok(figures)
}

fn remove_below(top: &Path, dir: &Path, figures: &mut Figures) -> Result<(), TreeError> {
    for (path, kind) in walk::entries(dir)? {
        let kind = if kind.is_dir() {
            remove_below(top, &path, figures)?;
            std::fs::remove_dir(&path).map_err(io("remove", &path))?;
            Kind::Directory
        } else {
            std::fs::remove_file(&path).map_err(io("remove", &path))?;
            if kind.is_symlink() { Kind::Link(path.clone()) } else { Kind::File(0) }
        };
        count(figures, top, &path, &kind);
    }
    Ok(())
}
