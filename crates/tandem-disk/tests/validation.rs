//! The model against measured drives.

use std::path::{Path, PathBuf};

use tandem_disk::drive::Medium;
use tandem_disk::profile::Profile;
use tandem_disk::trace::{Options, open};
use tandem_disk::validate::{Validation, demerit, validate};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/disks").join(name)
}

fn judged(drive: &str, profile: &str) -> Validation {
    let profile = Profile::find(profile).unwrap();
    let (_, records) = open(&data(&format!("{drive}.trace")), Options::default()).unwrap();
    validate(&profile.medium, records).unwrap()
}

/// Measured when this was written: 2.5, 2.4 and 5.3 %.
#[test]
fn three_drives() {
    for (drive, most) in [("cheetah9LP", 0.03), ("atlas10k", 0.03), ("barracuda", 0.06)] {
        let specs = data(&format!("{drive}.diskspecs"));
        let found = judged(drive, &specs.display().to_string());
        assert_eq!(found.requests, 10_000);
        assert!(found.demerit <= most, "{drive}: {}", found.demerit);
        let whole = found.simpler.last().unwrap();
        assert_eq!(whole.demerit, found.demerit);
        // Every part is worth something, or at least not harmful by more than a fiftieth.
        for simpler in &found.simpler[..found.simpler.len() - 1] {
            assert!(simpler.demerit > 5.0 * found.demerit, "{drive}: {}", simpler.name);
        }
    }
}

#[test]
fn the_shipped_profile_is_the_same_drive() {
    let specs = Profile::find(&data("cheetah9LP.diskspecs").display().to_string()).unwrap();
    let shipped = Profile::find("st39102lw").unwrap();
    assert_eq!(shipped.medium, specs.medium);
    assert!(matches!(shipped.medium, Medium::Disk(_)));
}

#[test]
fn demerit_is_a_distance_of_distributions() {
    assert_eq!(demerit(&mut [3, 1, 2], &mut [2, 3, 1]), 0.0);
    // Every time is 1 too long of a mean of 2.
    assert_eq!(demerit(&mut [1, 2, 3], &mut [4, 2, 3]), 0.5);
}
