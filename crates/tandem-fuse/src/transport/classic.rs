//! The device file: read(2) gives a request, write(2) answers it.
#![allow(unsafe_code, reason = "FUSE_DEV_IOC_CLONE is an ioctl that no library offers")]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use zerocopy::{FromBytes, IntoBytes};

use super::Link;
use super::buffer::{PAGE, Pages};
use super::exchange::{SCRATCH, answer, reply_header};
use crate::abi::{DEV_IOC_CLONE, InHeader, MIN_READ_BUFFER, Opcode, OutHeader};
use crate::error::{DoorError, Result};
use crate::reply::{Outcome, ReplyBuf};
use crate::request::Request;
use crate::stats::Counters;

/// Where a request is read to: so that the data of a WRITE begins on a page.
const START: usize = PAGE - size_of::<InHeader>() - 40;
/// Where the header of a long answer is: its data begins on a page, too.
const ANSWER: usize = PAGE - size_of::<OutHeader>();

/// Opens the FUSE device.
pub(crate) fn open_device() -> Result<OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    rustix::fs::open("/dev/fuse", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| DoorError::NoDevice(e.into()))
}

/// Another descriptor for the same connection, with a queue of its own for what it has read.
pub(crate) fn clone_device(device: BorrowedFd<'_>) -> Result<OwnedFd> {
    let clone = open_device()?;
    let source = device.as_raw_fd() as u32;
    // SAFETY: the ioctl reads one u32 through the pointer, which is valid for the call.
    let r = unsafe { libc::ioctl(clone.as_raw_fd(), DEV_IOC_CLONE.into(), &raw const source) };
    if r < 0 {
        return Err(DoorError::system("FUSE_DEV_IOC_CLONE", std::io::Error::last_os_error()));
    }
    Ok(clone)
}

/// Why a connection is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Unmounted.
    Unmounted,
    /// Cut off by force.
    Aborted,
    /// The device file failed.
    Failed,
}

/// What one thread needs to serve the device file.
pub(crate) struct Server {
    pub(crate) link: Arc<Link>,
    pub(crate) device: Arc<OwnedFd>,
    pub(crate) counters: Arc<Counters>,
    /// Pause after forgets, so that the next ones come together. For a thread that nothing but
    /// forgets comes to.
    pub(crate) gather: Option<Duration>,
}

impl Server {
    /// Serves until the connection is over.
    pub(crate) fn serve(&self) -> End {
        let mut spare = Slot::new(self.link.payload);
        loop {
            let len = match receive(self.device.as_fd(), &mut spare.pages) {
                Ok(len) => len,
                Err(end) => return end,
            };
            let opcode = spare.opcode();
            let blocking = match Request::from_message(spare.message(len), self.link.layout) {
                Ok(req) => self.link.handler.blocking(&req),
                Err(_) => false,
            };
            if blocking {
                self.counters.handed_over();
                let slot = std::mem::replace(&mut spare, Slot::new(self.link.payload));
                self.hand_over(slot, len);
            } else {
                spare.serve(&self.link, &self.counters, self.device.as_fd(), len);
            }
            if let (Some(pause), Opcode::Forget | Opcode::BatchForget) = (self.gather, opcode) {
                std::thread::sleep(pause);
            }
        }
    }

    fn hand_over(&self, mut slot: Slot, len: usize) {
        let link = Arc::clone(&self.link);
        let device = Arc::clone(&self.device);
        let counters = Arc::clone(&self.counters);
        self.link.helpers.run(Box::new(move || {
            slot.serve(&link, &counters, device.as_fd(), len);
        }));
    }
}

fn receive(device: BorrowedFd<'_>, pages: &mut Pages) -> std::result::Result<usize, End> {
    loop {
        return match rustix::io::read(device, &mut pages.bytes()[START..]) {
            Ok(len) => Ok(len),
            // ENOENT: the request was withdrawn while it was being read.
            Err(Errno::INTR | Errno::AGAIN | Errno::NOENT) => continue,
            Err(Errno::NODEV) => Err(End::Unmounted),
            Err(Errno::CONNABORTED | Errno::NOTCONN) => Err(End::Aborted),
            Err(e) => {
                tracing::error!("reading /dev/fuse: {e}");
                Err(End::Failed)
            }
        };
    }
}

