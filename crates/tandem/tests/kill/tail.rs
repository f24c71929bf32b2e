//! A log that is appended to: what is durable of it is there, and what follows is what was
//! appended, as far as the file goes.

use super::writer::mix;
use crate::common::random::Random;
use crate::common::sys::*;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The file, its durable length and what has been or is being appended, in bytes.
pub struct Tail {
    key: u64,
    path: PathBuf,
    fd: OwnedFd,
    /// Each write is durable when it returns.
    dsync: bool,
    durable: usize,
    length: usize,
}

fn part(key: u64, from: usize, to: usize) -> Vec<u8> {
    let word = |i: usize| mix(&[key, 4, i as u64]).to_le_bytes();
    (from..to).map(|at| word(at / 8)[at % 8]).collect()
}

impl Tail {
    pub fn new(key: u64, dir: &Path) -> R<Tail> {
        let path = dir.join("tail");
        let dsync = key.is_multiple_of(4);
        let flags = O_CREAT | O_WRONLY | O_APPEND | if dsync { O_DSYNC } else { 0 };
        let fd = open(&path, flags, 0o644)?;
        fsync(&fd)?;
        Ok(Tail { key, path, fd, dsync, durable: 0, length: 0 })
    }

    pub fn step(&mut self, random: &mut Random) -> R<bool> {
        let most = random.of(&[100, 5000, 60_000]);
        let len = 1 + random.below(most);
        let data = part(self.key, self.length, self.length + len);
        self.length += len;
        let mut done = 0;
        while done < len {
            done += write(&self.fd, &data[done..])?;
        }
        let sync = !self.dsync && random.once_in(4);
        if sync {
            if random.once_in(2) { fsync(&self.fd)? } else { fdatasync(&self.fd)? }
        }
        if sync || self.dsync {
            self.durable = self.length;
        }
        Ok(sync || self.dsync)
    }

    pub fn verify(&self) -> Result<(), String> {
        let got = std::fs::read(&self.path).map_err(|e| format!("tail: {e}"))?;
        let what = format!("tail of {} bytes, {} durable", got.len(), self.durable);
        if got.len() < self.durable || got.len() > self.length {
            return Err(format!("{what}, {} appended", self.length));
        }
        let want = part(self.key, 0, got.len());
        match got.iter().zip(&want).position(|(a, b)| a != b) {
            Some(at) => {
                Err(format!("{what}: wrong from {at} on: {:?}", &got[at..got.len().min(at + 16)]))
            }
            None => Ok(()),
        }
    }
}
