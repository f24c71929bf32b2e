//! An i-node's path, for messages.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::error::{Res, fail};
use crate::ifile::Home;
use crate::state::State;
use crate::types::{Ino, ROOT};
use crate::volume::Volume;

/// Names of a path at most.
const DEEPEST: usize = 4096;

impl Volume {
    /// The path of an i-node from the root of the volume, as far as it is known: one with several
    /// links has none, nor has one that was unlinked or whose directories cannot be read.
    pub fn path_of(&self, ino: Ino) -> Option<PathBuf> {
        let names = self.core.run(|st| st.names_to(ino)).ok()?;
        let mut path = PathBuf::from("/");
        path.extend(names.into_iter().rev().map(OsString::from_vec));
        Some(path)
    }

    /// What to call an i-node in a message: its path, else its number.
    pub fn called(&self, ino: Ino) -> String {
        match self.path_of(ino) {
            Some(path) => path.display().to_string(),
            None => format!("i-node {ino}"),
        }
    }
}

impl State {
    /// The names that lead to an i-node, the last one first.
    fn names_to(&mut self, ino: Ino) -> Res<Vec<Vec<u8>>> {
        let (mut names, mut at) = (Vec::new(), ino);
        while at != ROOT {
            let Some(Home::Entry { dir, top }) = self.imap_get(at)? else {
                return fail(libc::ENOENT);
            };
            self.node(dir)?;
            let Some(found) = self.dir_find_home(dir, top, at)? else { return fail(libc::ENOENT) };
            names.push(self.leaf(found.leaf)?.entry(found.slot).name.to_vec());
            if names.len() > DEEPEST {
                return fail(libc::ELOOP);
            }
            at = dir;
        }
        Ok(names)
    }
}
