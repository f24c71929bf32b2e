//! Directories for something that may not begin.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Directories that were made and go again with this, if they are empty, unless they are kept.
#[derive(Debug, Default)]
pub(crate) struct Fresh {
    /// The outermost first.
    made: Vec<PathBuf>,
}

impl Fresh {
    /// Makes a directory and those above it that are not there.
    pub fn directory(path: &Path) -> io::Result<Fresh> {
        let above = path.ancestors().take_while(|dir| !dir.as_os_str().is_empty());
        let wanting: Vec<&Path> = above.take_while(|dir| !dir.is_dir()).collect();
        let mut fresh = Fresh::default();
        for dir in wanting.into_iter().rev() {
            match fs::create_dir(dir) {
                Ok(()) => fresh.made.push(dir.to_owned()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(fresh)
    }

    /// They stay.
    pub fn keep(&mut self) {
        self.made.clear();
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        for dir in self.made.iter().rev() {
            let _ = fs::remove_dir(dir);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_goes_unless_it_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("old"), dir.path().join("old/new/newer"));
        fs::create_dir(&old).unwrap();
        drop(Fresh::directory(&new).unwrap());
        assert!(old.is_dir() && !old.join("new").exists());
        let used = Fresh::directory(&new).unwrap();
        fs::write(old.join("new/file"), "").unwrap();
        drop(used);
        assert!(!new.exists() && old.join("new/file").exists());
        Fresh::directory(&new).unwrap().keep();
        assert!(new.is_dir());
        fs::write(dir.path().join("file"), "").unwrap();
        assert!(Fresh::directory(&dir.path().join("file/dir")).is_err());
    }
}
