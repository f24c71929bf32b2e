//! Images, the disks that they are, and the devices over those.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate, fstatfs};
use rustix::mount::MountFlags;

use super::StageError;
use super::emulator::Emulator;
use super::layout::{Place, Store};
use super::loops::Loop;
use crate::peer::World;

/// What statfs(2) says of a file system in memory.
const TMPFS: rustix::fs::FsWord = 0x0102_1994;

/// A store that is there; taken down at the end, devices before the disk.
pub(super) struct Open {
    pub store: Store,
    /// Device files, one for each part.
    pub devices: Vec<PathBuf>,
    /// What a guest is given as disks, one for each part.
    pub files: Vec<PathBuf>,
    loops: Vec<Loop>,
    pub emulator: Option<Emulator>,
    memory: Option<Memory>,
}

impl Open {
    /// Makes the image in `dir`, and what lies over it: for the running kernel loop devices, for a
    /// guest nothing; its devices are named there. With `bounded`, memory is bounded by a control
    /// group, and nothing of the disk may be charged to it or be cached beside it.
    pub fn new(
        tandem: &Path,
        store: &Store,
        dir: &Path,
        world: World,
        bounded: bool,
    ) -> Result<Open, StageError> {
        let name = store.parts.join("-");
        let memory = match store.place {
            Place::Ram => Some(Memory::mount(&dir.join(format!("{name}.ram")), store.size)?),
            _ => None,
        };
        let image = memory.as_ref().map_or(dir, |memory| &memory.dir).join(format!("{name}.img"));
        let in_memory = create(&image, store, bounded)
            .map_err(|e| StageError::failed(format!("create {}", image.display()), e))?;
        let emulator = match store.place {
            Place::Drive(_) => Some(Emulator::start(tandem, store, dir, &image)?),
            _ => None,
        };
        let file = |at| emulator.as_ref().map_or(image.clone(), |disk| disk.file(store, at));
        let files: Vec<PathBuf> = (0..store.parts.len()).map(file).collect();
        let loops = match world {
            World::Host => {
                let attach = |file: &PathBuf| Loop::attach(file, memory.is_some());
                let loops = files.iter().map(attach).collect::<Result<Vec<_>, _>>()?;
                if bounded && !in_memory {
                    loops.iter().try_for_each(Loop::uncached)?;
                }
                loops
            }
            World::Uml => Vec::new(),
        };
        let devices = loops.iter().map(|device| device.path().to_owned()).collect();
        Ok(Open { store: store.clone(), devices, files, loops, emulator, memory })
    }

    /// Takes it down in order; gives the marks and the trace of a disk that was emulated.
    pub fn close(mut self) -> Result<Option<(String, PathBuf)>, StageError> {
        self.loops.clear();
        let Some(emulator) = self.emulator.take() else { return Ok(None) };
        let path = emulator.marks();
        let marks = std::fs::read_to_string(&path)
            .map_err(|e| StageError::failed(format!("read {}", path.display()), e))?;
        Ok(Some((marks, emulator.end()?)))
    }
}

/// Makes an image. Does the kernel have it, and no emulated disk, in memory?
fn create(image: &Path, store: &Store, bounded: bool) -> io::Result<bool> {
    let file = File::create_new(image)?;
    file.set_len(store.size)?;
    let served = matches!(store.place, Place::Drive(_));
    let in_memory = !served && fstatfs(&file)?.f_type == TMPFS;
    if in_memory && bounded {
        // The kernel would charge each page to whoever first makes a request for it.
        fallocate(&file, FallocateFlags::empty(), 0, store.size)?;
    }
    Ok(in_memory)
}

/// A file system in memory, for images that lie there.
struct Memory {
    dir: PathBuf,
}

impl Memory {
    fn mount(dir: &Path, size: u64) -> Result<Memory, StageError> {
        let step = || format!("mount memory on {}", dir.display());
        std::fs::create_dir_all(dir).map_err(|e| StageError::failed(step(), e))?;
        // A little more than the image, for what the file system itself needs.
        let options = format!("size={},mode=700", size + (1 << 20));
        let options = std::ffi::CString::new(options).map_err(|e| StageError::failed(step(), e))?;
        rustix::mount::mount("lab", dir, "tmpfs", MountFlags::empty(), options.as_c_str())
            .map_err(|e| StageError::failed(step(), e))?;
        Ok(Memory { dir: dir.to_owned() })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        super::mounts::unmount_all(&self.dir);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // Devices first, then the disk, then the memory.
        self.loops.clear();
        self.emulator = None;
        self.memory = None;
    }
}
