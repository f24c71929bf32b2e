//! Which devices a run has, and where they lie.

use tandem_disk::profile::Profile;
use tandem_disk::request::SECTOR;

use super::{Setup, StageError};
use crate::peer::{JOURNAL_BLOCK, Peer, journal_bytes};

/// The share of a disk that is Tandem's metadata device, per cent (seed 000).
pub(super) const METADATA: u8 = 10;

/// The place of a journal or of metadata that is no drive's profile.
const NVME: &str = "ssd-nvme";

/// A place for bytes, which becomes one device, or two.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Store {
    /// What lies under it.
    pub place: Place,
    /// Bytes.
    pub size: u64,
    /// Do requests to an emulated disk take the time that its model says?
    pub real_time: bool,
    /// The devices in it. Two share it as `--split` of an emulated disk does.
    pub parts: Vec<&'static str>,
}

/// What lies under a device.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Place {
    /// A disk with a profile, emulated.
    Drive(Box<Profile>),
    /// Memory.
    Ram,
    /// Whatever the work directory lies on.
    Host,
}

impl Place {
    fn named(name: &str) -> Result<Place, StageError> {
        match name {
            "ram" => Ok(Place::Ram),
            "host" => Ok(Place::Host),
            _ => match Profile::find(name) {
                Ok(profile) => Ok(Place::Drive(Box::new(profile))),
                Err(error) => Err(StageError::failed("level of disk", error)),
            },
        }
    }

    /// As records have it.
    pub fn name(&self) -> &str {
        match self {
            Place::Drive(profile) => &profile.name,
            Place::Ram => "ram",
            Place::Host => "host",
        }
    }
}

/// Everything that lies somewhere.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layout {
    /// Where.
    pub stores: Vec<Store>,
    /// The journal's bytes if they are to be the same in all places.
    pub journal: Option<u64>,
}

impl Layout {
    /// For a run.
    ///
    /// The factor `placement` moves the journal, or Tandem's metadata, and nothing else: wherever it
    /// is, it has the same size and leaves the same room for files. (Seed 001's journals and file
    /// systems differed in size between its three places.)
    pub fn of(setup: &Setup, peer: &Peer) -> Result<Layout, StageError> {
        let disk = Place::named(setup.levels.get("disk").map_or("host", String::as_str))?;
        let placement = setup.levels.get("placement").map(String::as_str);
        let size = setup.size & !(JOURNAL_BLOCK - 1);
        let real_time = match setup.levels.get("time").map(String::as_str) {
            None | Some("none") => false,
            Some("real") => true,
            Some(other) => {
                return Err(StageError::failed("levels", format!("no time is called {other:?}")));
            }
        };
        if real_time && !matches!(disk, Place::Drive(_)) {
            let reason = format!("{} has no model that requests could be timed by", disk.name());
            return Err(StageError::failed("time", reason));
        }
        let store =
            |place, size, parts: &[_]| Store { place, size, real_time, parts: parts.to_vec() };
        let second = match placement {
            None | Some("same-disk") => None,
            Some("second-disk") => Some(disk.clone()),
            Some("ram") => Some(Place::Ram),
            Some("nvme") => Some(Place::named(NVME)?),
            Some(other) => {
                let reason = format!("no placement is called {other:?}");
                return Err(StageError::failed("levels", reason));
            }
        };
        if second.is_some() && !peer.external_journal {
            let reason = format!("{} has no journal that can lie elsewhere", peer.title);
            return Err(StageError::failed("placement", reason));
        }
        let layout = match (peer.name, second) {
            ("tandem", second) => {
                Layout { stores: tandem(disk, second, size, &store), journal: None }
            }
            (_, None) => {
                let journal = placement.filter(|_| peer.external_journal);
                let stores = vec![store(disk, size, &["disk"])];
                Layout { stores, journal: journal.map(|_| journal_bytes(size)) }
            }
            (_, Some(place)) => {
                let bytes = journal_bytes(size);
                let journal = store(place, bytes + JOURNAL_BLOCK, &["journal"]);
                let files = store(disk, size - bytes, &["disk"]);
                Layout { stores: vec![files, journal], journal: Some(bytes) }
            }
        };
        layout.check()
    }

