//! Repair: whatever is damaged, the volume is sound afterwards, what was not damaged is as it was,
//! and a crash on the way does no harm.

#[path = "repair/blocks.rs"]
mod blocks;
#[path = "repair/crash.rs"]
mod crash;
#[path = "repair/fixed.rs"]
mod fixed;
#[path = "repair/random.rs"]
mod random;
#[path = "repair/rig.rs"]
mod rig;
#[path = "repair/tree.rs"]
mod tree;

use std::sync::OnceLock;

use tandem_fs::MkfsOptions;
use tandem_fs::check::{RepairKind, RepairReport};

use crate::fill::everything;
use crate::image::Image;
use crate::rig::Rig;
use rig::Bench;
use tree::{Tree, tree};

/// Repairs a damaged volume without changing it.
#[track_caller]
pub fn repairs(rig: &Rig) {
    Bench::new(rig).repair();
}

/// A volume with one of everything, cleanly unmounted, and all that is on it.
fn filled() -> &'static (Rig, Tree) {
    static RIG: OnceLock<(Rig, Tree)> = OnceLock::new();
    RIG.get_or_init(|| {
        // Short segments, so that there are several.
        let options = MkfsOptions { segment_size: Some(64 << 10), ..MkfsOptions::default() };
        let rig = Rig::new(&options);
        let vol = rig.open();
        everything(&vol);
        vol.shutdown().unwrap();
        let tree = tree(&Bench::new(&rig).open());
        (rig, tree)
    })
}

/// What is left of a damaged volume.
struct Repaired {
    report: RepairReport,
    before: &'static Tree,
    after: Tree,
}

/// Damages a copy of the volume, and repairs it.
#[track_caller]
fn repaired(f: impl FnOnce(&Image<'_>)) -> Repaired {
    let (rig, before) = filled();
    let rig = rig.copy();
    f(&Image::new(&rig));
    let bench = Bench::new(&rig);
    let report = bench.repair();
    assert!(report.made);
    Repaired { report, before, after: tree(&bench.open()) }
}

impl Repaired {
    /// Paths that are not as they were. Links and times of directories change with what is in them.
    fn changed(&self) -> Vec<&str> {
        let same = |path: &str| match (self.before.get(path), self.after.get(path)) {
            (Some(a), Some(b)) if a.mode & 0o170000 == 0o040000 => {
                (a.ino, a.mode, &a.attributes) == (b.ino, b.mode, &b.attributes)
            }
            (a, b) => a == b,
        };
        let all = self.before.keys().chain(self.after.keys());
        let mut all: Vec<&str> = all.map(String::as_str).filter(|path| !same(path)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Everything is as it was.
    #[track_caller]
    fn nothing_lost(&self) {
        assert_eq!(self.changed(), [""; 0], "{:#?}", self.report);
    }

    fn count(&self, kind: RepairKind) -> u64 {
        self.report.repairs.count(kind)
    }
}
