//! How file systems are made and mounted: no lazy initialization, so that nothing is done behind a
//! phase's back, and no discarding of what is a fresh image anyway.

use std::path::{Path, PathBuf};

use super::Peer;

/// The block of all file systems with journals here: journal devices hold so much more than the
/// journal inside a file system does, for a superblock of their own.
pub const JOURNAL_BLOCK: u64 = 4096;

/// What is wanted of a file system.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Which.
    pub peer: &'static Peer,
    /// The program that is Tandem.
    pub program: &'a Path,
    /// The device; Tandem's data device.
    pub device: &'a Path,
    /// Another device for the journal, or Tandem's metadata.
    pub second: Option<&'a Path>,
    /// Bytes of the journal, if they are to be the same wherever it lies.
    pub journal: Option<u64>,
    /// Bytes of memory that the file system and its users may fill, if not all of the machine's.
    pub memory: Option<u64>,
    /// More arguments of mkfs.
    pub mkfs: &'a [String],
    /// More mount options.
    pub mount: &'a str,
    /// Where it is mounted.
    pub dir: &'a Path,
}

/// What makes, mounts and unmounts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commands {
    /// Makes it, in this order.
    pub mkfs: Vec<Vec<String>>,
    /// Mounts it.
    pub mount: Vec<String>,
    /// Unmounts it.
    pub unmount: Vec<String>,
}

/// Bytes of a journal on a disk of `size` bytes when it is to be the same in all places: XFS takes
/// no less than 64 MiB, small disks have a sixteenth.
pub fn journal_bytes(size: u64) -> u64 {
    let bytes = if size >= 1 << 30 { 64 << 20 } else { size / 16 };
    bytes & !(JOURNAL_BLOCK - 1)
}

/// The commands for what is wanted. Devices are overwritten whatever they hold.
pub fn commands(asked: &Asked<'_>) -> Commands {
    let (device, dir) = (text(asked.device), text(asked.dir));
    let second = asked.second.map(text);
    let second = second.as_deref();
    let mut unmount = words(["umount", &dir]);
    let (mkfs, mount) = match asked.peer.name {
        "tandem" => {
            let program = text(asked.program);
            let meta = second.unwrap_or(&device);
            let mut mkfs = words([&program, "mkfs", "--force", meta, "--data", &device]);
            mkfs.extend_from_slice(asked.mkfs);
            let mut mount = words([&program, "mount", meta, &dir, "--data", &device]);
            push_options(&mut mount, &[&cache(asked), asked.mount]);
            unmount = words([&program, "umount", &dir]);
            (vec![mkfs], mount)
        }
        "ext2" | "ext3" | "ext4" | "fuse2fs" => (ext(asked, &device, second), kernel(asked, &[])),
        "xfs" => xfs(asked, &device, second),
        "jfs" => (jfs(asked, &device, second), kernel(asked, &[])),
        "reiserfs" => {
            let jdev = second.map(|second| format!("jdev={second}")).unwrap_or_default();
            (reiserfs(asked, &device, second), kernel(asked, &[&jdev]))
        }
        "ntfs-3g" => {
            let mkfs = with(["mkntfs", "-q", "-Q", "-F"], asked.mkfs, &device);
            let mut mount = words(["ntfs-3g", &device, &dir]);
            push_options(&mut mount, &[asked.mount]);
            (vec![mkfs], mount)
        }
        name => {
            let mkfs = match name {
                "btrfs" => with(["mkfs.btrfs", "-q", "-f", "-K"], asked.mkfs, &device),
                "fat32" => with(["mkfs.vfat", "-F", "32", "-I"], asked.mkfs, &device),
                "f2fs" => with(["mkfs.f2fs", "-q", "-f", "-t", "0"], asked.mkfs, &device),
                _ => with(["mkfs.nilfs2", "-q", "-f", "-K"], asked.mkfs, &device),
            };
            (vec![mkfs], kernel(asked, &[]))
        }
    };
    let mount = match asked.peer.name {
        "fuse2fs" => {
            let mut mount = words(["fuse2fs", &device, &dir]);
            push_options(&mut mount, &["fakeroot", asked.mount]);
            mount
        }
        _ => mount,
    };
    Commands { mkfs, mount, unmount }
}

