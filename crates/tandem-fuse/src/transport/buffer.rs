//! Memory that a request and its answer live in.
#![allow(unsafe_code, reason = "page-aligned memory, which for io_uring the kernel writes too")]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// The alignment of [`Pages`], in bytes.
pub(super) const PAGE: usize = 4096;

/// Page-aligned memory, zero at first, and not taken from the system until it is touched.
#[derive(Debug)]
pub(super) struct Pages {
    base: NonNull<u8>,
    layout: Layout,
}

// SAFETY: `Pages` owns its memory as a `Vec<u8>` does.
unsafe impl Send for Pages {}
// SAFETY: as above; a shared `Pages` gives out nothing but its address.
unsafe impl Sync for Pages {}

impl Pages {
    /// At least `len` bytes.
    pub(super) fn new(len: usize) -> Pages {
        let len = len.max(1).next_multiple_of(PAGE);
        let layout =
            Layout::from_size_align(len, PAGE).expect("a buffer's size is a small constant");
        // SAFETY: the size is not zero.
        let base = unsafe { alloc_zeroed(layout) };
        let Some(base) = NonNull::new(base) else { handle_alloc_error(layout) };
        Pages { base, layout }
    }

    /// Bytes.
    pub(super) fn len(&self) -> usize {
        self.layout.size()
    }

    /// Where they are.
    pub(super) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// The bytes.
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the memory is ours, initialized, of that length, and borrowed with `self`.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.layout.size()) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
    }
}
