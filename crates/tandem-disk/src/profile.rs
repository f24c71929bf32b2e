//! Profiles: what a drive is, in a small readable file with the source of every figure in it.

pub mod diskspecs;
mod shipped;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::drive::{Drive, Medium, Queue};
use crate::model::ModelError;

/// What a drive is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name on the command line.
    pub name: String,
    /// What it is, in a line.
    pub description: String,
    /// Where the figures are from, and which of them are estimates.
    #[serde(default)]
    pub sources: Vec<String>,
    /// The drive's queue.
    #[serde(default)]
    pub queue: Queue,
    /// What is in it.
    pub medium: Medium,
    /// What the file asks for that the model does not have.
    #[serde(skip)]
    pub ignored: Vec<String>,
    /// What was assumed in place of what the file does not say.
    #[serde(skip)]
    pub assumed: Vec<String>,
}

/// A profile that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// Neither a profile of that name nor a file.
    #[error("no profile and no file is called `{name}`; there are {}", known.join(", "))]
    Unknown {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A DiskSim parameter file that is wrong.
    #[error(transparent)]
    Spec(#[from] diskspecs::SpecError),
    /// A profile file that is wrong.
    #[error("{}: {why}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
    /// Parameters that no drive can have.
    #[error("{name}: {error}")]
    Model {
        /// The profile.
        name: String,
        /// Which, and why.
        error: ModelError,
    },
}

impl Profile {
    /// The profile of a name or in a file: TOML, or DiskSim's `.diskspecs` or `.parv`.
    ///
    /// # Errors
    /// [`ProfileError`].
    pub fn find(name: &str) -> Result<Profile, ProfileError> {
        if let Some(text) = shipped::text(name) {
            return Profile::parse(Path::new(name), text);
        }
        let path = Path::new(name);
        if path.is_dir() || !path.exists() {
            let known = shipped::NAMES.iter().map(ToString::to_string).collect();
            return Err(ProfileError::Unknown { name: name.to_string(), known });
        }
        if path.extension().is_some_and(|e| e == "toml") {
            let why = |e: std::io::Error| ProfileError::File {
                file: path.to_path_buf(),
                why: e.to_string(),
            };
            return Profile::parse(path, &std::fs::read_to_string(path).map_err(why)?);
        }
        let drive = diskspecs::read(path)?;
        Ok(Profile {
            description: format!("{}, by DiskSim's parameter file", drive.name),
            name: drive.name,
            sources: vec![path.display().to_string()],
            queue: Queue::default(),
            medium: Medium::Disk(Box::new(drive.parameters)),
            ignored: drive.ignored,
            assumed: drive.assumed,
        })
    }

    /// The profiles that come with the program.
    ///
    /// # Errors
    /// None that tests have let pass.
    pub fn shipped() -> Result<Vec<Profile>, ProfileError> {
        shipped::NAMES.iter().map(|name| Profile::find(name)).collect()
    }

    /// A drive at rest.
    ///
    /// # Errors
    /// Parameters that no drive can have.
    pub fn drive(&self) -> Result<Drive, ProfileError> {
        let made = Drive::new(&self.medium, self.queue);
        made.map_err(|error| ProfileError::Model { name: self.name.clone(), error })
    }

    fn parse(file: &Path, text: &str) -> Result<Profile, ProfileError> {
        let why = |e: toml::de::Error| ProfileError::File {
            file: file.to_path_buf(),
            why: e.to_string().trim_end().to_string(),
        };
        toml::from_str(text).map_err(why)
    }
}

#[cfg(test)]
mod tests;
