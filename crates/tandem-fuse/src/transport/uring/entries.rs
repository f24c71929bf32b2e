//! A queue thread's entries: buffers that the kernel and we own by turns.
#![allow(unsafe_code, reason = "memory that the kernel writes while we do not look")]

use std::os::fd::OwnedFd;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, eventfd};
use zerocopy::{FromBytes, IntoBytes};

use crate::abi::{InHeader, Opcode, OutHeader, UringReqHeader};
use crate::reply::{Outcome, ReplyBuf};
use crate::request::{Malformed, Request};
use crate::stats::Counters;
use crate::transport::Link;
use crate::transport::buffer::Pages;
use crate::transport::exchange::{SCRATCH, answer, error_code, reply_header};

/// Bytes set aside for an entry's header: `UringReqHeader`, and room for it to grow.
const HEADER: usize = 512;

/// The entries of one thread, shared with the helpers that answer for it.
pub(super) struct Entries {
    headers: Pages,
    payloads: Vec<Pages>,
    queues: Vec<u16>,
    iovecs: Box<[[libc::iovec; 2]]>,
    /// Entries that helpers have answered and the thread must commit.
    finished: Mutex<Vec<usize>>,
    /// Written when `finished` gets its first element.
    bell: OwnedFd,
}

// SAFETY: the pointers in `iovecs` lead to memory that `self` owns, and `Turn` sees to it that
// one thread at a time looks at an entry.
unsafe impl Send for Entries {}
// SAFETY: as above.
unsafe impl Sync for Entries {}

impl Entries {
    /// `depth` entries for each of the queues.
    pub(super) fn new(queues: &[u32], depth: u16, payload: usize) -> std::io::Result<Arc<Entries>> {
        let queues: Vec<u16> = queues
            .iter()
            .flat_map(|&q| std::iter::repeat_n(q as u16, usize::from(depth)))
            .collect();
        let headers = Pages::new(HEADER * queues.len());
        let payloads: Vec<Pages> = queues.iter().map(|_| Pages::new(payload)).collect();
        let iovecs = payloads
            .iter()
            .enumerate()
            .map(|(i, payload)| {
                // SAFETY: `headers` has HEADER bytes for each entry.
                let header = unsafe { headers.base().add(i * HEADER) };
                [
                    libc::iovec { iov_base: header.as_ptr().cast(), iov_len: HEADER },
                    libc::iovec {
                        iov_base: payload.base().as_ptr().cast(),
                        iov_len: payload.len(),
                    },
                ]
            })
            .collect();
        let bell = eventfd(0, EventfdFlags::CLOEXEC)?;
        let finished = Mutex::new(Vec::with_capacity(queues.len()));
        Ok(Arc::new(Entries { headers, payloads, queues, iovecs, finished, bell }))
    }

    pub(super) fn len(&self) -> usize {
        self.queues.len()
    }

    /// The queue that entry `i` belongs to.
    pub(super) fn queue(&self, i: usize) -> u16 {
        self.queues[i]
    }

    /// The address of entry `i`'s two-element vector, for registering it.
    pub(super) fn iovec(&self, i: usize) -> u64 {
        self.iovecs[i].as_ptr() as u64
    }

    pub(super) fn bell(&self) -> &OwnedFd {
        &self.bell
    }

    /// Entries that helpers have answered since the last call.
    pub(super) fn take_finished(&self) -> Vec<usize> {
        std::mem::take(&mut *self.finished.lock())
    }

    /// Our turn at entry `i`.
    ///
    /// # Safety
    /// The kernel has completed the entry's command, nobody has a `Turn` of it, and no command
    /// for it is submitted before this one is dropped.
    pub(super) unsafe fn turn(self: &Arc<Self>, i: usize) -> Turn {
        assert!(i < self.len());
        Turn { entries: Arc::clone(self), i }
    }
}

/// The right to look at an entry and to answer it.
pub(super) struct Turn {
    entries: Arc<Entries>,
    i: usize,
}

