//! Making and growing image files.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;

use super::{Access, FileDevice};
use crate::DeviceError;

impl FileDevice {
    /// Creates a sparse image file of `size` bytes, which must not exist, and opens it.
    pub fn create(path: impl AsRef<Path>, size: u64) -> Result<FileDevice, DeviceError> {
        let path = path.as_ref();
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(|e| DeviceError::from_io(path, "create", e))?;
        let device = Self::from_file(path, file, Access::ReadWrite)?;
        device.grow(size).inspect_err(|_| {
            // Nobody else has seen it: it was created a moment ago.
            let _ = std::fs::remove_file(path);
        })
    }

    /// Gives an image file `size` bytes, sparse; shrinks nothing and leaves block devices alone.
    pub fn grow(mut self, size: u64) -> Result<FileDevice, DeviceError> {
        if self.is_block_device() || size <= self.size {
            return Ok(self);
        }
        self.file.set_len(size).map_err(|source| match source.kind() {
            io::ErrorKind::ReadOnlyFilesystem => DeviceError::from_io(&self.path, "resize", source),
            _ => DeviceError::CannotSize { path: self.path.clone(), size, source },
        })?;
        self.size = size;
        Ok(self)
    }
}
