//! The shape of parking_lot over shuttle, which has that of the standard library.

use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;
use std::time::Duration;

use shuttle::sync as inner;

pub(crate) use shuttle::sync::atomic;
pub(crate) use shuttle::thread;

#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(inner::Mutex<T>);

/// Empty only while a condition variable has given the lock away.
pub(crate) struct MutexGuard<'a, T> {
    lock: &'a Mutex<T>,
    held: Option<inner::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        Mutex(inner::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard { lock: self, held: Some(self.hold()) }
    }

    fn hold(&self) -> inner::MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> MutexGuard<'_, T> {
    /// The scheduler decides who comes next, so all locks are as fair as it is.
    pub(crate) fn unlock_fair(guard: Self) {
        drop(guard);
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.held.as_ref().expect("held")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.held.as_mut().expect("held")
    }
}

/// One on which every wait has a bound, so that a wait is over whenever the scheduler likes.
#[derive(Debug)]
pub(crate) struct Condvar;

impl Condvar {
    pub(crate) fn new() -> Condvar {
        Condvar
    }

    pub(crate) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _: Duration) {
        guard.held = None;
        thread::yield_now();
        guard.held = Some(guard.lock.hold());
    }

    pub(crate) fn notify_one(&self) {}

    pub(crate) fn notify_all(&self) {}
}
