//! What the running kernel's block layer does, captured around a piece of work.
//!
//! The kernel's block events (`block_rq_issue`, `block_rq_complete`, `block_rq_requeue`) are read
//! from an instance of tracefs of our own, so that other tracers are not disturbed, as the ring
//! buffer's raw pages: a thread copies them to a file while the work runs, and nothing is formatted
//! or parsed before it has ended. Needs root and a kernel with `CONFIG_BLK_DEV_IO_TRACE` or
//! `CONFIG_EVENT_TRACING`; no other packages.

mod event;
mod layout;
mod pages;
mod pairs;
mod spool;
mod tracefs;

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

pub use event::{DeviceNumber, Operation};
pub use pairs::{Captured, Requests};
use spool::Spool;
use tracefs::Instance;

/// Why nothing could be captured.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// tracefs is not there and could not be mounted.
    #[error("tracefs is not mounted on {dir} and cannot be mounted there: {source}", dir = .dir.display())]
    NoTracefs {
        /// Where it belongs.
        dir: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The kernel has no block events.
    #[error("this kernel has no block events ({path} is missing): it was built without CONFIG_BLK_DEV_IO_TRACE", path = .path.display())]
    NoEvents {
        /// What is missing.
        path: PathBuf,
    },
    /// A file of tracefs, or of the spool, could not be used.
    #[error("{path}: {source}", path = .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The kernel says something that this version does not understand.
    #[error("{path}: {what}", path = .path.display())]
    Strange {
        /// Where.
        path: PathBuf,
        /// What.
        what: String,
    },
}

type Result<T> = std::result::Result<T, CaptureError>;

/// What is captured, and with what.
#[derive(Debug, Clone)]
pub struct Options {
    /// Devices whose requests are wanted; none means all.
    pub devices: BTreeSet<DeviceNumber>,
    /// Memory for the kernel's ring buffer, in KiB for each CPU; 1 to 1,048,576.
    pub buffer_kib: u32,
    /// Where raw pages are kept until they are read; removed at the end.
    pub spool: PathBuf,
}

/// What a capture cost, and what it missed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// Events that the ring buffer had no room for.
    pub lost: u64,
    /// Bytes of raw pages.
    pub bytes: u64,
    /// CPU time of the threads that copy them.
    pub cpu: Duration,
}

/// A capture under way. Dropped, it ends and leaves nothing behind.
#[derive(Debug)]
pub struct Capture {
    instance: Instance,
    spool: Spool,
}

impl Capture {
    /// Starts to capture.
    ///
    /// # Errors
    /// Without tracefs, block events, or the rights to use them.
    pub fn start(options: &Options) -> Result<Capture> {
        let instance = Instance::new(options)?;
        let spool = Spool::start(&instance, &options.spool)?;
        instance.switch(true)?;
        Ok(Capture { instance, spool })
    }

    /// Stops, and gives the requests in the order of their issue, and what it cost.
    ///
    /// # Errors
    /// When a thread could not copy what the kernel had.
    pub fn finish(self) -> Result<(Requests, Cost)> {
        self.instance.switch(false)?;
        let layouts = self.instance.layouts()?;
        let Capture { instance, spool } = self;
        let (files, cost) = spool.finish()?;
        let lost = instance.lost()?;
        Ok((Requests::new(files, layouts), Cost { lost, ..cost }))
    }
}
