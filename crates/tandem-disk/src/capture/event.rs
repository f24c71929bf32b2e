//! A block event, as the kernel's ring buffer has it.

use std::fmt;
use std::path::Path;

use super::layout::Layout;

/// A device's number as the kernel's events have it: 12 bits of major, 20 of minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber(pub u32);

impl DeviceNumber {
    /// From its two parts; `None` when they do not fit.
    pub fn new(major: u32, minor: u32) -> Option<DeviceNumber> {
        (major < 1 << 12 && minor < 1 << 20).then_some(DeviceNumber(major << 20 | minor))
    }

    /// Driver.
    pub fn major(self) -> u32 {
        self.0 >> 20
    }

    /// Device of the driver.
    pub fn minor(self) -> u32 {
        self.0 & 0xf_ffff
    }

    /// The number of the block device at `path`, or of the whole disk if it is a partition:
    /// requests are the disk's.
    pub fn of_disk(path: &Path) -> std::io::Result<DeviceNumber> {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        let meta = std::fs::metadata(path)?;
        if !meta.file_type().is_block_device() {
            let what = format!("{} is not a block device", path.display());
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, what));
        }
        let (major, minor) = (rustix::fs::major(meta.rdev()), rustix::fs::minor(meta.rdev()));
        let sysfs = format!("/sys/dev/block/{major}:{minor}");
        let own = Path::new(&sysfs).canonicalize()?;
        let disk = match (own.join("partition").exists(), own.parent()) {
            (true, Some(parent)) => std::fs::read_to_string(parent.join("dev"))?,
            _ => format!("{major}:{minor}"),
        };
        disk.trim().parse().map_err(|()| std::io::Error::other(format!("{sysfs}: {disk:?}")))
    }
}

impl std::str::FromStr for DeviceNumber {
    type Err = ();

    fn from_str(text: &str) -> Result<DeviceNumber, ()> {
        let (major, minor) = text.split_once(':').ok_or(())?;
        let parse = |part: &str| part.parse().map_err(|_| ());
        DeviceNumber::new(parse(major)?, parse(minor)?).ok_or(())
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major(), self.minor())
    }
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Make what has been written durable.
    Flush,
    /// These sectors are not needed any more.
    Discard,
    /// Anything else: zone commands, pass-through.
    Other,
}

/// The letters of `rwbs`: what is asked for, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) operation: Operation,
    /// With a flush before it.
    pub(super) preflush: bool,
    /// Durable when it has finished.
    pub(super) fua: bool,
    /// Somebody waits for it.
    pub(super) sync: bool,
    /// Read before it is asked for.
    pub(super) ahead: bool,
    /// Metadata, as the file system says.
    pub(super) meta: bool,
}

impl Kind {
    /// The kernel writes `F` for a flush before the request, one or two letters for the operation
    /// (`blk_fill_rwbs`: W R D DE F N), and `F A S M` for how.
    pub(super) fn parse(rwbs: &[u8]) -> Kind {
        let rwbs = rwbs.split(|&b| b == 0).next().unwrap_or_default();
        let (preflush, rest) = match rwbs {
            [b'F', rest @ ..] if !rest.is_empty() => (true, rest),
            _ => (false, rwbs),
        };
        let (operation, how) = match rest {
            [b'W', how @ ..] => (Operation::Write, how),
            [b'R', how @ ..] => (Operation::Read, how),
            [b'D', b'E', how @ ..] | [b'D', how @ ..] => (Operation::Discard, how),
            [b'F', how @ ..] => (Operation::Flush, how),
            [_, how @ ..] => (Operation::Other, how),
            [] => (Operation::Other, &[][..]),
        };
        let has = |letter| how.contains(&letter);
        let (fua, sync) = (has(b'F'), has(b'S'));
        Kind { operation, preflush, fua, sync, ahead: has(b'A'), meta: has(b'M') }
    }
}

/// Which event it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Issue,
    Complete { error: i32 },
    Requeue,
}

/// One event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    /// Nanoseconds of the monotonic clock.
    pub(super) time: u64,
    pub(super) moment: Moment,
    pub(super) device: DeviceNumber,
    pub(super) sector: u64,
    pub(super) sectors: u32,
    pub(super) kind: Kind,
}

impl Event {
    /// Takes a record of the ring buffer apart; `None` when it is none of ours or too short.
    pub(super) fn parse(time: u64, record: &[u8], layouts: &[Layout]) -> Option<Event> {
        let id = u16::from_ne_bytes(record.get(..2)?.try_into().ok()?);
        let layout = layouts.iter().find(|layout| layout.id == id)?;
        let moment = match layout.error {
            Some(error) => Moment::Complete { error: error.get(record)? as u32 as i32 },
            None if layout.requeue => Moment::Requeue,
            None => Moment::Issue,
        };
        Some(Event {
            time,
            moment,
            device: DeviceNumber(layout.dev.get(record)? as u32),
            sector: layout.sector.get(record)?,
            sectors: u32::try_from(layout.sectors.get(record)?).ok()?,
            kind: Kind::parse(layout.rwbs.bytes(record)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters() {
        let kind = |text: &str| Kind::parse(text.as_bytes());
        assert_eq!(kind("RA").operation, Operation::Read);
        assert!(kind("RA").ahead && !kind("RA").sync);
        assert_eq!(kind("WFS\0xx").operation, Operation::Write);
        assert!(kind("WFS").fua && kind("WFS").sync && !kind("WFS").preflush);
        assert!(kind("FWFSM").preflush && kind("FWFSM").fua && kind("FWFSM").meta);
        assert_eq!(kind("DE").operation, Operation::Discard);
        assert_eq!(kind("F").operation, Operation::Flush);
        assert_eq!(kind("FF").operation, Operation::Flush);
        assert_eq!(kind("").operation, Operation::Other);
        assert_eq!(kind("N").operation, Operation::Other);
    }

    #[test]
    fn device_numbers() {
        let loop7 = DeviceNumber::new(7, 7).unwrap();
        assert_eq!(loop7.to_string(), "7:7");
        assert_eq!("7:7".parse(), Ok(loop7));
        assert_eq!("7".parse::<DeviceNumber>(), Err(()));
        assert_eq!(DeviceNumber::new(1 << 12, 0), None);
    }
}
