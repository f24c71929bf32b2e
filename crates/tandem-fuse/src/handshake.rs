//! INIT: what both sides can do, and what this one wants.

use std::os::fd::BorrowedFd;

use zerocopy::IntoBytes;

use crate::abi::{InHeader, InitFlags, InitIn, InitOut, MAJOR, MINOR, MINOR_OLDEST, OutHeader};
use crate::error::{DoorError, Result};
use crate::options::{Checks, DoorOptions};
use crate::request::{Layout, Operation, Request};
use crate::transport::classic;

/// The longest payload, in bytes: 256 pages, the kernel's own limit for an ordinary mount.
const PAYLOAD: usize = 1 << 20;
/// The longest payload of a kernel that does not let a daemon choose.
const PAYLOAD_FIXED: usize = 128 << 10;

/// What the kernel offered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer {
    unique: u64,
    minor: u32,
    max_readahead: u32,
    flags: InitFlags,
}

/// What was agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreement {
    /// The protocol's minor version.
    pub minor: u32,
    /// The flags that both sides set.
    pub flags: InitFlags,
    /// `max_write`, in bytes.
    pub payload: usize,
    pub(crate) checks: Checks,
}

impl Agreement {
    pub(crate) fn layout(&self) -> Layout {
        Layout { setxattr_ext: self.flags.contains(InitFlags::SETXATTR_EXT) }
    }
}

/// Takes the kernel's first request.
pub(crate) fn listen(device: BorrowedFd<'_>) -> Result<Offer> {
    loop {
        let message = classic::receive_first(device)?;
        let offer = Offer::parse(&message)?;
        match offer {
            Ok(offer) => return Ok(offer),
            // A newer major version: the kernel asks again with ours.
            Err(answer) => classic::answer_first(device, &answer)?,
        }
    }
}

impl Offer {
    /// The offer, or the answer to a kernel of another major version.
    fn parse(message: &[u8]) -> Result<std::result::Result<Offer, Vec<u8>>> {
        let told = |e: &dyn std::fmt::Display| DoorError::Handshake(e.to_string());
        let layout = Layout { setxattr_ext: true };
        let req = Request::from_message(message, layout).map_err(|e| told(&e))?;
        let Operation::Init(init) = req.operation().map_err(|e| told(&e))? else {
            return Err(told(&req.opcode().name()));
        };
        if init.major > MAJOR {
            let out = InitOut { major: MAJOR, minor: MINOR, ..InitOut::default() };
            return Ok(Err(reply(req.header(), &out)));
        }
        if init.major < MAJOR || init.minor < MINOR_OLDEST {
            return Err(DoorError::Protocol { major: init.major, minor: init.minor });
        }
        let mut flags = u64::from(init.flags);
        if flags & InitFlags::INIT_EXT.bits() != 0 {
            // The extended request has the high half after the structure that all kernels send.
            let at = size_of::<InHeader>() + size_of::<InitIn>();
            let high = message.get(at..at + 4).and_then(|b| b.try_into().ok());
            flags |= u64::from(high.map_or(0, u32::from_ne_bytes)) << 32;
        }
        Ok(Ok(Offer {
            unique: req.header().unique,
            minor: init.minor,
            max_readahead: init.max_readahead,
            flags: InitFlags::from_bits_truncate(flags),
        }))
    }

    /// Whether the kernel offers io_uring.
    pub(crate) fn uring(&self) -> bool {
        self.flags.contains(InitFlags::OVER_IO_URING)
    }

