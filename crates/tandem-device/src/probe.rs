//! What seems to be on a device, so that nobody's data is overwritten by mistake.

mod table;

use std::fmt;
use std::io;
use std::path::Path;

use crate::{Access, Device, DeviceError, FileDevice};

/// Regular files whose first bytes are not zero but mean nothing known are reported as well.
const UNKNOWN_SPAN: usize = 128 << 10;

/// Something recognized on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// What it is, as people call it: `ext4`, `LUKS`, `GPT partition table`, …
    pub name: &'static str,
    /// Byte at which the telling mark lies.
    pub offset: u64,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.name, self.offset)
    }
}

/// Recognizes what is on the device or image file at `path`, without locking it.
///
/// Empty when nothing is recognized. A regular file that holds unknown data is reported too: it
/// is somebody's document.
pub fn probe(path: impl AsRef<Path>) -> Result<Vec<Signature>, DeviceError> {
    let path = path.as_ref();
    let device = FileDevice::open(path, Access::Peek)?;
    let failed = |e| DeviceError::from_io(path, "read", e);
    let mut found = recognize(&device).map_err(failed)?;
    if found.is_empty() && !device.is_block_device() {
        let mut head = vec![0; UNKNOWN_SPAN.min(device.size() as usize)];
        device.read_at(&mut head, 0).map_err(failed)?;
        if let Some(at) = head.iter().position(|&byte| byte != 0) {
            found.push(Signature { name: "data of an unknown kind", offset: at as u64 });
        }
    }
    Ok(found)
}

fn recognize(device: &dyn Device) -> io::Result<Vec<Signature>> {
    let view = View { device };
    let mut found = Vec::new();
    for mark in table::MARKS {
        if view.has(mark.offset, mark.magic)? {
            found.push(Signature { name: mark.name, offset: mark.offset });
        }
    }
    for look in table::LOOKS {
        found.extend(look(&view)?);
    }
    found.dedup_by(|a, b| a.name == b.name);
    Ok(found)
}

/// Reads of a device in which what lies past the end is simply not there.
struct View<'a> {
    device: &'a dyn Device,
}

impl View<'_> {
    fn bytes<const N: usize>(&self, offset: u64) -> io::Result<Option<[u8; N]>> {
        let mut buf = [0; N];
        match offset.checked_add(N as u64) {
            Some(end) if end <= self.device.size() => {
                self.device.read_at(&mut buf, offset)?;
                Ok(Some(buf))
            }
            _ => Ok(None),
        }
    }

    fn has(&self, offset: u64, magic: &[u8]) -> io::Result<bool> {
        let mut buf = [0; 32];
        let Some(buf) = buf.get_mut(..magic.len()) else { return Ok(false) };
        match offset.checked_add(magic.len() as u64) {
            Some(end) if end <= self.device.size() => {
                self.device.read_at(buf, offset)?;
                Ok(buf == magic)
            }
            _ => Ok(false),
        }
    }

    fn size(&self) -> u64 {
        self.device.size()
    }
}

#[cfg(test)]
mod tests;
