//! Transports: how requests get from the kernel to a [`Handler`] and answers back. A handler
//! knows nothing of them, and they know nothing of file systems.

mod buffer;
pub(crate) mod classic;
pub(crate) mod cpu;
pub(crate) mod exchange;
pub(crate) mod helpers;
pub(crate) mod uring;

use std::sync::Arc;

pub use exchange::Handler;

use crate::request::Layout;
use crate::stats::Board;
use helpers::Helpers;

/// What every thread of a mount's transports shares.
pub(crate) struct Link {
    pub(crate) handler: Arc<dyn Handler>,
    pub(crate) layout: Layout,
    /// The longest payload of a request or answer, in bytes: `max_write`.
    pub(crate) payload: usize,
    pub(crate) board: Arc<Board>,
    pub(crate) helpers: Helpers,
}

/// Tells the kernel that this thread, and those it will start, serve a file system: when memory
/// is short, they must not wait for the writing of pages that they would have to serve
/// themselves. A process that is to serve a mount calls it first of all, before it opens the
/// volume. Root only; without it a machine short of memory may come to a stop.
pub fn prepare_thread() {
    if let Err(e) = rustix::process::configure_io_flusher_behavior(true) {
        tracing::debug!("PR_SET_IO_FLUSHER: {e}");
    }
}
