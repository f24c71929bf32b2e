//! Locks, atomics and threads; with the feature `shuttle` those of a scheduler that tries out
//! interleavings (tests only).

#[cfg(feature = "shuttle")]
mod scheduled;

#[cfg(feature = "shuttle")]
pub(crate) use scheduled::{Condvar, Mutex, MutexGuard, atomic, thread};
#[cfg(not(feature = "shuttle"))]
pub(crate) use {
    parking_lot::{Condvar, Mutex, MutexGuard},
    std::{sync::atomic, thread},
};
