//! The kernel's door: how a volume is mounted and how the kernel's requests reach it.
//!
//! The layers, each of which knows only those above it in this list: [`abi`] (the protocol's
//! structures), `request` and `reply` (bytes to meanings and back), `transport` (the device file
//! and io_uring behind one trait, [`Handler`]), `mount`, `session`; and beside the transports,
//! knowing nothing of them, `dispatch`, which turns a request into a call of a
//! [`tandem_fs::Volume`].
//!
//! Unsafe code is confined to memory that the kernel shares (`transport`).

pub mod abi;
mod awake;
mod dispatch;
mod error;
mod handshake;
mod mount;
mod options;
mod reply;
mod request;
mod session;
mod stats;
mod transport;

use std::path::Path;
use std::sync::Arc;

use dispatch::Dispatch;
use tandem_fs::Volume;

pub use error::{DoorError, Result};
pub use handshake::Agreement;
pub use mount::{Unmount, mounted_source, unmount};
pub use options::{DoorOptions, MountFlags, Placement, TransportChoice};
pub use reply::{Outcome, ReplyBuf};
pub use request::{Layout, Malformed, Operation, Request};
pub use session::{Door, Session};
pub use stats::{DoorStats, ThreadPlace};
pub use transport::{Handler, prepare_thread};

/// Mounts `volume` on `dir` and starts serving it. The volume stays the caller's to shut down,
/// after [`Session::run`] has returned.
pub fn mount(volume: Arc<Volume>, dir: &Path, options: &DoorOptions) -> Result<Session> {
    Session::start(
        dir,
        options,
        Box::new(|agreement| Arc::new(Dispatch::new(volume, agreement, options))),
    )
}

/// Mounts whatever answers requests; for tests and measurements of the door alone.
pub fn mount_handler(
    handler: Arc<dyn Handler>,
    dir: &Path,
    options: &DoorOptions,
) -> Result<Session> {
    Session::start(dir, options, Box::new(|_| handler))
}
