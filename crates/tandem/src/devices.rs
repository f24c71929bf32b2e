//! Opening the devices of a volume, with messages for people.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use tandem_device::{Access, Device, DeviceError, FileDevice};

use crate::control;
use crate::mounts::{self, Mount};

/// How long a daemon that has been unmounted is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// The open devices of a volume.
pub struct Opened {
    /// The metadata device, or the only one.
    pub meta: Arc<FileDevice>,
    /// The data device, if it is another.
    pub data: Option<Arc<FileDevice>>,
}

impl Opened {
    /// The metadata device as the engine takes it.
    pub fn meta(&self) -> Arc<dyn Device> {
        self.meta.clone()
    }

    /// The data device as the engine takes it.
    pub fn data(&self) -> Option<Arc<dyn Device>> {
        self.data.clone().map(|device| device as Arc<dyn Device>)
    }
}

/// Opens both devices of a volume, which must not be the same.
pub fn open(meta: &Path, data: Option<&Path>, access: Access) -> Result<Opened> {
    let meta = open_one(meta, access)?;
    // Opened without a lock first: the same file twice would look like somebody else's.
    if let Some(path) = data {
        let other = FileDevice::open(path, Access::Peek)?;
        refuse_same(&meta, &other)?;
    }
    let data = data.map(|path| open_one(path, access)).transpose()?;
    if data.is_some() {
        meta.read_as_asked();
    }
    Ok(Opened { meta: Arc::new(meta), data: data.map(Arc::new) })
}

/// Opens one device; when it is in use by a mounted volume, says where that is.
///
/// umount(8) returns before the daemon of a volume on image files has finished, so a lock without
/// a mount is given some time to go away.
pub fn open_one(path: &Path, access: Access) -> Result<FileDevice> {
    let start = Instant::now();
    loop {
        match FileDevice::open(path, access) {
            Err(DeviceError::InUse { locked: true, .. })
                if start.elapsed() < PATIENCE && mounted_from(path).is_none() =>
            {
                std::thread::sleep(Duration::from_millis(20));
            }
            device => return device.map_err(explain),
        }
    }
}

/// The mount of the volume that `path` is one of the devices of.
fn mounted_from(path: &Path) -> Option<Mount> {
    let is_data = |mount: &Mount| {
        let info = control::ask(mount, "info").ok()?;
        let data = Path::new(info.get("data_device")?.as_str()?).canonicalize().ok()?;
        Some(data == path.canonicalize().ok()?)
    };
    let all = || mounts::tandem_mounts().into_iter().find(|mount| is_data(mount) == Some(true));
    mounts::of_device(path).or_else(all)
}

/// Adds where a device is mounted to the error that it is in use.
fn explain(error: DeviceError) -> anyhow::Error {
    let DeviceError::InUse { path, .. } = &error else { return error.into() };
    match mounted_from(path) {
        Some(mount) => {
            let (path, dir) = (path.display(), mount.dir.display());
            anyhow!("{path}: mounted on {dir}; unmount it first: tandem umount {dir}")
        }
        None => error.into(),
    }
}

/// Fails when two devices share bytes.
pub fn refuse_same(meta: &FileDevice, data: &FileDevice) -> Result<()> {
    if meta.identity().overlaps(data.identity()) {
        bail!(
            "{} and {} are the same device; give two different ones, or leave out --data to keep \
             both areas on one",
            meta.name(),
            data.name()
        );
    }
    Ok(())
}
