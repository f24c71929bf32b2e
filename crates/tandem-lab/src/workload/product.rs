//! What `prepare` makes and phases use, kept between runs.

use std::hash::Hasher;
use std::path::{Path, PathBuf};

use siphasher::sip::SipHasher13;

use super::WorkloadError;
use super::error::io;

const KEY: &str = "key";

/// What the name of something half made begins with; its maker's process follows.
const DRAFT: &str = ".draft-";

/// Where the product of these parameters lies, if it has been made.
pub(crate) fn place(scratch: &Path, kind: &str, key: &str) -> PathBuf {
    let mut hasher = SipHasher13::new();
    hasher.write(key.as_bytes());
    scratch.join(format!("{kind}-{:016x}", hasher.finish()))
}

/// The product of these parameters, made by `make` in a directory that is given its name only when
/// all of it is on the disk.
pub(crate) fn made(
    scratch: &Path,
    kind: &str,
    key: &str,
    make: impl FnOnce(&Path) -> Result<(), WorkloadError>,
) -> Result<PathBuf, WorkloadError> {
    let place = place(scratch, kind, key);
    match std::fs::read_to_string(place.join(KEY)) {
        Ok(known) if known == key => return Ok(place),
        Ok(_) => {
            let reason = "belongs to other parameters; remove it".to_owned();
            return Err(WorkloadError::Product { path: place, reason });
        }
        Err(_) => {}
    }
    sweep(scratch)?;
    let draft = scratch.join(format!("{DRAFT}{}-{kind}", std::process::id()));
    remove(&draft)?;
    std::fs::create_dir_all(&draft).map_err(io("create", &draft))?;
    let done = make(&draft).and_then(|()| {
        std::fs::write(draft.join(KEY), key).map_err(io("write", &draft))?;
        sync(&draft)?;
        settle(&draft, &place, key)
    });
    if done.is_err() {
        remove(&draft)?;
    }
    done.map(|()| place)
}

/// Removes what processes have left that were killed.
fn sweep(scratch: &Path) -> Result<(), WorkloadError> {
    for entry in std::fs::read_dir(scratch).map_err(io("list", scratch))? {
        let entry = entry.map_err(io("list", scratch))?;
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(DRAFT)?.split('-').next());
        let owner: Option<u32> = owner.and_then(|pid| pid.parse().ok());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Gives the draft its name; another process may have been faster.
fn settle(draft: &Path, place: &Path, key: &str) -> Result<(), WorkloadError> {
    let Err(error) = std::fs::rename(draft, place) else { return Ok(()) };
    if std::fs::read_to_string(place.join(KEY)).is_ok_and(|known| known == key) {
        return remove(draft);
    }
    let reason = format!("is in the way and was not made by the lab; remove it ({error})");
    Err(WorkloadError::Product { path: place.to_owned(), reason })
}

fn sync(dir: &Path) -> Result<(), WorkloadError> {
    let file = std::fs::File::open(dir).map_err(io("open", dir))?;
    rustix::fs::syncfs(&file).map_err(io("sync", dir))
}

fn remove(dir: &Path) -> Result<(), WorkloadError> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io("remove", dir)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_or_not_at_all() {
        let dir = tempfile::tempdir().expect("directory");
        let fails = made(dir.path(), "tree", "a", |draft| {
            std::fs::write(draft.join("half"), "x").map_err(io("write", draft))?;
            super::super::error::expect("files", 2, 1)
        });
        assert!(fails.is_err());
        assert_eq!(std::fs::read_dir(dir.path()).expect("read").count(), 0);
        let write = |draft: &Path| std::fs::write(draft.join("f"), "1").map_err(io("w", draft));
        let first = made(dir.path(), "tree", "a", write).expect("made");
        let again = made(dir.path(), "tree", "a", |_| panic!("made twice")).expect("kept");
        assert_eq!(first, again);
        let other = made(dir.path(), "tree", "b", write).expect("made");
        assert_ne!(first, other);
    }

    #[test]
    fn what_the_killed_leave_is_removed() {
        let dir = tempfile::tempdir().expect("directory");
        // No process has a number beyond the kernel's limit of 2^22.
        let (dead, alive) = (".draft-99999999-tree", format!(".draft-{}-x", std::process::id()));
        for name in [dead, &alive, "other"] {
            std::fs::create_dir(dir.path().join(name)).expect("made");
        }
        made(dir.path(), "tree", "a", |_| Ok(())).expect("made");
        assert!(!dir.path().join(dead).exists());
        assert!(dir.path().join(alive).exists() && dir.path().join("other").exists());
    }
}
