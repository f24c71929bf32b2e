//! Loading kernel modules, without programs that not every host has.

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::stage::StageError;

/// Where the Debian package has them, by the kernel's release.
const DIR: &str = "/usr/lib/uml/modules";

/// Loads modules and what they depend on, into the kernel that this process runs on, which is a
/// guest's.
///
/// # Errors
/// Modules that are not there, or that the kernel does not take.
pub fn load(names: &[String]) -> Result<(), StageError> {
    if names.is_empty() {
        return Ok(());
    }
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let dir = Path::new(DIR).join(release);
    let list = dir.join("modules.dep");
    let text = std::fs::read_to_string(&list)
        .map_err(|e| StageError::failed(format!("read {}", list.display()), e))?;
    for name in names {
        let files = files(&text, name)
            .ok_or_else(|| StageError::failed(format!("module {name}"), "is not there"))?;
        for file in files {
            insert(&dir.join(file))?;
        }
    }
    Ok(())
}

fn insert(file: &Path) -> Result<(), StageError> {
    let fail = |error: Errno| StageError::failed(format!("load {}", file.display()), error);
    let open = File::open(file).map_err(|e| StageError::failed(file.display().to_string(), e))?;
    match rustix::system::finit_module(&open, c"", 0) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(fail(error)),
    }
}

/// The files to load for a module, in this order (modules.dep(5)): what it depends on comes last
/// there, and first here.
fn files(list: &str, name: &str) -> Option<Vec<PathBuf>> {
    let own = format!("{}.ko", name.replace('_', "-"));
    let found = list.lines().find_map(|line| {
        let (file, needs) = line.split_once(':')?;
        let last = file.rsplit('/').next()?.replace('_', "-");
        (last == own).then(|| needs.split_whitespace().rev().chain([file]))
    });
    Some(found?.map(PathBuf::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_first() {
        let list = "kernel/fs/fat/vfat.ko: kernel/fs/fat/fat.ko kernel/fs/nls/base.ko\n\
                    kernel/fs/fat/fat.ko: kernel/fs/nls/base.ko\nkernel/crypto/crc32_generic.ko:\n";
        let paths = |names: &[&str]| Some(names.iter().map(PathBuf::from).collect::<Vec<_>>());
        let vfat = ["kernel/fs/nls/base.ko", "kernel/fs/fat/fat.ko", "kernel/fs/fat/vfat.ko"];
        assert_eq!(files(list, "vfat"), paths(&vfat));
        assert_eq!(files(list, "crc32_generic"), paths(&["kernel/crypto/crc32_generic.ko"]));
        assert_eq!(files(list, "f2fs"), None);
    }
}