    /// What we make of the offer.
    pub(crate) fn agree(&self, options: &DoorOptions, checks: Checks, uring: bool) -> Agreement {
        let mut wanted = InitFlags::ASYNC_READ
            | InitFlags::EXPORT_SUPPORT
            | InitFlags::BIG_WRITES
            | InitFlags::DONT_MASK
            | InitFlags::DO_READDIRPLUS
            | InitFlags::ASYNC_DIO
            | InitFlags::NO_OPEN_SUPPORT
            | InitFlags::NO_OPENDIR_SUPPORT
            | InitFlags::PARALLEL_DIROPS
            | InitFlags::ABORT_ERROR
            | InitFlags::MAX_PAGES
            | InitFlags::CACHE_SYMLINKS
            | InitFlags::EXPLICIT_INVAL_DATA
            | InitFlags::HANDLE_KILLPRIV_V2
            | InitFlags::SETXATTR_EXT
            | InitFlags::INIT_EXT
            | InitFlags::DIRECT_IO_ALLOW_MMAP;
        // ACLs make the kernel check permissions, whether asked to or not.
        wanted.set(InitFlags::POSIX_ACL, checks == Checks::Kernel && options.acl);
        wanted.set(InitFlags::READDIRPLUS_AUTO, !options.readdirplus);
        wanted.set(InitFlags::WRITEBACK_CACHE, options.writeback);
        wanted.set(InitFlags::OVER_IO_URING, uring);
        let flags = wanted & self.flags;
        let chosen = flags.contains(InitFlags::MAX_PAGES);
        Agreement {
            minor: self.minor.min(MINOR),
            flags,
            payload: if chosen { PAYLOAD } else { PAYLOAD_FIXED },
            checks,
        }
    }

    /// Tells the kernel.
    pub(crate) fn answer(
        &self,
        device: BorrowedFd<'_>,
        agreement: &Agreement,
        options: &DoorOptions,
    ) -> Result<()> {
        let flags = agreement.flags.bits();
        let out = InitOut {
            major: MAJOR,
            minor: MINOR,
            max_readahead: self.max_readahead.max(options.readahead),
            flags: flags as u32,
            flags2: (flags >> 32) as u32,
            max_background: options.max_background,
            congestion_threshold: (options.max_background / 4 * 3).max(1),
            max_write: agreement.payload as u32,
            time_gran: 1,
            max_pages: (agreement.payload / 4096) as u16,
            ..InitOut::default()
        };
        let header = InHeader { unique: self.unique, ..InHeader::default() };
        classic::answer_first(device, &reply(&header, &out))
    }
}

fn reply(request: &InHeader, out: &InitOut) -> Vec<u8> {
    let len = size_of::<OutHeader>() + size_of::<InitOut>();
    let header = OutHeader { len: len as u32, error: 0, unique: request.unique };
    [header.as_bytes(), out.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn init(major: u32, minor: u32, flags: u64) -> Vec<u8> {
        let mut body = InitIn { major, minor, max_readahead: 131_072, flags: flags as u32 }
            .as_bytes()
            .to_vec();
        body.extend_from_slice(&((flags >> 32) as u32).to_ne_bytes());
        body.extend_from_slice(&[0; 44]);
        let header = InHeader {
            len: (40 + body.len()) as u32,
            opcode: 26,
            unique: 2,
            ..InHeader::default()
        };
        [header.as_bytes(), &body].concat()
    }

    #[test]
    fn only_what_both_want() {
        let offered = InitFlags::INIT_EXT | InitFlags::OVER_IO_URING | InitFlags::ASYNC_READ;
        let offer = Offer::parse(&init(7, 99, offered.bits())).unwrap().unwrap();
        assert!(offer.uring());
        let options = DoorOptions::default();
        let agreement = offer.agree(&options, Checks::Kernel, false);
        assert_eq!(agreement.flags, InitFlags::INIT_EXT | InitFlags::ASYNC_READ);
        assert_eq!((agreement.minor, agreement.payload), (MINOR, PAYLOAD_FIXED));
    }

    #[test]
    fn other_versions() {
        assert!(Offer::parse(&init(8, 0, 0)).unwrap().is_err());
        assert!(matches!(Offer::parse(&init(7, 30, 0)), Err(DoorError::Protocol { .. })));
        assert!(matches!(Offer::parse(b"junk"), Err(DoorError::Handshake(_))));
    }
}
