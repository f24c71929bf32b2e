//! Serving a mount from its beginning to its end.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tandem_device::{Access, Device, FileDevice};
use tandem_fs::{SystemEnv, Volume};

use super::scrubber::Scrubber;
use super::signals;
use crate::cli::options::MountFlags;
use crate::cli::{MountArgs, exit};
use crate::control::Server;
use crate::devices::{self, Opened};
use crate::{mounts, output};

/// Mounts, calls `ready`, serves until the volume is unmounted, and shuts it down.
pub fn serve(
    args: &MountArgs,
    mut flags: MountFlags,
    dir: &Path,
    ready: impl FnOnce() -> Result<()>,
) -> Result<u8> {
    let access = if flags.volume.read_only { Access::ReadOnly } else { Access::ReadWrite };
    let opened = devices::open(&args.meta, flags.data.as_deref(), access)?;
    let _claim = opened.data.as_ref().map(|data| data.claim()).transpose()?;
    let meta = args.meta.canonicalize().unwrap_or_else(|_| args.meta.clone());
    flags.door.fsname = meta.to_string_lossy().into_owned();
    // By which the other commands know a mount of ours.
    flags.door.subtype = "tandem".to_string();
    if opened.meta.is_block_device() && rustix::process::geteuid().is_root() {
        flags.door.fuseblk = Some(meta);
    }
    let options = flags.volume.clone();
    let volume = Volume::open(opened.meta(), opened.data(), options, Arc::new(SystemEnv))?;
    let mut server = None;
    let served = run(&volume, &flags, &opened, dir, ready, &mut server);
    let closed = volume.shutdown().context("shut the volume down");
    let outcome = served.and(closed);
    if let Some(server) = server {
        server.finish(&match &outcome {
            Ok(()) => json!({ "devices": device_stats(&opened) }),
            Err(error) => json!({ "error": output::message(error) }),
        });
    }
    outcome?;
    tracing::info!("{}: unmounted", dir.display());
    Ok(exit::OK)
}

/// Serves until unmounted. The control socket is left in `server`: those who wait for the end are
/// told of it only after the shutdown.
fn run(
    volume: &Arc<Volume>,
    flags: &MountFlags,
    opened: &Opened,
    dir: &Path,
    ready: impl FnOnce() -> Result<()>,
    server: &mut Option<Server>,
) -> Result<()> {
    // Both before anybody can see the mount, and act on it.
    let signals = signals::hold()?;
    let server = server.insert(Server::listen()?);
    let session = tandem_fuse::mount(volume.clone(), dir, &flags.door)?;
    let signals = signals::watch(signals, session.unmounter(), volume.clone())?;
    let scrubber = Scrubber::new(volume.clone());
    let answers = Answers {
        scrubber: scrubber.clone(),
        volume: volume.clone(),
        door: session.unmounter(),
        meta: full_name(&opened.meta),
        data: opened.data.as_deref().map(full_name),
    };
    // None: it has been unmounted already.
    if let Some(mount) = mounts::at(dir).filter(|mount| mount.fs_type.ends_with(".tandem")) {
        server.serve(mount.dev, Arc::new(move |word| answers.to(word)))?;
    }
    tracing::info!("{}: mounted {}", dir.display(), flags.door.fsname);
    ready()?;
    let served = session.run();
    signals.close();
    scrubber.stop();
    Ok(served?)
}

/// What the control socket tells.
struct Answers {
    volume: Arc<Volume>,
    scrubber: Arc<Scrubber>,
    door: tandem_fuse::Door,
    meta: String,
    data: Option<String>,
}

impl Answers {
    fn to(&self, word: &str) -> Option<Value> {
        match word {
            "stats" => Some(json!({
                "volume": self.volume.stats(),
                "door": self.door.stats(),
            })),
            "info" => Some(json!({
                "mounted_on": self.door.dir().to_string_lossy(),
                "process": std::process::id(),
                "metadata_device": self.meta,
                "data_device": self.data,
                "volume": self.volume.info(),
            })),
            "scrub-start" => Some(self.scrubber.start()),
            "scrub-status" => Some(self.scrubber.status()),
            "scrub-stop" => Some(self.scrubber.stop()),
            _ => None,
        }
    }
}

/// A name that means the same in every directory.
fn full_name(device: &FileDevice) -> String {
    let path = device.path();
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf()).to_string_lossy().into_owned()
}

fn device_stats(opened: &Opened) -> Value {
    let data = opened.data.as_ref().map(|data| data.stats());
    json!({ "metadata": opened.meta.stats(), "data": data })
}
