//! Attributes.

use tandem_format::Time;
use tandem_fs::{Attr, SetAttr, SetTime};

use super::{Answer, Dispatch, put};
use crate::abi::{AttrOut, EntryOut, FattrFlags, FuseAttr, SetattrIn, Statx, StatxOut, SxTime};
use crate::reply::ReplyBuf;
use crate::request::Request;

impl Dispatch {
    pub(super) fn getattr(&self, req: &Request<'_>, out: &mut ReplyBuf<'_>) -> Answer {
        let attr = self.volume.getattr(req.nodeid())?;
        self.put_attr(&attr, out)
    }

    pub(super) fn setattr(
        &self,
        req: &Request<'_>,
        args: &SetattrIn,
        out: &mut ReplyBuf<'_>,
    ) -> Answer {
        let attr = self.volume.setattr(&self.caller(req), req.nodeid(), &changes(args))?;
        self.put_attr(&attr, out)
    }

    pub(super) fn statx(&self, req: &Request<'_>, out: &mut ReplyBuf<'_>) -> Answer {
        let attr = self.volume.getattr(req.nodeid())?;
        put(out.push(&StatxOut {
            attr_valid: self.timeout.as_secs(),
            attr_valid_nsec: self.timeout.subsec_nanos(),
            stat: statx(&attr),
            ..StatxOut::default()
        }))
    }

    fn put_attr(&self, attr: &Attr, out: &mut ReplyBuf<'_>) -> Answer {
        put(out.push(&AttrOut {
            attr_valid: self.timeout.as_secs(),
            attr_valid_nsec: self.timeout.subsec_nanos(),
            attr: fuse_attr(attr),
            ..AttrOut::default()
        }))
    }

    /// An i-node's entry as the kernel caches it.
    pub(super) fn entry(&self, attr: &Attr) -> EntryOut {
        EntryOut {
            nodeid: attr.ino,
            generation: u64::from(attr.generation),
            entry_valid: self.timeout.as_secs(),
            entry_valid_nsec: self.timeout.subsec_nanos(),
            attr_valid: self.timeout.as_secs(),
            attr_valid_nsec: self.timeout.subsec_nanos(),
            attr: fuse_attr(attr),
        }
    }

    /// That there is no such entry, which the kernel may cache too.
    pub(super) fn no_entry(&self) -> EntryOut {
        EntryOut {
            entry_valid: self.timeout.as_secs(),
            entry_valid_nsec: self.timeout.subsec_nanos(),
            ..EntryOut::default()
        }
    }
}

pub(super) fn fuse_attr(attr: &Attr) -> FuseAttr {
    FuseAttr {
        ino: attr.ino,
        size: attr.size,
        blocks: attr.blocks,
        // The kernel takes the seconds as signed.
        atime: attr.atime.secs as u64,
        mtime: attr.mtime.secs as u64,
        ctime: attr.ctime.secs as u64,
        atimensec: attr.atime.nanos,
        mtimensec: attr.mtime.nanos,
        ctimensec: attr.ctime.nanos,
        mode: attr.mode,
        nlink: attr.nlink,
        uid: attr.uid,
        gid: attr.gid,
        rdev: attr.rdev,
        blksize: attr.blksize,
        flags: 0,
    }
}

fn statx(attr: &Attr) -> Statx {
    /// `STATX_BASIC_STATS | STATX_BTIME`
    const MASK: u32 = 0xfff;
    Statx {
        mask: MASK,
        blksize: attr.blksize,
        nlink: attr.nlink,
        uid: attr.uid,
        gid: attr.gid,
        mode: attr.mode as u16,
        ino: attr.ino,
        size: attr.size,
        blocks: attr.blocks,
        atime: sx_time(attr.atime),
        btime: sx_time(attr.btime),
        ctime: sx_time(attr.ctime),
        mtime: sx_time(attr.mtime),
        rdev_major: (attr.rdev >> 8) & 0xfff,
        rdev_minor: (attr.rdev & 0xff) | ((attr.rdev >> 12) & 0xf_ff00),
        ..Statx::default()
    }
}

fn sx_time(time: Time) -> SxTime {
    SxTime { tv_sec: time.secs, tv_nsec: time.nanos, reserved: 0 }
}

fn time(secs: u64, nanos: u32) -> Time {
    Time { secs: secs as i64, nanos: nanos.min(999_999_999) }
}

/// What a SETATTR asks for.
fn changes(args: &SetattrIn) -> SetAttr {
    let valid = FattrFlags::from_bits_truncate(args.valid);
    let at = |field, now, time| match (valid.contains(field), valid.contains(now)) {
        (false, _) => None,
        (true, true) => Some(SetTime::Now),
        (true, false) => Some(SetTime::At(time)),
    };
    SetAttr {
        mode: valid.contains(FattrFlags::MODE).then_some(args.mode),
        uid: valid.contains(FattrFlags::UID).then_some(args.uid),
        gid: valid.contains(FattrFlags::GID).then_some(args.gid),
        size: valid.contains(FattrFlags::SIZE).then_some(args.size),
        atime: at(FattrFlags::ATIME, FattrFlags::ATIME_NOW, time(args.atime, args.atimensec)),
        mtime: at(FattrFlags::MTIME, FattrFlags::MTIME_NOW, time(args.mtime, args.mtimensec)),
        ctime: valid.contains(FattrFlags::CTIME).then(|| time(args.ctime, args.ctimensec)),
        kill_priv: valid.contains(FattrFlags::KILL_SUIDGID),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_and_now() {
        let valid = FattrFlags::ATIME | FattrFlags::MTIME | FattrFlags::MTIME_NOW;
        let args = SetattrIn {
            valid: valid.bits(),
            atime: -5i64 as u64,
            atimensec: 7,
            mtime: 9,
            ..SetattrIn::default()
        };
        let changes = changes(&args);
        assert_eq!(changes.atime, Some(SetTime::At(Time { secs: -5, nanos: 7 })));
        assert_eq!(changes.mtime, Some(SetTime::Now));
        assert_eq!((changes.mode, changes.size, changes.kill_priv), (None, None, false));
    }

    #[test]
    fn device_numbers_are_split() {
        let time = Time { secs: 0, nanos: 0 };
        let attr = Attr {
            ino: 5,
            generation: 0,
            mode: libc::S_IFCHR | 0o600,
            nlink: 1,
            uid: 0,
            gid: 0,
            // new_encode_dev(0xabc, 0x12345)
            rdev: 0x45 | (0xabc << 8) | (0x12300 << 12),
            size: 0,
            blocks: 0,
            blksize: 4096,
            atime: time,
            mtime: time,
            ctime: time,
            btime: time,
        };
        let stat = statx(&attr);
        assert_eq!((stat.rdev_major, stat.rdev_minor), (0xabc, 0x12345));
        assert_eq!(stat.mode, (libc::S_IFCHR | 0o600) as u16);
    }
}
