//! `tandem umount`.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tandem_device::{Access, DeviceError, FileDevice};
use tandem_fuse::Unmount;

use super::dump::reader::Reader;
use crate::cli::{UmountArgs, exit};
use crate::control::Ending;
use crate::mounts::{self, Mount};
use crate::output;

/// How long a daemon that cannot be asked may take to release its devices.
const PATIENCE: Duration = Duration::from_secs(60);

/// Unmounts a directory and waits until the volume is clean and its devices are free.
pub fn run(args: &UmountArgs) -> Result<u8> {
    let found = mounts::at(&args.dir).or_else(|| mounts::of_device(&args.dir));
    let Some(mount) = found else {
        bail!("{}: nothing is mounted there", args.dir.display());
    };
    let dir = mount.dir.clone();
    if !mount.fs_type.ends_with(".tandem") {
        bail!("{}: not a Tandem volume but {}; use umount", dir.display(), mount.fs_type);
    }
    // Unmounting its directory would unmount the other one.
    if let Some(top) = mounts::at(&dir).filter(|top| top.dev != mount.dev) {
        let (source, top) = (mount.source.display(), top.source.display());
        bail!("{}: {top} is mounted over {source} there; unmount that first", dir.display());
    }
    let ending = Ending::of(&mount);
    if args.lazy {
        tandem_fuse::unmount(&dir, Unmount::Lazy)?;
        return Ok(exit::OK);
    }
    tandem_fuse::unmount(&dir, Unmount::Polite)?;
    // A daemon that ends may close the connection before it has been read: the volume itself tells.
    match ending.and_then(Ending::wait) {
        Ok(last) => {
            if args.json {
                output::print_json(&last)?;
            }
        }
        Err(error) => {
            wait_for_lock(&mount)?;
            if !is_clean(&mount) {
                bail!(
                    "unmounted, but the volume was not shut down cleanly; the next mount recovers \
                     it ({})",
                    output::message(&error)
                );
            }
        }
    }
    Ok(exit::OK)
}

/// Whether the volume says of itself that nothing is missing.
fn is_clean(mount: &Mount) -> bool {
    let Ok(device) = FileDevice::open(&mount.source, Access::ReadOnly) else { return false };
    Reader::open(&device).is_ok_and(|reader| reader.checkpoint.clean)
}

fn wait_for_lock(mount: &Mount) -> Result<()> {
    let start = Instant::now();
    while let Err(DeviceError::InUse { reason, .. }) =
        FileDevice::open(&mount.source, Access::ReadOnly)
    {
        if start.elapsed() > PATIENCE {
            bail!("{}: still in use: {reason}", mount.source.display());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
