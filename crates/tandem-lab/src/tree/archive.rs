//! Tar archives: trees are packed into them once and unpacked onto file systems under test.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Timespec, Timestamps};

use super::ops::BUFFER;
use super::{Entry, Figures, Kind, Source, TreeError, Visitor, io};

/// Endings of compressed archives and what reads them.
const COMPRESSED: [(&str, &str); 8] = [
    ("xz", "xz"),
    ("txz", "xz"),
    ("gz", "gzip"),
    ("tgz", "gzip"),
    ("bz2", "bzip2"),
    ("tbz2", "bzip2"),
    ("zst", "zstd"),
    ("tzst", "zstd"),
];

/// The program that reads an archive of this name, if it is compressed.
pub fn program(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?;
    COMPRESSED.iter().find(|(known, _)| *known == ending).map(|(_, program)| *program)
}

/// The Debian package of such a program.
pub fn package(program: &'static str) -> &'static str {
    if program == "xz" { "xz-utils" } else { program }
}

/// Writes a share of a tree as an archive, and the same with all regular files empty.
///
/// # Errors
/// [`TreeError`].
pub fn pack(source: &Source, share: f64, full: &Path, empty: &Path) -> Result<Figures, TreeError> {
    let open = |path: &Path| {
        let file = File::create_new(path).map_err(io("create", path))?;
        Ok(tar::Builder::new(BufWriter::new(file)))
    };
    let (mut whole, mut bare) = (open(full)?, open(empty)?);
    let mut figures = Figures::default();
    source.share(share, &mut |entry, contents| {
        figures.count(&entry.path, &entry.kind);
        append(&mut whole, entry, contents).map_err(io("write", full))?;
        let mut emptied = entry.clone();
        if let Kind::File(size) = &mut emptied.kind {
            *size = 0;
        }
        append(&mut bare, &emptied, &mut std::io::empty()).map_err(io("write", empty))
    })?;
    for (archive, path) in [(whole, full), (bare, empty)] {
        let mut out = archive.into_inner().map_err(io("write", path))?;
        out.flush().map_err(io("write", path))?;
    }
    Ok(figures)
}

fn append(
    to: &mut tar::Builder<impl Write>,
    entry: &Entry,
    data: &mut dyn Read,
) -> std::io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_mode(entry.mode);
    header.set_mtime(entry.mtime);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    match &entry.kind {
        Kind::Directory => {
            header.set_entry_type(tar::EntryType::Directory);
            to.append_data(&mut header, &entry.path, data)
        }
        Kind::Link(target) => {
            header.set_entry_type(tar::EntryType::Symlink);
            to.append_link(&mut header, &entry.path, target)
        }
        Kind::File(size) => {
            header.set_entry_type(tar::EntryType::Regular);
            header.set_size(*size);
            // A file that has become shorter would spoil everything behind it.
            let mut exact = Exact { data, left: *size };
            to.append_data(&mut header, &entry.path, &mut exact)
        }
    }
}

struct Exact<'a> {
    data: &'a mut dyn Read,
    left: u64,
}

impl Read for Exact<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        let n = self.data.read(&mut into[..most])?;
        if n == 0 && most > 0 {
            return Err(std::io::Error::other("the file has become shorter while it was read"));
        }
        self.left -= n as u64;
        Ok(n)
    }
}

/// Gives every entry of an archive to `f`.
///
/// # Errors
/// [`TreeError::Source`] if it is no archive, or has hard links, devices or paths that lead out of
/// it.
pub fn each(path: &Path, f: &mut Visitor<'_>) -> Result<(), TreeError> {
    let Some(program) = program(path) else {
        let file = File::open(path).map_err(io("open", path))?;
        return entries(path, &mut BufReader::with_capacity(BUFFER, file), f);
    };
    let failed = |reason: String| TreeError::Source { path: path.to_owned(), reason };
    let mut child = Command::new(program)
        .args(["-dc"])
        .arg(path)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("{program} is needed to read it: {error}")))?;
    let done = match child.stdout.take() {
        Some(mut out) => entries(path, &mut out, f).and_then(|()| {
            // What is behind the archive's end, or the program is killed by a broken pipe.
            std::io::copy(&mut out, &mut std::io::sink()).map(drop).map_err(io("read", path))
        }),
        None => Err(failed(format!("{program} has no output"))),
    };
    let status = child.wait().map_err(|error| failed(format!("{program}: {error}")))?;
    done?;
    if status.success() { Ok(()) } else { Err(failed(format!("{program}: {status}"))) }
}

