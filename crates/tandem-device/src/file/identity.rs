//! Which device a path leads to, so that one device given twice is recognized.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use super::sysfs;

/// A file (device and i-node number) or a block device (its number).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    File { dev: u64, ino: u64 },
    Block { rdev: u64 },
}

/// Where a device's bytes really lie, whatever path, partition or loop device leads there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    place: Place,
    /// The disk that this is a partition of, and the partition's bytes on it.
    disk: Option<(u64, std::ops::Range<u64>)>,
    /// The file behind a loop device.
    backing: Option<Place>,
}

impl Identity {
    pub(super) fn of(metadata: &Metadata) -> Identity {
        if !metadata.file_type().is_block_device() {
            let place = Place::File { dev: metadata.dev(), ino: metadata.ino() };
            return Identity { place, disk: None, backing: None };
        }
        let rdev = metadata.rdev();
        let backing = sysfs::loop_backing(rdev)
            .and_then(|file| file.metadata().ok())
            .map(|file| Place::File { dev: file.dev(), ino: file.ino() });
        Identity { place: Place::Block { rdev }, disk: sysfs::partition(rdev), backing }
    }

    /// Whether the two share bytes: the same device, a disk and its partition, a loop device and
    /// its file.
    pub fn overlaps(&self, other: &Identity) -> bool {
        if self.place == other.place {
            return true;
        }
        if let (Some(a), Some(b)) = (self.backing, other.backing) {
            return a == b;
        }
        if self.backing == Some(other.place) || other.backing == Some(self.place) {
            return true;
        }
        match (&self.disk, &other.disk) {
            (Some((a, ours)), Some((b, theirs))) => {
                a == b && ours.start < theirs.end && theirs.start < ours.end
            }
            (Some((disk, _)), None) => other.place == Place::Block { rdev: *disk },
            (None, Some((disk, _))) => self.place == Place::Block { rdev: *disk },
            (None, None) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(rdev: u64, disk: Option<(u64, std::ops::Range<u64>)>) -> Identity {
        Identity { place: Place::Block { rdev }, disk, backing: None }
    }

    #[test]
    fn partitions_overlap_their_disk_but_not_each_other() {
        let disk = block(8, None);
        let first = block(9, Some((8, 0..100)));
        let second = block(10, Some((8, 100..200)));
        let elsewhere = block(17, Some((16, 0..100)));
        assert!(disk.overlaps(&first) && second.overlaps(&disk));
        assert!(!first.overlaps(&second) && !first.overlaps(&elsewhere));
        assert!(!disk.overlaps(&elsewhere) && first.overlaps(&first));
    }

    #[test]
    fn a_loop_device_is_its_file() {
        let file = Place::File { dev: 1, ino: 2 };
        let image = Identity { place: file, disk: None, backing: None };
        let mut looped = block(7 << 8, None);
        assert!(!looped.overlaps(&image));
        looped.backing = Some(file);
        assert!(looped.overlaps(&image) && image.overlaps(&looped));
        let mut second = block((7 << 8) + 1, None);
        second.backing = Some(file);
        assert!(looped.overlaps(&second));
    }
}
