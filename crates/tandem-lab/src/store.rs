//! The results folder.
//!
//! ```text
//! lab.json          which studies, with their files' text, at which scale; which commands
//! records.jsonl     a record a line, appended and synced one by one
//! environment/      descriptions of machine, kernel and programs, by the name that records give
//! traces/RUN/       what the disks saw
//! work/             images and mount points of the run under way
//! lock              held by the lab that writes here
//! ```
//!
//! A line that a crash has torn is cut off: its run has not been made. Nothing else that is wrong
//! is mended. Until something begins, a folder stays as it was, and one that was not there goes.

mod files;
mod fresh;
mod lock;
mod records;
mod results;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::plan::{SelectError, Selected};
use crate::record::Record;
use crate::study::{Given, StudyError};

use files::{empty, environments, manifest, new_manifest, replace};
use lock::Lock;

pub(crate) use fresh::Fresh;

const MANIFEST: &str = "lab.json";
const RECORDS: &str = "records.jsonl";
const ENVIRONMENTS: &str = "environment";
/// What `lab.json` says that it is.
const KIND: &str = "tandem-lab results";

/// What a results folder is of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// That it is one.
    pub kind: String,
    /// [`crate::record::SCHEMA`].
    pub schema: u32,
    /// Version of the lab that made it.
    pub version: String,
    /// What the order of runs and random choices began with.
    pub seed: u64,
    /// The studies, in the order in which they were asked for.
    pub studies: Vec<Asked>,
    /// The lab's commands, as they were given.
    pub commands: Vec<String>,
}

/// A study, or a part of one, that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Its name.
    pub study: String,
    /// At which scale.
    pub scale: String,
    /// Only these levels, if any are named.
    pub only: Vec<(String, String)>,
    /// Runs of each configuration, if not as many as the study says.
    pub repetitions: Option<u32>,
    /// The study's file, as it was run.
    pub text: String,
}

impl Asked {
    /// The study.
    ///
    /// # Errors
    /// The text is no study (of this version of the lab).
    pub fn given(&self) -> Result<Given, StudyError> {
        Given::parse(&format!("{}.toml", self.study), &self.text)
    }

    /// Runs of each configuration, at least.
    pub fn repetitions(&self, selected: &Selected<'_>) -> u32 {
        self.repetitions.unwrap_or(selected.scale.repetitions)
    }

    /// Until the interval is how narrow, and how many runs at most; a number of runs that was asked
    /// for is kept to.
    pub fn width(&self, selected: &Selected<'_>) -> Option<(f64, u32)> {
        let fixed = self.repetitions.is_some();
        selected.scale.width.zip(selected.scale.most).filter(|_| !fixed)
    }
}

/// A results folder that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error("{doing} {}: {error}", .path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// Something else is in there.
    #[error("{} is no results folder: {why}", .0.display(), why = .1)]
    Foreign(PathBuf, String),
    /// What is in there is damaged.
    #[error("{}:{line}: {why}; nothing was changed", .file.display())]
    Corrupt {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// Another lab is at work.
    #[error("another lab is at work{} ({holder}){hint}", match .dir {
        Some(dir) => format!(" in {}", dir.display()),
        None => " on this machine".to_owned(),
    })]
    Locked {
        /// In that folder; anywhere on this machine without.
        dir: Option<PathBuf>,
        /// What it says of itself.
        holder: String,
        /// What can be done.
        hint: &'static str,
    },
    /// The folder has this study at this scale, but another text or part of it.
    #[error("{} holds {study} at scale {scale} with {what}; give it a folder of its own", .dir.display())]
    Differs {
        /// The folder.
        dir: PathBuf,
        /// The study.
        study: String,
        /// The scale.
        scale: String,
        /// What is different.
        what: &'static str,
    },
    /// A study in it can no longer be read.
    #[error("in the results folder: {0}")]
    Study(#[from] StudyError),
    /// A part of a study in it does not exist.
    #[error("in the results folder: {0}")]
    Select(#[from] SelectError),
}

fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |error| StoreError::Io { doing, path, error }
}

/// What is in a results folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    /// What it is of.
    pub manifest: Manifest,
    /// The last word on every run that was tried.
    pub records: Vec<Record>,
    /// Machines, kernels and programs, by the name that records give.
    pub environments: BTreeMap<String, serde_json::Value>,
}

impl Contents {
    /// Reads a results folder, also one that is being written.
    ///
    /// # Errors
    /// [`StoreError`]: there is none, or it is damaged.
    pub fn read(dir: &Path) -> Result<Contents, StoreError> {
        let manifest = manifest(dir)?;
        let (records, _) = records::read(&dir.join(RECORDS))?;
        let environments = environments(&dir.join(ENVIRONMENTS))?;
        Ok(Contents { manifest, records: records::last_words(records), environments })
    }
}