fn entries(path: &Path, from: &mut dyn Read, f: &mut Visitor<'_>) -> Result<(), TreeError> {
    let failed = |error: std::io::Error| TreeError::Source {
        path: path.to_owned(),
        reason: format!("not a tar archive that can be read: {error}"),
    };
    let mut archive = tar::Archive::new(from);
    for packed in archive.entries().map_err(failed)? {
        let mut packed = packed.map_err(failed)?;
        let Some(entry) = understood(&packed).map_err(failed)? else { continue };
        f(&entry, &mut packed)?;
    }
    Ok(())
}

/// The entry, unless it only describes others.
fn understood(packed: &tar::Entry<'_, impl Read>) -> std::io::Result<Option<Entry>> {
    let kind = packed.header().entry_type();
    let path = inside(&packed.path()?)?;
    if path.as_os_str().is_empty() || kind.is_pax_global_extensions() {
        return Ok(None);
    }
    let kind = match kind {
        tar::EntryType::Directory => Kind::Directory,
        tar::EntryType::Regular | tar::EntryType::Continuous => Kind::File(packed.size()),
        tar::EntryType::Symlink => {
            let to = packed.link_name()?.ok_or(std::io::Error::other("a link to nowhere"))?;
            Kind::Link(to.into_owned())
        }
        other => {
            let text = format!("{} is of the type {other:?}", path.display());
            return Err(std::io::Error::other(text));
        }
    };
    let mode = packed.header().mode()? & 0o7777;
    Ok(Some(Entry { path, kind, mode, mtime: packed.header().mtime()? }))
}

/// The path without `.`; one that leads out of the tree is refused.
fn inside(path: &Path) -> std::io::Result<PathBuf> {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            _ => {
                let text = format!("{} leads out of it", path.display());
                return Err(std::io::Error::other(text));
            }
        }
    }
    Ok(clean)
}

/// Unpacks an archive into a directory that is there, as `tar xf` does: every file is made, written
/// and given its time; directories are given theirs at the end.
///
/// # Errors
/// [`TreeError`].
pub fn unpack(archive: &Path, into: &Path) -> Result<Figures, TreeError> {
    let mut figures = Figures::default();
    let mut directories = Vec::new();
    let mut buffer = vec![0; BUFFER];
    each(archive, &mut |entry, contents| {
        let path = into.join(&entry.path);
        match &entry.kind {
            Kind::Directory => {
                std::fs::create_dir(&path).map_err(io("create", &path))?;
                directories.push((path, entry.mtime));
            }
            Kind::Link(to) => {
                std::os::unix::fs::symlink(to, &path).map_err(io("create", &path))?;
            }
            Kind::File(_) => write(&path, entry, contents, &mut buffer)?,
        }
        figures.count(&entry.path, &entry.kind);
        Ok(())
    })?;
    for (path, mtime) in directories.into_iter().rev() {
        let dir = File::open(&path).map_err(io("open", &path))?;
        rustix::fs::futimens(&dir, &times(mtime)).map_err(io("set the time of", &path))?;
    }
    Ok(figures)
}

/// GNU tar leaves the time of the last access as it is.
fn times(mtime: u64) -> Timestamps {
    let time = Timespec { tv_sec: i64::try_from(mtime).unwrap_or(0), tv_nsec: 0 };
    let kept = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    Timestamps { last_access: kept, last_modification: time }
}

fn write(
    path: &Path,
    entry: &Entry,
    contents: &mut dyn Read,
    buffer: &mut [u8],
) -> Result<(), TreeError> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(entry.mode).open(path);
    let mut file = file.map_err(io("create", path))?;
    loop {
        match contents.read(buffer).map_err(io("unpack", path))? {
            0 => break,
            n => file.write_all(&buffer[..n]).map_err(io("write", path))?,
        }
    }
    rustix::fs::futimens(&file, &times(entry.mtime)).map_err(io("set the time of", path))
}