/// Tandem's own cache, which kernels' file systems have in what memory is free: a quarter of what may
/// be filled, but no more than it has without being told.
fn cache(asked: &Asked<'_>) -> String {
    const USUAL: u64 = 256 << 20;
    let share = asked.memory.map(|memory| memory / 4).filter(|share| *share < USUAL);
    share.map_or_else(String::new, |share| format!("cache={}M", share >> 20))
}

/// mount(8)'s.
fn kernel(asked: &Asked<'_>, more: &[&str]) -> Vec<String> {
    let mut mount = words(["mount", "-t", asked.peer.kernel]);
    push_options(&mut mount, &[more, &[asked.mount]].concat());
    mount.extend([text(asked.device), text(asked.dir)]);
    mount
}

fn ext(asked: &Asked<'_>, device: &str, journal: Option<&str>) -> Vec<Vec<String>> {
    let kind = if asked.peer.name == "fuse2fs" { "ext4" } else { asked.peer.name };
    let lazy = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
    let mut mkfs = words(["mke2fs", "-q", "-F", "-t", kind, "-E", lazy]);
    let mut all = Vec::new();
    match (journal, asked.journal) {
        (Some(journal), _) => {
            let block = JOURNAL_BLOCK.to_string();
            let name = ["mke2fs", "-q", "-F", "-O", "journal_dev", "-b", &block, journal];
            all.push(words(name));
            mkfs.extend(words(["-b", &block, "-J", &format!("device={journal}")]));
        }
        (None, Some(bytes)) => {
            mkfs.extend(words(["-b", "4096", "-J", &format!("size={}", bytes >> 20)]));
        }
        (None, None) => {}
    }
    mkfs.extend_from_slice(asked.mkfs);
    mkfs.push(device.to_owned());
    all.push(mkfs);
    all
}

fn xfs(asked: &Asked<'_>, device: &str, log: Option<&str>) -> (Vec<Vec<String>>, Vec<String>) {
    let mut mkfs = words(["mkfs.xfs", "-q", "-f", "-K"]);
    let mut option = String::new();
    if let Some(bytes) = asked.journal {
        let size = format!("size={bytes}");
        let place = log.map_or(size.clone(), |log| format!("logdev={log},{size}"));
        mkfs.extend(words(["-l", &place]));
    }
    if let Some(log) = log {
        option = format!("logdev={log}");
    }
    mkfs.extend_from_slice(asked.mkfs);
    mkfs.push(device.to_owned());
    (vec![mkfs], kernel(asked, &[&option]))
}

fn jfs(asked: &Asked<'_>, device: &str, journal: Option<&str>) -> Vec<Vec<String>> {
    let mut mkfs = words(["mkfs.jfs", "-q"]);
    let mut all = Vec::new();
    match (journal, asked.journal) {
        (Some(journal), _) => {
            all.push(words(["mkfs.jfs", "-q", "-J", "journal_dev", journal]));
            mkfs.extend(words(["-J", &format!("device={journal}")]));
        }
        (None, Some(bytes)) => mkfs.extend(words(["-s", &(bytes >> 20).to_string()])),
        (None, None) => {}
    }
    mkfs.extend_from_slice(asked.mkfs);
    mkfs.push(device.to_owned());
    all.push(mkfs);
    all
}

fn reiserfs(asked: &Asked<'_>, device: &str, journal: Option<&str>) -> Vec<Vec<String>> {
    let mut mkfs = words(["mkreiserfs", "-q", "-f", "-f"]);
    if let Some(journal) = journal {
        mkfs.extend(words(["-j", journal]));
    }
    if let Some(bytes) = asked.journal {
        mkfs.extend(words(["-s", &(bytes / JOURNAL_BLOCK).to_string()]));
    }
    mkfs.extend_from_slice(asked.mkfs);
    mkfs.push(device.to_owned());
    vec![mkfs]
}

fn push_options(command: &mut Vec<String>, options: &[&str]) {
    let given: Vec<&str> = options.iter().copied().filter(|option| !option.is_empty()).collect();
    if !given.is_empty() {
        command.extend(["-o".to_owned(), given.join(",")]);
    }
}

fn with<const N: usize>(head: [&str; N], more: &[String], device: &str) -> Vec<String> {
    let mut all = words(head);
    all.extend_from_slice(more);
    all.push(device.to_owned());
    all
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn text(path: &Path) -> String {
    PathBuf::from(path).to_string_lossy().into_owned()
}