/// A results folder that is written.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    manifest: Manifest,
    records: Vec<Record>,
    /// Bytes of whole records in the file.
    valid: u64,
    /// The records' file, when something has begun.
    file: Option<File>,
    // In this order: a directory that was made goes after the lock in it.
    locks: Vec<Lock>,
    fresh: Fresh,
}

impl Store {
    /// Opens a results folder, or makes one in a directory that is new or empty. With `alone`, no
    /// other lab may be at work on this machine either. Nothing but the lock is written before
    /// [`Store::begin`]; without that, what was made for the lock is gone with the store.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn open(dir: &Path, alone: bool) -> Result<Store, StoreError> {
        let fresh = Fresh::directory(dir).map_err(io_error("create", dir))?;
        let dir = &dir.canonicalize().map_err(io_error("find", dir))?;
        if !dir.join(MANIFEST).exists() {
            empty(dir)?;
        }
        let mut locks = vec![Lock::folder(dir)?];
        if alone {
            locks.push(Lock::machine(dir)?);
        }
        let manifest = if dir.join(MANIFEST).exists() { manifest(dir)? } else { new_manifest() };
        let (records, valid) = records::read(&dir.join(RECORDS))?;
        let records = records::last_words(records);
        Ok(Store { dir: dir.clone(), manifest, records, valid, file: None, locks, fresh })
    }

    /// Runs are made from here on: writes down what was asked for, and cuts off what a crash has
    /// torn.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn begin(&mut self) -> Result<(), StoreError> {
        // First, since records without it would be those of something else.
        replace(&self.dir.join(MANIFEST), &self.manifest)?;
        self.locks.iter_mut().for_each(Lock::keep);
        self.fresh.keep();
        self.file().map(drop)
    }

    fn file(&mut self) -> Result<&mut File, StoreError> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                let path = self.dir.join(RECORDS);
                let file = File::options().create(true).append(true).open(&path);
                let file = file.map_err(io_error("open", &path))?;
                let cut = file.set_len(self.valid).and_then(|()| file.sync_all());
                cut.map_err(io_error("cut", &path))?;
                file
            }
        };
        Ok(self.file.insert(file))
    }

    /// The folder, as an absolute path.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What it is of.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The last word on every run that was tried.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Studies are asked for, by that command. One that is there already goes on; it may be asked
    /// for with more repetitions. [`Store::begin`] writes it down.
    ///
    /// # Errors
    /// [`StoreError::Differs`].
    pub fn ask(&mut self, asked: Vec<Asked>, command: &str) -> Result<(), StoreError> {
        for new in asked {
            let same = |old: &&mut Asked| old.study == new.study && old.scale == new.scale;
            let Some(old) = self.manifest.studies.iter_mut().find(same) else {
                self.manifest.studies.push(new);
                continue;
            };
            let what = match () {
                () if old.text != new.text => "another text of its file",
                () if old.only != new.only => "another choice of levels",
                () => {
                    old.repetitions = new.repetitions;
                    continue;
                }
            };
            let (dir, study, scale) = (self.dir.clone(), new.study, new.scale);
            return Err(StoreError::Differs { dir, study, scale, what });
        }
        if self.manifest.commands.last().is_none_or(|last| last != command) {
            self.manifest.commands.push(command.to_owned());
        }
        Ok(())
    }

    /// Puts a record on the disk, beginning if that was not done; when this returns, it stays.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn append(&mut self, record: Record) -> Result<(), StoreError> {
        if self.file.is_none() {
            self.begin()?;
        }
        let path = self.dir.join(RECORDS);
        let mut line = serde_json::to_vec(&record).map_err(io::Error::other);
        line.iter_mut().for_each(|line| line.push(b'\n'));
        let file = self.file()?;
        line.and_then(|line| file.write_all(&line))
            .and_then(|()| file.sync_data())
            .map_err(io_error("append to", &path))?;
        self.records.retain(|old| old.id != record.id);
        self.records.push(record);
        Ok(())
    }

    /// Keeps a description under a name, once.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn environment(&self, name: &str, text: &impl Serialize) -> Result<(), StoreError> {
        let dir = self.dir.join(ENVIRONMENTS);
        fs::create_dir_all(&dir).map_err(io_error("create", &dir))?;
        replace(&dir.join(format!("{name}.json")), text)
    }
}

#[cfg(test)]
mod tests;
