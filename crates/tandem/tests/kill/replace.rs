//! Files that are replaced by renaming new ones over them: each is whole, of a version not older
//! than the durable one, with that version's attributes.

use super::writer::{bytes, mix};
use crate::common::random::Random;
use crate::common::sys::*;
use std::path::{Path, PathBuf};

const FILES: usize = 3;
const NAME: &str = "user.version";

/// A file's versions, from 1; 0: not there.
#[derive(Clone, Copy, Default)]
struct Versions {
    durable: u64,
    latest: u64,
}

/// The files of a directory.
pub struct Replace {
    key: u64,
    dir: PathBuf,
    files: [Versions; FILES],
}

impl Replace {
    pub fn new(key: u64, dir: &Path) -> R<Replace> {
        let dir = dir.join("replace");
        mkdir(&dir, 0o755)?;
        fsync(&open(&dir, O_RDONLY, 0)?)?;
        Ok(Replace { key, dir, files: Default::default() })
    }

    fn contents(&self, file: usize, version: u64) -> Vec<u8> {
        let key = [self.key, 2, file as u64, version];
        bytes(&key, 1 + (mix(&key) % 50_000) as usize)
    }

    fn mode(version: u64) -> u32 {
        0o600 + (version % 64) as u32
    }

    pub fn step(&mut self, random: &mut Random) -> R<bool> {
        let file = random.below(FILES);
        let version = self.files[file].latest + 1;
        let (new, old) = (self.dir.join(format!("{file}.new")), self.dir.join(file.to_string()));
        let fd = open(&new, O_CREAT | O_TRUNC | O_WRONLY, 0o600)?;
        let data = self.contents(file, version);
        let mut done = 0;
        while done < data.len() {
            done += write(&fd, &data[done..])?;
        }
        fchmod(&fd, Self::mode(version))?;
        setxattr(&new, false, NAME, version.to_string().as_bytes(), 0)?;
        // A file that replaces another needs no fsync to be whole; one that does not, does.
        if version == 1 || random.once_in(2) {
            fsync(&fd)?;
        }
        self.files[file].latest = version;
        rename(&new, &old)?;
        let sync = random.once_in(2);
        if sync {
            if random.once_in(2) {
                fsync(&fd)?
            } else {
                fsync(&open(&self.dir, O_RDONLY, 0)?)?
            }
            self.files[file].durable = version;
        }
        Ok(sync)
    }

    pub fn verify(&self) -> Result<(), String> {
        (0..FILES).try_for_each(|file| self.verify_file(file))
    }

    fn verify_file(&self, file: usize) -> Result<(), String> {
        let path = self.dir.join(file.to_string());
        let Versions { durable, latest } = self.files[file];
        let what = format!("file {file}, versions {durable} to {latest}");
        let got = match std::fs::read(&path) {
            Ok(got) => got,
            Err(_) if durable == 0 => return Ok(()),
            Err(e) => return Err(format!("{what}: {e}")),
        };
        let is = (durable.max(1)..=latest).find(|v| got == self.contents(file, *v));
        let version = is.ok_or_else(|| format!("{what}: none of them, {} bytes", got.len()))?;
        let mode = lstat(&path).map_err(|e| format!("{what}: {e}"))?.perm();
        let named = getxattr(&path, NAME).map_err(|e| format!("{what}: {NAME}: {e}"))?;
        if mode != Self::mode(version) || named != version.to_string().into_bytes() {
            return Err(format!("{what}: contents of {version}, mode {mode:o}, {named:?}"));
        }
        Ok(())
    }
}
