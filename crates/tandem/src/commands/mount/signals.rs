//! Ending a mount when the process is asked to end.

use std::sync::Arc;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use tandem_fs::Volume;
use tandem_fuse::Door;

use crate::cli::exit;

/// From now on SIGTERM, SIGINT and SIGHUP wait for [`watch`].
pub fn hold() -> Result<Signals> {
    Signals::new([SIGTERM, SIGINT, SIGHUP]).context("take signals")
}

/// From now on the signals unmount, as do those that have come since [`hold`].
///
/// While the mount is in use it is detached, so that the process ends with its last user; a second
/// signal ends it at once, with everything written.
pub fn watch(mut signals: Signals, door: Door, volume: Arc<Volume>) -> Result<Handle> {
    let handle = signals.handle();
    std::thread::Builder::new().name("signals".to_string()).spawn(move || {
        let mut asked = false;
        for signal in signals.forever() {
            let dir = door.dir().display();
            tracing::info!("{dir}: signal {signal}, unmounting");
            if asked {
                give_up(&volume);
            }
            asked = true;
            if let Err(error) = door.stop() {
                tracing::error!("{dir}: {error}");
            }
            // The last user of a detached mount may take long to go.
            if let Err(error) = volume.sync() {
                tracing::error!("{dir}: {error}");
            }
        }
    })?;
    Ok(handle)
}

fn give_up(volume: &Volume) -> ! {
    let status = match volume.shutdown() {
        Ok(()) => exit::OK,
        Err(error) => {
            tracing::error!("{error}");
            exit::FAILURE
        }
    };
    std::process::exit(i32::from(status));
}
