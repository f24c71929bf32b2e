//! What reached a device, as the kernel counts it.

use std::io;
use std::path::Path;

use crate::record::DeviceIo;

/// The counters of `/sys/block/*/stat` (Documentation/admin-guide/iostats.rst), since the device
/// came into being.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Read requests.
    pub reads: u64,
    /// Sectors of 512 bytes read.
    pub read_sectors: u64,
    /// Write requests.
    pub writes: u64,
    /// Sectors of 512 bytes written.
    pub write_sectors: u64,
    /// Sectors discarded.
    pub discard_sectors: u64,
    /// Flushes.
    pub flushes: u64,
}

impl Counts {
    /// Of a block device.
    ///
    /// # Errors
    /// Failures to read them; what is no whole block device has none.
    pub fn of(device: &Path) -> io::Result<Counts> {
        let name = device.file_name().unwrap_or_default();
        let path = Path::new("/sys/block").join(name).join("stat");
        Ok(Counts::parse(&std::fs::read_to_string(path)?))
    }

    fn parse(line: &str) -> Counts {
        let fields: Vec<u64> =
            line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let field = |at: usize| fields.get(at).copied().unwrap_or(0);
        Counts {
            reads: field(0),
            read_sectors: field(2),
            writes: field(4),
            write_sectors: field(6),
            discard_sectors: field(13),
            flushes: field(15),
        }
    }

    /// What has been added to `before`.
    pub fn since(&self, before: &Counts) -> Counts {
        Counts {
            reads: self.reads.saturating_sub(before.reads),
            read_sectors: self.read_sectors.saturating_sub(before.read_sectors),
            writes: self.writes.saturating_sub(before.writes),
            write_sectors: self.write_sectors.saturating_sub(before.write_sectors),
            discard_sectors: self.discard_sectors.saturating_sub(before.discard_sectors),
            flushes: self.flushes.saturating_sub(before.flushes),
        }
    }

    /// As a record has it.
    pub fn record(&self, name: &str, place: &str) -> DeviceIo {
        DeviceIo {
            name: name.to_owned(),
            place: place.to_owned(),
            counted_by: "kernel".to_owned(),
            reads: self.reads,
            read_sectors: self.read_sectors,
            writes: self.writes,
            write_sectors: self.write_sectors,
            flushes: self.flushes,
            discard_sectors: self.discard_sectors,
            disk: None,
            trace: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_stat() {
        let before = Counts::parse("1 0 8 0 2 0 16 0 0 0 0 0 0 0 0 0 0\n");
        let line = "     395     7808    65864      797      326     8464    70312     2064        \
                    0      610     2876        3        0       24        0       15       14";
        let counts = Counts::parse(line).since(&before);
        let wanted = Counts {
            reads: 394,
            read_sectors: 65_856,
            writes: 324,
            write_sectors: 70_296,
            discard_sectors: 24,
            flushes: 15,
        };
        assert_eq!(counts, wanted);
    }
}