    /// Does everything fit where it lies?
    fn check(self) -> Result<Layout, StageError> {
        for store in &self.stores {
            let Place::Drive(profile) = &store.place else { continue };
            let drive = profile.drive().map_err(|e| StageError::failed("disk", e))?;
            let room = drive.sectors() * SECTOR;
            if store.size > room {
                let (name, size) = (&profile.name, store.size);
                let reason = format!("{size} bytes do not fit on {name}, which has {room}");
                return Err(StageError::failed("size", reason));
            }
        }
        Ok(self)
    }
}

/// Metadata on the outer part of the disk, or on a device of its own; data on the rest, which is
/// equally large in both cases.
fn tandem(
    disk: Place,
    second: Option<Place>,
    size: u64,
    store: &dyn Fn(Place, u64, &[&'static str]) -> Store,
) -> Vec<Store> {
    let outer = outer_bytes(size);
    let data = |place| store(place, size - outer, &["data"]);
    let metadata = |place| store(place, outer, &["metadata"]);
    match (disk, second) {
        (place, Some(second)) => vec![metadata(second), data(place)],
        // One emulated disk has one head for both.
        (Place::Drive(profile), None) => {
            let place = Place::Drive(profile);
            vec![store(place, size, &["metadata", "data"])]
        }
        (place, None) => vec![metadata(place.clone()), data(place)],
    }
}

/// Bytes of the outer part of a disk that is split, as `tandem disk emulate --split` has them.
pub(super) fn outer_bytes(size: u64) -> u64 {
    (size / 100 * u64::from(METADATA)) & !4095
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::peer;
    use crate::workload::WorkloadSpec;

    fn layout(filesystem: &str, levels: &[(&str, &str)]) -> Result<Layout, StageError> {
        let levels = levels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let (name, parameters) = ("io-bound".to_owned(), Default::default());
        let setup = Setup {
            id: "1".into(),
            levels,
            filesystem: filesystem.into(),
            mkfs: vec![],
            mount: String::new(),
            workload: WorkloadSpec { name, parameters, processes: 1, seed: 1 },
            size: 2 << 30,
            memory: None,
            work: PathBuf::new(),
            traces: PathBuf::new(),
        };
        Layout::of(&setup, peer::find(filesystem).unwrap())
    }

    #[test]
    fn a_journal_is_as_large_everywhere() {
        let disk = ("disk", "st34310a");
        let inside = layout("ext4", &[disk, ("placement", "same-disk")]).unwrap();
        for place in ["second-disk", "ram", "nvme"] {
            let outside = layout("ext4", &[disk, ("placement", place)]).unwrap();
            assert_eq!(outside.journal, inside.journal);
            let [files, journal] = &outside.stores[..] else { panic!("{place}: not two") };
            let bytes = inside.journal.unwrap();
            assert_eq!(files.size + bytes, inside.stores[0].size);
            assert_eq!(journal.size, bytes + JOURNAL_BLOCK);
        }
        assert_eq!(layout("ext4", &[disk]).unwrap().journal, None);
    }

    #[test]
    fn tandem_has_two_devices() {
        let disk = ("disk", "st34310a");
        let same = layout("tandem", &[disk]).unwrap();
        assert_eq!(same.stores.len(), 1);
        assert_eq!(same.stores[0].parts, ["metadata", "data"]);
        let ram = layout("tandem", &[disk, ("placement", "ram")]).unwrap();
        let sizes: Vec<u64> = ram.stores.iter().map(|store| store.size).collect();
        assert_eq!(sizes, [outer_bytes(2 << 30), (2 << 30) - outer_bytes(2 << 30)]);
        assert_eq!(ram.stores[0].place, Place::Ram);
    }

    #[test]
    fn what_makes_no_sense() {
        for (filesystem, levels) in [
            ("ext2", [("placement", "ram")].as_slice()),
            ("ext4", &[("placement", "moon")]),
            ("ext4", &[("disk", "no-such-drive")]),
            ("ext4", &[("time", "slow")]),
            ("ext4", &[("time", "real"), ("disk", "ram")]),
        ] {
            assert!(layout(filesystem, levels).is_err(), "{filesystem} {levels:?}");
        }
    }
}
