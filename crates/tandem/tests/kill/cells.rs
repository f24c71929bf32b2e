//! A file of cells that are overwritten in place: each holds what was durable or something that
//! was written there later, whole.

use super::writer::bytes;
use crate::common::random::Random;
use crate::common::sys::*;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Bytes of a cell.
const CELL: usize = 64;
/// Cells of the file.
const CELLS: usize = 4096;

/// The file, and for each cell what it may hold: versions, of which 0 is zeros.
pub struct Cells {
    key: u64,
    path: PathBuf,
    fd: OwnedFd,
    version: u64,
    may: Vec<Vec<u64>>,
}

impl Cells {
    pub fn new(key: u64, dir: &Path) -> R<Cells> {
        let path = dir.join("cells");
        let fd = open(&path, O_CREAT | O_RDWR, 0o644)?;
        ftruncate(&fd, (CELL * CELLS) as i64)?;
        fsync(&fd)?;
        Ok(Cells { key, path, fd, version: 0, may: vec![vec![0]; CELLS] })
    }

    fn cell(&self, at: usize, version: u64) -> Vec<u8> {
        if version == 0 { vec![0; CELL] } else { bytes(&[self.key, 1, at as u64, version], CELL) }
    }

    pub fn step(&mut self, random: &mut Random) -> R<bool> {
        let from = random.below(CELLS);
        let len = (1 + random.below(200)).min(CELLS - from);
        let punch = random.once_in(6);
        self.version += u64::from(!punch);
        let version = if punch { 0 } else { self.version };
        self.may[from..from + len].iter_mut().for_each(|m| m.push(version));
        let data: Vec<u8> = (from..from + len).flat_map(|at| self.cell(at, version)).collect();
        let (off, bytes) = ((from * CELL) as i64, (len * CELL) as i64);
        if punch {
            fallocate(&self.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off, bytes)?;
        } else {
            pwrite(&self.fd, &data, off)?;
        }
        let sync = random.once_in(4);
        if sync {
            if random.once_in(2) {
                fsync(&self.fd)?
            } else {
                fdatasync(&self.fd)?
            }
            for may in &mut self.may {
                may.drain(..may.len() - 1);
            }
        }
        Ok(sync)
    }

    pub fn verify(&self) -> Result<(), String> {
        let got = std::fs::read(&self.path).map_err(|e| format!("cells: {e}"))?;
        if got.len() != CELL * CELLS {
            return Err(format!("cells: {} bytes", got.len()));
        }
        for (at, (is, may)) in got.chunks(CELL).zip(&self.may).enumerate() {
            if !may.iter().any(|v| is == self.cell(at, *v)) {
                let zero = is.iter().all(|b| *b == 0);
                return Err(format!("cell {at} is none of the versions {may:?}; zeros: {zero}"));
            }
        }
        Ok(())
    }
}