/// Memory for one request and its answer.
struct Slot {
    pages: Pages,
}

impl Slot {
    fn new(payload: usize) -> Slot {
        Slot { pages: Pages::new(PAGE + payload.max(MIN_READ_BUFFER)) }
    }

    fn message(&mut self, len: usize) -> &[u8] {
        &self.pages.bytes()[START..][..len]
    }

    fn opcode(&mut self) -> Opcode {
        let header = InHeader::read_from_prefix(&self.pages.bytes()[START..]);
        Opcode::from_code(header.map_or(0, |(h, _)| h.opcode))
    }

    fn serve(&mut self, link: &Link, counters: &Counters, device: BorrowedFd<'_>, len: usize) {
        let mut scratch = [0; SCRATCH];
        let bulk = self.opcode().bulk_reply();
        if bulk && len <= SCRATCH {
            scratch[..len].copy_from_slice(self.message(len));
            match Request::from_message(&scratch[..len], link.layout) {
                Ok(req) => {
                    let (head, space) = self.pages.bytes().split_at_mut(PAGE);
                    let mut out = ReplyBuf::new(space);
                    let outcome = answer(&*link.handler, counters, req, &mut out);
                    let used = out.len();
                    let header = reply_header(&req, outcome, used);
                    head[ANSWER..].copy_from_slice(header.as_bytes());
                    send(device, &self.pages.bytes()[ANSWER..PAGE + used]);
                }
                Err(e) => self.refuse(device, &e.to_string(), libc::EIO),
            }
        } else if bulk {
            self.refuse(device, "longer than a request of its kind can be", libc::E2BIG);
        } else {
            let message = &self.pages.bytes()[START..][..len];
            match Request::from_message(message, link.layout) {
                Ok(req) => {
                    let (head, space) = scratch.split_at_mut(size_of::<OutHeader>());
                    let mut out = ReplyBuf::new(space);
                    let outcome = answer(&*link.handler, counters, req, &mut out);
                    let used = out.len();
                    if outcome != Outcome::Silent {
                        head.copy_from_slice(reply_header(&req, outcome, used).as_bytes());
                        send(device, &scratch[..size_of::<OutHeader>() + used]);
                    }
                }
                Err(e) => self.refuse(device, &e.to_string(), libc::EIO),
            }
        }
    }

    /// Answers a request that could not be understood, if it has as much as an identity.
    fn refuse(&mut self, device: BorrowedFd<'_>, why: &str, errno: i32) {
        tracing::error!(opcode = self.opcode().name(), "a request was refused: {why}");
        if let Ok((header, _)) = InHeader::read_from_prefix(&self.pages.bytes()[START..]) {
            let out = OutHeader {
                len: size_of::<OutHeader>() as u32,
                error: -errno,
                unique: header.unique,
            };
            send(device, out.as_bytes());
        }
    }
}

fn send(device: BorrowedFd<'_>, answer: &[u8]) {
    loop {
        match rustix::io::write(device, answer) {
            Err(Errno::INTR) => {}
            // The one who asked is gone, or the whole connection is.
            Ok(_) | Err(Errno::NOENT | Errno::NODEV | Errno::CONNABORTED) => return,
            Err(e) => {
                tracing::error!("answering through /dev/fuse: {e}");
                return;
            }
        }
    }
}

/// Reads the connection's first request and returns the message. For the handshake only.
pub(crate) fn receive_first(device: BorrowedFd<'_>) -> Result<Vec<u8>> {
    let mut pages = Pages::new(PAGE + MIN_READ_BUFFER);
    match receive(device, &mut pages) {
        Ok(len) => Ok(pages.bytes()[START..][..len].to_vec()),
        Err(end) => Err(DoorError::Handshake(format!("{end:?}"))),
    }
}

/// Answers the connection's first request.
pub(crate) fn answer_first(device: BorrowedFd<'_>, answer: &[u8]) -> Result<()> {
    match rustix::io::write(device, answer) {
        Ok(_) => Ok(()),
        Err(e) => Err(DoorError::system("answering INIT", e)),
    }
}
