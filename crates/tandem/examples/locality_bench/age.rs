//! Ageing a file system, on any empty directory: the history (`history`) as system calls.

#[path = "../../../tandem-fs/examples/ageing/history.rs"]
mod history;

use crate::common::fs::Res;
pub use history::Ageing;
use history::{DIRECTORIES, Random, Target};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// How full the file system is that a directory is on, in per cent.
pub fn full(dir: &Path) -> Res<u64> {
    let (used, total) = space(dir)?;
    Ok(used * 100 / total.max(1))
}

fn space(dir: &Path) -> Res<(u64, u64)> {
    let stat = rustix::fs::statvfs(dir)?;
    let total = stat.f_blocks.saturating_sub(stat.f_bfree).saturating_add(stat.f_bavail);
    let used = total.saturating_sub(stat.f_bavail);
    Ok((used.saturating_mul(stat.f_frsize), total.saturating_mul(stat.f_frsize)))
}

struct Directories<'a> {
    root: &'a Path,
    /// Where the files' contents are cut from.
    text: Vec<u8>,
}

impl Directories<'_> {
    fn path(&self, dir: usize, number: u64) -> PathBuf {
        self.root.join(format!("d{dir:03}/f{number:07}"))
    }
}

impl Target for Directories<'_> {
    type Error = Box<dyn std::error::Error>;

    fn create(&mut self, dir: usize, number: u64, size: usize, random: &mut Random) -> Res<()> {
        let from = random.below((self.text.len() - size) as u64) as usize;
        File::create_new(self.path(dir, number))?.write_all(&self.text[from..from + size])?;
        Ok(())
    }

    fn delete(&mut self, dir: usize, number: u64) -> Res<()> {
        std::fs::remove_file(self.path(dir, number))?;
        Ok(())
    }
}

/// Ages the file system that `root` is on; says what it did. `root` must be empty.
///
/// # Errors
/// Those of the file system, lack of space among them.
pub fn age(root: &Path, ageing: &Ageing) -> Res<String> {
    let (used, total) = space(root)?;
    let wanted = (total * ageing.fill / 100).saturating_sub(used);
    let mut random = Random::new(ageing.seed);
    // Text, so that grep(1) reads the files to their ends.
    let letter = |r: u64| if r.is_multiple_of(64) { b'\n' } else { b'a' + (r % 26) as u8 };
    let text = (0..16 << 20).map(|_| letter(random.next() >> 20)).collect();
    for dir in 0..DIRECTORIES {
        std::fs::create_dir(root.join(format!("d{dir:03}")))?;
    }
    let done = history::age(ageing, wanted, random, &mut Directories { root, text })?;
    Ok(format!(
        "{} files created, {} deleted, {} stay ({} MiB), {} % full",
        done.created,
        done.deleted,
        done.stay(),
        done.bytes >> 20,
        full(root)?
    ))
}