impl Turn {
    /// Header and payload.
    fn memory(&mut self) -> (&mut UringReqHeader, &mut [u8]) {
        let payload = &self.entries.payloads[self.i];
        // SAFETY: HEADER bytes at HEADER * i, aligned to 512, where any bytes are a header; the
        // payload is memory of its own; by the contract of `turn` nobody else looks at either.
        unsafe {
            (
                self.entries.headers.base().add(self.i * HEADER).cast().as_mut(),
                std::slice::from_raw_parts_mut(payload.base().as_ptr(), payload.len()),
            )
        }
    }

    /// What the kernel wants to hear when this request is committed.
    pub(super) fn commit_id(&mut self) -> u64 {
        self.memory().0.ring_ent.commit_id
    }

    /// Asks the handler whether this one may take long.
    pub(super) fn blocking(&mut self, link: &Link) -> bool {
        let (UringReqHeader { in_out, op_in, ring_ent }, payload) = self.memory();
        match input(in_out, op_in, payload, ring_ent.payload_sz, link) {
            Ok(req) => link.handler.blocking(&req),
            Err(_) => false,
        }
    }

    /// Has the request answered and leaves the answer where the kernel looks for it.
    pub(super) fn serve(&mut self, link: &Link, counters: &Counters) {
        let (UringReqHeader { in_out, op_in, ring_ent }, payload) = self.memory();
        let mut scratch = [0; SCRATCH];
        let asked = ring_ent.payload_sz;
        let bulk = opcode(in_out).bulk_reply();
        let answered = if bulk {
            // The answer goes where the names are.
            keep(&mut scratch, payload, asked)
                .and_then(|()| input(in_out, op_in, &scratch, asked, link))
                .map(|req| {
                    let mut out = ReplyBuf::new(payload);
                    let outcome = answer(&*link.handler, counters, req, &mut out);
                    (reply_header(&req, outcome, out.len()), out.len())
                })
        } else {
            input(in_out, op_in, payload, asked, link).map(|req| {
                let mut out = ReplyBuf::new(&mut scratch);
                let outcome = answer(&*link.handler, counters, req, &mut out);
                (reply_header(&req, outcome, out.len()), out.len())
            })
        };
        let (header, used) = answered.unwrap_or_else(|why| refuse(in_out, why));
        in_out[..size_of::<OutHeader>()].copy_from_slice(header.as_bytes());
        if !bulk {
            payload[..used].copy_from_slice(&scratch[..used]);
        }
        ring_ent.payload_sz = used as u32;
    }

    /// Gives the answered entry back to its thread, from another one.
    pub(super) fn finish(self) {
        let Turn { entries, i } = self;
        let first = {
            let mut finished = entries.finished.lock();
            finished.push(i);
            finished.len() == 1
        };
        if first {
            // Only a counter at its limit could refuse, and it counts at most the entries.
            let _ = rustix::io::write(&entries.bell, &1u64.to_ne_bytes());
        }
    }
}

fn opcode(in_out: &[u8; 128]) -> Opcode {
    Opcode::from_code(InHeader::read_from_prefix(in_out).map_or(0, |(h, _)| h.opcode))
}

/// Copies the first `len` bytes of `payload`.
fn keep(to: &mut [u8], payload: &[u8], len: u32) -> Result<(), Malformed> {
    let len = len as usize;
    match (to.get_mut(..len), payload.get(..len)) {
        (Some(to), Some(names)) => {
            to.copy_from_slice(names);
            Ok(())
        }
        _ => Err(Malformed("longer than a request of its kind can be")),
    }
}

fn input<'a>(
    in_out: &[u8; 128],
    op_in: &'a [u8; 128],
    payload: &'a [u8],
    len: u32,
    link: &Link,
) -> Result<Request<'a>, Malformed> {
    let (header, _) =
        InHeader::read_from_prefix(in_out).map_err(|_| Malformed("shorter than a header"))?;
    let payload = payload.get(..len as usize).ok_or(Malformed("longer than its buffer"))?;
    Request::from_parts(header, op_in, payload, link.layout)
}

fn refuse(in_out: &[u8; 128], why: Malformed) -> (OutHeader, usize) {
    tracing::error!("a request was refused: {why}");
    let unique = InHeader::read_from_prefix(in_out).map_or(0, |(h, _)| h.unique);
    let error = error_code(Outcome::Error(libc::EIO));
    (OutHeader { len: size_of::<OutHeader>() as u32, error, unique }, 0)
}
